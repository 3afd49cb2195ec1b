/** One service port on one node: the load balancers that stand for it, and how far its programming has come. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { ReferenceCount } from "./bound-endpoints.ts";
import type { LoadBalancerKind, ServiceFinding, ServicePortStatus } from "../report.ts";
import type { TrackedPort } from "../tracking/tracked-service.ts";

/** The place of one load balancer of a service port. */
export interface LoadBalancerSlot {
  readonly kind: LoadBalancerKind;
  /** Empty for node ports. */
  readonly vip: string;
  /** Undefined: there is none. */
  id: Guid | undefined;
}

/** The remote endpoint that stands for a ClusterIP on overlay networks, kept by the entry that made it. */
export interface ServiceVipEndpoint {
  readonly id: Guid;
  counter: ReferenceCount | undefined;
}

export interface ServiceEntry {
  readonly port: TrackedPort;
  /** Annotation `preserve-destination`, where HNS has DSR. */
  readonly preservesDestination: boolean;
  /** `externalTrafficPolicy: Local`, where HNS has DSR, whatever the type of the Service. */
  readonly hasLocalTrafficDsr: boolean;
  /** In the order in which they are made: ClusterIP, node port, external addresses, ingress and its health check. */
  readonly slots: readonly LoadBalancerSlot[];
  /** A named port starts at 0 and takes what the endpoints say. */
  targetPort: number;
  vipEndpoint: ServiceVipEndpoint | undefined;
  isApplied: boolean;
  findings: readonly ServiceFinding[];
  /** `hardened`: nothing can be done before its endpoints change. */
  isWaiting: boolean;
  /** `hardened`: how often it failed in a row. */
  readonly backOff: BackOff;
}

function slotsOf(port: TrackedPort): readonly LoadBalancerSlot[] {
  const slot = (kind: LoadBalancerKind, vip: string): LoadBalancerSlot => ({ kind, vip, id: undefined });
  return [
    slot("ClusterIP", port.clusterIp),
    ...(port.nodePort > 0 ? [slot("NodePort", "")] : []),
    ...port.externalIps.map((vip) => slot("ExternalIP", vip)),
    ...port.ingressIps.flatMap((vip) => [slot("Ingress", vip), slot("HealthCheck", vip)]),
  ];
}

export function makeServiceEntry(port: TrackedPort, hasDsr: boolean): ServiceEntry {
  return {
    port,
    preservesDestination: port.preservesDestination && hasDsr,
    hasLocalTrafficDsr: port.isExternalPolicyLocal && hasDsr,
    slots: slotsOf(port),
    targetPort: port.targetPort,
    vipEndpoint: undefined,
    isApplied: false,
    findings: [],
    isWaiting: false,
    backOff: noFailures(),
  };
}

/** It has to be gone through again, without regard to what failed before. */
export function reopen(entry: ServiceEntry): void {
  entry.isApplied = false;
  entry.isWaiting = false;
  forgetFailures(entry.backOff);
}

/** By namespace, name, and place in the Service. Upstream goes through them in no order. */
export function compareEntries(a: ServiceEntry, b: ServiceEntry): number {
  const [one, other] = [a.port, b.port];
  if (one.namespace !== other.namespace) return one.namespace < other.namespace ? -1 : 1;
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.index - other.index;
}

export function statusOf(entry: ServiceEntry, family: IpFamily): ServicePortStatus {
  const { namespace, name, portName, protocol, port } = entry.port;
  return {
    namespace,
    name,
    portName,
    protocol,
    port,
    family,
    isApplied: entry.isApplied,
    frontEnds: entry.slots.flatMap(({ kind, vip, id }) => (id === undefined ? [] : [{ kind, vip, id }])),
    places: entry.slots.flatMap(({ kind, vip, id }) => {
      if (kind === "HealthCheck" && id === undefined) return [];
      const checked = entry.port.healthCheckNodePort;
      const at = kind === "NodePort" ? entry.port.nodePort : kind === "HealthCheck" ? checked : port;
      return [{ kind, vip, id, port: at }];
    }),
    findings: entry.findings,
  };
}

// How long after a failure an entry is tried again: at once, then after 1 s, 2 s, 4 s …, at most a minute.

const FIRST_MS = 1_000;
const LAST_MS = 60_000;

/** Failures in a row of one thing. Plain data. */
export interface BackOff {
  failures: number;
  /** Not to be tried before. */
  retryAtMs: number;
}

export function noFailures(): BackOff {
  return { failures: 0, retryAtMs: 0 };
}

export function isDue(backOff: BackOff, nowMs: number | undefined): boolean {
  return nowMs === undefined || backOff.failures === 0 || backOff.retryAtMs <= nowMs;
}

/** It failed once more. Without a time every sync tries again. */
export function noteFailure(backOff: BackOff, nowMs: number | undefined): void {
  const waitMs = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(backOff.failures, 16));
  backOff.failures++;
  backOff.retryAtMs = (nowMs ?? 0) + waitMs;
}

/** It went well, or is another thing now. */
export function forgetFailures(backOff: BackOff): void {
  backOff.failures = 0;
  backOff.retryAtMs = 0;
}

/** How long until the first of them is due; undefined when none has failed. */
export function nextRetryMs(backOffs: Iterable<BackOff>, nowMs: number | undefined): number | undefined {
  let next: number | undefined;
  for (const { failures, retryAtMs } of backOffs) {
    if (failures === 0) continue;
    const waitMs = nowMs === undefined ? FIRST_MS : Math.max(0, retryAtMs - nowMs);
    if (next === undefined || waitMs < next) next = waitMs;
  }
  return next;
}
