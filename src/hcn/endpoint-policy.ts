/** Endpoint policies as checked values: one reader per type (hcn.md §3.3). */
import {
  type AclPolicySetting,
  type AclTuple,
  type TierAclPolicySetting,
  readAcl,
  readAclTuple,
  readTierAcl,
} from "./acl-policy.ts";
import type { PolicyDocument } from "./base-document.ts";
import type { Guid, JsonObject, JsonValue } from "./client.ts";
import { HcnError } from "./error.ts";
import { JsonReader, enumerationName, present } from "./json-reader.ts";
import {
  type L4ProxyPolicySetting,
  type OutBoundNatPolicySetting,
  type PortMappingPolicySetting,
  type SdnRoutePolicySetting,
  readL4Proxy,
  readOptionalIp,
  readOutBoundNat,
  readPortMapping,
  readSdnRoute,
} from "./nat-policy.ts";
import { ENDPOINT_POLICY_TYPES, type EndpointPolicyType } from "./policy-type.ts";

/** A policy without fields. */
export type NoSetting = Readonly<Record<string, never>>;

export interface QosPolicySetting {
  /** Bytes per second that may leave; absent: no limit. */
  readonly MaximumOutgoingBandwidthInBytes?: number;
}

export interface ProviderAddressPolicySetting {
  readonly ProviderAddress?: string;
}

export interface PortNamePolicySetting {
  readonly Name?: string;
}

export interface EncapOverheadPolicySetting {
  /** Bytes that the MTU is lowered by. */
  readonly Overhead?: number;
}

export interface InterfaceConstraintPolicySetting {
  readonly InterfaceGuid?: Guid;
  readonly InterfaceLuid?: number;
  readonly InterfaceIndex?: number;
  readonly InterfaceMediaType?: number;
  readonly InterfaceAlias?: string;
  readonly InterfaceDescription?: string;
}

export interface IsolationPolicySetting {
  /** VLAN id or VXLAN network identifier. */
  readonly IsolationId: number;
}

export interface InterfaceParametersPolicySetting {
  readonly Mtu?: number;
}

export interface IovPolicySetting {
  readonly IovOffloadWeight?: number;
  readonly QueuePairsRequested?: number;
  readonly InterruptModeration?: number;
}

export interface ProxyExceptions {
  readonly IpAddressExceptions?: readonly string[];
  readonly PortExceptions?: readonly string[];
}

/** Redirection inside the endpoint's compartment. */
export interface L4WfpProxyPolicySetting {
  readonly InboundProxyPort?: string;
  readonly OutboundProxyPort?: string;
  readonly FilterTuple?: AclTuple & { readonly Priority?: number };
  readonly UserSID?: string;
  readonly InboundExceptions?: ProxyExceptions;
  readonly OutboundExceptions?: ProxyExceptions;
}

/** The settings of every type. Types whose fields nobody reads here keep their JSON. */
export interface EndpointPolicySettings {
  readonly PortMapping: PortMappingPolicySetting;
  readonly ACL: AclPolicySetting;
  readonly QOS: QosPolicySetting;
  readonly L2Driver: NoSetting;
  readonly OutBoundNAT: OutBoundNatPolicySetting;
  readonly SDNRoute: SdnRoutePolicySetting;
  readonly L4Proxy: L4ProxyPolicySetting;
  readonly L4WFPPROXY: L4WfpProxyPolicySetting;
  readonly ProviderAddress: ProviderAddressPolicySetting;
  readonly PortName: PortNamePolicySetting;
  readonly EncapOverhead: EncapOverheadPolicySetting;
  readonly InterfaceConstraint: InterfaceConstraintPolicySetting;
  readonly Encryption: JsonObject;
  readonly VLAN: IsolationPolicySetting;
  readonly InterfaceParameters: InterfaceParametersPolicySetting;
  readonly Iov: IovPolicySetting;
  readonly TierAcl: TierAclPolicySetting;
  readonly Firewall: JsonObject;
}

/** A checked endpoint policy. */
export type EndpointPolicy = {
  [T in EndpointPolicyType]: { readonly Type: T; readonly Settings: EndpointPolicySettings[T] };
}[EndpointPolicyType];

const NO_SETTING: NoSetting = Object.freeze({});
const VLAN_ID_MAX = 4_095;

export function readProviderAddress(reader: JsonReader): ProviderAddressPolicySetting {
  return present<ProviderAddressPolicySetting>({
    ProviderAddress: readOptionalIp(reader, "ProviderAddress"),
  });
}

export function readInterfaceConstraint(reader: JsonReader): InterfaceConstraintPolicySetting {
  return present<InterfaceConstraintPolicySetting>({
    InterfaceGuid: reader.guid("InterfaceGuid"),
    InterfaceLuid: reader.number("InterfaceLuid"),
    InterfaceIndex: reader.u32("InterfaceIndex"),
    InterfaceMediaType: reader.u32("InterfaceMediaType"),
    InterfaceAlias: reader.text("InterfaceAlias"),
    InterfaceDescription: reader.text("InterfaceDescription"),
  });
}

