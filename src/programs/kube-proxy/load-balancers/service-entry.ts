/** One service port on one node: the load balancers that stand for it, and how far its programming has come. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { IpFamily } from "#core/net/ip.ts";
import { type BackOff, forgetFailures, noFailures } from "../sync/back-off.ts";
import type { ReferenceCount } from "./bound-endpoints.ts";
import type { ServiceFinding, LoadBalancerKind, ServicePortStatus } from "../report.ts";
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
