/**
 * What an overlay network puts into the host's port: packets of the node and of its load balancers into the network, and
 * what comes out of tunnels for the node (dataplane.md §2.2.1, §2.3 O-9).
 */
import { formatPrefix, hostPrefix } from "#core/net/ip.ts";
import { VXLAN_PROTOCOL } from "#dataplane/vfp/flow-key.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import {
  HOST_ROUTE,
  PA_ROUTE_GROUP_PRIORITY,
  decapRules,
  makeGroup,
  makeRule,
  ownPrefixes,
  paRouteRule,
  remoteAddressRules,
} from "./overlay-parts.ts";
import type { OverlayPlan } from "./overlay-plan.ts";
import { networkProvenance } from "../provenance.ts";
import {
  type CompiledRoutes,
  type RemoteSubnets,
  compiledRoutes,
  followRoutes,
  remoteSubnetRules,
} from "./remote-subnets.ts";

const REFUSAL_GROUP_PRIORITY = 50;

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
    return makeGroup("ENCAP_IPV4_OUT", "out", rules)[0];
  });
  const refused = makeGroup("ENCAP_REFUSED_IPV4_OUT", "out", refusalRules(plan), {
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
  return makeGroup("ENCAP_ANSWER_IPV4_OUT", "out", ownSubnetRules(plan, "answers"), {
    priority: ANSWER_GROUP_PRIORITY,
    match: "priority",
  });
}

/** DECAP_IN of the host's port. */
export function compileHostDecap(plan: OverlayPlan): readonly Group[] {
  return makeGroup("DECAP_IPV4_IN", "in", decapRules(plan.virtualSubnets, false));
}
