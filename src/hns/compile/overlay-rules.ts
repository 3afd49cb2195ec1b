/**
 * The rules that make an overlay network (dataplane.md §2.2.1, §2.3): into tunnels and out of them, round the
 * distributed router, and to the next hop. Layers, groups, the decap rule and PA_ROUTE are observed.
 * Inferred: the names of the other rules and groups, and that of the observed groups those of the distributed router's
 * port stand on the other ports too.
 */
import { defined } from "../../base/assert.ts";
import { parseAddressOrPrefix, prefixOfAddress } from "../../hcn/address-list.ts";
import { type Ip, formatIp, parseIp } from "../../net/ip.ts";
import { ANY_IPV4, type Prefix, formatPrefix, hostPrefix, prefixFamily, prefixOf } from "../../net/prefix.ts";
import { VXLAN_PROTOCOL } from "../../vfp/flow-key.ts";
import { type Group, createGroup } from "../../vfp/group.ts";
import type { Action, Direction, Rule } from "../../vfp/rule.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { OverlayPlan, RemoteAddress, RemoteSubnet } from "./overlay-plan.ts";
import { virtualSubnetOf } from "./overlay-plan.ts";
import { HNS_DEFAULT, endpointProvenance, networkProvenance, withPolicy } from "./provenance.ts";
import { type RoutedEndpoint, sdnRouteSources } from "./sdn-routes.ts";

/** Multicast and the limited broadcast: they have no next hop, and are not delivered to other nodes (dataplane.md §2.10). */
const GROUPS: readonly Prefix[] = [
  prefixOf(defined(parseIp("224.0.0.0"), "an address"), 4),
  hostPrefix(defined(parseIp("255.255.255.255"), "an address")),
];

const GROUP_PRIORITY = 100;
/** Asked behind the group that all ports of a network share: an endpoint's own routes, then what stays plain. */
const SDN_ROUTE_GROUP_PRIORITY = 200;
const PLAIN_GROUP_PRIORITY = 300;
const PA_ROUTE_GROUP_PRIORITY = 200;
const PA_ROUTE_PRIORITY = 45_535;
const DECAP_PRIORITY = 45_534;
const RULE_PRIORITY = 100;
const REFUSAL_GROUP_PRIORITY = 50;

const ENCAPSULATION = "dataplane.md §2.3 O-2";
const LOCAL = "dataplane.md §11 Q-4";
const ROUTER = "dataplane.md §2.3 O-2, §11 Q-3";
const HOST_ROUTE = "dataplane.md §2.3 O-9, Appendix A";

const ENCAP_OUT = "VNET_GROUP_ENCAP_IPV4_OUT";
const ENCAP_IN = "VNET_GROUP_ENCAP_IPV4_IN";

type RuleFields = Pick<Rule, "name" | "condition" | "action" | "provenance"> & Partial<Rule>;

function makeRule(fields: RuleFields): Rule {
  return Object.freeze({
    id: fields.name,
    priority: RULE_PRIORITY,
    isTerminating: true,
    isStateful: false,
    ...fields,
    condition: Object.freeze(fields.condition),
    action: Object.freeze(fields.action),
  });
}

function makeGroup(
  name: string,
  direction: Direction,
  rules: readonly Rule[],
  fields: { readonly priority?: number; readonly match?: "priority" | "lpm-destination" } = {},
): readonly Group[] {
  if (rules.length === 0) return Object.freeze([]);
  const { priority = GROUP_PRIORITY, match = "lpm-destination" } = fields;
  return Object.freeze([createGroup({ name, direction, family: 4, priority, match, rules })]);
}

function ownPrefixes(plan: OverlayPlan): readonly Prefix[] {
  return plan.subnets.map(({ prefix }) => prefix);
}

/** To a prefix of another node: its router's MAC inside, one hop less (observed; row 3 of walk O-2). */
function remoteSubnetRule(plan: OverlayPlan, remote: RemoteSubnet, isRouted: boolean): Rule {
  const { prefix, providerAddress, routerMac, virtualSubnet, index } = remote;
  return makeRule({
    id: `${index}|REMOTESUBNETROUTE_${formatPrefix(prefix)}`,
    name: `REMOTESUBNETROUTE_${formatPrefix(prefix)}`,
    condition: { destination: [prefix] },
    action: {
      type: "routeencap",
      encapsulation: "vxlan",
      udpPort: plan.vxlanPort,
      tni: virtualSubnet,
      destinations: [{ providerAddress, ...(routerMac !== undefined && { innerMac: routerMac }) }],
      decrementTtl: true,
      ...(isRouted && { innerSourceMac: plan.routerMac }),
    },
    provenance: withPolicy(networkProvenance(plan.network), "RemoteSubnetRoute", index),
  });
}

