/** What a port counts, in the words of `vfpctrl` (dataplane.md §1.5, §7.6, §7.8). Plain data. */
import { TcpFlag } from "#core/wire/tcp.ts";

/** `/get-rule-counter`. */
export interface RuleCounters {
  matchedPackets: number;
  droppedPackets: number;
  pendingPackets: number;
  droppedFlows: number;
}

/** `/get-layer-counter`, for one direction. */
export interface LayerCounters {
  flowMatch: number;
  flowDrop: number;
  flowPending: number;
  pendingDrop: number;
  ruleMatch: number;
  ruleDrop: number;
  rulePending: number;
  ruleUnifiedFlowDrop: number;
  noMatch: number;
  fragmentCacheMatch: number;
  fragmentCacheDrop: number;
  fragmentCacheNoMatch: number;
}

/** `/get-port-counter`, for one direction. */
export interface PortCounters {
  droppedPackets: number;
  droppedAcl: number;
  pendingPackets: number;
  /** Packets that a unified flow decided. */
  unifiedFlowMatch: number;
  synPackets: number;
  synAckPackets: number;
  finPackets: number;
  rstPackets: number;
}

/** What became of TCP connections, as the same listing tells. */
export interface TcpCounters {
  verified: number;
  timedOut: number;
  reset: number;
  resetBySyn: number;
  closedByFin: number;
  halfOpenTimeouts: number;
  expiredToTimeWait: number;
}

export function newLayerCounters(): LayerCounters {
  return {
    flowMatch: 0,
    flowDrop: 0,
    flowPending: 0,
    pendingDrop: 0,
    ruleMatch: 0,
    ruleDrop: 0,
    rulePending: 0,
    ruleUnifiedFlowDrop: 0,
    noMatch: 0,
    fragmentCacheMatch: 0,
    fragmentCacheDrop: 0,
    fragmentCacheNoMatch: 0,
  };
}

export function newPortCounters(): PortCounters {
  return {
    droppedPackets: 0,
    droppedAcl: 0,
    pendingPackets: 0,
    unifiedFlowMatch: 0,
    synPackets: 0,
    synAckPackets: 0,
    finPackets: 0,
    rstPackets: 0,
  };
}

export function newTcpCounters(): TcpCounters {
  return {
    verified: 0,
    timedOut: 0,
    reset: 0,
    resetBySyn: 0,
    closedByFin: 0,
    halfOpenTimeouts: 0,
    expiredToTimeWait: 0,
  };
}

/** Flags of segments that open or end a connection. */
export const CONTROL_FLAGS: number = TcpFlag.syn | TcpFlag.fin | TcpFlag.rst;

/** Counts a segment with one of `CONTROL_FLAGS`. */
export function countTcpFlags(counters: PortCounters, flags: number): void {
  if ((flags & TcpFlag.syn) !== 0) {
    if ((flags & TcpFlag.ack) === 0) counters.synPackets++;
    else counters.synAckPackets++;
  }
  if ((flags & TcpFlag.fin) !== 0) counters.finPackets++;
  if ((flags & TcpFlag.rst) !== 0) counters.rstPackets++;
}
