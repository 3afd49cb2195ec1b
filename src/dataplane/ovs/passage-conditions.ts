/** What a passage met that was not the packet itself: while it is as it was, the next packet with these headers goes the same way. */
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import {
  type Connection,
  type ConntrackDirection,
  type TrackedPacket,
  nextTcpState,
  timeoutOf,
  useConnection,
} from "../host/netfilter/connection-table.ts";
import type { Argument } from "./language/actions.ts";
import type { PacketState, PacketTracking } from "./packet-state.ts";

/**
 * Functions whose result follows from the headers of a packet, its connections, and what counts the revisions of network and
 * chassis; and which remember nothing that is not remembered already. All others are asked for each packet anew.
 */
const REPEATABLE: ReadonlySet<string> = new Set([
  "check_in_port_sec",
  "check_out_port_sec",
  "check_pkt_larger",
  "chk_lb_hairpin",
  "chk_lb_hairpin_reply",
  "ct_clear",
  "ct_ip6_dst",
  "ct_nw_dst",
  "ct_proto",
  "ct_state_save",
  "ct_tp_dst",
  "get_arp",
  "get_fdb",
  "get_nd",
  "lookup_arp",
  "lookup_arp_ip",
  "lookup_fdb",
  "lookup_nd",
  "lookup_nd_ip",
  "pop",
  "push",
  "put_arp",
  "put_fdb",
  "put_nd",
]);

/** A look-up in a zone that found a connection. A list, since most packets have two of them, and each is near the one before. */
export class KnownConnection {
  readonly next: KnownConnection | undefined;
  private readonly connection: Connection;
  private readonly direction: ConntrackDirection;
  private readonly version: number;
  /** How long TCP remembers it after a packet; negative for others, where time makes a stream of it. */
  private readonly timeoutMs: number;

  constructor(connection: Connection, direction: ConntrackDirection, next: KnownConnection | undefined) {
    this.next = next;
    this.connection = connection;
    this.direction = direction;
    this.version = connection.version;
    this.timeoutMs = connection.original.protocol === IpProtocol.tcp ? timeoutOf(connection, 0) : -1;
  }

  /** True while a look-up finds the same. */
  holds(nowMs: number): boolean {
    const { connection } = this;
    return connection.version === this.version && connection.expiresAtMs > nowMs;
  }

  /** Does to the connection what the look-up would have done. */
  use(nowMs: number): void {
    const { connection, timeoutMs } = this;
    if (timeoutMs < 0) useConnection(connection, this.direction, nowMs);
    else connection.expiresAtMs = nowMs + timeoutMs;
  }
}

/** True when the next look-up by a packet with these TCP flags finds the same as this one, and leaves it as it is. */
function isSettled({ state, direction }: TrackedPacket, connection: Connection, tcpFlags: number): boolean {
  const isNew = direction === "original" && !connection.isReplied;
  if (connection.isLost || state !== (isNew ? "new" : "established")) return false;
  if (connection.original.protocol !== IpProtocol.tcp) return true;
  const step = nextTcpState(connection.tcpState, direction, tcpFlags);
  return step === "ignored" || step === connection.tcpState;
}

export class PassageConditions {
  /** False: what was done depends on more than these conditions, or does more than change and send the packet. */
  isRepeatable = true;
  /** The bytes that the frame has at least, and at most. */
  bytesMin = 0;
  bytesMax: number = Number.MAX_SAFE_INTEGER;
  private readonly lookups: PacketTracking[] = [];

  /** A function is called. */
  noteCall(
    { name, arguments: given }: { readonly name: string; readonly arguments: readonly Argument[] },
    { fields: { packet } }: PacketState,
  ): void {
    if (!REPEATABLE.has(name)) this.isRepeatable = false;
    if (name !== "check_pkt_larger") return;
    const [limit] = given;
    if (limit?.kind !== "constant") this.isRepeatable = false;
    else if (packet.length > limit.value) this.bytesMin = Math.max(this.bytesMin, Number(limit.value) + 1);
    else this.bytesMax = Math.min(this.bytesMax, Number(limit.value));
  }

  /** Connection tracking was asked; the packet was looked up where the zone is another one than before. */
  noteLookup(before: PacketTracking | undefined, now: PacketTracking | undefined): void {
    if (now === undefined || now.zone === before?.zone) return;
    if (now.found === undefined) this.isRepeatable = false;
    this.lookups.push(now);
  }

  /** True when the next packet with these TCP flags finds the connections in the state that this one found, and leaves them so. */
  isSettled(tcpFlags: number): boolean {
    return this.lookups.every(({ tracked, found }) => {
      const { connection } = tracked;
      if (connection === undefined || !isSettled(tracked, connection, tcpFlags)) return false;
      return connection.mark === found?.mark && connection.label === found.label;
    });
  }

  /** What must hold of connections. */
  connections(): KnownConnection | undefined {
    let known: KnownConnection | undefined;
    for (const { tracked } of this.lookups.toReversed())
      if (tracked.connection !== undefined)
        known = new KnownConnection(tracked.connection, tracked.direction, known);
    return known;
  }
}
