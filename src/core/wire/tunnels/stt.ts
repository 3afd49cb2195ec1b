/**
 * Stateless Transport Tunneling (draft-davie-stt; dataplane.md §6.3, control-planes.md §4.3). A frame behind an STT
 * header is cut into segments that look like TCP to port 7471, so that network adapters help; there is no connection.
 *
 * ```
 * TCP header   source port: hash | 0x8000   sequence: frame length << 16 | offset of the segment
 *              acknowledgment: packet id, the same for all segments of a frame   flags PSH ACK   window 0xffff
 * STT header   version 0, flags 1, layer 4 offset 2, reserved 3, MSS 4, VLAN tag 6, context id 8, padding 16
 * ```
 *
 * The length counts the STT header and the frame. HNS does not speak STT, and no free implementation is left that one
 * could exchange packets with: what holds this file is the document, tshark's dissector, and its own round trip.
 */
import { assert } from "../../base/assert.ts";
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../../base/bytes.ts";
import { LIMITS } from "../../base/limits.ts";
import type { MalformedReason } from "../malformed.ts";

export const STT_HEADER_BYTES = 18;
/** The TCP destination port of STT. */
export const STT_PORT = 7471;

/** Bits of the flags octet. */
export const SttFlag = { checksumVerified: 0x01, checksumPartial: 0x02, ipv4: 0x04, tcp: 0x08 } as const;

/** The largest STT frame, header included: its length has 16 bits. */
export const STT_FRAME_BYTES_MAX = 0xffff;
/** How long the segments of a frame are waited for (control-planes.md §4.3). */
const REASSEMBLY_MS = 30_000;

/** An STT header as a value. */
export interface SttFields {
  /** Bits of `SttFlag`. */
  readonly flags: number;
  /** From the inner frame's start to its transport header; 0 when the flags say nothing. */
  readonly layer4Offset: number;
  /** For a super frame whose receiver has to cut it; 0 otherwise. */
  readonly mssBytes: number;
  /** Priority, a bit that says "valid", VLAN id: as an 802.1Q tag, with bit 12 for valid. */
  readonly vlanTag: number;
  /** 64 bits; OVN's layout is in ovn-metadata.ts. */
  readonly contextId: bigint;
}

/** An STT header in a frame's own bytes: the start of a frame's first segment. */
export class SttView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): SttView | MalformedReason {
    if (end - start < STT_HEADER_BYTES) return "stt-truncated";
    return readU8(bytes, start) === 0 ? new SttView(bytes, start) : "stt-version";
  }

  get flags(): number {
    return readU8(this.bytes, this.start + 1);
  }

  get layer4Offset(): number {
    return readU8(this.bytes, this.start + 2);
  }

  get mssBytes(): number {
    return readU16(this.bytes, this.start + 4);
  }

  get vlanTag(): number {
    return readU16(this.bytes, this.start + 6);
  }

  /** Allocates a bigint. */
  get contextId(): bigint {
    return (
      (BigInt(readU32(this.bytes, this.start + 8)) << 32n) | BigInt(readU32(this.bytes, this.start + 12))
    );
  }

  /** Start of the inner Ethernet frame. */
  get payloadStart(): number {
    return this.start + STT_HEADER_BYTES;
  }
}

export function toSttFields(view: SttView): SttFields {
  const { flags, layer4Offset, mssBytes, vlanTag, contextId } = view;
  return { flags, layer4Offset, mssBytes, vlanTag, contextId };
}

/** Writes the header at `offset`. @returns the bytes written, 18. */
export function emitStt(fields: SttFields, bytes: Uint8Array, offset: number): number {
  writeU8(bytes, offset, 0);
  writeU8(bytes, offset + 1, fields.flags);
  writeU8(bytes, offset + 2, fields.layer4Offset);
  writeU8(bytes, offset + 3, 0);
  writeU16(bytes, offset + 4, fields.mssBytes);
  writeU16(bytes, offset + 6, fields.vlanTag);
  writeU32(bytes, offset + 8, Number(fields.contextId >> 32n));
  writeU32(bytes, offset + 12, Number(fields.contextId & 0xffff_ffffn));
  writeU16(bytes, offset + 16, 0);
  return STT_HEADER_BYTES;
}

