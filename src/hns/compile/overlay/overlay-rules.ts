/**
 * The rules on the ports of an overlay network's endpoints and of its distributed router (dataplane.md §2.2.1, §2.3): into
 * tunnels and out of them, round the router, and to the next hop. Layers, groups, the decap rule and PA_ROUTE are observed.
 * Inferred: the names of the other rules and groups, and that of the observed groups those of the distributed router's
 * port stand on the other ports too.
 */
import { defined } from "#core/base/assert.ts";
import { prefixIn } from "#contracts/hcn/documents/address-list.ts";
import {
  type Ip,
  type Prefix,
  ANY_IPV4,
  formatIp,
  formatPrefix,
  hostPrefix,
  parseIp,
  prefixOf,
} from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Action, Rule } from "#dataplane/vfp/rule.ts";
import type { EndpointRecord } from "../../service/records.ts";
import {
  type OverlayPlan,
  HOST_ROUTE,
  LOCAL,
  decapRules,
  overlayGroup,
  ownPrefixes,
  paRouteRule,
  plainRule,
  virtualSubnetOf,
  remoteAddressRules,
} from "./overlay-plan.ts";
import {
  type RoutedEndpoint,
  endpointProvenance,
  networkProvenance,
  withPolicy,
  sdnRouteSources,
} from "../provenance.ts";
import {
  type CompiledRoutes,
  type RemoteSubnets,
  compiledRoutes,
  followRoutes,
  remoteSubnetRules,
} from "./remote-subnets.ts";
import { VXLAN_PROTOCOL } from "#dataplane/vfp/flow-key.ts";
import { makeRule, PA_ROUTE_GROUP_PRIORITY, PA_ROUTE_PRIORITY } from "../layers.ts";

/** Multicast and the limited broadcast: they have no next hop, and are not delivered to other nodes (dataplane.md §2.10). */
const GROUPS: readonly Prefix[] = [
  prefixOf(defined(parseIp("224.0.0.0"), "an address"), 4),
  hostPrefix(defined(parseIp("255.255.255.255"), "an address")),
];

/** Asked behind the group that all ports of a network share: an endpoint's own routes, then what stays plain. */
const SDN_ROUTE_GROUP_PRIORITY = 200;
const PLAIN_GROUP_PRIORITY = 300;

const ENCAPSULATION = "dataplane.md §2.3 O-2";
const ROUTER = "dataplane.md §2.3 O-2, §11 Q-3";

const ENCAP_OUT = "VNET_GROUP_ENCAP_IPV4_OUT";
const ENCAP_IN = "VNET_GROUP_ENCAP_IPV4_IN";

/** Over the node's own port, where its stack or its load balancers take the packet out of the tunnel again. */
function toHost(plan: OverlayPlan, virtualSubnet: number): Action | undefined {
  const { providerAddress, hostMac } = plan;
  if (providerAddress === undefined) return undefined;
  return {
    type: "routeencap",
    encapsulation: "vxlan",
    udpPort: plan.vxlanPort,
    tni: virtualSubnet,
    destinations: [{ providerAddress, innerMac: hostMac }],
  };
}

/** Inferred: with the HostRoute policy the endpoints reach the node, and answer it, by a tunnel of the node to itself. */
function hostRouteRules(plan: OverlayPlan): readonly Rule[] {
  const { hostRoute, providerAddress } = plan;
  const action = toHost(plan, plan.virtualSubnets[0] ?? 0);
  if (hostRoute === undefined || providerAddress === undefined || action === undefined) return [];
  return [
    makeRule({
      name: `HOSTROUTE_${formatIp(providerAddress)}`,
      condition: { destination: [hostPrefix(providerAddress)] },
      action,
      provenance: withPolicy(networkProvenance(plan.network), "HostRoute", hostRoute),
      inferred: HOST_ROUTE,
    }),
  ];
}

/**
 * VNET_ENCAP_LAYER OUT of all endpoints' ports. Inferred: what no route names leaves without a tunnel, since source NAT
 * stands behind this layer (walk O-7); seen is that answers do so when their route is missing (F-07).
 */
export function compileEncapOut(
  plan: OverlayPlan,
  remote: RemoteSubnets,
  before?: CompiledRoutes,
): CompiledRoutes {
  const routed = followRoutes(before?.routed, plan, remote, "endpoint", () => {
    const rules = [
      ...remoteSubnetRules(plan, remote, "endpoint"),
      ...remoteAddressRules(plan),
      ...hostRouteRules(plan),
      ...ownPrefixes(plan).map((prefix) => plainRule(plan, prefix)),
    ];
    return overlayGroup(ENCAP_OUT, "out", rules)[0];
  });
  const plain = overlayGroup("VNET_GROUP_NO_ENCAP_IPV4_OUT", "out", [plainRule(plan, ANY_IPV4)], {
    priority: PLAIN_GROUP_PRIORITY,
  });
  return compiledRoutes(routed, [], plain);
}

