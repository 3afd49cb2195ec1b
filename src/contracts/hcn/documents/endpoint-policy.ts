/** Endpoint policies as checked values: one reader per type (hcn.md §3.3). */
import { type AclPolicySetting, type TierAclPolicySetting, readAcl, readTierAcl } from "./acl-policy.ts";
import type { PolicyDocument } from "./base-document.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "../error.ts";
import {
  type EncapOverheadPolicySetting,
  type InterfaceConstraintPolicySetting,
  type InterfaceParametersPolicySetting,
  type IovPolicySetting,
  type IsolationPolicySetting,
  type PortNamePolicySetting,
  type ProviderAddressPolicySetting,
  type QosPolicySetting,
  VLAN_ID_MAX,
  readInterfaceConstraint,
  readIov,
  readIsolation,
  readProviderAddress,
  readQos,
} from "./interface-policy.ts";
import { JsonReader, enumerationName, present } from "../description/json-reader.ts";
import {
  type OutBoundNatPolicySetting,
  type PortMappingPolicySetting,
  type SdnRoutePolicySetting,
  readOutBoundNat,
  readPortMapping,
  readSdnRoute,
} from "./nat-policy.ts";
import { ENDPOINT_POLICY_TYPES, type EndpointPolicyType } from "./policy-type.ts";
import {
  type L4ProxyPolicySetting,
  type L4WfpProxyPolicySetting,
  readL4Proxy,
  readL4WfpProxy,
} from "./proxy-policy.ts";
import {
  type EncryptionPolicySetting,
  type FirewallPolicySetting,
  readEncryption,
  readFirewall,
} from "./security-policy.ts";

/** A policy without fields. */
export type NoSetting = Readonly<Record<string, never>>;

/** The settings of every type. */
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
  readonly Encryption: EncryptionPolicySetting;
  readonly VLAN: IsolationPolicySetting;
  readonly InterfaceParameters: InterfaceParametersPolicySetting;
  readonly Iov: IovPolicySetting;
  readonly TierAcl: TierAclPolicySetting;
  readonly Firewall: FirewallPolicySetting;
}

/** A checked endpoint policy. */
export type EndpointPolicy = {
  [T in EndpointPolicyType]: { readonly Type: T; readonly Settings: EndpointPolicySettings[T] };
}[EndpointPolicyType];

const NO_SETTING: NoSetting = Object.freeze({});
const READERS: {
  readonly [T in EndpointPolicyType]: (reader: JsonReader) => EndpointPolicySettings[T];
} = {
  PortMapping: readPortMapping,
  ACL: readAcl,
  QOS: readQos,
  L2Driver: () => NO_SETTING,
  OutBoundNAT: readOutBoundNat,
  SDNRoute: readSdnRoute,
  L4Proxy: readL4Proxy,
  L4WFPPROXY: readL4WfpProxy,
  ProviderAddress: readProviderAddress,
  PortName: (reader) => present<PortNamePolicySetting>({ Name: reader.text("Name") }),
  EncapOverhead: (reader) => present<EncapOverheadPolicySetting>({ Overhead: reader.u16("Overhead") }),
  InterfaceConstraint: readInterfaceConstraint,
  Encryption: readEncryption,
  VLAN: (reader) => readIsolation(reader, VLAN_ID_MAX),
  InterfaceParameters: (reader) => present<InterfaceParametersPolicySetting>({ Mtu: reader.u16("Mtu") }),
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

/** The error for a type that the object does not know. */
export function unknownPolicyType(
  type: string,
  where: string,
  known: readonly (string | undefined)[],
): HcnError {
  const names = known.filter((name) => name !== undefined).join(", ");
  return new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: `${where} has the type ${JSON.stringify(type)}; it must be one of ${names}`,
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
