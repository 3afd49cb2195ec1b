/**
 * The tracked connections of one machine (net/netfilter/nf_conntrack_core.c). Each stands in the table twice, by the
 * tuple of each direction. What is out of date is forgotten when it is met, so an idle table keeps no clock busy.
 */
import { LIMITS } from "#core/base/limits.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { type Side, invertTuple, tupleKey } from "./tuple.ts";
import type { Rule } from "./rule-set.ts";
import { TcpFlag } from "#core/wire/tcp.ts";

// The states of a tracked TCP connection, and how long each is remembered
// (net/netfilter/nf_conntrack_proto_tcp.c; Documentation/networking/nf_conntrack-sysctl.rst).
// Sequence numbers are not checked: a segment outside the window counts as one inside.

export type TcpTrackState =
  | "none"
  | "syn-sent"
  | "syn-received"
  | "established"
  | "fin-wait"
  | "close-wait"
  | "last-ack"
  | "time-wait"
  | "close"
  | "syn-sent-2";

export type ConntrackDirection = "original" | "reply";

/** `invalid`: the segment fits no connection. `ignored`: it passes and changes nothing. */
export type TcpStep = TcpTrackState | "invalid" | "ignored";

const ORDER: readonly TcpTrackState[] = [
  "none",
  "syn-sent",
  "syn-received",
  "established",
  "fin-wait",
  "close-wait",
  "last-ack",
  "time-wait",
  "close",
  "syn-sent-2",
];

const NAMES: Readonly<Record<string, TcpStep>> = {
  SS: "syn-sent",
  SR: "syn-received",
  ES: "established",
  FW: "fin-wait",
  CW: "close-wait",
  LA: "last-ack",
  TW: "time-wait",
  CL: "close",
  S2: "syn-sent-2",
  IV: "invalid",
  IG: "ignored",
};

type Segment = "syn" | "syn-ack" | "fin" | "ack" | "rst";

function row(text: string): readonly TcpStep[] {
  return text.split(" ").map((name) => NAMES[name] ?? "invalid");
}

/**
 * The next state, by the state before in the order of `ORDER`. A connection that is met in its middle is taken up
 * (`nf_conntrack_tcp_loose` is 1), which is why an ACK of nobody makes one that is established.
 */
const STEPS: Readonly<Record<ConntrackDirection, Readonly<Record<Segment, readonly TcpStep[]>>>> = {
  original: {
    //          none SS SR ES FW CW LA TW CL S2
    syn: row("SS SS IG IG IG IG IG SS SS S2"),
    "syn-ack": row("IV IV SR IV IV IV IV IV IV SR"),
    fin: row("IV IV FW FW LA LA LA TW CL IV"),
    ack: row("ES IV ES ES CW CW TW TW CL IV"),
    rst: row("IV CL CL CL CL CL CL CL CL CL"),
  },
  reply: {
    syn: row("IV S2 IV IV IV IV IV SS IV S2"),
    "syn-ack": row("IV SR IG IG IG IG IG IG IG SR"),
    fin: row("IV IV FW FW LA LA LA TW CL IV"),
    ack: row("IV IG SR ES CW CW TW TW CL IG"),
    rst: row("IV CL CL CL CL CL CL CL CL CL"),
  },
};

function segmentOf(flags: number): Segment | undefined {
  if ((flags & TcpFlag.rst) !== 0) return "rst";
  const hasAck = (flags & TcpFlag.ack) !== 0;
  if ((flags & TcpFlag.syn) !== 0) return hasAck ? "syn-ack" : "syn";
  if ((flags & TcpFlag.fin) !== 0) return "fin";
  return hasAck ? "ack" : undefined;
}

/** What a segment with `flags` makes of a connection in `state`. */
export function nextTcpState(state: TcpTrackState, direction: ConntrackDirection, flags: number): TcpStep {
  const segment = segmentOf(flags);
  if (segment === undefined) return "invalid";
  return STEPS[direction][segment][ORDER.indexOf(state)] ?? "invalid";
}

