/**
 * The Routes controller of a cloud-controller-manager: a route in the cloud for each range of each node, none for nodes
 * that are gone (control-planes.md §6.6; k8s.io/cloud-provider `controllers/route/route_controller.go`).
 */
import type { Prng } from "#core/base/prng.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { RouteFault, RoutesProvider } from "./cloud-route.ts";
import { type FailedAttempt, RouteJobs, type RoutePlan, planRoutes } from "./route-jobs.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

// What the Routes controller says about nodes: their condition NetworkUnavailable, and Events (control-planes.md §6.6, 6 and 7).

const COMPONENT = "route_controller";
const MS_PER_SECOND = 1_000;
const MS_PER_MINUTE = 60_000;
const MINUTES_PER_HOUR = 60;
const NANOSECONDS_PER_MS = 1_000_000n;

/** As Kubernetes writes times: RFC 3339 with whole seconds. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** As Go writes durations: `0s`, `250ms`, `1m30s`. */
function formatDuration(ms: number): string {
  if (ms > 0 && ms < MS_PER_SECOND) return `${ms}ms`;
  const minutes = Math.floor(ms / MS_PER_MINUTE);
  const seconds = `${(ms % MS_PER_MINUTE) / MS_PER_SECOND}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / MINUTES_PER_HOUR);
  return `${hours === 0 ? "" : `${hours}h`}${minutes % MINUTES_PER_HOUR}m${seconds}`;
}

/**
 * The status of a condition is written only when it is another than the present one; reason and message of somebody else
 * (flanneld, a CNI agent) stay when the status agrees (`updateNetworkingCondition`).
 */
async function reportCondition(
  source: KubeSource,
  node: Node,
  hasRoutes: boolean,
  epochMs: number,
): Promise<void> {
  const status = hasRoutes ? "False" : "True";
  const present = node.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
  if (present?.status === status) return;
  const now = timeText(epochMs);
  const condition = {
    type: "NetworkUnavailable",
    status,
    reason: hasRoutes ? "RouteCreated" : "NoRouteCreated",
    message: hasRoutes ? "RouteController created a route" : "RouteController failed to create a route",
    lastTransitionTime: now,
    lastHeartbeatTime: now,
  };
  await source.patch(
    "Node",
    { namespace: "", name: node.metadata.name },
    { type: "strategic", body: { status: { conditions: [condition] } } },
    { subresource: "status" },
  );
}

/**
 * An Event of an object without namespace stands in `default`, and is named after the object and the time in nanoseconds;
 * the controller gives the node's name in place of its uid.
 * @param sequence Tells Events of one moment apart.
 */
async function reportFailure(
  source: KubeSource,
  node: Node,
  { route, fault, tookMs }: FailedAttempt,
  epochMs: number,
  sequence: number,
): Promise<void> {
  const { name, uid } = node.metadata;
  const time = timeText(epochMs);
  const nanoseconds = BigInt(Math.trunc(epochMs)) * NANOSECONDS_PER_MS + BigInt(sequence);
  await source.create("Event", {
    metadata: { namespace: "default", name: `${name}.${nanoseconds.toString(16)}` },
    involvedObject: { kind: "Node", name, uid: name },
    type: "Warning",
    reason: "FailedToCreateRoute",
    message: WORDS.routeCreationFailed({
      uid,
      destinationCidr: route.destinationCidr,
      name,
      tookMs: formatDuration(tookMs),
      message: fault.message,
    }),
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
  });
}

/** `--route-reconciliation-period`. */
const PERIOD_MS = 10_000;

export interface RoutesControllerParts {
  readonly provider: RoutesProvider;
  /** `--cluster-cidr`: routes into these ranges are the controller's, all others are not. */
  readonly clusterCidrs: readonly Prefix[];
  /** Spreads the attempts after conflicts. */
  readonly prng: Prng;
  /** The time of day when the clock stood at 0, in milliseconds since 1970. */
  readonly epochMs: number;
  readonly periodMs?: number;
}

/** What one call of `advance` has come to. */
export interface RoutesProgress {
  /** Call again after that time. */
  readonly nextInMs: number;
  /** What failed in this call; the controller goes on, and tries in its next round what is still wanted. */
  readonly findings: readonly RouteFault[];
}

interface Round {
  readonly beganMs: number;
  readonly nodes: readonly Node[];
  readonly plan: RoutePlan;
  readonly jobs: RouteJobs;
}

/** What cannot be started. */
export class RoutesControllerError extends Error {
  override readonly name = "RoutesControllerError";
  readonly code: KnowledgeCode = "routes-without-cluster-cidr";
}

/**
 * Plain data that never sleeps: `advance` goes as far as it can and says when it wants to be called again. One call ends
 * before the next begins. The source is handed to each call, because a source is no part of a world.
 */
export class RoutesController {
  private readonly parts: RoutesControllerParts;
  private round: Round | undefined;
  private dueAtMs = 0;
  /** The Nodes as they were heard of last: an API server that is away ends no route. */
  private nodes: readonly Node[] | undefined;
  private findings: RouteFault[] = [];

  /** @throws RoutesControllerError without any range of the cluster, with which upstream ends, too. */
  constructor(parts: RoutesControllerParts) {
    if (parts.clusterCidrs.length === 0)
      throw new RoutesControllerError("RouteController: Must specify clusterCIDR.");
    this.parts = parts;
  }

  async advance(nowMs: number, source: KubeSource): Promise<RoutesProgress> {
    const { provider, prng, epochMs } = this.parts;
    this.findings = [];
    provider.advance(nowMs);
    if (this.round === undefined && nowMs >= this.dueAtMs) await this.begin(nowMs, source);
    const { round } = this;
    if (round !== undefined) {
      const failures = round.jobs.advance(nowMs, provider, prng);
      for (const [index, failure] of failures.entries()) {
        this.findings.push(failure.fault);
        const { node } = failure;
        if (node !== undefined)
          await this.report(() => reportFailure(source, node, failure, epochMs + nowMs, index));
      }
      if (round.jobs.isDone) await this.end(nowMs, round, source);
    }
    return { nextInMs: this.nextInMs(nowMs), findings: this.findings };
  }

  private async begin(nowMs: number, source: KubeSource): Promise<void> {
    const { provider, clusterCidrs, periodMs = PERIOD_MS } = this.parts;
    await this.report(async () => {
      this.nodes = (await source.list("Node")).items;
    });
    const { nodes } = this;
    this.dueAtMs = nowMs + periodMs;
    if (nodes === undefined) return;
    provider.observeNodes(nodes);
    const listing = provider.listRoutes(nowMs);
    if (listing.state === "failed") {
      this.findings.push(listing.fault);
      return;
    }
    const plan = planRoutes(nodes, listing.routes, clusterCidrs);
    this.round = { beganMs: nowMs, nodes, plan, jobs: new RouteJobs(plan) };
  }

  /** A period is counted from the beginning of a round; one that took longer is followed by the next at once. */
  private async end(nowMs: number, round: Round, source: KubeSource): Promise<void> {
    const { periodMs = PERIOD_MS, epochMs } = this.parts;
    this.round = undefined;
    this.dueAtMs = Math.max(round.beganMs + periodMs, nowMs);
    for (const node of round.nodes) {
      const actions = round.plan.actions.get(node.metadata.name);
      // Neither ranges nor routes: nobody's business.
      if (actions === undefined) continue;
      const hasRoutes = actions.size > 0 && [...actions.values()].every((action) => action === "keep");
      await this.report(() => reportCondition(source, node, hasRoutes, epochMs + nowMs));
    }
  }

  /** What the API refuses is a finding: the next round compares again, and writes what is still missing. */
  private async report(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.findings.push({ code: error.code, message: error.message });
    }
  }

  private nextInMs(nowMs: number): number {
    const ownAtMs = this.round === undefined ? this.dueAtMs : this.round.jobs.retryAtMs();
    const waits = [
      ownAtMs === undefined ? undefined : ownAtMs - nowMs,
      this.parts.provider.advance(nowMs),
    ].filter((wait) => wait !== undefined);
    return Math.max(0, Math.min(...waits, this.parts.periodMs ?? PERIOD_MS));
  }
}
