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

function zeros<S extends Counters>({ fields }: S): Readonly<CountersOf<S>> {
  return Object.freeze(Object.fromEntries(Object.keys(fields).map((name) => [name, 0]))) as CountersOf<S>;
}

export const NO_RULE_COUNTERS: Readonly<RuleCounters> = zeros(RULE_COUNTERS);
export const NO_LAYER_COUNTERS: Readonly<LayerCounters> = zeros(LAYER_COUNTERS);
export const NO_PORT_COUNTERS: Readonly<PortCounters> = zeros(PORT_COUNTERS);
export const NO_TCP_COUNTERS: Readonly<TcpCounters> = zeros(TCP_COUNTERS);

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
