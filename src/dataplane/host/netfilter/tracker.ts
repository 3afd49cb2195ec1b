/** Finds the connection of each packet and keeps its state (net/netfilter/nf_conntrack_core.c, `nf_conntrack_in`). */
import { readU8 } from "#core/base/bytes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { Headers } from "#core/wire/headers.ts";
import { ICMP_HEADER_BYTES } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { isDiscoveryAt, isIcmpErrorAt } from "../ip/icmp-messages.ts";
import {
  Connection,
  ConnectionTable,
  type ConntrackDirection,
  TrackedPacket,
  nextTcpState,
  opposite,
  timeoutOf,
  useConnection,
} from "./connection-table.ts";
import { invertTuple, isEchoReply, readTuple, tupleKey } from "./tuple.ts";

const TCP_FLAGS_OFFSET = 13;
const INVALID: TrackedPacket["state"] = "invalid";

/** A packet that is being handled, and the tuple that it has at the moment. */
export interface HandledPacket {
  readonly tracked: TrackedPacket;
  readonly tuple: FiveTuple;
}

export class Tracker {
  readonly table: ConnectionTable = new ConnectionTable();

  /**
   * What is known of a packet that arrives or is sent. `cause` is the packet in whose handling it is sent: an ICMP
   * error about that one belongs to its connection, although half of it may be translated already.
   */
  track(bytes: Uint8Array, headers: Headers, nowMs: number, cause?: HandledPacket): TrackedPacket {
    // nf_conntrack_proto_icmpv6.c: neighbour discovery is no connection's.
    if (isDiscoveryAt(bytes, headers)) return new TrackedPacket("untracked");
    if (isIcmpErrorAt(bytes, headers)) return this.trackError(bytes, headers, nowMs, cause);
    const tuple = readTuple(bytes, headers);
    if (tuple === undefined) return new TrackedPacket(INVALID);
    const found = this.table.find(tuple, nowMs);
    if (found === undefined) return this.begin(bytes, headers, tuple, nowMs);
    const { connection, direction } = found;
    if (headers.protocol === IpProtocol.tcp) {
      const flags = readU8(bytes, headers.transport + TCP_FLAGS_OFFSET);
      const step = nextTcpState(connection.tcpState, direction, flags);
      if (step === "invalid") return new TrackedPacket(INVALID);
      const isReopened = connection.tcpState === "time-wait" || connection.tcpState === "close";
      if (step === "syn-sent" && isReopened) {
        // A new SYN on the remains of a connection: everything is decided anew.
        this.table.remove(connection);
        return this.begin(bytes, headers, tuple, nowMs);
      }
      if (step !== "ignored" && step !== connection.tcpState) {
        connection.tcpState = step;
        connection.version += 1;
      }
    }
    return this.pass(connection, direction, nowMs);
  }

  /** What is known of a packet that this machine sent to itself: it is translated already. */
  trackOwn(bytes: Uint8Array, headers: Headers, nowMs: number): TrackedPacket {
    const tuple = readTuple(bytes, headers);
    const found = tuple === undefined ? undefined : this.table.find(invertTuple(tuple), nowMs);
    if (found === undefined) return new TrackedPacket("untracked");
    const direction = opposite(found.direction);
    const isNew = direction === "original" && !found.connection.isReplied;
    return new TrackedPacket(isNew ? "new" : "established", found.connection, direction);
  }

  private begin(bytes: Uint8Array, headers: Headers, tuple: FiveTuple, nowMs: number): TrackedPacket {
    const connection = new Connection(tuple, nowMs);
    if (headers.protocol === IpProtocol.tcp) {
      const step = nextTcpState("none", "original", readU8(bytes, headers.transport + TCP_FLAGS_OFFSET));
      if (step === "invalid" || step === "ignored") return new TrackedPacket(INVALID);
      connection.tcpState = step;
    }
    if (isEchoReply(tuple)) return new TrackedPacket(INVALID);
    connection.expiresAtMs = nowMs + timeoutOf(connection, nowMs);
    return new TrackedPacket("new", connection);
  }

  private pass(connection: Connection, direction: ConntrackDirection, nowMs: number): TrackedPacket {
    const isFirstAnswer = direction === "reply" && !connection.isReplied;
    const isTcp = connection.original.protocol === IpProtocol.tcp;
    // A connection that is answered by a reset never was one.
    if (isFirstAnswer && isTcp && connection.tcpState === "close") this.table.remove(connection);
    useConnection(connection, direction, nowMs);
    const isNew = direction === "original" && !connection.isReplied;
    return new TrackedPacket(isNew ? "new" : "established", connection, direction);
  }

  private trackError(
    bytes: Uint8Array,
    headers: Headers,
    nowMs: number,
    cause: HandledPacket | undefined,
  ): TrackedPacket {
    const inner = new Headers();
    const start = headers.transport + ICMP_HEADER_BYTES;
    if (inner.parseEmbedded(bytes, start, headers.end) !== undefined) return new TrackedPacket(INVALID);
    const quoted = readTuple(bytes, inner);
    if (quoted === undefined) return new TrackedPacket(INVALID);
    if (cause?.tracked.connection !== undefined && tupleKey(cause.tuple) === tupleKey(quoted)) {
      const { connection, direction } = cause.tracked;
      return new TrackedPacket("related", connection, opposite(direction));
    }
    const found = this.table.find(invertTuple(quoted), nowMs);
    if (found === undefined) return new TrackedPacket(INVALID);
    return new TrackedPacket("related", found.connection, found.direction);
  }
}
