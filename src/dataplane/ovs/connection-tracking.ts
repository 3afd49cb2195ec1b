/**
 * Connection tracking of logical flows: `ct_next`, `ct_commit`, `ct_lb`, `ct_snat` and their kin (ovn-sb(5), Logical_Flow,
 * "actions"; ovs-actions(7), "ct"). A zone is a table of connections of its own: every port of a switch has one, a router has
 * one for destinations and one for sources (ovn-architecture(7), "Logical ... connection tracking zones").
 *
 * Inferred: states and times of a connection are those of Linux. The datapath of Open vSwitch for Hyper-V keeps its own, of
 * which only times and the handling of segments out of order are known to differ.
 */
import { type Ip, familyOf, formatIp } from "#core/net/ip.ts";
import {
  type Connection,
  type ConnectionTable,
  type TrackedPacket,
  opposite,
} from "../host/netfilter/connection-table.ts";
import { rewriteError, rewriteSide } from "../host/netfilter/rewrite.ts";
import { Tracker } from "../host/netfilter/tracker.ts";
import { claimSource } from "../host/netfilter/translator.ts";
import { type Side, hasPorts } from "../host/netfilter/tuple.ts";
import type { FieldBits } from "./language/match.ts";
import { replaceBits } from "./packet-fields.ts";
import type { PacketState } from "./packet-state.ts";

/** Bits of `ct_state`, in the order of their positions (ovn-sb(5), "Symbols"). */
const STATE_BITS = ["new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"] as const;

function bit(name: (typeof STATE_BITS)[number]): number {
  return 1 << STATE_BITS.indexOf(name);
}

const TRANSLATED = bit("snat") | bit("dnat");

/** A translation that a new connection gets. */
export interface Translation {
  readonly side: Side;
  readonly ip: Ip;
  /** Undefined: the port stays, unless another connection has it. */
  readonly port: number | undefined;
}

export interface TrackRequest {
  readonly zone: string;
  readonly commits: boolean;
  /** `existing`: as the connection was translated before. */
  readonly translation: Translation | "existing" | undefined;
  /** What is written beside the connection. */
  readonly writes: readonly { readonly field: FieldBits; readonly value: bigint }[];
}

function bitsOf({ state, direction }: TrackedPacket): number {
  const isReply = direction === "reply" ? bit("rpl") : 0;
  switch (state) {
    case "new":
      return bit("trk") | bit("new");
    case "established":
      return bit("trk") | bit("est") | isReply;
    case "related":
      return bit("trk") | bit("rel") | isReply;
    case "invalid":
    case "untracked":
      return bit("trk") | bit("inv");
  }
}

/** `est|trk`, as ovn-trace writes a state. */
export function formatState(bits: number): string {
  return STATE_BITS.filter((name) => (bits & bit(name)) !== 0).join("|");
}

/** The bits of `new,trk`; undefined for what is no state. */
export function parseState(text: string): number | undefined {
  let bits = 0;
  for (const name of text.split(/[,| ]+/)) {
    const index = STATE_BITS.findIndex((each) => each === name);
    if (index < 0) return undefined;
    bits |= 1 << index;
  }
  return bits | bit("trk");
}

/** Writes the translation into the connection. @returns false when every port that it could have is taken. */
function settle(table: ConnectionTable, connection: Connection, wanted: Translation, nowMs: number): boolean {
  const { side, ip, port } = wanted;
  if (side === "destination") {
    const isPort = port !== undefined && hasPorts(connection.original.protocol);
    connection.reply = { ...connection.reply, source: ip, ...(isPort ? { sourcePort: port } : {}) };
    return true;
  }
  const reply = claimSource(table, connection.reply, ip, nowMs);
  if (reply === undefined) return false;
  connection.reply = reply;
  return true;
}

/** Rewrites a packet as its connection says. @returns the bits of `ct_state` for what was changed. */
function translate(state: PacketState, tracked: TrackedPacket): number {
  const { connection, direction } = tracked;
  if (connection === undefined) return 0;
  const { packet, headers } = state.fields;
  const target = connection.targetOf(direction);
  let bits = 0;
  for (const side of ["source", "destination"] as const) {
    if (!connection.isTranslated(direction, side)) continue;
    bits |= bit(side === "source" ? "snat" : "dnat");
    if (tracked.state !== "related") rewriteSide(packet.bytes, headers, side, target);
    else rewriteError(packet.bytes, headers, side, target, connection.tupleOf(opposite(direction)));
  }
  state.fields.forget();
  return bits;
}

function write(connection: Connection, { writes }: TrackRequest): void {
  const { mark, label } = connection;
  for (const { field, value } of writes) {
    if (field.base === "ct_mark") connection.mark = replaceBits(connection.mark, field, value);
    else if (field.base === "ct_label") connection.label = replaceBits(connection.label, field, value);
  }
  if (connection.mark !== mark || connection.label !== label) connection.version += 1;
}

export class ConnectionZones {
  private readonly trackers = new Map<string, Tracker>();

  private trackerOf(zone: string): Tracker {
    let tracker = this.trackers.get(zone);
    if (tracker === undefined) this.trackers.set(zone, (tracker = new Tracker()));
    return tracker;
  }

  /** Forgets the connections of a zone. */
  flush(zone: string): void {
    this.trackers.delete(zone);
  }

  /** Connections of a zone that are not out of date, in the order in which they began. */
  list(zone: string, nowMs: number): readonly Connection[] {
    return this.trackers.get(zone)?.table.list(nowMs) ?? [];
  }

  /**
   * Looks a packet up in a zone, and does what is asked with its connection. A packet is looked up once per zone, and
   * translated once. @returns why it cannot go on; undefined when it can.
   */
  track(state: PacketState, request: TrackRequest, nowMs: number): string | undefined {
    const { zone, translation, commits } = request;
    const tracker = this.trackerOf(zone);
    let known = state.tracking;
    if (known?.zone !== zone) {
      const { packet, headers } = state.fields;
      const tracked = tracker.track(packet.bytes, headers, nowMs);
      const { connection } = tracked;
      const found = connection?.isConfirmed === true ? connection : undefined;
      const beside = found === undefined ? undefined : { mark: found.mark, label: found.label };
      known = { zone, tracked, bits: bitsOf(tracked), found: beside };
    }
    state.tracking = known;
    const { connection } = known.tracked;
    if (connection === undefined) return undefined;
    if (translation !== undefined && (known.bits & TRANSLATED) === 0) {
      const isNew = !connection.isConfirmed && commits;
      if (isNew && translation !== "existing") {
        const isOfFamily = familyOf(translation.ip) === familyOf(connection.original.source);
        if (isOfFamily && !settle(tracker.table, connection, translation, nowMs))
          return `every source port of ${formatIp(translation.ip)} is taken in this zone`;
      }
      if (isNew || connection.isConfirmed)
        state.tracking = { ...known, bits: known.bits | translate(state, known.tracked) };
    }
    if (!commits) return undefined;
    write(connection, request);
    return connection.isConfirmed ? undefined : this.confirm(tracker.table, connection, nowMs);
  }

  private confirm(table: ConnectionTable, connection: Connection, nowMs: number): string | undefined {
    const { reply } = connection;
    const free = claimSource(table, reply, reply.destination, nowMs);
    if (free === undefined || !table.add(Object.assign(connection, { reply: free }), nowMs))
      return "no connection can be tracked any more in this zone";
    return undefined;
  }
}
