/** One reconciliation of the routes of a cloud: what is to be done, and the orders that do it. */
import type { Prng } from "#core/base/prng.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { CloudRoute, NodeAddress, RouteFault, RouteOperation, RoutesProvider } from "./cloud-route.ts";
import {
  type Prefix,
  lastIp,
  parseInterfaceAddress,
  prefixContains,
  prefixFamily,
  prefixOf,
} from "#core/net/ip.ts";

// What is to be done about the routes of a cloud: `reconcile` of cloud-provider's `route_controller.go`, as far as it
// decides (control-planes.md §6.6, reconcile loop 1 to 4).

/** `update` is a deletion and a creation. */
type RouteAction = "keep" | "add" | "update";

export interface RoutePlan {
  /** By node that has ranges or routes, and range: what is still to be done. Work that succeeds becomes `keep`. */
  readonly actions: Map<string, Map<string, RouteAction>>;
  readonly deletions: readonly CloudRoute[];
  readonly creations: readonly { readonly node: Node; readonly route: CloudRoute }[];
  /** Routes must be gone before they are made anew. */
  readonly deletesFirst: boolean;
}

/** The API server fills `podCIDRs` from `podCIDR`; a Node from a file may have only the latter. */
function podCidrsOf({ spec }: Node): readonly string[] {
  const { podCIDR = "", podCIDRs = [] } = spec ?? {};
  return podCIDRs.length === 0 && podCIDR !== "" ? [podCIDR] : podCIDRs;
}

function addressesOf({ status }: Node): readonly NodeAddress[] {
  return status?.addresses ?? [];
}

function haveEqualAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, address }) => b.some((other) => other.type === type && other.address === address))
  );
}

/** The first route with that destination decides. A gateway that the cloud tells counts before all addresses. */
function actionFor(
  routes: readonly CloudRoute[],
  cidr: string,
  addresses: readonly NodeAddress[],
): RouteAction {
  const route = routes.find(({ destinationCidr }) => destinationCidr === cidr);
  if (route === undefined) return "add";
  const { gatewayAddress = "", enablesNodeAddresses = false, targetNodeAddresses = [] } = route;
  const isRight =
    gatewayAddress !== ""
      ? addresses.some(({ address }) => address === gatewayAddress)
      : !enablesNodeAddresses || haveEqualAddresses(addresses, targetNodeAddresses);
  return isRight ? "keep" : "update";
}

/** Its first or last address lies in a range of the cluster; all other routes are somebody else's. */
function isResponsibleFor({ destinationCidr }: CloudRoute, clusterCidrs: readonly Prefix[]): boolean {
  const parsed = parseInterfaceAddress(destinationCidr);
  if (parsed === undefined) return false;
  const range = prefixOf(parsed.ip, parsed.length);
  return clusterCidrs.some(
    (cluster) =>
      prefixFamily(cluster) === prefixFamily(range) &&
      (prefixContains(cluster, range.address) || prefixContains(cluster, lastIp(range))),
  );
}

/** Compares what the Nodes want with what the cloud has. */
export function planRoutes(
  nodes: readonly Node[],
  routes: readonly CloudRoute[],
  clusterCidrs: readonly Prefix[],
): RoutePlan {
  const routesOf = Map.groupBy(routes, ({ targetNode }) => targetNode);
  routesOf.delete("");
  const actions = new Map<string, Map<string, RouteAction>>();
  for (const name of routesOf.keys()) actions.set(name, new Map());
  const creations: RoutePlan["creations"][number][] = [];
  for (const node of nodes) {
    const { name } = node.metadata;
    const cidrs = podCidrsOf(node);
    if (cidrs.length === 0) continue;
    const ofNode = actions.get(name) ?? new Map<string, RouteAction>();
    actions.set(name, ofNode);
    const addresses = addressesOf(node);
    for (const cidr of cidrs) {
      const action = actionFor(routesOf.get(name) ?? [], cidr, addresses);
      ofNode.set(cidr, action);
      if (action === "keep") continue;
      const route = { name: "", targetNode: name, targetNodeAddresses: addresses, destinationCidr: cidr };
      creations.push({ node, route });
    }
  }
  const deletions = routes.filter((route) => {
    const action = actions.get(route.targetNode)?.get(route.destinationCidr);
    const isUnwanted = route.isBlackhole === true || action === undefined || action === "update";
    return isUnwanted && isResponsibleFor(route, clusterCidrs);
  });
  return { actions, deletions, creations, deletesFirst: routes[0]?.enablesNodeAddresses === true };
}

