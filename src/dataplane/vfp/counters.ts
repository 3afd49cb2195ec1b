/** What a port counts, in the words of `vfpctrl` (dataplane.md §1.5, §7.6, §7.8). Plain data. */
import { TcpFlag } from "#core/wire/tcp.ts";

interface Counters {
  readonly fields: Readonly<Record<string, unknown>>;
}
/** They are counted in place. */
type CountersOf<S extends Counters> = { -readonly [K in keyof S["fields"]]: number };

export const RULE_COUNTERS = {
  text: "As /get-rule-counter counts.",
  fields: {
    matchedPackets: "integer",
    droppedPackets: "integer",
    pendingPackets: "integer",
    droppedFlows: "integer",
  },
} as const;
export type RuleCounters = CountersOf<typeof RULE_COUNTERS>;

export const LAYER_COUNTERS = {
  text: "As /get-layer-counter counts, for one direction.",
  fields: {
    flowMatch: "integer",
    flowDrop: "integer",
    flowPending: "integer",
    pendingDrop: "integer",
    ruleMatch: "integer",
    ruleDrop: "integer",
    rulePending: "integer",
    ruleUnifiedFlowDrop: "integer",
    noMatch: "integer",
    fragmentCacheMatch: "integer",
    fragmentCacheDrop: "integer",
    fragmentCacheNoMatch: "integer",
  },
} as const;
export type LayerCounters = CountersOf<typeof LAYER_COUNTERS>;

export const PORT_COUNTERS = {
  text: "As /get-port-counter counts, for one direction.",
  fields: {
    droppedPackets: "integer",
    droppedAcl: "integer",
    pendingPackets: "integer",
    unifiedFlowMatch: { is: "integer", text: "Packets that a unified flow decided." },
    synPackets: "integer",
    synAckPackets: "integer",
    finPackets: "integer",
    rstPackets: "integer",
  },
} as const;
export type PortCounters = CountersOf<typeof PORT_COUNTERS>;

export const TCP_COUNTERS = {
  text: "What became of TCP connections, as the same listing tells.",
  base: (): typeof PORT_COUNTERS => PORT_COUNTERS,
  fields: {
    verified: "integer",
    timedOut: "integer",
    reset: "integer",
    resetBySyn: "integer",
    closedByFin: "integer",
    halfOpenTimeouts: "integer",
    expiredToTimeWait: "integer",
  },
} as const;
export type TcpCounters = CountersOf<typeof TCP_COUNTERS>;

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
