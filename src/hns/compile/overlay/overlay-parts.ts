/** The rules that ports of an overlay network share, and how all of them are made (dataplane.md §2.2.1, §2.3). */
import { ANY_IPV4, type Prefix, formatIp, formatPrefix, hostPrefix } from "#core/net/ip.ts";
import { VXLAN_PROTOCOL } from "#dataplane/vfp/flow-key.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import type { OverlayPlan, RemoteAddress } from "./overlay-plan.ts";
import { HNS_DEFAULT, endpointProvenance, networkProvenance } from "../provenance.ts";

const GROUP_PRIORITY = 100;
/** Of VNET_GROUP_PA_ROUTE_IPV4_OUT on all ports (observed). */
export const PA_ROUTE_GROUP_PRIORITY = 200;
export const PA_ROUTE_PRIORITY = 45_535;
const DECAP_PRIORITY = 45_534;
const RULE_PRIORITY = 100;

export const LOCAL = "dataplane.md §11 Q-4";
export const HOST_ROUTE = "dataplane.md §2.3 O-9, Appendix A";

type RuleFields = Pick<Rule, "name" | "condition" | "action" | "provenance"> & Partial<Rule>;

export function makeRule(fields: RuleFields): Rule {
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

export function makeGroup(
  name: string,
  direction: VfpDirection,
  rules: readonly Rule[],
  fields: { readonly priority?: number; readonly match?: "priority" | "lpm-destination" } = {},
): readonly Group[] {
  if (rules.length === 0) return Object.freeze([]);
  const { priority = GROUP_PRIORITY, match = "lpm-destination" } = fields;
  return Object.freeze([createGroup({ name, direction, family: 4, priority, match, rules })]);
}

export function ownPrefixes(plan: OverlayPlan): readonly Prefix[] {
  return plan.subnets.map(({ prefix }) => prefix);
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
export function remoteAddressRules(plan: OverlayPlan): readonly Rule[] {
  const latest = new Map(plan.remoteAddresses.map((remote) => [remote.ip, remote]));
  return [...latest.values()].map((remote) => remoteAddressRule(plan, remote));
}

/** Stays on the node: the layer would drop what no rule names. */
export function plainRule(plan: OverlayPlan, prefix: Prefix): Rule {
  return makeRule({
    name: `NO_ENCAP_${formatPrefix(prefix)}`,
    condition: { destination: [prefix] },
    action: { type: "allow" },
    provenance: networkProvenance(plan.network),
    inferred: LOCAL,
  });
}

/** Takes frames out of the tunnels of these virtual subnets, and keeps the MACs inside (observed). */
export function decapRules(virtualSubnets: readonly number[], pushesTni: boolean): readonly Rule[] {
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

export function paRouteRule(
  plan: OverlayPlan,
  id: string,
  condition: Rule["condition"],
  inferred: boolean,
): Rule {
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