/** To an address of another node in the network: the MAC inside is that of the endpoint, and no hop is counted. */
function remoteAddressRule(plan: OverlayPlan, remote: RemoteAddress): Rule {
  const { ip, mac, virtualSubnet, providerAddress, endpoint } = remote;
  return makeRule({
    name: `REMOTE_ENDPOINT_${formatIp(ip)}`,
    condition: { destination: [hostPrefix(ip)] },
    action: {
      type: "routeencap",
      encapsulation: "vxlan",
      udpPort: plan.vxlanPort,
      tni: virtualSubnet,
      destinations: [{ providerAddress, innerMac: mac }],
    },
    provenance: endpointProvenance(endpoint),
    inferred: "dataplane.md §2.13",
  });
}

/** One remote address each, the latest endpoint's: two of one address would be two rules of one prefix. */
function remoteAddressRules(plan: OverlayPlan): readonly Rule[] {
  const latest = new Map(plan.remoteAddresses.map((remote) => [remote.ip, remote]));
  return [...latest.values()].map((remote) => remoteAddressRule(plan, remote));
}

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

/** Stays on the node: the layer would drop what no rule names. */
function plainRule(plan: OverlayPlan, prefix: Prefix): Rule {
  return makeRule({
    name: `NO_ENCAP_${formatPrefix(prefix)}`,
    condition: { destination: [prefix] },
    action: { type: "allow" },
    provenance: networkProvenance(plan.network),
    inferred: LOCAL,
  });
}

/**
 * VNET_ENCAP_LAYER OUT of all endpoints' ports. Inferred: what no route names leaves without a tunnel, since source NAT
 * stands behind this layer (walk O-7); seen is that answers do so when their route is missing (F-07).
 */
export function compileEncapOut(plan: OverlayPlan): readonly Group[] {
  const rules = [
    ...plan.remoteSubnets.map((remote) => remoteSubnetRule(plan, remote, false)),
    ...remoteAddressRules(plan),
    ...hostRouteRules(plan),
    ...ownPrefixes(plan).map((prefix) => plainRule(plan, prefix)),
  ];
  const plain = makeGroup("VNET_GROUP_NO_ENCAP_IPV4_OUT", "out", [plainRule(plan, ANY_IPV4)], {
    priority: PLAIN_GROUP_PRIORITY,
  });
  return Object.freeze([...makeGroup(ENCAP_OUT, "out", rules), ...plain]);
}

/** An SDNRoute that asks for a tunnel and names no next hop leads over the host (dataplane.md §2.14; walk O-5). */
export function compileEncapRoutes(plan: OverlayPlan, endpoint: RoutedEndpoint): readonly Group[] {
  const ip = endpoint.ipConfigs[0]?.ip;
  const action = ip === undefined ? undefined : toHost(plan, virtualSubnetOf(plan, ip));
  if (action === undefined) return Object.freeze([]);
  const rules = sdnRouteSources(endpoint).flatMap(({ setting, index, provenance }): readonly Rule[] => {
    if (setting.NeedEncap !== true || (setting.NextHop ?? "") !== "") return [];
    const parsed = parseAddressOrPrefix(setting.DestinationPrefix);
    const prefix = parsed && prefixOfAddress(parsed);
    if (prefix === undefined || prefixFamily(prefix) !== 4) return [];
    const name = `ROUTE_${formatPrefix(prefix)}`;
    const condition = { destination: [prefix] };
    return [
      makeRule({ id: `${index}|${name}`, name, condition, action, provenance, inferred: ENCAPSULATION }),
    ];
  });
  return makeGroup("VNET_GROUP_ENCAP_ROUTE_IPV4_OUT", "out", rules, { priority: SDN_ROUTE_GROUP_PRIORITY });
}

