/**
 * What is stored and returned but does not act on packets, and why: policies first, then all that objects say. Every such
 * policy is named in the object's health data, so that nothing is accepted and silently ignored;
 * `docs/reference/fidelity.md` lists them.
 */
import type { AclPolicySetting } from "#contracts/hcn/documents/acl-policy.ts";
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/sdn-route.ts";
import type { InterfaceConstraintPolicySetting } from "#contracts/hcn/documents/interface-policy.ts";
import type {
  NetworkPolicy,
  RemoteSubnetRoutePolicySetting,
} from "#contracts/hcn/documents/network-policy.ts";
import type { EndpointPolicyType, NetworkPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import { DEFAULT_ALLOW_PRIORITY, isSwitchAcl, setsOf } from "../compile/acl.ts";
import { reasonForWfpProxy } from "../compile/host-filters.ts";
import { reasonForProxy } from "../compile/l4-proxy.ts";
import { isIpv6Nat } from "../compile/outbound-nat.ts";
import { isIpv6Mapping } from "../compile/port-mapping.ts";
import type {
  SdnRouteRecord,
  LoadBalancerPortMappingRecord,
  LoadBalancerRecord,
  EndpointRecord,
  NetworkRecord,
} from "./records.ts";
import { RULE_POLICIES, ruleLimitOf, hasRules, traitsOf, limitOfType } from "./network/type-traits.ts";
import { tuplesOf } from "./policies/set-policies.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { LOAD_BALANCER_FLAGS, LOAD_BALANCER_PORT_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { asksDhcp, V2_FIELDS, isProcessing } from "./endpoint/endpoint-document.ts";
import { shownPolicies, hasVlans } from "./network/network-facts.ts";
import type { ServiceContext } from "./service-context.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** What stands in health data of everything that is kept without an effect. */
const NOT_YET = "stored and returned; this version does not act on it";

/** Policies of endpoints that never act, with what Windows would do. */
export const STORED_ENDPOINT_POLICIES: { readonly [T in EndpointPolicyType]?: string } = {
  Encryption: "packets are not encrypted",
  Firewall: WORDS.notEnforcedFirewall,
};

/** Policies of networks that never act, with what Windows would do. */
export const STORED_NETWORK_POLICIES: { readonly [T in NetworkPolicyType]?: string } = {
  SourceMacAddress: "frames keep the MAC address of the adapter",
  VSwitchExtension: WORDS.notEnforcedVSwitchExtension,
  NeighborDiscovery: "neighbours are not answered for",
};

function hasSet(network: NetworkRecord, id: string): boolean {
  return network.policies.some((policy) => policy.Type === "SetPolicy" && policy.Settings.Id === id);
}

function missingSet(ids: readonly string[], network: NetworkRecord | undefined): string | undefined {
  const missing = ids.find((id) => network !== undefined && !hasSet(network, id));
  return missing === undefined ? undefined : WORDS.notEnforcedMissingSet({ missing });
}

function reasonForAcl(settings: AclPolicySetting, network: NetworkRecord | undefined): string | undefined {
  if (settings.Action === "Pass") return "Pass has a meaning in tiers only";
  if (isSwitchAcl(settings) && (settings.Priority ?? 0) > DEFAULT_ALLOW_PRIORITY)
    return `Priority ${settings.Priority ?? 0} is above ${DEFAULT_ALLOW_PRIORITY}, the last that counts`;
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
function reasonForRoute({ NextHop }: SdnRoutePolicySetting): string | undefined {
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
    : WORDS.notEnforcedOtherAdapter({ adapter });
}

/** What of one policy has no effect where ports get rules. */
function ownReason(policy: EndpointPolicy, network: NetworkRecord | undefined): string | undefined {
  const reasonOf = PARTLY_ENFORCED[policy.Type] as EndpointReason<EndpointPolicyType> | undefined;
  return reasonOf === undefined ? stored(STORED_ENDPOINT_POLICIES[policy.Type]) : reasonOf(policy, network);
}

/** Why a policy of an endpoint of `network` has no effect, or not all of it; undefined: it has. */
function reasonForEndpointPolicy(
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
function reasonForNetworkPolicy(network: NetworkRecord, policy: NetworkPolicy): string | undefined {
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

// What of an object has no effect.

/** One thing that has no effect, and why. */
export interface NotEnforced {
  /** Type of the policy, `Flags`, `Type` for the network's own, or the kind of the object. */
  readonly Type: string;
  /** Position in the object's list of policies; absent for flags and the like. */
  readonly Index?: number;
  readonly Reason: string;
}

/** Those of a list that have a reason, at their positions. */
function reasonsIn<T extends { readonly Type: string }>(
  policies: Iterable<readonly [index: number, policy: T]>,
  reasonOf: (policy: T) => string | undefined,
): NotEnforced[] {
  const found: NotEnforced[] = [];
  for (const [index, policy] of policies) {
    const reason = reasonOf(policy);
    if (reason !== undefined) found.push({ Type: policy.Type, Index: index, Reason: reason });
  }
  return found;
}

/** Those of the named flags that are set. */
function storedFlags<N extends string>(
  flags: number,
  bits: Readonly<Record<N, number>>,
  names: readonly N[],
): readonly NotEnforced[] {
  const set = names.filter((name) => (flags & bits[name]) !== 0);
  return set.map((name) => ({ Type: "Flags", Reason: `${name} (${bits[name]}) is ${NOT_YET}` }));
}

/** Inferred: a guest's vNIC belongs to its utility VM. */
const GUEST_REASON = WORDS.notEnforcedGuest;

const DHCP_REASON = WORDS.notEnforcedDhcp;

const ENDPOINT_FLAGS_STORED = ["DisableInterComputeCommunication", "EnableMirroring"] as const;

const MACHINE_REASON = WORDS.notEnforcedVirtualMachine;

/** What of an endpoint of `network` has no effect. */
export function notEnforcedOnEndpoint(
  endpoint: EndpointRecord,
  network: NetworkRecord | undefined,
): readonly NotEnforced[] {
  const found = reasonsIn(endpoint.policies.entries(), (policy) => reasonForEndpointPolicy(policy, network));
  found.push(...storedFlags(endpoint.flags, ENDPOINT_FLAGS, ENDPOINT_FLAGS_STORED));
  const isDhcp = endpoint.ipConfigs.length === 0 && (endpoint.flags & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  if (isDhcp && (network === undefined || !asksDhcp(network, endpoint)))
    found.push({ Type: "Flags", Reason: DHCP_REASON });
  if (endpoint.virtualMachine !== undefined) found.push({ Type: "Port", Reason: MACHINE_REASON });
  if (endpoint.attachment?.kind === "guest") found.push({ Type: "Attachment", Reason: GUEST_REASON });
  return found;
}

/** True for a policy that asks for source NAT of IPv6. */
export function asksForIpv6Nat(policy: EndpointPolicy): boolean {
  return policy.Type === "OutBoundNAT" && isIpv6Nat(policy.Settings);
}

/** Policies that let packets through or not. */
const DECIDING: ReadonlySet<EndpointPolicyType> = new Set(["ACL", "TierAcl", "Firewall"]);

/**
 * What of the policies of an endpoint, and of its network, may decide about packets on Windows and decides about none
 * here. Public material does not settle what ACLs of RuleType Switch do to ports without VFP: the documentation of
 * Windows containers names Windows Firewall for Transparent and NAT networks, users saw such ACLs hold on NAT networks of
 * Server 2019 and not of Server 2025 (https://github.com/microsoft/Windows-Containers/issues/616).
 */
export function undecidedOnEndpoint(
  endpoint: EndpointRecord,
  network: NetworkRecord | undefined,
): readonly NotEnforced[] {
  const withoutRules = network !== undefined && !hasRules(network) ? network : undefined;
  const found = reasonsIn(endpoint.policies.entries(), (policy) => {
    const isDecided = policy.Type !== "Firewall" && withoutRules === undefined;
    return DECIDING.has(policy.Type) && !isDecided ? reasonForEndpointPolicy(policy, network) : undefined;
  });
  if (withoutRules !== undefined)
    found.push(
      ...reasonsIn(withoutRules.policies.entries(), (policy) =>
        policy.Type === "NetworkACL" ? reasonForNetworkPolicy(withoutRules, policy) : undefined,
      ),
    );
  if ((endpoint.flags & ENDPOINT_FLAGS.DisableInterComputeCommunication) !== 0)
    found.push({ Type: "Flags", Reason: `DisableInterComputeCommunication is ${NOT_YET}` });
  return found;
}

const NOT_PROCESSED: readonly NotEnforced[] = Object.freeze([
  Object.freeze({
    Type: "SchemaVersion",
    Reason: WORDS.notProcessedV2Fields({ v2Fields: V2_FIELDS.join(", ") }),
  }),
]);

/** What of an endpoint was ignored because of its form. */
export function notProcessed(context: ServiceContext, endpoint: EndpointRecord): readonly NotEnforced[] {
  return isProcessing(context) || endpoint.schemaVersion.Major < 2 ? [] : NOT_PROCESSED;
}

/**
 * Flags of a port mapping that no rule follows from. `VipExternalIP` marks what a front end is, and changes nothing.
 * A flag that the compiler has learnt leaves this list.
 */
const PORT_FLAG_REASONS: readonly (readonly [keyof typeof LOAD_BALANCER_PORT_FLAGS, string])[] = [
  ["ILB", "the load balancers of Azure's fabric are not simulated"],
];

/**
 * Flag 4 asks for DSR towards node ports, as hcsshim says, and flag 8 needs it (hcn.md §8.2); with DSR the back end gets
 * packets as they came and answers by itself.
 */
const PORT_FLAGS_OF_DSR: typeof PORT_FLAG_REASONS = [
  ["UseMux", "back ends answer clients directly with DSR (Flags 1) only"],
  ["PreserveDip", WORDS.preserveDipNeedsDsr],
];

function notEnforcedOnMapping(
  mapping: LoadBalancerPortMappingRecord,
  index: number,
  isDsr: boolean,
): readonly NotEnforced[] {
  const found: NotEnforced[] = [];
  const flags = isDsr ? PORT_FLAG_REASONS : [...PORT_FLAG_REASONS, ...PORT_FLAGS_OF_DSR];
  for (const [name, reason] of flags) {
    const bit = LOAD_BALANCER_PORT_FLAGS[name];
    if ((mapping.flags & bit) !== 0)
      found.push({ Type: "PortMapping", Index: index, Reason: `Flags ${bit} (${name}): ${reason}` });
  }
  if (mapping.protocol === IpProtocol.sctp)
    found.push({ Type: "PortMapping", Index: index, Reason: "SCTP (132) is not balanced" });
  return found;
}

/** What of a load balancer of `network` has no effect. */
export function notEnforcedOnLoadBalancer(
  loadBalancer: LoadBalancerRecord,
  network: NetworkRecord | undefined,
): readonly NotEnforced[] {
  if (network !== undefined && !hasRules(network))
    return [{ Type: "LoadBalancer", Reason: ruleLimitOf(network.type) }];
  const { flags } = loadBalancer;
  const isDsr = (flags & LOAD_BALANCER_FLAGS.DSR) !== 0;
  return loadBalancer.portMappings.flatMap((mapping, index) => notEnforcedOnMapping(mapping, index, isDsr));
}

/** What of an SDN route of `network` has no effect. */
export function notEnforcedOnSdnRoute(
  { routes }: SdnRouteRecord,
  network: NetworkRecord | undefined,
): readonly NotEnforced[] {
  if (network !== undefined && !hasRules(network))
    return [{ Type: "SdnRoute", Reason: ruleLimitOf(network.type) }];
  return routes.flatMap((route, index) => {
    const reason = reasonForRoute(route);
    return reason === undefined ? [] : [{ Type: "SDNRoute", Index: index, Reason: reason }];
  });
}

/** Flags that are stored; the others act, are bookkeeping, or concern other types of network. */
const STORED_FLAGS = [
  "EnableMirroring",
  "EnableFirewall",
  "WeakHostReceiveAdapter",
  "WeakHostSendAdapter",
] as const;

function notEnforcedFlags(context: ServiceContext, { flags }: NetworkRecord): readonly NotEnforced[] {
  const found = storedFlags(flags, NETWORK_FLAGS, STORED_FLAGS);
  const bit = NETWORK_FLAGS.DisableHostPort;
  if ((flags & bit) === 0 || context.has("DisableHostPort")) return found;
  const { Major, Minor } = context.version;
  const reason = WORDS.disableHostPortUnsupported({ major: Major, minor: Minor, bit });
  return [...found, { Type: "Flags", Reason: reason }];
}

/** What of a network has no effect. */
export function notEnforcedOnNetwork(
  context: ServiceContext,
  network: NetworkRecord,
): readonly NotEnforced[] {
  const found: NotEnforced[] = [];
  const limit = limitOfType(network.type);
  if (limit !== undefined) found.push({ Type: "Type", Reason: limit });
  const shown = shownPolicies(context, network).entries();
  found.push(...reasonsIn(shown, (policy) => reasonForNetworkPolicy(network, policy)));
  found.push(...notEnforcedFlags(context, network));
  const isSwitched = Object.keys(network.extensions).length > 0;
  if (isSwitched && !network.policies.some((policy) => policy.Type === "VSwitchExtension"))
    found.push({
      Type: "Extension",
      Reason: `${NOT_YET}: ${STORED_NETWORK_POLICIES.VSwitchExtension ?? ""}`,
    });
  for (const subnet of [...network.subnets, ...network.bareSubnets]) {
    for (const policy of subnet.policies)
      if (policy.Type === "VLAN" ? !hasVlans(network) : network.type !== "Overlay")
        found.push({ Type: policy.Type, Reason: `a subnet's ${policy.Type} is ${NOT_YET}` });
  }
  return found;
}
