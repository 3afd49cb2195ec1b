/** Network and subnet policies as checked values: one reader per type (hcn.md §3.1, §3.2). */
import { parseMac } from "#core/net/mac.ts";
import { type AclPolicySetting, type SetPolicySetting, readAcl, readSetPolicy } from "./acl-policy.ts";
import { parseAddressOrPrefix, readOptionalIp } from "./address-list.ts";
import type { PolicyDocument } from "./base-document.ts";
import type { Guid } from "../guid.ts";
import { type CheckedPolicy, type NoSetting, readPolicySettings, policyTypeOf } from "./endpoint-policy.ts";
import {
  type InterfaceConstraintPolicySetting,
  type IsolationPolicySetting,
  type ProviderAddressPolicySetting,
  VLAN_ID_MAX,
  readInterfaceConstraint,
  readIsolation,
  readProviderAddress,
} from "./interface-policy.ts";
import { type JsonReader, present } from "../description/json.ts";
import {
  NETWORK_POLICY_TYPES,
  type NetworkPolicyType,
  SUBNET_POLICY_TYPES,
  type SubnetPolicyType,
} from "./policy-type.ts";
import { type L4ProxyPolicySetting, readL4Proxy } from "./proxy-policy.ts";

export interface RemoteSubnetRoutePolicySetting {
  readonly DestinationPrefix: string;
  readonly IsolationId?: number;
  readonly ProviderAddress?: string;
  readonly DistributedRouterMacAddress?: string;
}

export interface NetworkPolicySettings {
  readonly SourceMacAddress: { readonly SourceMacAddress: string };
  /** The friendly name of the uplink adapter. */
  readonly NetAdapterName: { readonly NetworkAdapterName: string };
  readonly VSwitchExtension: { readonly ExtensionID?: Guid; readonly Enable?: boolean };
  readonly DrMacAddress: { readonly Address: string };
  readonly AutomaticDNS: { readonly Enable?: boolean };
  readonly InterfaceConstraint: InterfaceConstraintPolicySetting;
  readonly ProviderAddress: ProviderAddressPolicySetting;
  readonly RemoteSubnetRoute: RemoteSubnetRoutePolicySetting;
  readonly VxlanPort: { readonly Port: number };
  readonly HostRoute: NoSetting;
  readonly SetPolicy: SetPolicySetting;
  readonly L4Proxy: L4ProxyPolicySetting;
  readonly LayerConstraint: { readonly LayerId?: Guid };
  readonly NetworkACL: AclPolicySetting;
  readonly NeighborDiscovery: {
    readonly TargetIpPrefix?: string;
    readonly SenderIpAddress?: string;
    readonly SenderMacAddress?: string;
  };
}

/** A checked network policy. */
export type NetworkPolicy = CheckedPolicy<NetworkPolicySettings>;

export interface SubnetPolicySettings {
  readonly VLAN: IsolationPolicySetting;
  readonly VSID: IsolationPolicySetting;
}

/** A checked subnet policy. */
export type SubnetPolicy = CheckedPolicy<SubnetPolicySettings>;

const NO_SETTING: NoSetting = Object.freeze({});
/** VXLAN has 24 bits for its network identifier (RFC 7348 §5). */
const VSID_MAX = 0xff_ffff;

const MAC_WORDS = "a MAC address such as 00-15-5D-01-02-03";

/** Reads a MAC address, which keeps its text. */
function readMac(reader: JsonReader, field: string): string | undefined {
  const text = reader.text(field);
  if (text !== undefined && text !== "" && parseMac(text) === undefined) throw reader.fail(field, MAC_WORDS);
  return text;
}

function requiredMac(reader: JsonReader, field: string): string {
  const text = readMac(reader, field);
  if (text === undefined || text === "") throw reader.fail(field, MAC_WORDS);
  return text;
}

function readRemoteSubnetRoute(reader: JsonReader): RemoteSubnetRoutePolicySetting {
  const prefix = reader.text("DestinationPrefix");
  if (prefix === undefined || parseAddressOrPrefix(prefix) === undefined)
    throw reader.fail("DestinationPrefix", "a CIDR such as 10.244.2.0/24");
  return present<RemoteSubnetRoutePolicySetting>({
    DestinationPrefix: prefix,
    IsolationId: reader.u32("IsolationId"),
    ProviderAddress: readOptionalIp(reader, "ProviderAddress"),
    DistributedRouterMacAddress: readMac(reader, "DistributedRouterMacAddress"),
  });
}

const READERS: {
  readonly [T in NetworkPolicyType]: (reader: JsonReader) => NetworkPolicySettings[T];
} = {
  SourceMacAddress: (reader) => Object.freeze({ SourceMacAddress: requiredMac(reader, "SourceMacAddress") }),
  NetAdapterName: (reader) => {
    const name = reader.text("NetworkAdapterName");
    return Object.freeze({
      NetworkAdapterName: reader.needed("NetworkAdapterName", name, "the name of an adapter"),
    });
  },
  VSwitchExtension: (reader) =>
    present<NetworkPolicySettings["VSwitchExtension"]>({
      ExtensionID: reader.guid("ExtensionID"),
      Enable: reader.boolean("Enable"),
    }),
  DrMacAddress: (reader) => Object.freeze({ Address: requiredMac(reader, "Address") }),
  AutomaticDNS: (reader) =>
    present<NetworkPolicySettings["AutomaticDNS"]>({ Enable: reader.boolean("Enable") }),
  InterfaceConstraint: readInterfaceConstraint,
  ProviderAddress: readProviderAddress,
  RemoteSubnetRoute: readRemoteSubnetRoute,
  VxlanPort: (reader) => Object.freeze({ Port: reader.needed("Port", reader.u16("Port"), "a UDP port") }),
  HostRoute: () => NO_SETTING,
  SetPolicy: readSetPolicy,
  L4Proxy: readL4Proxy,
  LayerConstraint: (reader) =>
    present<NetworkPolicySettings["LayerConstraint"]>({ LayerId: reader.guid("LayerId") }),
  NetworkACL: readAcl,
  NeighborDiscovery: (reader) =>
    present<NetworkPolicySettings["NeighborDiscovery"]>({
      TargetIpPrefix: reader.text("TargetIpPrefix"),
      SenderIpAddress: reader.text("SenderIpAddress"),
      SenderMacAddress: readMac(reader, "SenderMacAddress"),
    }),
};

/**
 * Checks one network policy.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE or HCN_E_INVALID_POLICY.
 */
export function parseNetworkPolicy(policy: PolicyDocument, where: string): NetworkPolicy {
  const type = policyTypeOf<NetworkPolicyType>(policy, where, NETWORK_POLICY_TYPES);
  const read: (reader: JsonReader) => NetworkPolicy["Settings"] = READERS[type];
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
