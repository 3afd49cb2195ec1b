/** A TCP segment that arrived, with what the connection reads of it more than once. */
import { readU16, readU32, readU8 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Headers } from "#core/wire/headers.ts";
import { TcpFlag, TcpView } from "#core/wire/tcp.ts";
import { type TcpOption, type SackBlock, TcpOptionKind, findTcpOption } from "#core/wire/tcp-options.ts";
import type { LocalPacket } from "../stack.ts";

// Sequence numbers, unsigned 32-bit integers that wrap (RFC 9293 §3.4): arithmetic, and a byte stream put in order by
// them.

/** `a` plus `count`, wrapped. */
export function addSequence(a: number, count: number): number {
  return (a + count) >>> 0;
}

/** The signed distance from `b` to `a`: positive when `a` is later. */
export function sequenceDistance(a: number, b: number): number {
  return (a - b) | 0;
}

export function isBefore(a: number, b: number): boolean {
  return sequenceDistance(a, b) < 0;
}

export function isAfter(a: number, b: number): boolean {
  return sequenceDistance(a, b) > 0;
}

/** Overlapping pieces may hold bytes twice; beyond this, what comes early is forgotten and will be sent again. */
const EARLY_BYTES_MAX = 262_144;

/** Blocks that are remembered for acknowledgements: no segment has room for more (RFC 2018 §3). */
const SACK_BLOCKS_MAX = 4;

interface EarlyPiece {
  readonly sequence: number;
  readonly bytes: Uint8Array;
  /** The peer's FIN follows the bytes. */
  readonly isFinal: boolean;
}

/** The FIN has a number of its own. */
function endOf({ sequence, bytes, isFinal }: EarlyPiece): number {
  return addSequence(sequence, bytes.length + (isFinal ? 1 : 0));
}

/**
 * Puts the byte stream of one TCP connection back in order. Data go to the owner as soon as nothing before them is
 * missing, so only what came early is kept here, at most one receive window of it.
 */
export class ReceiveSequence {
  /** The next sequence number that is expected; behind the FIN when it came in order. */
  next: number;
  /** The peer's stream has ended. */
  isFinished = false;
  /** Pieces behind a gap, in order of sequence, without overlaps at their starts. */
  private early: EarlyPiece[] = [];
  /** What is kept behind gaps: the block that the last segment belongs to comes first (RFC 2018 §4). */
  private blocks: SackBlock[] = [];
  /** What came once more, until an acknowledgement says so (RFC 2883 §4). */
  private repeated: SackBlock | undefined;

  constructor(next: number) {
    this.next = next;
  }

  get hasGap(): boolean {
    return this.early.length > 0;
  }

  /** How many blocks the next acknowledgement has to say. */
  get sackCount(): number {
    return this.blocks.length + (this.repeated === undefined ? 0 : 1);
  }

  /** The blocks for an acknowledgement that has room for `count`. */
  takeSackBlocks(count: number): readonly SackBlock[] {
    const { repeated } = this;
    this.repeated = undefined;
    return (repeated === undefined ? this.blocks : [repeated, ...this.blocks]).slice(0, count);
  }

  /** A segment that lies outside the window; what of it was here before is repeated. */
  noteOld(sequence: number, length: number): void {
    if (length > 0 && isBefore(sequence, this.next))
      this.noteRepeated(sequence, addSequence(sequence, length));
  }

  /**
   * Takes a piece of the stream that lies in the window. Bytes that were there before are ignored.
   * @returns the bytes that are in order now; empty when the piece came early or says nothing new.
   */
  accept(sequence: number, bytes: Uint8Array, isFinal = false): readonly Uint8Array[] {
    const piece = { sequence, bytes: bytes.slice(), isFinal };
    const end = endOf(piece);
    this.noteRepeated(sequence, end);
    if (this.keep(piece) && isAfter(sequence, this.next)) this.addBlock(sequence, end);
    const ready: Uint8Array[] = [];
    for (
      let first = this.early[0];
      first !== undefined && !isAfter(first.sequence, this.next);
      first = this.early[0]
    ) {
      this.early.shift();
      const known = sequenceDistance(this.next, first.sequence);
      if (!isAfter(endOf(first), this.next)) continue;
      if (known < first.bytes.length) ready.push(first.bytes.subarray(known));
      this.next = endOf(first);
      if (!first.isFinal) continue;
      // Nothing comes after the end.
      this.isFinished = true;
      this.early = [];
    }
    this.blocks = this.isFinished ? [] : this.blocks.filter((block) => isAfter(block.right, this.next));
    return ready;
  }

