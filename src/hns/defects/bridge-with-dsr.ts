/**
 * `l2bridge-dsr-kb5005619`: pods of an L2Bridge network do not reach each other while DSR is on
 * (windows-networking-documentation.md §5). The mechanism is not public. Inferred: what a pod sends to the address of
 * another pod ends in LB_DSR, the layer that only DSR fills; what a Service leads there passes, and so do the answers
 * to what came in. Inferred: IPv6, which nobody reported, is not concerned.
 */
import { parseAddressOrPrefix, prefixOfAddress } from "../../hcn/address-list.ts";
import type { Ip } from "../../net/ip.ts";
import { type Prefix, hostPrefix, prefixContains, prefixFamily } from "../../net/prefix.ts";
import { type Group, createGroup } from "../../vfp/group.ts";
import type { Direction, Rule } from "../../vfp/rule.ts";
import type { CompileCache } from "../compile/compile-cache.ts";
import { type NetworkView, hostLegsOf } from "../compile/network-view.ts";
import { networkProvenance } from "../compile/provenance.ts";
import type { RoutedEndpoint } from "../compile/sdn-routes.ts";
import { serviceRangesOf } from "../compile/service-ranges.ts";

/** Behind the rules of load balancers. */
const GROUP_PRIORITY = 60_000;
const RULE_PRIORITY = 100;
const NAME = "L2BRIDGE_DSR_KB5005619";

/** Ranges that the endpoint's source NAT leaves alone: the cluster's, that of services, that of the nodes. */
function exceptionsOf(endpoint: RoutedEndpoint): readonly Prefix[] {
  return endpoint.policies.flatMap((policy) =>
    policy.Type === "OutBoundNAT" ? (policy.Settings.Exceptions ?? []).flatMap(readPrefix) : [],
  );
}

function readPrefix(text: string): readonly Prefix[] {
  const parsed = parseAddressOrPrefix(text);
  const prefix = parsed === undefined ? undefined : prefixOfAddress(parsed);
  return prefix !== undefined && prefixFamily(prefix) === 4 ? [prefix] : [];
}

function overlaps(a: Prefix, b: Prefix): boolean {
  return prefixContains(a, b.address) || prefixContains(b, a.address);
}

/** Where pods have their addresses, as far as the node can tell: neither its own range nor that of services. */
function podRangesOf(view: NetworkView, endpoint: RoutedEndpoint): readonly Prefix[] {
  const services = serviceRangesOf([endpoint]);
  const all = [...view.network.subnets.map(({ prefix }) => prefix), ...exceptionsOf(endpoint)];
  return all.filter(
    (prefix) =>
      prefixFamily(prefix) === 4 &&
      !view.node.addresses.some((ip) => prefixContains(prefix, ip)) &&
      !services.some((range) => overlaps(range, prefix)),
  );
}

/** Addresses in the ranges that are no pod's: gateways and the host's legs. */
function otherAddresses(view: NetworkView): readonly Ip[] {
  const gateways = view.network.subnets.flatMap(({ gateway }) => (gateway === undefined ? [] : [gateway]));
  const legs = hostLegsOf(view).flatMap(({ ipConfigs }) => ipConfigs.map(({ ip }) => ip));
  return [...gateways, ...legs].filter((ip) => typeof ip === "number");
}

function groupOf(
  direction: Direction,
  fields: Pick<Rule, "condition" | "action" | "isStateful">,
  view: NetworkView,
): Group {
  const rule: Rule = Object.freeze({
    id: `${NAME}_${direction}`,
    name: NAME,
    priority: RULE_PRIORITY,
    isTerminating: true,
    provenance: networkProvenance(view.network),
    inferred: "windows-networking-documentation.md §5",
    ...fields,
    condition: Object.freeze(fields.condition),
    action: Object.freeze(fields.action),
  });
  // A name of its own: ids of groups are unique in a layer, and services have theirs here.
  const name = `LB_DSR_DEFECT_IPv4_${direction.toUpperCase()}`;
  return createGroup({
    name,
    direction,
    family: 4,
    priority: GROUP_PRIORITY,
    match: "priority",
    rules: [rule],
  });
}

/** What the defect adds to the LB_DSR layer of a pod's port. */
export function compileBridgeDefect(
  cache: CompileCache,
  view: NetworkView,
  endpoint: RoutedEndpoint,
): readonly Group[] {
  const others = otherAddresses(view);
  const inputs = [view.network, endpoint.policies, endpoint.sdnRoutes, ...view.node.addresses, ...others];
  return cache.get(endpoint.id, "defect/bridge-with-dsr", inputs, () => {
    const pods = podRangesOf(view, endpoint);
    if (pods.length === 0) return Object.freeze([]);
    const toPods = { destination: pods, destinationExcept: others.map(hostPrefix) };
    const block = { type: "block", code: "l2bridge-broken-with-dsr" } as const;
    return Object.freeze([
      groupOf("out", { condition: toPods, action: block, isStateful: false }, view),
      // Whoever was let in gets answers.
      groupOf("in", { condition: {}, action: { type: "allow" }, isStateful: true }, view),
    ]);
  });
}
