/** One attempt from one party to another, run to its end on the cluster's clock. */
import { assert } from "#core/base/assert.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { type ProbeResult, EchoProbe, TcpProbe, UdpProbe } from "#dataplane/host/probes/probe.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import type { ProbeProtocol } from "./trace-report.ts";

export interface Attempt {
  readonly from: Compartment;
  readonly to: Ip;
  readonly protocol: ProbeProtocol;
  /** Not looked at for ICMP. */
  readonly port: number;
  /** Undefined: one of the system's choice. */
  readonly sourcePort?: number | undefined;
  readonly isFollowed: boolean;
}

/** Longer than any probe waits, and than what a closed connection still has to do. */
const ATTEMPT_MS_MAX = 60_000;

function makeProbe(attempt: Attempt): TcpProbe | UdpProbe | EchoProbe {
  const { from, to, port, sourcePort, isFollowed } = attempt;
  const options = { compartment: from, destination: to, isFollowed };
  const ports = { port, ...(sourcePort === undefined ? {} : { sourcePort }) };
  switch (attempt.protocol) {
    case "tcp":
      return new TcpProbe({ ...options, ...ports });
    case "udp":
      return new UdpProbe({ ...options, ...ports });
    case "icmp":
      return new EchoProbe(options);
  }
}

/** Runs the attempt; time passes in `cluster` until it has ended. */
export function runAttempt(cluster: Cluster, attempt: Attempt): ProbeResult {
  const probe = makeProbe(attempt);
  probe.start();
  const endMs = cluster.clock.nowMs + ATTEMPT_MS_MAX;
  while (probe.result === undefined && cluster.clock.nowMs < endMs && cluster.clock.step());
  assert(probe.result !== undefined, "a probe ends by its own deadline");
  return probe.result;
}
