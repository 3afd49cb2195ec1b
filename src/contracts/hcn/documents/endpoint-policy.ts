/**
 * Endpoint policies as checked values: one reader per type (hcn.md §3.3). Those that only endpoints have, which
 * translate, steer and secure, are read here.
 */
import { HcnError } from "../error.ts";
import { type Enumeration, JsonReader, enumerationName } from "../description/json.ts";
import {
  type ReadSettings,
  type SettingsByType,
  type SettingsOf,
  settingsReader,
  settingsReaders,
} from "../description/settings.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type AclPolicySetting, type TierAclPolicySetting, readAcl, readTierAcl } from "./acl-policy.ts";
import type { PolicyDocument } from "./base-document.ts";
import {
  INTERFACE_CONSTRAINT,
  type IovPolicySetting,
  type IsolationPolicySetting,
  VLAN_ID_MAX,
  readIov,
  readIsolation,
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

const PORT_MAPPING = {
  /** 6 or 17; absent or 0 for both. */
  Protocol: "protocol",
  InternalPort: { is: "u16", needed: "the container's port, 1 to 65535" },
  /** 0: the service chooses. */
  ExternalPort: "u16",
  /** The node's address that listens; empty: all. */
  VIP: "address",
  Flags: "u32",
} as const;
export type PortMappingPolicySetting = SettingsOf<typeof PORT_MAPPING>;

/** What has ports to map; 0 and absence are for both (hcn.md §3.3). */
const MAPPED_PROTOCOLS: readonly number[] = [0, 6, 17];

function readMappedProtocol(reader: JsonReader, field: string): number | undefined {
  const protocol = reader.protocol(field);
  if (protocol === undefined || MAPPED_PROTOCOLS.includes(protocol)) return protocol;
  throw reader.fail(field, "6 (TCP) or 17 (UDP)");
}

/** It has a code of its own. */
function checkInternalPort(reader: JsonReader): void {
  if ((reader.u16("InternalPort") ?? 0) !== 0) return;
  const detail = `${reader.at("InternalPort")} must be ${PORT_MAPPING.InternalPort.needed}`;
  throw new HcnError("HCN_E_INVALID_INTERNAL_PORT", { detail });
}

/** Binding to the firewall of Hyper-V, in the fields of the schema page or in those that WSL sends. */
const FIREWALL = {
  VmType: ["Invalid", "Host", "WSA", "WSL"],
  FirewallPolicyFlags: "u32",
  VmCreatorId: "guid",
  PolicyFlags: "u32",
} as const;
const FIREWALL_FLAGS = ["None", "ConstrainedInterface"] as const;

/** Bits, which go out as a number (hcn.md §1.6), also where they come in as the name of one. */
function readFirewallFlags(reader: JsonReader, field: string): number | undefined {
  const value = reader.raw(field);
  if (typeof value !== "string" || /^\d+$/.test(value)) return reader.u32(field);
  const name = reader.enumeration(field, FIREWALL_FLAGS);
  return name === undefined ? undefined : FIREWALL_FLAGS.indexOf(name);
}

/**
 * Settings that are read as they are described. Inferred: the numbers of enumerations, here and above, from the order of
 * their names in the schema.
 */
const SETTINGS = {
  /** Bytes per second that may leave; absent: no limit. */
  QOS: { MaximumOutgoingBandwidthInBytes: "u64" },
  L2Driver: {},
  OutBoundNAT: {
    /** The address that replaces the node's. */
    VirtualIP: "address",
    /** Destinations that keep the endpoint's source address. */
    Exceptions: "prefixes",
    /** When given, only these destinations are translated. */
    Destinations: "prefixes",
    Flags: "u32",
    MaxPortPoolUsage: "u16",
  },
  ProviderAddress: { ProviderAddress: "address" },
  PortName: { Name: "text" },
  /** Bytes that the MTU is lowered by. */
  EncapOverhead: { Overhead: "u16" },
  InterfaceConstraint: (): typeof INTERFACE_CONSTRAINT => INTERFACE_CONSTRAINT,
  /** IPsec between endpoints. Inferred: addresses come as a list or as a comma list, protocol and ports as text. */
  Encryption: {
    EncryptionMethodType: ["Ipsec"],
    AuthenticationMethods: { list: { Type: ["PresharedKey", "Certificate"], Settings: "jsonObject" } },
    Name: "text",
    Endpoints1: "texts",
    Endpoints2: "texts",
    ProtocolType: "textOrNumber",
    Endpoint1Ports: "textOrNumber",
    Endpoint2Ports: "textOrNumber",
  },
  InterfaceParameters: { Mtu: "u16" },
} as const;

/** The settings of every type. */
export interface EndpointPolicySettings extends SettingsByType<typeof SETTINGS> {
  readonly PortMapping: PortMappingPolicySetting;
  readonly ACL: AclPolicySetting;
  readonly SDNRoute: SdnRoutePolicySetting;
  readonly L4Proxy: L4ProxyPolicySetting;
  readonly L4WFPPROXY: L4WfpProxyPolicySetting;
  readonly VLAN: IsolationPolicySetting;
  readonly Iov: IovPolicySetting;
  readonly TierAcl: TierAclPolicySetting;
  readonly Firewall: SettingsOf<typeof FIREWALL>;
}
export type OutBoundNatPolicySetting = EndpointPolicySettings["OutBoundNAT"];

/** Policies of which `S` says the settings of each type. */
export type CheckedPolicy<S> = {
  [T in keyof S]: { readonly Type: T; readonly Settings: S[T] };
}[keyof S];

/** A checked endpoint policy. */
export type EndpointPolicy = CheckedPolicy<EndpointPolicySettings>;

const READERS: { readonly [T in EndpointPolicyType]: ReadSettings<EndpointPolicySettings[T]> } = {
  ...settingsReaders(SETTINGS),
  PortMapping: settingsReader(PORT_MAPPING, { Protocol: readMappedProtocol }, checkInternalPort),
  ACL: readAcl,
  SDNRoute: (reader) => SDN_ROUTE_SETTING_READER.read(reader),
  L4Proxy: readL4Proxy,
  L4WFPPROXY: readL4WfpProxy,
  VLAN: (reader) => readIsolation(reader, VLAN_ID_MAX),
  Iov: readIov,
  TierAcl: readTierAcl,
  Firewall: settingsReader(FIREWALL, { FirewallPolicyFlags: readFirewallFlags }),
};

const NO_FIELDS: JsonObject = Object.freeze({});

/** Reads the settings of `policy` with the reader of its type. */
export function readPolicySettings<Type extends string, Settings>(
  policy: PolicyDocument,
  type: Type,
  read: ReadSettings<Settings>,
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
  const read: ReadSettings<EndpointPolicy["Settings"]> = READERS[type];
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
