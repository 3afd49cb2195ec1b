/**
 * Endpoint policies as checked values: one reader per type (hcn.md §3.3). Those that only endpoints have, which
 * translate, steer and secure, are read here.
 */
import { readAddressList, readOptionalIp } from "./address-list.ts";
import { HcnError } from "../error.ts";
import { type Enumeration, JsonReader, enumerationName, present } from "../description/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { type AclPolicySetting, type TierAclPolicySetting, readAcl, readTierAcl } from "./acl-policy.ts";
import type { PolicyDocument } from "./base-document.ts";
import {
  type InterfaceConstraintPolicySetting,
  type IovPolicySetting,
  type IsolationPolicySetting,
  type ProviderAddressPolicySetting,
  U64_MAX,
  VLAN_ID_MAX,
  readInterfaceConstraint,
  readIov,
  readIsolation,
  readProviderAddress,
} from "./interface-policy.ts";
import { ENDPOINT_POLICY_TYPES, type EndpointPolicyType } from "./policy-type.ts";
import {
  type L4ProxyPolicySetting,
  type L4WfpProxyPolicySetting,
  readL4Proxy,
  readL4WfpProxy,
} from "./proxy-policy.ts";
import { SDN_ROUTE_SETTING_READER, type SdnRoutePolicySetting } from "./sdn-route.ts";

/** Bits of the `Flags` of OutBoundNAT and PortMapping. Inferred (hcn.md §11.12): v2 takes ExternalPortReserved, which v1 has. */
export const NAT_FLAGS = { LocalRoutedVip: 1, IPv6: 2, ExternalPortReserved: 4 } as const;

export interface OutBoundNatPolicySetting {
  /** The address that replaces the node's. */
  readonly VirtualIP?: string;
  /** Destinations that keep the endpoint's source address. */
  readonly Exceptions?: readonly string[];
  /** When given, only these destinations are translated. */
  readonly Destinations?: readonly string[];
  readonly Flags?: number;
  readonly MaxPortPoolUsage?: number;
}

export interface PortMappingPolicySetting {
  /** 6 or 17; absent or 0 for both. */
  readonly Protocol?: number;
  readonly InternalPort: number;
  /** 0: the service chooses. */
  readonly ExternalPort?: number;
  /** The node's address that listens; empty: all. */
  readonly VIP?: string;
  readonly Flags?: number;
}

export function readOutBoundNat(reader: JsonReader): OutBoundNatPolicySetting {
  return present<OutBoundNatPolicySetting>({
    VirtualIP: readOptionalIp(reader, "VirtualIP"),
    Exceptions: readAddressList(reader, "Exceptions"),
    Destinations: readAddressList(reader, "Destinations"),
    Flags: reader.u32("Flags"),
    MaxPortPoolUsage: reader.u16("MaxPortPoolUsage"),
  });
}

/** What has ports to map; 0 and absence are for both (hcn.md §3.3). */
const MAPPED_PROTOCOLS: readonly number[] = [0, 6, 17];

function readMappedProtocol(reader: JsonReader): number | undefined {
  const protocol = reader.protocol("Protocol");
  if (protocol === undefined || MAPPED_PROTOCOLS.includes(protocol)) return protocol;
  throw reader.fail("Protocol", "6 (TCP) or 17 (UDP)");
}

export function readPortMapping(reader: JsonReader): PortMappingPolicySetting {
  const internalPort = reader.u16("InternalPort") ?? 0;
  if (internalPort === 0) {
    throw new HcnError("HCN_E_INVALID_INTERNAL_PORT", {
      detail: `${reader.at("InternalPort")} must be the container's port, 1 to 65535`,
    });
  }
  return present<PortMappingPolicySetting>({
    Protocol: readMappedProtocol(reader),
    InternalPort: internalPort,
    ExternalPort: reader.u16("ExternalPort"),
    VIP: readOptionalIp(reader, "VIP"),
    Flags: reader.u32("Flags"),
  });
}

/** Inferred: the numbers of these enumerations, from the order of their names in the schema. */
const ENCRYPTION_METHODS = ["Ipsec"] as const;
const AUTHENTICATION_METHODS = ["PresharedKey", "Certificate"] as const;
const VM_TYPES = ["Invalid", "Host", "WSA", "WSL"] as const;
const FIREWALL_FLAGS = ["None", "ConstrainedInterface"] as const;

export interface AuthenticationMethod {
  readonly Type?: (typeof AUTHENTICATION_METHODS)[number];
  readonly Settings?: JsonObject;
}

/** IPsec between endpoints. */
export interface EncryptionPolicySetting {
  readonly EncryptionMethodType?: (typeof ENCRYPTION_METHODS)[number];
  readonly AuthenticationMethods?: readonly AuthenticationMethod[];
  readonly Name?: string;
  readonly Endpoints1?: readonly string[];
  readonly Endpoints2?: readonly string[];
  readonly ProtocolType?: string;
  readonly Endpoint1Ports?: string;
  readonly Endpoint2Ports?: string;
}

/** Binding to the firewall of Hyper-V, in the fields of the schema page or in those that WSL sends. */
export interface FirewallPolicySetting {
  readonly VmType?: (typeof VM_TYPES)[number];
  readonly FirewallPolicyFlags?: number;
  readonly VmCreatorId?: Guid;
  readonly PolicyFlags?: number;
}