  /** @returns false when the piece is not kept: there is no room for it. */
  private keep(piece: EarlyPiece): boolean {
    const end = endOf(piece);
    if (end === piece.sequence) return false;
    const isInOrder = !isAfter(piece.sequence, this.next);
    if (!isInOrder && this.earlyBytes() + piece.bytes.length > EARLY_BYTES_MAX) return false;
    let index = 0;
    for (const other of this.early) {
      // A piece that a kept one covers says nothing new: repeated segments cannot fill the memory.
      if (!isAfter(other.sequence, piece.sequence) && !isBefore(endOf(other), end)) return true;
      if (isBefore(other.sequence, piece.sequence)) index++;
    }
    this.early.splice(index, 0, piece);
    return true;
  }

  private noteRepeated(sequence: number, end: number): void {
    if (isBefore(sequence, this.next)) {
      this.repeated = { left: sequence, right: isBefore(end, this.next) ? end : this.next };
      return;
    }
    const known = this.blocks.find((block) => isBefore(sequence, block.right) && isAfter(end, block.left));
    if (known === undefined) return;
    this.repeated = {
      left: isAfter(sequence, known.left) ? sequence : known.left,
      right: isBefore(end, known.right) ? end : known.right,
    };
  }

  private addBlock(from: number, to: number): void {
    let [left, right] = [from, to];
    const others: SackBlock[] = [];
    for (const block of this.blocks) {
      if (isAfter(block.left, right) || isBefore(block.right, left)) {
        others.push(block);
        continue;
      }
      if (isBefore(block.left, left)) ({ left } = block);
      if (isAfter(block.right, right)) ({ right } = block);
    }
    this.blocks = [{ left, right }, ...others].slice(0, SACK_BLOCKS_MAX);
  }

  private earlyBytes(): number {
    let count = 0;
    for (const piece of this.early) count += piece.bytes.length;
    return count;
  }
}

/** Both bits set: a router on the way is congested (RFC 3168). */
const ECN_CONGESTION_EXPERIENCED = 3;

export interface TcpSegment {
  readonly source: Ip;
  readonly sourcePort: number;
  readonly destination: Ip;
  readonly destinationPort: number;
  readonly sequence: number;
  readonly acknowledgment: number;
  /** Bits of `TcpFlag`. */
  readonly flags: number;
  /** As on the wire, not scaled. */
  readonly window: number;
  /** Bytes of its own. */
  readonly payload: Uint8Array;
  /** Sequence numbers it takes: payload, SYN and FIN. */
  readonly length: number;
  /** The option bytes. */
  readonly options: Uint8Array;
  /** The timestamps option; undefined without one. */
  readonly timestamps: { readonly value: number; readonly echo: number } | undefined;
  readonly isCongestionExperienced: boolean;
}

/** Reads the segment of a packet whose headers were parsed; undefined when it is broken. */
export function readSegment(local: LocalPacket): TcpSegment | undefined {
  const { packet, headers } = local;
  const view = TcpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof view === "string") return undefined;
  const flags = view.flags;
  const payload = packet.bytes.slice(view.payloadStart, view.payloadEnd);
  const at = findTcpOption(packet.bytes, view.start, TcpOptionKind.timestamps);
  const hasTimestamps = at >= 0 && readU8(packet.bytes, at + 1) === 10;
  return {
    source: local.source,
    sourcePort: view.sourcePort,
    destination: local.destination,
    destinationPort: view.destinationPort,
    sequence: view.sequence,
    acknowledgment: view.acknowledgment,
    flags,
    window: view.window,
    payload,
    length: payload.length + ((flags & TcpFlag.syn) === 0 ? 0 : 1) + ((flags & TcpFlag.fin) === 0 ? 0 : 1),
    options: view.options.slice(),
    timestamps: hasTimestamps
      ? { value: readU32(packet.bytes, at + 2), echo: readU32(packet.bytes, at + 6) }
      : undefined,
    isCongestionExperienced: readEcn(packet.bytes, headers) === ECN_CONGESTION_EXPERIENCED,
  };
}

/** True when any flag of `mask` is set. */
export function hasFlag(segment: TcpSegment, mask: number): boolean {
  return (segment.flags & mask) !== 0;
}

/** The two bits of congestion notification, which IPv6 keeps across two octets. */
function readEcn(bytes: Uint8Array, headers: Headers): number {
  const word = readU16(bytes, headers.network);
  return headers.family === 6 ? (word >>> 4) & 3 : word & 3;
}

/** What differs from segment to segment of a connection. */
export interface SegmentFields {
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly flags: number;
  readonly window: number;
  readonly options: readonly TcpOption[];
}

/** The ends of a connection, as this side sees them. */
export interface Ends {
  readonly localIp: Ip;
  readonly localPort: number;
  readonly remoteIp: Ip;
  readonly remotePort: number;
}
