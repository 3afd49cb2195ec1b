/** Network and subnet policies as checked values: one reader per type (hcn.md §3.1, §3.2). */
import { type AclPolicySetting, type SetPolicySetting, readAcl, readSetPolicy } from "./acl-policy.ts";
import { parseAddressOrPrefix } from "./address-list.ts";
import type { PolicyDocument } from "./base-document.ts";
import { type CheckedPolicy, readPolicySettings, policyTypeOf } from "./endpoint-policy.ts";
import {
  INTERFACE_CONSTRAINT,
  type IsolationPolicySetting,
  VLAN_ID_MAX,
  readIsolation,
} from "./interface-policy.ts";
import type { JsonReader } from "../description/json.ts";
import {
  MAC_WORDS,
  type ReadSettings,
  type SettingsByType,
  type SettingsOf,
  SETTING_READERS,
  settingsReader,
  settingsReaders,
} from "../description/settings.ts";
import {
  NETWORK_POLICY_TYPES,
  type NetworkPolicyType,
  SUBNET_POLICY_TYPES,
  type SubnetPolicyType,
} from "./policy-type.ts";
import { type L4ProxyPolicySetting, readL4Proxy } from "./proxy-policy.ts";

const SOURCE_MAC = {
  SourceMacAddress: { is: "mac", needed: "a MAC address such as 00-15-5D-01-02-03" },
} as const;
const ROUTER_MAC = { Address: { is: "mac", needed: "a MAC address such as 00-15-5D-01-02-03" } } as const;
const REMOTE_SUBNET_ROUTE = {
  DestinationPrefix: { is: "text", needed: "a CIDR such as 10.244.2.0/24" },
  IsolationId: "u32",
  ProviderAddress: "address",
  DistributedRouterMacAddress: "mac",
} as const;
export type RemoteSubnetRoutePolicySetting = SettingsOf<typeof REMOTE_SUBNET_ROUTE>;

/** Settings that are read as they are described. */
const SETTINGS = {
  /** The friendly name of the uplink adapter. */
  NetAdapterName: { NetworkAdapterName: { is: "text", needed: "the name of an adapter" } },
  VSwitchExtension: { ExtensionID: "guid", Enable: "boolean" },
  AutomaticDNS: { Enable: "boolean" },
  InterfaceConstraint: (): typeof INTERFACE_CONSTRAINT => INTERFACE_CONSTRAINT,
  ProviderAddress: { ProviderAddress: "address" },
  VxlanPort: { Port: { is: "u16", needed: "a UDP port" } },
  HostRoute: {},
  LayerConstraint: { LayerId: "guid" },
  NeighborDiscovery: { TargetIpPrefix: "text", SenderIpAddress: "text", SenderMacAddress: "mac" },
} as const;

export interface NetworkPolicySettings extends SettingsByType<typeof SETTINGS> {
  readonly SourceMacAddress: SettingsOf<typeof SOURCE_MAC>;
  readonly DrMacAddress: SettingsOf<typeof ROUTER_MAC>;
  readonly RemoteSubnetRoute: RemoteSubnetRoutePolicySetting;
  readonly SetPolicy: SetPolicySetting;
  readonly L4Proxy: L4ProxyPolicySetting;
  readonly NetworkACL: AclPolicySetting;
}

/** A checked network policy. */
export type NetworkPolicy = CheckedPolicy<NetworkPolicySettings>;

export interface SubnetPolicySettings {
  readonly VLAN: IsolationPolicySetting;
  readonly VSID: IsolationPolicySetting;
}

/** A checked subnet policy. */
export type SubnetPolicy = CheckedPolicy<SubnetPolicySettings>;

/** VXLAN has 24 bits for its network identifier (RFC 7348 §5). */
const VSID_MAX = 0xff_ffff;

function requiredMac(reader: JsonReader, field: string): string {
  const text = SETTING_READERS.mac(reader, field) ?? "";
  if (text === "") throw reader.fail(field, MAC_WORDS);
  return text;
}

function readDestination(reader: JsonReader, field: string): string | undefined {
  const prefix = reader.text(field);
  if (prefix !== undefined && parseAddressOrPrefix(prefix) !== undefined) return prefix;
  throw reader.fail(field, REMOTE_SUBNET_ROUTE.DestinationPrefix.needed);
}

const READERS: { readonly [T in NetworkPolicyType]: ReadSettings<NetworkPolicySettings[T]> } = {
  ...settingsReaders(SETTINGS),
  SourceMacAddress: settingsReader(SOURCE_MAC, { SourceMacAddress: requiredMac }),
  DrMacAddress: settingsReader(ROUTER_MAC, { Address: requiredMac }),
  RemoteSubnetRoute: settingsReader(REMOTE_SUBNET_ROUTE, { DestinationPrefix: readDestination }),
  SetPolicy: readSetPolicy,
  L4Proxy: readL4Proxy,
  NetworkACL: readAcl,
};

/**
 * Checks one network policy.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE or HCN_E_INVALID_POLICY.
 */
export function parseNetworkPolicy(policy: PolicyDocument, where: string): NetworkPolicy {
  const type = policyTypeOf<NetworkPolicyType>(policy, where, NETWORK_POLICY_TYPES);
  const read: ReadSettings<NetworkPolicy["Settings"]> = READERS[type];
  return readPolicySettings(policy, type, read, where) as NetworkPolicy;
}

export function parseNetworkPolicies(policies: readonly PolicyDocument[]): readonly NetworkPolicy[] {
  return Object.freeze(policies.map((policy, index) => parseNetworkPolicy(policy, `Policies[${index}]`)));
}

/**
 * Checks one policy of a subnet.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE or HCN_E_INVALID_POLICY.
 */
export function parseSubnetPolicy(policy: PolicyDocument, where: string): SubnetPolicy {
  const type = policyTypeOf<SubnetPolicyType>(policy, where, SUBNET_POLICY_TYPES);
  const max = type === "VLAN" ? VLAN_ID_MAX : VSID_MAX;
  return readPolicySettings(policy, type, (reader) => readIsolation(reader, max), where);
}
