/**
 * Ways through the tables that are known already: from where a frame came and by its headers, what becomes of it. A packet of a
 * connection that both sides know goes the way of the one before it, without a look at a flow.
 *
 * A way is remembered when all that it depends on can be told again: the headers of the frame (`frame-key.ts`), its connections
 * (`passage-conditions.ts`), and what the revisions of network and chassis stand for. When one of those grows, all is forgotten.
 */
import type { Headers } from "#core/wire/headers.ts";
import type { OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Drop } from "../switch/decision.ts";
import type { SwitchPort } from "../switch/switch-port.ts";
import type { SwitchTables } from "../switch/switch-tables.ts";
import type { Chassis } from "./chassis.ts";
import { type FlowOrigin, FrameKey } from "./frame-key.ts";
import { FrameRewrite } from "./frame-rewrite.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { OuterHeaders } from "./outer-headers.ts";
import type { KnownConnection, PassageConditions } from "./passage-conditions.ts";

/** Ways that are known at once; beyond that all are forgotten, and learned again as packets come. */
const FLOWS_MAX = 65_536;
const BUCKETS_MIN = 256;
/** Ways in one bucket: more than chance brings, and few enough that nobody who makes equal hashes slows the others. */
const CHAIN_MAX = 16;

interface TunnelOutcome {
  readonly kind: "tunnel";
  readonly chassis: string;
  readonly keys: OvnTunnelKeys;
}

/** What becomes of a frame whose headers are rewritten. */
export type CachedOutcome =
  /** To a port of this switch, and nothing else. */
  | { readonly kind: "deliver"; readonly port: SwitchPort }
  | { readonly kind: "output"; readonly port: string }
  | TunnelOutcome
  /** Through a tunnel, with outer headers that are known. */
  | {
      readonly kind: "encapsulate";
      readonly port: SwitchPort;
      readonly outer: OuterHeaders;
      readonly ending: TunnelOutcome;
    }
  | { readonly kind: "drop"; readonly drop: Drop };

/** A way that is known, with what it is known by: one object, since each further one is a step through memory. */
export class CachedFlow extends FrameKey {
  readonly outcome: CachedOutcome;
  /** Another one in the same bucket. */
  next: CachedFlow | undefined;
  private readonly connections: KnownConnection | undefined;
  /** Undefined: the frame stays as it is. */
  private readonly rewrite: FrameRewrite | undefined;
  private readonly bytesMin: number;
  private readonly bytesMax: number;

  constructor(
    key: FrameKey,
    outcome: CachedOutcome,
    rewrite: FrameRewrite | undefined,
    connections: KnownConnection | undefined,
    { bytesMin, bytesMax }: PassageConditions,
  ) {
    super();
    this.assign(key);
    this.outcome = outcome;
    this.rewrite = rewrite;
    this.connections = connections;
    this.bytesMin = bytesMin;
    this.bytesMax = bytesMax;
  }

  holds(packet: Packet, nowMs: number): boolean {
    const length = packet.end - packet.start;
    if (length < this.bytesMin || length > this.bytesMax) return false;
    for (let each = this.connections; each !== undefined; each = each.next)
      if (!each.holds(nowMs)) return false;
    return true;
  }

  /** Does what the tables would have done with the frame and with its connections. */
  take(packet: Packet, headers: Headers, nowMs: number): void {
    for (let each = this.connections; each !== undefined; each = each.next) each.use(nowMs);
    if (this.rewrite !== undefined) this.rewrite.apply(packet, headers);
  }
}

/** The first way of each hash; their number is a power of two. */
type Buckets = (CachedFlow | undefined)[];

function bucketsOf(count: number): Buckets {
  return Array.from({ length: count }, () => undefined);
}

export class FlowCache {
  private buckets = bucketsOf(BUCKETS_MIN);
  private readonly key = new FrameKey();
  private readonly flowsMax: number;
  private size = 0;
  private network: LogicalNetwork | undefined;
  private tables: SwitchTables | undefined;
  private networkRevision = 0;
  private chassisRevision = 0;

