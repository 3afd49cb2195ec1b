/**
 * The policies of a network as rules are made from them: a few settings, and the routes to the subnets of other nodes, of
 * which a large cluster has hundreds and one comes or goes at a time. What is worked out of a list belongs to the list,
 * which is frozen; the list that a request makes takes it over for the price of what the request names. The service keeps
 * what is worked out.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { NetworkRecord } from "../records.ts";

/** A policy and its position in the network's list. */
export interface PlacedPolicy {
  readonly policy: NetworkPolicy;
  readonly index: number;
}

/** The way to the subnet of another node. */
export type SubnetRoute = Extract<NetworkPolicy, { Type: "RemoteSubnetRoute" }>;

/** What came and went since another token stood for the routes. */
interface RouteChange {
  readonly since: object;
  readonly removed: readonly SubnetRoute[];
  readonly added: readonly SubnetRoute[];
}

/** Which routes a list has. */
export class RouteRevision {
  /** Stands for the routes: lists with the same ones have the same token. */
  readonly token: object = Object.freeze({});
  /** How they came of the routes that another token stands for; undefined: they were read as a whole. */
  readonly change: RouteChange | undefined;

  constructor(change: RouteChange | undefined) {
    this.change = change === undefined ? undefined : Object.freeze(change);
    Object.freeze(this);
  }
}

type RoutesByKey = Map<string, SubnetRoute[]>;

interface PolicyIndex {
  readonly settings: readonly PlacedPolicy[];
  readonly routes: RouteRevision;
  /** Handed on to the list that comes of this one; this one is read anew when it is asked again. */
  byKey: RoutesByKey | undefined;
}

function isRoute(policy: NetworkPolicy): policy is SubnetRoute {
  return policy.Type === "RemoteSubnetRoute";
}

/** What a request to remove a route goes by (hcn.md §5.3). */
function keyOf({ Settings }: SubnetRoute): string {
  return `${Settings.DestinationPrefix}|${Settings.ProviderAddress}`;
}

function readSettings(policies: readonly NetworkPolicy[]): readonly PlacedPolicy[] {
  const settings: PlacedPolicy[] = [];
  for (const [index, policy] of policies.entries())
    if (!isRoute(policy)) settings.push(Object.freeze({ policy, index }));
  return Object.freeze(settings);
}

function addRoute(byKey: RoutesByKey, route: SubnetRoute): void {
  addToList(byKey, keyOf(route), route);
}

function removeRoute(byKey: RoutesByKey, route: SubnetRoute): void {
  const key = keyOf(route);
  const left = (byKey.get(key) ?? []).filter((other) => other !== route);
  if (left.length === 0) byKey.delete(key);
  else byKey.set(key, left);
}

function routesByKey(policies: readonly NetworkPolicy[], index: PolicyIndex): RoutesByKey {
  if (index.byKey !== undefined) return index.byKey;
  const byKey: RoutesByKey = new Map();
  for (const policy of policies) if (isRoute(policy)) addRoute(byKey, policy);
  index.byKey = byKey;
  return byKey;
}

/** The routes themselves, in order. Costs a look at all policies. */
export function listRoutes(policies: readonly NetworkPolicy[]): readonly SubnetRoute[] {
  return policies.filter(isRoute);
}

function follow(
  before: PolicyIndex,
  after: readonly NetworkPolicy[],
  change: {
    readonly removed: readonly NetworkPolicy[];
    readonly added: readonly NetworkPolicy[];
    readonly firstGap: number;
  },
): PolicyIndex {
  const [removed, added] = [change.removed.filter(isRoute), change.added.filter(isRoute)];
  const hasOthers = removed.length + added.length < change.removed.length + change.added.length;
  const haveMoved = (before.settings.at(-1)?.index ?? -1) > change.firstGap;
  const settings = hasOthers || haveMoved ? readSettings(after) : before.settings;
  const { byKey } = before;
  before.byKey = undefined;
  if (byKey !== undefined) {
    for (const route of removed) removeRoute(byKey, route);
    for (const route of added) addRoute(byKey, route);
  }
  if (removed.length + added.length === 0) return { settings, routes: before.routes, byKey };
  const since = before.routes.token;
  const routes = new RouteRevision({
    since,
    removed: Object.freeze(removed),
    added: Object.freeze(added),
  });
  return { settings, routes, byKey };
}

// A network without what comes and goes by itself: most rules are made of it, and few changes of a network change it.

/** A network without its routes to the subnets of other nodes. */
export interface NetworkFrame extends Omit<NetworkRecord, "policies" | "changedAtMs"> {
  /** All policies but the routes. */
  readonly settings: readonly PlacedPolicy[];
}

function areEqual(a: NetworkFrame, b: NetworkFrame): boolean {
  const names = Object.keys(b) as (keyof NetworkFrame)[];
  return names.length === Object.keys(a).length && names.every((name) => a[name] === b[name]);
}

/** What is worked out of lists of policies, by list. Frozen: forks of a world share it, as they share the lists. */
export class PolicyIndexes {
  private readonly indexes: WeakMap<readonly NetworkPolicy[], PolicyIndex> = new WeakMap();

  constructor() {
    Object.freeze(this);
  }

  /** All but the routes, in order: the same object as long as none of them came, went or moved. */
  settingsOf(policies: readonly NetworkPolicy[]): readonly PlacedPolicy[] {
    return this.indexOf(policies).settings;
  }

  /** Which routes there are. */
  routeRevisionOf(policies: readonly NetworkPolicy[]): RouteRevision {
    return this.indexOf(policies).routes;
  }

  /** The routes with the prefix and the node of `wanted`. */
  sameRoutes(policies: readonly NetworkPolicy[], wanted: SubnetRoute): readonly SubnetRoute[] {
    return routesByKey(policies, this.indexOf(policies)).get(keyOf(wanted)) ?? [];
  }

  /** The list without `removed`, which are in it, and with `added` behind the rest. */
  changedPolicies(
    before: readonly NetworkPolicy[],
    removed: readonly NetworkPolicy[],
    added: readonly NetworkPolicy[],
  ): readonly NetworkPolicy[] {
    let after = [...before];
    let firstGap = before.length;
    if (removed.length > 1) {
      const leaving = new Set(removed);
      firstGap = before.findIndex((policy) => leaving.has(policy));
      after = before.filter((policy) => !leaving.has(policy));
    } else if (removed[0] !== undefined) {
      firstGap = before.indexOf(removed[0]);
      after.splice(firstGap, 1);
    }
    after.push(...added);
    const policies = Object.freeze(after);
    this.indexes.set(policies, follow(this.indexOf(before), policies, { removed, added, firstGap }));
    return policies;
  }

  /** @returns `before` itself when the network is the same but for its routes. */
  frameOf(network: NetworkRecord, before?: NetworkFrame): NetworkFrame {
    const { policies, changedAtMs: _, ...fields } = network;
    const frame = { ...fields, settings: this.settingsOf(policies) };
    return before !== undefined && areEqual(before, frame) ? before : Object.freeze(frame);
  }

  private indexOf(policies: readonly NetworkPolicy[]): PolicyIndex {
    const known = this.indexes.get(policies);
    if (known !== undefined) return known;
    const routes = new RouteRevision(undefined);
    const index: PolicyIndex = { settings: readSettings(policies), routes, byKey: undefined };
    // What is not frozen may be another list tomorrow.
    if (Object.isFrozen(policies)) this.indexes.set(policies, index);
    return index;
  }
}
