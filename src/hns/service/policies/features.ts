/** What a version of HNS does not know yet (hcn.md §7.1): types of policies, and fields of them. */
import {
  type AclPolicySetting,
  parseAclAddresses,
  parseAclProtocols,
} from "#contracts/hcn/documents/acl-policy.ts";
import { splitList } from "#contracts/hcn/documents/address-list.ts";
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsFeature } from "#contracts/hcn/features.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { EndpointPolicyType, NetworkPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import type { ServiceContext } from "../service-context.ts";
import type { NetworkRecord } from "../records.ts";
import { traitsOf } from "../network/type-traits.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** Policies that a service has only from a version on. */
const TYPE_FEATURES: Partial<Record<NetworkPolicyType | EndpointPolicyType, HnsFeature>> = {
  SetPolicy: "SetPolicy",
  VxlanPort: "VxlanPort",
  L4Proxy: "L4Proxy",
  L4WFPPROXY: "L4WfpProxy",
  TierAcl: "TierAcl",
  NetworkACL: "NetworkACL",
  RemoteSubnetRoute: "RemoteSubnet",
  HostRoute: "HostRoute",
};

/** VXLAN, as ACLs write it. */
const VXLAN_PSEUDO_PROTOCOL = 252;

function isSeveral(list: string | undefined): boolean {
  return splitList(list ?? "").length > 1;
}

/** What an ACL asks for that not every version has. */
function featuresOfAcl(setting: AclPolicySetting): readonly (readonly [HnsFeature, string])[] {
  const { Protocols, LocalAddresses, RemoteAddresses, LocalPorts, RemotePorts } = setting;
  const needed: [HnsFeature, string][] = [];
  if (parseAclProtocols(Protocols ?? "")?.includes(VXLAN_PSEUDO_PROTOCOL) === true)
    needed.push(["AclSupportForProtocol252", "the protocol 252"]);
  if (isSeveral(LocalAddresses) || isSeveral(RemoteAddresses))
    needed.push(["AclAddressLists", "a list of addresses"]);
  if ([LocalPorts, RemotePorts].some((ports) => isSeveral(ports) || ports?.includes("-") === true))
    needed.push(["AclPortRanges", "a list or a range of ports"]);
  if (setting.RuleType === "Host" && (setting.Priority ?? 0) === 0)
    needed.push(["AclHostRulePriority", "a Host rule without a priority"]);
  const sets = [LocalAddresses, RemoteAddresses].flatMap(
    (field) => parseAclAddresses(field ?? "")?.sets ?? [],
  );
  if (sets.length > 0) needed.push(["SetPolicy", "an address set"]);
  return needed;
}

/**
 * Inferred: the codes. A type that the service does not know is one that it cannot interpret, and a value that it does
 * not know is a bad setting.
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE, HCN_E_INVALID_POLICY.
 */
export function checkPolicyFeatures(
  context: ServiceContext,
  policy: EndpointPolicy | NetworkPolicy,
  where: string,
): void {
  const { Major, Minor } = context.version;
  const service = `HNS ${Major}.${Minor} (${context.windows.profile.name})`;
  const feature = TYPE_FEATURES[policy.Type];
  if (feature !== undefined && !context.has(feature)) {
    throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
      detail: `${where} has the type ${policy.Type}, which ${service} does not know`,
    });
  }
  // Sets of sets come with sets, whatever range clients have for them: Azure NPM makes them on Server 2022
  // (https://github.com/Azure/azure-container-networking/blob/master/docs/npm.md).
  const needed: readonly (readonly [HnsFeature, string])[] =
    policy.Type === "ACL" || policy.Type === "NetworkACL" ? featuresOfAcl(policy.Settings) : [];
  for (const [name, what] of needed) {
    if (context.has(name)) continue;
    throw new HcnError("HCN_E_INVALID_POLICY", {
      detail: `${where} has ${what}, which ${service} does not take`,
    });
  }
}

// Which policies a type of network can do (hcn.md §3.1, §3.3, §6.1).

/**
 * Inferred: the networks that cannot do SDN routes are those without VFP, whose rules the routes are (hcn.md §6.1).
 * @throws HcnError HCN_E_INVALID_POLICY_TYPE. `what` names the route for the message.
 */
export function checkTakesSdnRoutes(network: NetworkRecord, what: string): void {
  if (traitsOf(network.type).needsVfp) return;
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: WORDS.featureNeedsVfp({ what, name: network.name, type: network.type }),
  });
}

/** Inferred: which types are those "without NAT" that refuse a mapping (hcn.md §6.1). */
function checkTakesMappings(network: NetworkRecord, where: string): void {
  if (traitsOf(network.type).mapsPorts) return;
  throw new HcnError("HCN_E_MAPPING_NOT_SUPPORTED", {
    detail: WORDS.portMappingUnsupported({ where, type: network.type, name: network.name }),
  });
}

/** @throws HcnError when endpoints of `network` cannot have `policy`. */
export function checkApplies(network: NetworkRecord, policy: EndpointPolicy, where: string): void {
  if (policy.Type === "SDNRoute") checkTakesSdnRoutes(network, where);
  if (policy.Type === "PortMapping") checkTakesMappings(network, where);
}
