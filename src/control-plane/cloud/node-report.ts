/** What the Routes controller says about nodes: their condition NetworkUnavailable, and Events (control-planes.md §6.6, 6 and 7). */
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import type { FailedAttempt } from "./route-jobs.ts";

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
export async function reportCondition(
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
export async function reportFailure(
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
    message: `Could not create route ${uid} ${route.destinationCidr} for node ${name} after ${formatDuration(tookMs)}: ${fault.message}`,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
  });
}