/** Inferred: addresses come as a list or as a comma list, protocol and ports as text. */
export function readEncryption(reader: JsonReader): EncryptionPolicySetting {
  return present<EncryptionPolicySetting>({
    EncryptionMethodType: reader.enumeration("EncryptionMethodType", ENCRYPTION_METHODS),
    AuthenticationMethods: reader.list("AuthenticationMethods", (method) =>
      present<AuthenticationMethod>({
        Type: method.enumeration("Type", AUTHENTICATION_METHODS),
        Settings: method.object("Settings")?.whole(),
      }),
    ),
    Name: reader.text("Name"),
    Endpoints1: reader.texts("Endpoints1"),
    Endpoints2: reader.texts("Endpoints2"),
    ProtocolType: reader.textOrNumber("ProtocolType"),
    Endpoint1Ports: reader.textOrNumber("Endpoint1Ports"),
    Endpoint2Ports: reader.textOrNumber("Endpoint2Ports"),
  });
}

/** Bits, which go out as a number (hcn.md §1.6), also where they come in as the name of one. */
function readFirewallFlags(reader: JsonReader): number | undefined {
  const value = reader.raw("FirewallPolicyFlags");
  if (typeof value !== "string" || /^\d+$/.test(value)) return reader.u32("FirewallPolicyFlags");
  const name = reader.enumeration("FirewallPolicyFlags", FIREWALL_FLAGS);
  return name === undefined ? undefined : FIREWALL_FLAGS.indexOf(name);
}

export function readFirewall(reader: JsonReader): FirewallPolicySetting {
  return present<FirewallPolicySetting>({
    VmType: reader.enumeration("VmType", VM_TYPES),
    FirewallPolicyFlags: readFirewallFlags(reader),
    VmCreatorId: reader.guid("VmCreatorId"),
    PolicyFlags: reader.u32("PolicyFlags"),
  });
}

/** A policy without fields. */
export type NoSetting = Readonly<Record<string, never>>;

/** The settings of every type. */
export interface EndpointPolicySettings {
  readonly PortMapping: PortMappingPolicySetting;
  readonly ACL: AclPolicySetting;
  /** Bytes per second that may leave; absent: no limit. */
  readonly QOS: { readonly MaximumOutgoingBandwidthInBytes?: number };
  readonly L2Driver: NoSetting;
  readonly OutBoundNAT: OutBoundNatPolicySetting;
  readonly SDNRoute: SdnRoutePolicySetting;
  readonly L4Proxy: L4ProxyPolicySetting;
  readonly L4WFPPROXY: L4WfpProxyPolicySetting;
  readonly ProviderAddress: ProviderAddressPolicySetting;
  readonly PortName: { readonly Name?: string };
  /** Bytes that the MTU is lowered by. */
  readonly EncapOverhead: { readonly Overhead?: number };
  readonly InterfaceConstraint: InterfaceConstraintPolicySetting;
  readonly Encryption: EncryptionPolicySetting;
  readonly VLAN: IsolationPolicySetting;
  readonly InterfaceParameters: { readonly Mtu?: number };
  readonly Iov: IovPolicySetting;
  readonly TierAcl: TierAclPolicySetting;
  readonly Firewall: FirewallPolicySetting;
}

/** Policies of which `S` says the settings of each type. */
export type CheckedPolicy<S> = {
  [T in keyof S]: { readonly Type: T; readonly Settings: S[T] };
}[keyof S];

/** A checked endpoint policy. */
export type EndpointPolicy = CheckedPolicy<EndpointPolicySettings>;

const NO_SETTING: NoSetting = Object.freeze({});
const READERS: {
  readonly [T in EndpointPolicyType]: (reader: JsonReader) => EndpointPolicySettings[T];
} = {
  PortMapping: readPortMapping,
  ACL: readAcl,
  QOS: (reader) =>
    present<EndpointPolicySettings["QOS"]>({
      MaximumOutgoingBandwidthInBytes: reader.number("MaximumOutgoingBandwidthInBytes", U64_MAX),
    }),
  L2Driver: () => NO_SETTING,
  OutBoundNAT: readOutBoundNat,
  SDNRoute: (reader) => SDN_ROUTE_SETTING_READER.read(reader),
  L4Proxy: readL4Proxy,
  L4WFPPROXY: readL4WfpProxy,
  ProviderAddress: readProviderAddress,
  PortName: (reader) => present<EndpointPolicySettings["PortName"]>({ Name: reader.text("Name") }),
  EncapOverhead: (reader) =>
    present<EndpointPolicySettings["EncapOverhead"]>({ Overhead: reader.u16("Overhead") }),
  InterfaceConstraint: readInterfaceConstraint,
  Encryption: readEncryption,
  VLAN: (reader) => readIsolation(reader, VLAN_ID_MAX),
  InterfaceParameters: (reader) =>
    present<EndpointPolicySettings["InterfaceParameters"]>({ Mtu: reader.u16("Mtu") }),
  Iov: readIov,
  TierAcl: readTierAcl,
  Firewall: readFirewall,
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

/** The type of a policy, of those that its object knows. @throws HcnError HCN_E_INVALID_POLICY_TYPE. */
export function policyTypeOf<T extends string>(
  { Type }: PolicyDocument,
  where: string,
  known: Enumeration<T>,
): T {
  const type = enumerationName<T>(known, Type);
  if (type !== undefined) return type;
  const names = known.filter((name) => name !== undefined).join(", ");
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: `${where} has the type ${JSON.stringify(Type)}; it must be one of ${names}`,
  });
}

/**
 * Checks one endpoint policy.
 * @param where position for messages: `Policies[2]`.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE, HCN_E_INVALID_POLICY or the policy's own code.
 */
export function parseEndpointPolicy(policy: PolicyDocument, where: string): EndpointPolicy {
  const type = policyTypeOf<EndpointPolicyType>(policy, where, ENDPOINT_POLICY_TYPES);
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