/** Takes frames out of the tunnels of these virtual subnets, and keeps the MACs inside (observed). */
function decapRules(virtualSubnets: readonly number[], pushesTni: boolean): readonly Rule[] {
  return virtualSubnets.map((virtualSubnet) =>
    makeRule({
      id: `DECAP_${virtualSubnet}`,
      name: "DECAP",
      priority: DECAP_PRIORITY,
      condition: { protocols: [VXLAN_PROTOCOL], tunnelId: virtualSubnet, destination: [ANY_IPV4] },
      action: { type: "decap", ...(pushesTni && { pushesTni }) },
      provenance: HNS_DEFAULT,
    }),
  );
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
  return makeGroup(ENCAP_IN, "in", [
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
    ...makeGroup(ENCAP_OUT, "out", own),
    ...makeGroup(ENCAP_IN, "in", [...decapRules(plan.virtualSubnets, true), ...own]),
  ]);
}

/**
 * What came for an address of this node is turned round to it. Inferred: with the router's MAC as source, and no
 * hop counted.
 */
function turnRule(plan: OverlayPlan, endpoint: EndpointRecord, ip: Ip): Rule {
  // An address that is nobody's vNIC is the source of the host's load balancers.
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
  return makeGroup("REMOTESUBNETROUTE_HAIRPIN_GROUP", "in", rules);
}

function paRouteRule(plan: OverlayPlan, id: string, condition: Rule["condition"], inferred: boolean): Rule {
  return makeRule({
    id,
    name: "PA_ROUTE",
    listedId: "",
    priority: PA_ROUTE_PRIORITY,
    condition,
    action: { type: "paroute" },
    provenance: networkProvenance(plan.network),
    ...(inferred && { inferred: "dataplane.md §2.2.1" }),
  });
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
  return makeGroup("VNET_GROUP_PA_ROUTE_IPV4_OUT", "out", [rule, loopbackRule(plan, own)], {
    priority: PA_ROUTE_GROUP_PRIORITY,
    match: "priority",
  });
}

/** The host's stack has routed what leaves its port; tunnels and translated packets need another next hop. */
export function compileHostPaRoute(plan: OverlayPlan): readonly Group[] {
  const rules = [
    paRouteRule(plan, "PA_ROUTE", { protocols: [VXLAN_PROTOCOL] }, false),
    paRouteRule(plan, "PA_ROUTE_TRANSLATED", { isSourceTranslated: true }, true),
  ];
  return makeGroup("VNET_GROUP_PA_ROUTE_IPV4_OUT", "out", rules, {
    priority: PA_ROUTE_GROUP_PRIORITY,
    match: "priority",
  });
}

/** To the endpoints of this node, over the router. */
function ownSubnetRules(plan: OverlayPlan): readonly Rule[] {
  const { providerAddress, routerMac } = plan;
  if (providerAddress === undefined) return [];
  return plan.subnets.map(({ prefix, virtualSubnet }) =>
    makeRule({
      name: `HOSTROUTE_${formatPrefix(prefix)}`,
      condition: { destination: [prefix] },
      action: {
        type: "routeencap",
        encapsulation: "vxlan",
        udpPort: plan.vxlanPort,
        tni: virtualSubnet,
        destinations: [{ providerAddress, innerMac: routerMac }],
        innerSourceMac: routerMac,
      },
      provenance: networkProvenance(plan.network),
      inferred: HOST_ROUTE,
    }),
  );
}

/**
 * Without the HostRoute policy the node does not reach its endpoints (documented, DT-052). Inferred: its packets end at
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
export function compileHostEncap(plan: OverlayPlan): readonly Group[] {
  const rules = [
    ...plan.remoteSubnets.map((remote) => remoteSubnetRule(plan, remote, true)),
    ...remoteAddressRules(plan),
    ...ownSubnetRules(plan),
  ];
  return Object.freeze([
    ...makeGroup("ENCAP_REFUSED_IPV4_OUT", "out", refusalRules(plan), {
      priority: REFUSAL_GROUP_PRIORITY,
      match: "priority",
    }),
    ...makeGroup("ENCAP_IPV4_OUT", "out", rules),
  ]);
}

/** DECAP_IN of the host's port. */
export function compileHostDecap(plan: OverlayPlan): readonly Group[] {
  return makeGroup("DECAP_IPV4_IN", "in", decapRules(plan.virtualSubnets, false));
}
