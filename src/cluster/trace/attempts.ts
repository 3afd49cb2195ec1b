/** Attempts from one party to another: one by itself, and one for each pair of a cluster, which shows who reaches whom. */
import { type Cluster, forkCluster, podAt } from "../cluster.ts";
import { type TraceEnd, listTraceEnds } from "./find-trace-end.ts";
import type { ProbeProtocol } from "./trace-report.ts";
import { assert } from "#core/base/assert.ts";
import { DnsProbe, DnsTcpProbe } from "#dataplane/host/probes/dns-probe.ts";
import { DNS_PORT } from "#dataplane/host/resolver/question.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { ProbeResult } from "#dataplane/host/probes/probe.ts";
import { EchoProbe, TcpProbe, UdpProbe } from "#dataplane/host/probes/probe.ts";
import type { Ip } from "#core/net/ip.ts";

/** One attempt, run to its end on the cluster's clock. */
export interface ProbeAttempt {
  readonly from: Compartment;
  readonly to: Ip;
  readonly protocol: ProbeProtocol;
  /** Not looked at for ICMP. */
  readonly port: number;
  /** Undefined: one of the system's choice. */
  readonly sourcePort?: number | undefined;
  readonly isFollowed: boolean;
}

/** An attempt that is followed: both ends are parties of the cluster in which it runs. */
export interface FollowedAttempt {
  readonly from: TraceEnd;
  readonly to: TraceEnd;
  readonly protocol: ProbeProtocol;
  /** Undefined for ICMP. */
  readonly port: number | undefined;
  /** Undefined: one of the system's choice. */
  readonly sourcePort?: number | undefined;
}

/** The name that every cluster has. */
export function clusterApiName({ file }: Cluster): string {
  return `kubernetes.default.svc.${file.dns.domain}`;
}

/** Longer than any probe waits, and than what a closed connection still has to do. */
const ATTEMPT_MS_MAX = 60_000;

function makeProbe(attempt: ProbeAttempt, dnsName: string): TcpProbe | UdpProbe | EchoProbe {
  const { from, to, port, sourcePort, isFollowed } = attempt;
  const options = { compartment: from, destination: to, isFollowed };
  const ports = { port, ...(sourcePort === undefined ? {} : { sourcePort }) };
  switch (attempt.protocol) {
    case "tcp":
      return port === DNS_PORT
        ? new DnsTcpProbe({ ...options, ...ports, name: dnsName })
        : new TcpProbe({ ...options, ...ports });
    case "udp":
      // A DNS server answers questions and nothing else.
      return port === DNS_PORT
        ? new DnsProbe({ ...options, ...ports, name: dnsName })
        : new UdpProbe({ ...options, ...ports });
    case "icmp":
      return new EchoProbe(options);
  }
}

/** Runs the attempt; time passes in `cluster` until it has ended. */
export function runAttempt(cluster: Cluster, attempt: ProbeAttempt): ProbeResult {
  const probe = makeProbe(attempt, clusterApiName(cluster));
  probe.start();
  const endMs = cluster.clock.nowMs + ATTEMPT_MS_MAX;
  while (probe.result === undefined && cluster.clock.nowMs < endMs && cluster.clock.step());
  assert(probe.result !== undefined, "a probe ends by its own deadline");
  return probe.result;
}

export interface ReachabilityCell {
  readonly from: string;
  readonly to: string;
  readonly protocol: ProbeProtocol;
  readonly outcome: "answered" | "refused" | "timed-out" | "unreachable";
}

/** The port on which a party answers TCP; undefined when it serves none. */
function tcpPortOf(cluster: Cluster, traceEnd: TraceEnd): number | undefined {
  const pod = podAt(cluster, traceEnd.compartment);
  const outside = cluster.file.outside.find((each) => each.name === traceEnd.description.reference);
  return (pod?.spec.ports ?? outside?.ports ?? []).find((each) => each.protocol === "TCP")?.port;
}

/** Tries every pair of different parties, each in a copy of the cluster: TCP where the receiver serves a port, ICMP echo otherwise and for outside. */
export function checkReachability(cluster: Cluster): readonly ReachabilityCell[] {
  const cells: ReachabilityCell[] = [];
  const count = listTraceEnds(cluster).length;
  for (let from = 0; from < count; from++) {
    for (let to = 0; to < count; to++) {
      if (from !== to) cells.push(...checkPair(cluster, from, to));
    }
  }
  return cells;
}

function checkPair(cluster: Cluster, from: number, to: number): readonly ReachabilityCell[] {
  const receiver = listTraceEnds(cluster)[to];
  const port = receiver === undefined ? undefined : tcpPortOf(cluster, receiver);
  const protocols: readonly ProbeProtocol[] = port === undefined ? ["icmp"] : ["tcp", "icmp"];
  return protocols.map((protocol) => {
    const copy = forkCluster(cluster);
    const traceEnds = listTraceEnds(copy);
    const sender = traceEnds[from];
    const target = traceEnds[to];
    if (sender?.compartment === undefined || target === undefined)
      throw new RangeError("a party of the cluster sends");
    const attempt = { from: sender.compartment, to: target.ip, protocol, port: port ?? 0, isFollowed: false };
    return {
      from: sender.description.reference,
      to: target.description.reference,
      protocol,
      outcome: runAttempt(copy, attempt).outcome,
    };
  });
}
