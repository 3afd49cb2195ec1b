/** Who reaches whom: one attempt for each pair, each in a copy of the cluster. */
import { type Cluster, forkCluster } from "../cluster.ts";
import { type TraceEnd, listTraceEnds } from "./find-trace-end.ts";
import { runAttempt } from "./probe-trace-end.ts";
import type { ProbeProtocol } from "./trace-report.ts";

export interface ReachabilityCell {
  readonly from: string;
  readonly to: string;
  readonly protocol: ProbeProtocol;
  readonly outcome: "answered" | "refused" | "timed-out" | "unreachable";
}

/** The port on which a party answers TCP; undefined when it serves none. */
function tcpPortOf(cluster: Cluster, traceEnd: TraceEnd): number | undefined {
  const pod = cluster.pods.find((each) => each.compartment === traceEnd.compartment);
  const outside = cluster.file.outside.find((each) => each.name === traceEnd.description.reference);
  return (pod?.spec.ports ?? outside?.ports ?? []).find((each) => each.protocol === "TCP")?.port;
}

/** Tries every pair of different parties: TCP where the receiver serves a port, ICMP echo otherwise and for outside. */
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