// The orders: 200 at a time, conflicts again (control-planes.md §6.6, 5 and 6).

/** `maxConcurrentRouteOperations`. */
const CONCURRENT_MAX = 200;
/** `updateNetworkConditionBackoff`: five attempts, 100 ms and up to as much again by chance between them. */
const ATTEMPTS_MAX = 5;
const RETRY_MS = 100;

interface Job {
  readonly route: CloudRoute;
  /** Whose route is made; undefined: a route is deleted. */
  readonly node: Node | undefined;
  attempts: number;
  notBeforeMs: number;
  beganMs: number;
  operation: RouteOperation | undefined;
}

/** One attempt that failed. */
export interface FailedAttempt {
  readonly route: CloudRoute;
  /** Undefined: it was to be deleted. */
  readonly node: Node | undefined;
  readonly fault: RouteFault;
  readonly tookMs: number;
}

export class RouteJobs {
  private readonly plan: RoutePlan;
  private waiting: Job[];
  private running: Job[] = [];

  constructor(plan: RoutePlan) {
    this.plan = plan;
    const job = (route: CloudRoute, node: Node | undefined): Job => ({
      route,
      node,
      attempts: 0,
      notBeforeMs: 0,
      beganMs: 0,
      operation: undefined,
    });
    this.waiting = [
      ...plan.deletions.map((route) => job(route, undefined)),
      ...plan.creations.map(({ node, route }) => job(route, node)),
    ];
  }

  get isDone(): boolean {
    return this.waiting.length + this.running.length === 0;
  }

  /** When the next attempt of something that met a conflict is due; undefined: only the cloud is waited for. */
  retryAtMs(): number | undefined {
    const times = this.waiting.flatMap(({ attempts, notBeforeMs }) => (attempts > 0 ? [notBeforeMs] : []));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Goes as far as it can. @returns the attempts that have failed. */
  advance(nowMs: number, provider: RoutesProvider, prng: Prng): readonly FailedAttempt[] {
    const failures: FailedAttempt[] = [];
    do failures.push(...this.finish(nowMs, prng));
    while (this.begin(nowMs, provider));
    return failures;
  }

  /** @returns true when something has begun. */
  private begin(nowMs: number, provider: RoutesProvider): boolean {
    const { deletesFirst } = this.plan;
    const isDeleting = [...this.waiting, ...this.running].some(({ node }) => node === undefined);
    const begun: Job[] = [];
    const waiting: Job[] = [];
    for (const job of this.waiting) {
      const isHeld = deletesFirst && isDeleting && job.node !== undefined;
      const hasRoom = this.running.length + begun.length < CONCURRENT_MAX;
      if (isHeld || !hasRoom || job.notBeforeMs > nowMs) {
        waiting.push(job);
        continue;
      }
      job.attempts++;
      job.beganMs = nowMs;
      job.operation =
        job.node === undefined
          ? provider.deleteRoute(job.route)
          : provider.createRoute(job.node.metadata.uid, job.route);
      begun.push(job);
    }
    this.waiting = waiting;
    this.running.push(...begun);
    return begun.length > 0;
  }

  private finish(nowMs: number, prng: Prng): readonly FailedAttempt[] {
    const ended = this.running.filter(({ operation }) => operation?.outcome !== undefined);
    this.running = this.running.filter(({ operation }) => operation?.outcome === undefined);
    return ended.flatMap((job) => {
      const { route, node, operation, beganMs } = job;
      const outcome = operation?.outcome;
      if (outcome?.state !== "failed") {
        if (node !== undefined) this.plan.actions.get(route.targetNode)?.set(route.destinationCidr, "keep");
        return [];
      }
      const { fault } = outcome;
      // A deletion is tried again in the next round.
      if (node !== undefined && fault.isConflict === true && job.attempts < ATTEMPTS_MAX) {
        job.notBeforeMs = nowMs + RETRY_MS + prng.below(RETRY_MS + 1);
        this.waiting.push(job);
      }
      return [{ route, node, fault, tookMs: nowMs - beganMs }];
    });
  }
}
