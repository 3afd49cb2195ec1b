/** Which policies are stored and returned without acting on packets, and why. `docs/reference/fidelity.md` lists them. */
import type { AclPolicySetting } from "#contracts/hcn/documents/acl-policy.ts";
import type { EndpointPolicy, SdnRoutePolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { InterfaceConstraintPolicySetting } from "#contracts/hcn/documents/interface-policy.ts";
import type {
  NetworkPolicy,
  RemoteSubnetRoutePolicySetting,
} from "#contracts/hcn/documents/network-policy.ts";
import type { EndpointPolicyType, NetworkPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import { DEFAULT_ALLOW_PRIORITY, isSwitchAcl, setsOf } from "../../compile/acl.ts";
import { reasonForWfpProxy } from "../../compile/host-filters.ts";
import { reasonForProxy } from "../../compile/l4-proxy.ts";
import { isIpv6Nat } from "../../compile/outbound-nat.ts";
import { isIpv6Mapping } from "../../compile/port-mapping.ts";
import type { NetworkRecord } from "../network/network-record.ts";
import { RULE_POLICIES, ruleLimitOf, hasRules, traitsOf } from "../network/type-traits.ts";
import { hasVlans } from "../network/make-record.ts";
import { tuplesOf } from "./set-policies.ts";

/** What stands in health data of everything that is kept without an effect. */
export const NOT_YET = "stored and returned; this version does not act on it";

/** Policies of endpoints that never act, with what Windows would do. */
export const STORED_ENDPOINT_POLICIES: { readonly [T in EndpointPolicyType]?: string } = {
  Encryption: "packets are not encrypted",
  Firewall: "the firewall of Hyper-V, whose rules Windows keeps outside of HNS, does not run",
};

/** Policies of networks that never act, with what Windows would do. */
export const STORED_NETWORK_POLICIES: { readonly [T in NetworkPolicyType]?: string } = {
  SourceMacAddress: "frames keep the MAC address of the adapter",
  VSwitchExtension: "extensions are listed as on or off; their work on frames is not done",
  NeighborDiscovery: "neighbours are not answered for",
};

function hasSet(network: NetworkRecord, id: string): boolean {
  return network.policies.some((policy) => policy.Type === "SetPolicy" && policy.Settings.Id === id);
}

function missingSet(ids: readonly string[], network: NetworkRecord | undefined): string | undefined {
  const missing = ids.find((id) => network !== undefined && !hasSet(network, id));
  return missing === undefined
    ? undefined
    : `the network has no set ${missing}; the rule is about no address`;
}

function reasonForAcl(settings: AclPolicySetting, network: NetworkRecord | undefined): string | undefined {
  if (settings.Action === "Pass") return "Pass has a meaning in tiers only";
  if (isSwitchAcl(settings) && (settings.Priority ?? 0) > DEFAULT_ALLOW_PRIORITY)
    return `the rules at ${DEFAULT_ALLOW_PRIORITY}, which allow everything, decide before Priority ${settings.Priority ?? 0}`;
  return missingSet(setsOf(settings), network);
}

function reasonForMapping(
  policy: Extract<EndpointPolicy, { Type: "PortMapping" }>,
  network: NetworkRecord | undefined,
): string | undefined {
  return isIpv6Mapping(policy.Settings) && network?.type === "Overlay"
    ? "IPv6 is not encapsulated"
    : undefined;
}

/** Why a route does less than on Windows; undefined: it does all. */
export function reasonForRoute({ NextHop }: SdnRoutePolicySetting): string | undefined {
  return (NextHop ?? "") === "" ? undefined : `NextHop is ${NOT_YET}; the prefix bypasses source NAT`;
}

function stored(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${NOT_YET}: ${text}`;
}

type EndpointReason<T extends EndpointPolicyType> = (
  policy: Extract<EndpointPolicy, { Type: T }>,
  network: NetworkRecord | undefined,
) => string | undefined;

/** Policies that act, but not always or not in all that they say. */
const PARTLY_ENFORCED: { readonly [T in EndpointPolicyType]?: EndpointReason<T> } = {
  InterfaceConstraint: ({ Settings }, network) => reasonForBinding(Settings, network),
  PortMapping: reasonForMapping,
  ACL: ({ Settings }, network) => reasonForAcl(Settings, network),
  TierAcl: (policy, network) => missingSet(tuplesOf(policy).flatMap(setsOf), network),
  OutBoundNAT: ({ Settings }) =>
    isIpv6Nat(Settings) ? "IPv6 is not translated; packets keep the endpoint's address" : undefined,
  SDNRoute: ({ Settings }) => reasonForRoute(Settings),
  L4Proxy: ({ Settings }) => reasonForProxy(Settings),
  L4WFPPROXY: ({ Settings }) => reasonForWfpProxy(Settings),
};

/** hcsshim: it limits an endpoint to one NIC. A switch has one adapter, and so have its endpoints. */
function reasonForBinding(
  { InterfaceAlias = "" }: InterfaceConstraintPolicySetting,
  network: NetworkRecord | undefined,
): string | undefined {
  const adapter = network?.adapterName;
  if (adapter === undefined) return `the endpoint's network has no adapter; the policy is ${NOT_YET}`;
  if (InterfaceAlias === adapter) return undefined;
  return InterfaceAlias === ""
    ? "adapters are found by InterfaceAlias, not by their other names"
    : `the endpoint's network is on adapter ${adapter}, and endpoints have no other`;
}

/** What of one policy has no effect where ports get rules. */
function ownReason(policy: EndpointPolicy, network: NetworkRecord | undefined): string | undefined {
  const reasonOf = PARTLY_ENFORCED[policy.Type] as EndpointReason<EndpointPolicyType> | undefined;
  return reasonOf === undefined ? stored(STORED_ENDPOINT_POLICIES[policy.Type]) : reasonOf(policy, network);
}

/** Why a policy of an endpoint of `network` has no effect, or not all of it; undefined: it has. */
export function reasonForEndpointPolicy(
  policy: EndpointPolicy,
  network: NetworkRecord | undefined,
): string | undefined {
  if (policy.Type === "PortMapping" && network !== undefined && traitsOf(network.type).isTranslated)
    return isIpv6Mapping(policy.Settings) ? "WinNAT does not translate IPv6" : undefined;
  if (policy.Type === "VLAN" && network !== undefined)
    return hasVlans(network) ? undefined : `frames of ${network.type} networks are not tagged`;
  // The compartment's own firewall needs no rules on ports.
  const isOfPorts =
    RULE_POLICIES.includes(policy.Type) && !(policy.Type === "ACL" && !isSwitchAcl(policy.Settings));
  const isWithoutRules = network !== undefined && !hasRules(network) && isOfPorts;
  return isWithoutRules ? ruleLimitOf(network.type) : ownReason(policy, network);
}

/** Networks whose frames go through tunnels. */
function hasTunnels({ type }: NetworkRecord): boolean {
  return type === "Overlay";
}

/** Policies of overlay networks on one without tunnels. */
const BRIDGE_REASONS: { readonly [T in NetworkPolicyType]?: string } = {
  DrMacAddress: "an L2Bridge network has no distributed router",
  RemoteSubnetRoute: "an L2Bridge network has no tunnels; use routes between the nodes",
  VxlanPort: "an L2Bridge network has no tunnels",
  HostRoute: "the host and its L2Bridge endpoints reach each other without it",
};

/** On networks that only move frames. */
const WITHOUT_TUNNELS = "only Overlay networks have tunnels";

/** Inferred (dataplane.md §11, Q-18): tunnels carry IPv4, over IPv4. */
function reasonForRemoteSubnet({
  DestinationPrefix,
  ProviderAddress,
}: RemoteSubnetRoutePolicySetting): string | undefined {
  if (DestinationPrefix.includes(":") || ProviderAddress?.includes(":") === true)
    return "IPv6 is not encapsulated";
  return (ProviderAddress ?? "") === "" ? "ProviderAddress names no node to send to" : undefined;
}

/** The adapter of a simulated node is known by its alias. */
function reasonForConstraint(
  { switchKind }: NetworkRecord,
  { InterfaceAlias }: InterfaceConstraintPolicySetting,
): string | undefined {
  if (switchKind !== "external") return NOT_YET;
  return (InterfaceAlias ?? "") === ""
    ? "adapters are found by InterfaceAlias, not by their other names"
    : undefined;
}

/** Why a policy of `network` has no effect, or not all of it; undefined: it has. */
export function reasonForNetworkPolicy(network: NetworkRecord, policy: NetworkPolicy): string | undefined {
  const ofBridge = hasTunnels(network) ? undefined : BRIDGE_REASONS[policy.Type];
  if (ofBridge !== undefined) return hasRules(network) ? ofBridge : WITHOUT_TUNNELS;
  if (policy.Type === "RemoteSubnetRoute") return reasonForRemoteSubnet(policy.Settings);
  const isOfRules = policy.Type === "NetworkACL" || policy.Type === "SetPolicy" || policy.Type === "L4Proxy";
  const isOfHost = policy.Type === "NetworkACL" && !isSwitchAcl(policy.Settings);
  if (isOfRules && !isOfHost && !hasRules(network)) return ruleLimitOf(network.type);
  if (policy.Type === "NetworkACL") return reasonForAcl(policy.Settings, network);
  if (policy.Type === "L4Proxy") return reasonForProxy(policy.Settings);
  if (policy.Type === "InterfaceConstraint") return reasonForConstraint(network, policy.Settings);
  return stored(STORED_NETWORK_POLICIES[policy.Type]);
}