/** What the TCP-like header of a segment says. */
export interface SttSegment {
  /** Bytes of the STT header and the frame behind it. */
  readonly frameBytes: number;
  /** Where this segment's bytes belong in that. */
  readonly offset: number;
  /** The same for all segments of a frame. */
  readonly packetId: number;
}

/** Sequence and acknowledgment number, read as STT means them. */
export function toSttSegment(sequence: number, acknowledgment: number): SttSegment {
  return { frameBytes: sequence >>> 16, offset: sequence & 0xffff, packetId: acknowledgment };
}

/** The sequence number of a segment. */
export function sttSequence(segment: Pick<SttSegment, "frameBytes" | "offset">): number {
  return ((segment.frameBytes << 16) | segment.offset) >>> 0;
}

/** A frame some of whose segments are missing. */
interface Reassembly {
  readonly bytes: Uint8Array;
  /** Which bytes are there, as ranges in ascending order. */
  readonly ranges: { from: number; to: number }[];
  readonly startedMs: number;
}

/** Puts frames together from their segments. Bounded in number and time; plain data. */
export class SttReassembler {
  private readonly pending = new Map<string, Reassembly>();
  /** Frames that were given up: too old, too many at a time, or in segments that contradict each other. */
  givenUp = 0;

  /** Frames that wait for segments. */
  get size(): number {
    return this.pending.size;
  }

  /**
   * Takes the payload of one segment. `source` names the sender's addresses and ports.
   * @returns the STT header and the frame behind it once all is there; undefined before; why a segment was refused.
   */
  add(
    source: string,
    segment: SttSegment,
    payload: Uint8Array,
    nowMs: number,
  ): Uint8Array | undefined | MalformedReason {
    const { frameBytes, offset } = segment;
    if (frameBytes < STT_HEADER_BYTES || payload.length === 0 || offset + payload.length > frameBytes)
      return "stt-segment-length";
    if (payload.length === frameBytes) return payload;
    this.dropOld(nowMs);
    const name = `${source}|${segment.packetId}|${frameBytes}`;
    const reassembly = this.pending.get(name) ?? this.begin(name, frameBytes, nowMs);
    if (!insert(reassembly.ranges, offset, offset + payload.length)) {
      this.pending.delete(name);
      this.givenUp++;
      return "stt-segment-overlap";
    }
    reassembly.bytes.set(payload, offset);
    const [first] = reassembly.ranges;
    if (first?.from !== 0 || first.to !== frameBytes) return undefined;
    this.pending.delete(name);
    return reassembly.bytes;
  }

  private begin(name: string, frameBytes: number, nowMs: number): Reassembly {
    if (this.pending.size >= LIMITS.tunnelReassembliesMax) {
      const [oldest] = this.pending.keys();
      if (oldest !== undefined) this.pending.delete(oldest);
      this.givenUp++;
    }
    const made: Reassembly = { bytes: new Uint8Array(frameBytes), ranges: [], startedMs: nowMs };
    this.pending.set(name, made);
    return made;
  }

  private dropOld(nowMs: number): void {
    for (const [name, { startedMs }] of this.pending) {
      if (nowMs - startedMs < REASSEMBLY_MS) return;
      this.pending.delete(name);
      this.givenUp++;
    }
  }
}

/** Adds a range to a sorted list and joins neighbours. @returns false when it overlaps one that is there. */
function insert(ranges: { from: number; to: number }[], from: number, to: number): boolean {
  const at = ranges.findIndex((range) => range.from >= from);
  const index = at < 0 ? ranges.length : at;
  const before = ranges[index - 1];
  const after = ranges[index];
  if ((before !== undefined && before.to > from) || (after !== undefined && after.from < to)) return false;
  assert(from < to, "a range holds something");
  if (before?.to === from) {
    before.to = after?.from === to ? after.to : to;
    if (after?.from === to) ranges.splice(index, 1);
  } else if (after?.from === to) after.from = from;
  else ranges.splice(index, 0, { from, to });
  return true;
}