/** Reads a policy whose only field is `IsolationId`, at most `max`. */
export function readIsolation(reader: JsonReader, max: number): IsolationPolicySetting {
  const IsolationId = reader.number("IsolationId", max);
  if (IsolationId === undefined) throw reader.fail("IsolationId", `a number from 0 to ${max}`);
  return Object.freeze({ IsolationId });
}

function readProxyExceptions(reader: JsonReader | undefined): ProxyExceptions | undefined {
  return (
    reader &&
    present<ProxyExceptions>({
      IpAddressExceptions: reader.texts("IpAddressExceptions"),
      PortExceptions: reader.texts("PortExceptions"),
    })
  );
}

/** Older clients send one `Port`, the outbound one (hcn.md §3.3). */
function readL4WfpProxy(reader: JsonReader): L4WfpProxyPolicySetting {
  const tuple = reader.object("FilterTuple");
  return present<L4WfpProxyPolicySetting>({
    InboundProxyPort: reader.textOrNumber("InboundProxyPort"),
    OutboundProxyPort: reader.textOrNumber("OutboundProxyPort") ?? reader.textOrNumber("Port"),
    FilterTuple:
      tuple &&
      present<AclTuple & { readonly Priority?: number }>({
        ...readAclTuple(tuple),
        Priority: tuple.u16("Priority"),
      }),
    UserSID: reader.text("UserSID"),
    InboundExceptions: readProxyExceptions(reader.object("InboundExceptions")),
    OutboundExceptions: readProxyExceptions(reader.object("OutboundExceptions")),
  });
}

function readIov(reader: JsonReader): IovPolicySetting {
  return present<IovPolicySetting>({
    IovOffloadWeight: reader.u32("IovOffloadWeight"),
    QueuePairsRequested: reader.u32("QueuePairsRequested"),
    InterruptModeration: reader.u32("InterruptModeration"),
  });
}

const READERS: {
  readonly [T in EndpointPolicyType]: (reader: JsonReader) => EndpointPolicySettings[T];
} = {
  PortMapping: readPortMapping,
  ACL: readAcl,
  QOS: (reader) =>
    present<QosPolicySetting>({
      MaximumOutgoingBandwidthInBytes: reader.number("MaximumOutgoingBandwidthInBytes"),
    }),
  L2Driver: () => NO_SETTING,
  OutBoundNAT: readOutBoundNat,
  SDNRoute: readSdnRoute,
  L4Proxy: readL4Proxy,
  L4WFPPROXY: readL4WfpProxy,
  ProviderAddress: readProviderAddress,
  PortName: (reader) => present<PortNamePolicySetting>({ Name: reader.text("Name") }),
  EncapOverhead: (reader) => present<EncapOverheadPolicySetting>({ Overhead: reader.u16("Overhead") }),
  InterfaceConstraint: readInterfaceConstraint,
  Encryption: (reader) => reader.whole(),
  VLAN: (reader) => readIsolation(reader, VLAN_ID_MAX),
  InterfaceParameters: (reader) => present<InterfaceParametersPolicySetting>({ Mtu: reader.u16("Mtu") }),
  Iov: readIov,
  TierAcl: readTierAcl,
  Firewall: (reader) => reader.whole(),
};

const NO_FIELDS: JsonObject = Object.freeze({});

/** Reads the settings of `policy` with the reader of its type. */
export function readPolicySettings<Type extends string, Settings>(
  policy: PolicyDocument,
  type: Type,
  read: (reader: JsonReader) => Settings,
  where: string,
): { readonly Type: Type; readonly Settings: Settings } {
  const reader = new JsonReader(policy.Settings ?? NO_FIELDS, `${where}.Settings`, "HCN_E_INVALID_POLICY");
  return Object.freeze({ Type: type, Settings: read(reader) });
}

/** The error for a type that the object does not know. */
export function unknownPolicyType(
  type: string,
  where: string,
  known: readonly (string | undefined)[],
): HcnError {
  const names = known.filter((name) => name !== undefined).join(", ");
  return new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: `${where} has the type ${JSON.stringify(type)}; it has to be one of ${names}`,
  });
}

/**
 * Checks one endpoint policy.
 * @param where position for messages: `Policies[2]`.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE, HCN_E_INVALID_POLICY or the policy's own code.
 */
export function parseEndpointPolicy(policy: PolicyDocument, where: string): EndpointPolicy {
  const type = enumerationName<EndpointPolicyType>(ENDPOINT_POLICY_TYPES, policy.Type);
  if (type === undefined) throw unknownPolicyType(policy.Type, where, ENDPOINT_POLICY_TYPES);
  const read: (reader: JsonReader) => EndpointPolicy["Settings"] = READERS[type];
  return readPolicySettings(policy, type, read, where) as EndpointPolicy;
}

/** Checks a list of endpoint policies. */
export function parseEndpointPolicies(policies: readonly PolicyDocument[]): readonly EndpointPolicy[] {
  return Object.freeze(policies.map((policy, index) => parseEndpointPolicy(policy, `Policies[${index}]`)));
}

/** The document of a checked policy. */
export function policyDocument(policy: { readonly Type: string; readonly Settings: object }): PolicyDocument {
  return { Type: policy.Type, Settings: policy.Settings as { readonly [field: string]: JsonValue } };
}
