/** One tracked connection, and what the stack knows of a packet while it handles it. */
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Rule } from "./rule.ts";
import type { ConntrackDirection, TcpTrackState } from "./tcp-tracking.ts";
import { type Side, invertTuple } from "./tuple.ts";

export class Connection {
  /** As the first packet came. */
  readonly original: FiveTuple;
  /** As the answer will come: the inverse of `original`, with what was translated. */
  reply: FiveTuple;
  tcpState: TcpTrackState = "none";
  readonly createdAtMs: number;
  expiresAtMs = 0;
  /** In the table. Before that only the first packet, on its way through, knows it. */
  isConfirmed = false;
  isReplied = false;
  /** Traffic in both directions was seen: it is not given up for a newer one. */
  isAssured = false;
  /** The rules were asked; later packets follow what they decided. */
  isDestinationSettled = false;
  isSourceSettled = false;
  /** What decided; undefined when nothing is translated, or only a port that was taken. */
  destinationRule: Rule | undefined;
  sourceRule: Rule | undefined;

  constructor(original: FiveTuple, nowMs: number) {
    this.original = original;
    this.reply = invertTuple(original);
    this.createdAtMs = nowMs;
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
