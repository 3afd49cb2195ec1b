/**
 * Counts a port's connections by class, holds them to its limits, and says how long an idle one lives. A connection has a
 * flow in each stateful layer that it passes; it is counted with the one that was made first.
 */
import type { FlowRoom } from "#core/base/environment.ts";
import { NO_TCP_COUNTERS, type TcpCounters } from "../counters.ts";
import type { FlowState, LayerFlowPair, TransportClass } from "./layer-flow.ts";
import { type FlowClass, NO_LIMITS, type PortFlowSettings } from "../port-settings.ts";

/** Flows of one class, as `/get-port-flow-stats` lists them (dataplane.md §7.7). */
export interface FlowClassStatistics {
  count: number;
  maximum: number;
  created: number;
}

/** What is counted. */
interface Book {
  readonly tcp: TcpCounters;
  readonly classes: Readonly<Record<FlowClass, FlowClassStatistics>>;
}

function newAllocator(): Book {
  return {
    tcp: { ...NO_TCP_COUNTERS },
    classes: {
      entries: { count: 0, maximum: 0, created: 0 },
      "half-open": { count: 0, maximum: 0, created: 0 },
      total: { count: 0, maximum: 0, created: 0 },
      tcp: { count: 0, maximum: 0, created: 0 },
      udp: { count: 0, maximum: 0, created: 0 },
      other: { count: 0, maximum: 0, created: 0 },
    },
  };
}

export class FlowCensus {
  settings: PortFlowSettings;
  /** Flows that the port's layers made, in all; it may wrap. Who met none in a layer asks whether one has come since. */
  flowsMade = 0;
  /** Undefined until the first flow: most ports of a large world never see one. */
  private allocator: Book | undefined;
  /** What the port shares with all others of its world. */
  private readonly room: FlowRoom | undefined;

  constructor(settings: PortFlowSettings, room?: FlowRoom) {
    this.settings = settings;
    this.room = room;
  }

  /** True when the process has no memory for one more connection of any port. */
  get isRoomFull(): boolean {
    return this.room !== undefined && this.room.held >= this.room.max;
  }

  get tcp(): TcpCounters {
    return (this.allocator ??= newAllocator()).tcp;
  }

  get classes(): Readonly<Record<FlowClass, FlowClassStatistics>> {
    return (this.allocator ??= newAllocator()).classes;
  }

  /** For listings, which change nothing; undefined before the first flow. */
  get soFar(): Pick<FlowCensus, "tcp" | "classes"> | undefined {
    return this.allocator;
  }

  /** True when one more connection of `transport` would be too many. */
  isFull(transport: TransportClass): boolean {
    if (this.settings.limits === NO_LIMITS) return false;
    return (
      this.exceeds("total") ||
      this.exceeds("entries", 2) ||
      this.exceeds(transport) ||
      (transport === "tcp" && this.exceeds("half-open"))
    );
  }

  /** A connection began with `pair`. */
  opened(pair: LayerFlowPair): void {
    pair.isCounted = true;
    if (this.room !== undefined) this.room.held++;
    const { classes } = this;
    add(classes.total, 1);
    // Two entries per connection: main and reverse.
    add(classes.entries, 2);
    add(ofTransport(classes, pair.transport), 1);
    if (this.isHalfOpen(pair)) add(classes["half-open"], 1);
  }

  /** The connection goes into another state; how long it lives idle may change with it. */
  enter(pair: LayerFlowPair, state: FlowState, why?: "reset"): void {
    if (pair.state === state) return;
    const wasHalfOpen = this.isHalfOpen(pair);
    const ttlMs = this.ttlMs(pair);
    pair.state = state;
    if (this.ttlMs(pair) !== ttlMs) pair.releaseUsers();
    if (!pair.isCounted || pair.transport !== "tcp") return;
    if (wasHalfOpen) this.classes["half-open"].count--;
    if (state === "open") this.tcp.verified++;
    else if (state === "time-wait" && why === "reset") this.tcp.reset++;
    else if (state === "time-wait") this.tcp.closedByFin++;
  }

  /** A SYN took the place of a living connection. */
  resetBySyn(pair: LayerFlowPair): void {
    if (pair.isCounted) this.tcp.resetBySyn++;
  }

  /** The pair is about to go because nobody used it. */
  timedOut(pair: LayerFlowPair): void {
    if (!pair.isCounted || pair.transport !== "tcp") return;
    if (pair.state === "opening") this.tcp.halfOpenTimeouts++;
    else if (pair.state === "time-wait") this.tcp.expiredToTimeWait++;
    else this.tcp.timedOut++;
  }

  closed(pair: LayerFlowPair): void {
    if (!pair.isCounted) return;
    pair.isCounted = false;
    if (this.room !== undefined) this.room.held--;
    const { classes } = this;
    classes.total.count--;
    classes.entries.count -= 2;
    ofTransport(classes, pair.transport).count--;
    if (this.isHalfOpen(pair)) classes["half-open"].count--;
  }

  /** How long an idle flow in its present state lives. */
  ttlMs(pair: LayerFlowPair): number {
    const { settings } = this;
    if (pair.transport === "tcp" && settings.tracksTcp) {
      if (pair.state === "opening") return settings.halfOpenTtlMs;
      if (pair.state === "time-wait") return settings.timeWaitTtlMs;
    }
    return pair.ruleTtlMs ?? settings.defaultTtlMs;
  }

  private isHalfOpen(pair: LayerFlowPair): boolean {
    return pair.transport === "tcp" && pair.state === "opening";
  }

  private exceeds(name: FlowClass, more = 1): boolean {
    const limit = this.settings.limits[name];
    return limit !== undefined && this.classes[name].count + more > limit;
  }
}

function add(statistics: FlowClassStatistics, count: number): void {
  statistics.count += count;
  statistics.created += count;
  if (statistics.count > statistics.maximum) statistics.maximum = statistics.count;
}

function ofTransport(classes: Book["classes"], transport: TransportClass): FlowClassStatistics {
  if (transport === "tcp") return classes.tcp;
  return transport === "udp" ? classes.udp : classes.other;
}