/** An SDNRoute that asks for a tunnel and names no next hop leads over the host (dataplane.md §2.14; walk O-5). */
export function compileEncapRoutes(plan: OverlayPlan, endpoint: RoutedEndpoint): readonly Group[] {
  const ip = endpoint.ipConfigs[0]?.ip;
  const action = ip === undefined ? undefined : toHost(plan, virtualSubnetOf(plan, ip));
  if (action === undefined) return Object.freeze([]);
  const rules = sdnRouteSources(endpoint).flatMap(({ setting, index, provenance }): readonly Rule[] => {
    if (setting.NeedEncap !== true || (setting.NextHop ?? "") !== "") return [];
    const prefix = prefixIn(setting.DestinationPrefix, 4);
    if (prefix === undefined) return [];
    const name = `ROUTE_${formatPrefix(prefix)}`;
    const condition = { destination: [prefix] };
    return [
      makeRule({ id: `${index}|${name}`, name, condition, action, provenance, inferred: ENCAPSULATION }),
    ];
  });
  return overlayGroup("VNET_GROUP_ENCAP_ROUTE_IPV4_OUT", "out", rules, {
    priority: SDN_ROUTE_GROUP_PRIORITY,
  });
}

/**
 * VNET_ENCAP_LAYER IN of one endpoint's port. Inferred (row 8 of walk O-7): what comes from outside the network has the
 * router's MAC as source, and the endpoint's as destination whatever steered it here.
 */
export function compileEncapIn(plan: OverlayPlan, endpoint: EndpointRecord): readonly Group[] {
  const provenance = endpointProvenance(endpoint);
  const virtualSubnets = [...new Set(endpoint.ipConfigs.map(({ ip }) => virtualSubnetOf(plan, ip)))];
  const [own] = endpoint.ipConfigs;
  const label = own === undefined ? "" : formatIp(own.ip);
  return overlayGroup(ENCAP_IN, "in", [
    ...decapRules(virtualSubnets, false),
    makeRule({
      name: `NO_DECAP_${label}`,
      condition: { destination: [ANY_IPV4], source: ownPrefixes(plan) },
      action: { type: "transpose", destinationMac: endpoint.mac },
      provenance,
      inferred: LOCAL,
    }),
    makeRule({
      name: `FROM_ROUTER_${label}`,
      condition: { destination: [ANY_IPV4] },
      action: { type: "transpose", sourceMac: plan.routerMac, destinationMac: endpoint.mac },
      provenance,
      inferred: "dataplane.md §2.3 O-7",
    }),
  ]);
}

/** VNET_ENCAP_LAYER of the distributed router's port. */
export function compileRouterEncap(plan: OverlayPlan): readonly Group[] {
  const own = ownPrefixes(plan).map((prefix) => plainRule(plan, prefix));
  return Object.freeze([
    ...overlayGroup(ENCAP_OUT, "out", own),
    ...overlayGroup(ENCAP_IN, "in", [...decapRules(plan.virtualSubnets, true), ...own]),
  ]);
}

/**
 * What came for an address of this node is turned round to it. Inferred: with the router's MAC as source, and no
 * hop counted.
 */
function turnRule(plan: OverlayPlan, endpoint: EndpointRecord, ip: Ip): Rule {
  // An address without a vNIC is the source of the host's load balancers.
  const isSourceVip = endpoint.attachment === undefined;
  return makeRule({
    name: `REMOTESUBNETROUTE_HAIRPIN_${formatIp(ip)}`,
    condition: { destination: [hostPrefix(ip)] },
    action: {
      type: "transpose",
      sourceMac: plan.routerMac,
      destinationMac: isSourceVip ? plan.hostMac : endpoint.mac,
    },
    provenance: endpointProvenance(endpoint),
    inferred: ROUTER,
  });
}

/** REMOTESUBNETROUTE_HAIRPIN_LAYER IN of the distributed router's port; name and number of the group are observed. */
export function compileRouterHairpin(
  plan: OverlayPlan,
  endpoints: readonly EndpointRecord[],
): readonly Group[] {
  const rules = endpoints.flatMap((endpoint) =>
    endpoint.ipConfigs.flatMap(({ ip }) => (typeof ip === "number" ? [turnRule(plan, endpoint, ip)] : [])),
  );
  return overlayGroup("REMOTESUBNETROUTE_HAIRPIN_GROUP", "in", rules);
}

/** What source NAT has translated and stays on the node, as with loopbackDSR (walk O-6), comes from the router. */
function loopbackRule(plan: OverlayPlan, own: readonly Prefix[]): Rule {
  return makeRule({
    name: "LOOPBACK",
    priority: PA_ROUTE_PRIORITY,
    condition: { isSourceTranslated: true, destination: own },
    action: { type: "transpose", sourceMac: plan.routerMac },
    provenance: networkProvenance(plan.network),
    inferred: "dataplane.md §2.3 O-6",
  });
}

/**
 * VNET_PA_ROUTE_LAYER of endpoints and of the router. Inferred: what stays on the node keeps its MACs; the observed rule
 * has no condition that shows.
 */
