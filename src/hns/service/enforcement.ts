/**
 * What is stored and returned but does not act on packets. Every such policy is named in the object's health data, so
 * that nothing is accepted and silently ignored.
 */
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { LOAD_BALANCER_FLAGS, LOAD_BALANCER_PORT_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { asksDhcp } from "./endpoint/endpoint-addresses.ts";
import type { EndpointRecord } from "./endpoint/endpoint-record.ts";
import type {
  LoadBalancerPortMappingRecord,
  LoadBalancerRecord,
} from "./load-balancer/load-balancer-record.ts";
import type { NetworkRecord } from "./network/network-record.ts";
import { limitOfType, ruleLimitOf, hasRules } from "./network/type-traits.ts";
import { shownPolicies } from "./network/management.ts";
import {
  NOT_YET,
  STORED_NETWORK_POLICIES,
  reasonForEndpointPolicy,
  reasonForNetworkPolicy,
  reasonForRoute,
} from "./policies/enforcement.ts";
import { hasVlans } from "./network/make-record.ts";
import type { ServiceContext } from "./service-context.ts";
import type { SdnRouteRecord } from "./sdn-route-record.ts";

/** One thing that has no effect, and why. */
export interface NotEnforced {
  /** Type of the policy, `Flags`, `Type` for the network's own, or the kind of the object. */
  readonly Type: string;
  /** Position in the object's list of policies; absent for flags and the like. */
  readonly Index?: number;
  readonly Reason: string;
}

/** Inferred: a guest's vNIC belongs to its utility VM. */
const GUEST_REASON = "the vNIC of a Guest namespace belongs to a utility VM, which this version does not run";

const DHCP_REASON =
  "endpoints of this type of network do not ask on the wire, so the endpoint has no address";

const ENDPOINT_FLAGS_STORED = [
  "DisableInterComputeCommunication",
  "EnableMirroring",
] as const satisfies readonly (keyof typeof ENDPOINT_FLAGS)[];

const MACHINE_REASON = "the port is one of a virtual machine, which this version does not run";

/** What of an endpoint of `network` has no effect. */
export function notEnforcedOnEndpoint(
  endpoint: EndpointRecord,
  network: NetworkRecord | undefined,
): readonly NotEnforced[] {
  const found: NotEnforced[] = [];
  for (const [index, policy] of endpoint.policies.entries()) {
    const reason = reasonForEndpointPolicy(policy, network);
    if (reason !== undefined) found.push({ Type: policy.Type, Index: index, Reason: reason });
  }
  for (const name of ENDPOINT_FLAGS_STORED) {
    const bit = ENDPOINT_FLAGS[name];
    if ((endpoint.flags & bit) !== 0) found.push({ Type: "Flags", Reason: `${name} (${bit}) is ${NOT_YET}` });
  }
  const isDhcp = endpoint.ipConfigs.length === 0 && (endpoint.flags & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  if (isDhcp && (network === undefined || !asksDhcp(network, endpoint)))
    found.push({ Type: "Flags", Reason: DHCP_REASON });
  if (endpoint.virtualMachine !== undefined) found.push({ Type: "Port", Reason: MACHINE_REASON });
  if (endpoint.attachment?.kind === "guest") found.push({ Type: "Attachment", Reason: GUEST_REASON });
  return found;
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
  ["PreserveDip", "packets keep the address of the front end with DSR (Flags 1) only"],
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
] as const satisfies readonly (keyof typeof NETWORK_FLAGS)[];

function notEnforcedFlags(context: ServiceContext, { flags }: NetworkRecord): readonly NotEnforced[] {
  const found: NotEnforced[] = [];
  for (const name of STORED_FLAGS) {
    const bit = NETWORK_FLAGS[name];
    if ((flags & bit) !== 0) found.push({ Type: "Flags", Reason: `${name} (${bit}) is ${NOT_YET}` });
  }
  const bit = NETWORK_FLAGS.DisableHostPort;
  if ((flags & bit) !== 0 && !context.has("DisableHostPort")) {
    const { Major, Minor } = context.version;
    const reason = `HNS ${Major}.${Minor} does not know DisableHostPort (${bit}); the host has its vNIC`;
    found.push({ Type: "Flags", Reason: reason });
  }
  return found;
}

/** What of a network has no effect. */
export function notEnforcedOnNetwork(
  context: ServiceContext,
  network: NetworkRecord,
): readonly NotEnforced[] {
  const found: NotEnforced[] = [];
  const limit = limitOfType(network.type);
  if (limit !== undefined) found.push({ Type: "Type", Reason: limit });
  for (const [index, policy] of shownPolicies(context, network).entries()) {
    const reason = reasonForNetworkPolicy(network, policy);
    if (reason !== undefined) found.push({ Type: policy.Type, Index: index, Reason: reason });
  }
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