/** How long a connection is remembered after a segment that left it in that state. */
export const TCP_TIMEOUTS_MS: Readonly<Record<TcpTrackState, number>> = {
  none: 0,
  "syn-sent": 120_000,
  "syn-received": 60_000,
  established: 432_000_000,
  "fin-wait": 120_000,
  "close-wait": 60_000,
  "last-ack": 30_000,
  "time-wait": 120_000,
  close: 10_000,
  "syn-sent-2": 120_000,
};

/** One tracked connection, and what the stack knows of a packet while it handles it. */
export class Connection {
  // Both stand first, side by side: they are all that a packet of a known connection reads and writes here.
  /** Grows when what a look-up finds changes: `tcpState`, `isReplied`, `isLost`, `mark`, `label`. */
  version = 0;
  expiresAtMs = 0;
  /** As the first packet came. */
  readonly original: FiveTuple;
  /** As the answer will come: the inverse of `original`, with what was translated. */
  reply: FiveTuple;
  tcpState: TcpTrackState = "none";
  readonly createdAtMs: number;
  /** In the table. Before that only the first packet, on its way through, knows it. */
  isConfirmed = false;
  /** No look-up of its tuples finds it any more, or another one finds them first. */
  isLost = false;
  isReplied = false;
  /** Traffic in both directions was seen: it is not given up for a newer one. */
  isAssured = false;
  /** The rules were asked; later packets follow what they decided. */
  isDestinationSettled = false;
  isSourceSettled = false;
  /** What decided; undefined when nothing is translated, or only a port that was taken. */
  destinationRule: Rule | undefined;
  sourceRule: Rule | undefined;
  /** What Open vSwitch writes beside a connection (`ct_mark`, `ct_label`). */
  mark = 0n;
  label = 0n;

  constructor(original: FiveTuple, nowMs: number) {
    this.original = original;
    this.reply = invertTuple(original);
    this.createdAtMs = nowMs;
  }

  /** No look-up finds it from now on. */
  lose(): void {
    this.isLost = true;
    this.version += 1;
  }

  /** The tuple that packets of `direction` have when they arrive. */
  tupleOf(direction: ConntrackDirection): FiveTuple {
    return direction === "original" ? this.original : this.reply;
  }

  /** The tuple that packets of `direction` have when they leave. */
  targetOf(direction: ConntrackDirection): FiveTuple {
    return invertTuple(this.tupleOf(opposite(direction)));
  }

  /** True when packets of `direction` have that side changed. */
  isTranslated(direction: ConntrackDirection, side: Side): boolean {
    const from = this.tupleOf(direction);
    const to = this.targetOf(direction);
    const isSamePort = from.sourcePort === to.sourcePort;
    if (side === "source") return from.source !== to.source || !isSamePort;
    return from.destination !== to.destination || from.destinationPort !== to.destinationPort;
  }
}

export function opposite(direction: ConntrackDirection): ConntrackDirection {
  return direction === "original" ? "reply" : "original";
}

/** What is known of a packet on its way through the stack: the kernel's `nfct` and `mark` of a buffer. */
export class TrackedPacket {
  /** Undefined for what is not tracked. */
  readonly connection: Connection | undefined;
  readonly direction: ConntrackDirection;
  readonly state: "new" | "established" | "related" | "invalid" | "untracked";
  mark = 0;

  constructor(
    state: TrackedPacket["state"],
    connection?: Connection,
    direction: ConntrackDirection = "original",
  ) {
    this.state = state;
    this.connection = connection;
    this.direction = direction;
  }
}

/** Documentation/networking/nf_conntrack-sysctl.rst. */
const UDP_TIMEOUT_MS = 30_000;
const UDP_STREAM_TIMEOUT_MS = 120_000;
/** nf_conntrack_proto_udp.c: traffic in both directions for so long makes a stream. */
const UDP_STREAM_AFTER_MS = 2_000;
const ICMP_TIMEOUT_MS = 30_000;
const GENERIC_TIMEOUT_MS = 600_000;
/** nf_conntrack_core.c, GC_SCAN_INTERVAL_MAX. */
const SWEEP_INTERVAL_MS = 60_000;
/** How many of the oldest are looked at for one that may go when the table is full. */
const EARLY_DROP_TRIES = 64;

/** A direction of a connection. */
export interface FoundConnection {
  readonly connection: Connection;
  readonly direction: ConntrackDirection;
}

