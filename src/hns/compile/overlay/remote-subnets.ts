/**
 * The ways to the subnets of other nodes (RemoteSubnetRoute, hcn.md §3.1), as rules. A large cluster has hundreds on each
 * node, and a node that joins or leaves is one: the rule of a route is made once, and a group that has the others follows.
 */
import { prefixIn } from "#contracts/hcn/documents/address-list.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { formatPrefix, parseIpv4 } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import {
  type PolicyIndexes,
  type RouteRevision,
  type SubnetRoute,
  listRoutes,
} from "../../service/network/policy-index.ts";
import type { OverlayPlan } from "./overlay-plan.ts";
import { networkProvenance, withNamedPolicy } from "../provenance.ts";
import { makeRule } from "../layers.ts";

/** Who sends: endpoints keep the source's MAC, what the host sends and what its router routes has the router's. */
export type Sender = "endpoint" | "host";

/** What the rules of a route were made from, and what they are. */
interface KnownRules {
  readonly plan: OverlayPlan;
  readonly rules: Readonly<Record<Sender, Rule>> | undefined;
}

/** True when a route comes to the same rules under both plans. */
function isSameFor(a: OverlayPlan, b: OverlayPlan): boolean {
  if (a === b) return true;
  return (
    a.network.id === b.network.id &&
    a.network.name === b.network.name &&
    a.vxlanPort === b.vxlanPort &&
    a.routerMac === b.routerMac &&
    a.virtualSubnets[0] === b.virtualSubnets[0]
  );
}

/** Its router's MAC inside, one hop less (observed; row 3 of walk O-2). Without a MAC of a router the frame's stays. */
function makeRules(
  plan: OverlayPlan,
  { Settings: settings }: SubnetRoute,
): Readonly<Record<Sender, Rule>> | undefined {
  const prefix = prefixIn(settings.DestinationPrefix, 4);
  const providerAddress = parseIpv4(settings.ProviderAddress ?? "");
  if (prefix === undefined || providerAddress === undefined) return undefined;
  const innerMac = parseMac(settings.DistributedRouterMacAddress ?? "");
  const name = `REMOTESUBNETROUTE_${formatPrefix(prefix)}`;
  const fields = {
    id: `${name}|${settings.ProviderAddress ?? ""}`,
    name,
    condition: Object.freeze({ destination: Object.freeze([prefix]) }),
    provenance: Object.freeze(
      withNamedPolicy(networkProvenance(plan.network), "RemoteSubnetRoute", settings.DestinationPrefix),
    ),
  };
  const action = {
    type: "routeencap",
    encapsulation: "vxlan",
    udpPort: plan.vxlanPort,
    tni: settings.IsolationId ?? plan.virtualSubnets[0] ?? 0,
    destinations: [{ providerAddress, ...(innerMac !== undefined && { innerMac }) }],
    decrementTtl: true,
  } as const;
  return Object.freeze({
    endpoint: makeRule({ ...fields, action }),
    host: makeRule({ ...fields, action: { ...action, innerSourceMac: plan.routerMac } }),
  });
}

/**
 * The rules that each route came to last: their matchers and counters go by the rule. Frozen: forks of a world share it,
 * as they share the routes.
 */
export class RouteRules {
  private readonly known: WeakMap<SubnetRoute, KnownRules> = new WeakMap();

  constructor() {
    Object.freeze(this);
  }

  /** Those of `routes`, in order. */
  of(plan: OverlayPlan, routes: readonly SubnetRoute[], sender: Sender): readonly Rule[] {
    return routes.flatMap((route) => this.ruleOf(plan, route, sender) ?? []);
  }

  /** Undefined without a usable prefix or node: `NotEnforced` says so (`service/enforcement.ts`). */
  private ruleOf(plan: OverlayPlan, route: SubnetRoute, sender: Sender): Rule | undefined {
    const known = this.known.get(route);
    if (known !== undefined && isSameFor(known.plan, plan)) return known.rules?.[sender];
    const rules = makeRules(plan, route);
    this.known.set(route, { plan, rules });
    return rules?.[sender];
  }
}

/** The routes of a network, which they are, and what they came to. */
export interface RemoteSubnets {
  readonly revision: RouteRevision;
  /** The list that they are in. */
  readonly policies: readonly NetworkPolicy[];
  readonly rules: RouteRules;
}

export function remoteSubnetsOf(
  indexes: PolicyIndexes,
  rules: RouteRules,
  policies: readonly NetworkPolicy[],
): RemoteSubnets {
  return Object.freeze({ revision: indexes.routeRevisionOf(policies), policies, rules });
}

/** The rules of all routes, in order. Costs a look at all policies: for what is made anew. */
export function remoteSubnetRules(plan: OverlayPlan, remote: RemoteSubnets, sender: Sender): readonly Rule[] {
  return remote.rules.of(plan, listRoutes(remote.policies), sender);
}

/** A group of longest prefixes with the rules of all routes, and others, and what it was made from. */
export interface RoutedGroup {
  readonly group: Group | undefined;
  readonly plan: OverlayPlan;
  readonly token: object;
}

function asksForPrefixOf(group: Group, rule: Rule): boolean {
  const prefix = rule.condition.destination?.[0];
  return prefix !== undefined && group.hasDestination(prefix);
}

/**
 * The group with the routes as they are now, for the price of those that came and went. Undefined: it has to be made anew,
 * since it was made from something else, or since a route has the prefix of another rule, where their order counts.
 */
function follow(before: RoutedGroup, { revision, rules }: RemoteSubnets, sender: Sender): Group | undefined {
  const { group, plan, token } = before;
  const { change } = revision;
  if (group === undefined || change?.since !== token) return undefined;
  const removed = rules.of(plan, change.removed, sender);
  if (!removed.every((rule) => group.has(rule))) return undefined;
  let changed = group.replaceRules(removed, []);
  for (const rule of rules.of(plan, change.added, sender)) {
    if (asksForPrefixOf(changed, rule)) return undefined;
    changed = changed.replaceRules([], [rule]);
  }
  return changed;
}

/** Brings a group in line with the routes; `make` makes it anew where nothing of `before` can stay. */
export function followRoutes(
  before: RoutedGroup | undefined,
  plan: OverlayPlan,
  remote: RemoteSubnets,
  sender: Sender,
  make: () => Group | undefined,
): RoutedGroup {
  const followed = before?.plan === plan ? follow(before, remote, sender) : undefined;
  return Object.freeze({ group: followed ?? make(), plan, token: remote.revision.token });
}

/** The groups of a layer that leads to other nodes' subnets. */
export interface CompiledRoutes {
  readonly groups: readonly Group[];
  readonly routed: RoutedGroup;
}

export function compiledRoutes(
  routed: RoutedGroup,
  first: readonly Group[],
  last: readonly Group[],
): CompiledRoutes {
  const own = routed.group === undefined ? [] : [routed.group];
  return Object.freeze({ groups: Object.freeze([...first, ...own, ...last]), routed });
}