  /** With 0 it keeps none. */
  constructor(flowsMax: number = FLOWS_MAX) {
    this.flowsMax = flowsMax;
  }

  clear(): void {
    if (this.size === 0) return;
    this.buckets = bucketsOf(BUCKETS_MIN);
    this.size = 0;
  }

  private isCurrent(network: LogicalNetwork, chassis: Chassis, tables: SwitchTables): boolean {
    return (
      this.network === network &&
      this.networkRevision === network.revision &&
      this.chassisRevision === chassis.revision &&
      this.tables === tables
    );
  }

  /** Forgets what does not hold any more. */
  settle(network: LogicalNetwork, chassis: Chassis, tables: SwitchTables): void {
    if (this.isCurrent(network, chassis, tables)) return;
    this.clear();
    this.network = network;
    this.tables = tables;
    this.networkRevision = network.revision;
    this.chassisRevision = chassis.revision;
  }

  /** The known way of a frame; undefined: it has to go through the tables. */
  find(origin: FlowOrigin, packet: Packet, headers: Headers, nowMs: number): CachedFlow | undefined {
    const { key, buckets } = this;
    if (this.size === 0 || !key.read(origin, packet, headers)) return undefined;
    let flow = buckets[key.hash & (buckets.length - 1)];
    while (flow !== undefined && !flow.equals(key)) flow = flow.next;
    return flow?.holds(packet, nowMs) === true ? flow : undefined;
  }

  /**
   * A frame has come through the tables: keeps its way if the next one with these headers goes the same. `after` is what became of
   * `packet`; undefined for one that was dropped. `network`, `chassis` and `tables` are those that were settled before.
   */
  remember(
    origin: FlowOrigin,
    packet: Packet,
    headers: Headers,
    conditions: PassageConditions,
    outcome: CachedOutcome,
    after: Packet | undefined,
    settled: { network: LogicalNetwork; chassis: Chassis; tables: SwitchTables },
  ): void {
    if (this.flowsMax === 0 || !this.isCurrent(settled.network, settled.chassis, settled.tables)) return;
    if (!this.key.read(origin, packet, headers)) return;
    if (!conditions.isSettled(this.key.tcpFlags)) return;
    const rewrite = after === undefined ? "nothing" : FrameRewrite.between(packet, headers, after);
    if (rewrite === undefined) return;
    const changes = rewrite === "nothing" ? undefined : rewrite;
    this.put(new CachedFlow(this.key, outcome, changes, conditions.connections(), conditions));
  }

  /** As many buckets as there are ways, so that a chain is short. */
  private makeRoom(): void {
    const former = this.buckets;
    if (this.size >= this.flowsMax) this.clear();
    else if (this.size >= former.length) {
      this.buckets = bucketsOf(former.length * 2);
      for (const first of former) {
        // The oldest is put first, so that the newest stands first again.
        const chain: CachedFlow[] = [];
        for (let flow = first; flow !== undefined; flow = flow.next) chain.unshift(flow);
        for (const flow of chain) this.putFirst(flow);
      }
    }
  }

  private putFirst(flow: CachedFlow): void {
    const bucket = flow.hash & (this.buckets.length - 1);
    flow.next = this.buckets[bucket];
    this.buckets[bucket] = flow;
  }

  /** The newest one stands first. One with the same key goes, and what stands behind too many. */
  private put(flow: CachedFlow): void {
    this.makeRoom();
    this.putFirst(flow);
    this.size += 1;
    let before = flow;
    for (let length = 1; before.next !== undefined; length++) {
      const { next } = before;
      if (length < CHAIN_MAX && !next.equals(flow)) before = next;
      else {
        before.next = next.next;
        this.size -= 1;
      }
    }
  }
}