export function compilePodPaRoute(plan: OverlayPlan): readonly Group[] {
  const own = ownPrefixes(plan);
  const rule = paRouteRule(plan, "PA_ROUTE", { destinationExcept: [...own, ...GROUPS] }, true);
  return overlayGroup("VNET_GROUP_PA_ROUTE_IPV4_OUT", "out", [rule, loopbackRule(plan, own)], {
    priority: PA_ROUTE_GROUP_PRIORITY,
    match: "priority",
  });
}

// What an overlay network puts into the host's port: packets of the node and of its load balancers into the network,
// and what comes out of tunnels for the node (dataplane.md §2.2.1, §2.3 O-9).

const REFUSAL_GROUP_PRIORITY = 50;

/** The host's stack has routed what leaves its port; tunnels and translated packets need another next hop. */
export function compileHostPaRoute(plan: OverlayPlan): readonly Group[] {
  const rules = [
    paRouteRule(plan, "PA_ROUTE", { protocols: [VXLAN_PROTOCOL] }, false),
    paRouteRule(plan, "PA_ROUTE_TRANSLATED", { isSourceTranslated: true }, true),
  ];
  return overlayGroup("VNET_GROUP_PA_ROUTE_IPV4_OUT", "out", rules, {
    priority: PA_ROUTE_GROUP_PRIORITY,
    match: "priority",
  });
}

/** To the endpoints of this node, over the router. `answers`: what load balancers send back into the virtual subnet. */
function ownSubnetRules(plan: OverlayPlan, purpose: "all" | "answers" = "all"): readonly Rule[] {
  const { providerAddress, routerMac } = plan;
  if (providerAddress === undefined) return [];
  return plan.subnets.map(({ prefix, virtualSubnet }) =>
    makeRule({
      name: `${purpose === "all" ? "HOSTROUTE" : "ANSWER"}_${formatPrefix(prefix)}`,
      condition: { destination: [prefix], ...(purpose === "answers" && { tni: virtualSubnet }) },
      action: {
        type: "routeencap",
        encapsulation: "vxlan",
        udpPort: plan.vxlanPort,
        tni: virtualSubnet,
        destinations: [{ providerAddress, innerMac: routerMac }],
        innerSourceMac: routerMac,
      },
      provenance: networkProvenance(plan.network),
      inferred: purpose === "all" ? HOST_ROUTE : SEVERAL_NETWORKS,
    }),
  );
}

/**
 * Without the HostRoute policy the node does not reach its endpoints (documented, dataplane.md §10). Inferred: its packets end at
 * its own port.
 */
function refusalRules(plan: OverlayPlan): readonly Rule[] {
  const { hostRoute, providerAddress } = plan;
  if (hostRoute !== undefined || providerAddress === undefined) return [];
  return [
    makeRule({
      name: "NO_HOSTROUTE",
      condition: { source: [hostPrefix(providerAddress)], destination: ownPrefixes(plan) },
      action: { type: "block", code: "overlay-without-host-route" },
      provenance: networkProvenance(plan.network),
      inferred: HOST_ROUTE,
    }),
  ];
}

/** ENCAP OUT of the host's port: packets of the node and of its load balancers into the network. */
export function compileHostEncap(
  plan: OverlayPlan,
  remote: RemoteSubnets,
  before?: CompiledRoutes,
): CompiledRoutes {
  const routed = followRoutes(before?.routed, plan, remote, "host", () => {
    const rules = [
      ...remoteSubnetRules(plan, remote, "host"),
      ...remoteAddressRules(plan),
      ...ownSubnetRules(plan),
    ];
    return overlayGroup("ENCAP_IPV4_OUT", "out", rules)[0];
  });
  const refused = overlayGroup("ENCAP_REFUSED_IPV4_OUT", "out", refusalRules(plan), {
    priority: REFUSAL_GROUP_PRIORITY,
    match: "priority",
  });
  return compiledRoutes(routed, refused, []);
}

/** Before the routes of all networks: those choose by the address alone. */
const ANSWER_GROUP_PRIORITY = 60;
/** dataplane.md §2.3 O-5 shows one network. */
const SEVERAL_NETWORKS = "dataplane.md §2.3 O-5";

/**
 * ENCAP OUT of the host's port, for answers of load balancers. Inferred: where networks of a node hold the same addresses,
 * an answer goes back into the virtual subnet that its question came out of (dataplane.md §2.3 O-5 shows one network).
 */
export function compileHostAnswers(plan: OverlayPlan): readonly Group[] {
  return overlayGroup("ENCAP_ANSWER_IPV4_OUT", "out", ownSubnetRules(plan, "answers"), {
    priority: ANSWER_GROUP_PRIORITY,
    match: "priority",
  });
}

/** DECAP_IN of the host's port. */
export function compileHostDecap(plan: OverlayPlan): readonly Group[] {
  return overlayGroup("DECAP_IPV4_IN", "in", decapRules(plan.virtualSubnets, false));
}
