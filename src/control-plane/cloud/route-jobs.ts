/** The orders of one reconciliation: 200 at a time, conflicts again (control-planes.md §6.6, 5 and 6). */
import type { Prng } from "#core/base/prng.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { CloudRoute, RouteFault, RouteOperation, RoutesProvider } from "./cloud-route.ts";
import type { RoutePlan } from "./route-plan.ts";

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