export class ConnectionTable {
  private readonly entries = new Map<string, FoundConnection>();
  private readonly connectionsMax: number;
  private nextSweepAtMs = SWEEP_INTERVAL_MS;

  constructor(connectionsMax: number = LIMITS.trackedConnectionsMax) {
    this.connectionsMax = connectionsMax;
  }

  /** Connections that are in the table; some may be out of date. */
  get size(): number {
    return this.entries.size / 2;
  }

  /** In the order in which they began. */
  list(nowMs: number): readonly Connection[] {
    return [...this.entries.values()]
      .filter(({ connection, direction }) => direction === "original" && connection.expiresAtMs > nowMs)
      .map(({ connection }) => connection);
  }

  /** The connection whose packets of one direction arrive with `tuple`. */
  find(tuple: FiveTuple, nowMs: number): FoundConnection | undefined {
    const found = this.entries.get(tupleKey(tuple));
    if (found === undefined || found.connection.expiresAtMs > nowMs) return found;
    this.remove(found.connection);
    return undefined;
  }

  /** True when no other connection has `reply` as the tuple of one of its directions. */
  isFree(reply: FiveTuple, nowMs: number): boolean {
    return this.find(reply, nowMs) === undefined;
  }

  /** Adds a connection whose tuples are settled. @returns false when there is no room for it. */
  add(connection: Connection, nowMs: number): boolean {
    if (nowMs >= this.nextSweepAtMs) this.sweep(nowMs);
    if (this.size >= this.connectionsMax && !this.makeRoom(nowMs)) return false;
    this.put({ connection, direction: "original" });
    this.put({ connection, direction: "reply" });
    connection.isConfirmed = true;
    return true;
  }

  private put(entry: FoundConnection): void {
    const key = tupleKey(entry.connection.tupleOf(entry.direction));
    const before = this.entries.get(key)?.connection;
    if (before !== undefined && before !== entry.connection) before.lose();
    this.entries.set(key, entry);
  }

  remove(connection: Connection): void {
    connection.lose();
    for (const direction of ["original", "reply"] as const) {
      const key = tupleKey(connection.tupleOf(direction));
      if (this.entries.get(key)?.connection === connection) this.entries.delete(key);
    }
  }

  private sweep(nowMs: number): void {
    this.nextSweepAtMs = nowMs + SWEEP_INTERVAL_MS;
    for (const { connection } of this.entries.values())
      if (connection.expiresAtMs <= nowMs) this.remove(connection);
  }

  /** The kernel's early drop: an old connection without traffic in both directions goes for a new one. */
  private makeRoom(nowMs: number): boolean {
    let tries = EARLY_DROP_TRIES;
    for (const { connection } of this.entries.values()) {
      if (!connection.isAssured || connection.expiresAtMs <= nowMs) {
        this.remove(connection);
        return true;
      }
      if (--tries === 0) return false;
    }
    return false;
  }
}

/** How long `connection` is remembered after a packet. */
export function timeoutOf(connection: Connection, nowMs: number): number {
  switch (connection.original.protocol) {
    case IpProtocol.tcp:
      return TCP_TIMEOUTS_MS[connection.tcpState];
    case IpProtocol.udp:
      return isStream(connection, nowMs) ? UDP_STREAM_TIMEOUT_MS : UDP_TIMEOUT_MS;
    case IpProtocol.icmp:
    case IpProtocol.icmpv6:
      return ICMP_TIMEOUT_MS;
    default:
      return GENERIC_TIMEOUT_MS;
  }
}

/** What a packet of a known connection does to it, whatever becomes of the packet. */
export function useConnection(connection: Connection, direction: ConntrackDirection, nowMs: number): void {
  if (direction === "reply" && !connection.isReplied) {
    connection.isReplied = true;
    connection.version += 1;
  }
  const isTcp = connection.original.protocol === IpProtocol.tcp;
  if (connection.isReplied && (isTcp ? connection.tcpState === "established" : isStream(connection, nowMs)))
    connection.isAssured = true;
  connection.expiresAtMs = nowMs + timeoutOf(connection, nowMs);
}

export function isStream(connection: Connection, nowMs: number): boolean {
  return connection.isReplied && nowMs - connection.createdAtMs >= UDP_STREAM_AFTER_MS;
}
