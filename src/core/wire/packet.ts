/**
 * A frame on its way: bytes with room in front, so that an encapsulation is written before the frame and
 * nothing is copied. All parts of the path hand on the same object and rewrite it in place.
 */
import { assert } from "../base/assert.ts";
import { viewOf } from "../base/bytes.ts";
import type { PacketTag } from "../base/recorder.ts";

/** Room kept before a frame: an outer Ethernet (14), IPv6 (40), UDP (8) and VXLAN (8) header fit. */
export const HEADROOM_BYTES = 72;

/** An Ethernet frame in `bytes[start..end)`. */
export class Packet {
  bytes: Uint8Array;
  start: number;
  end: number;
  /** Which packet of a trace this is; 0 for all others. */
  tag: PacketTag;
  /**
   * The virtual subnet that a switch knows the frame to belong to (VFP's TNI, or VSID); 0 for none. No byte of the frame:
   * a port that takes outer headers off sets it, a wire knows nothing of it.
   */
  tni = 0;
  /** The VLAN that a switch knows the frame to belong to, whose tag is off inside it; 0 for none. No byte of the frame. */
  vlan = 0;
  /**
   * Of a super frame: how much payload each of the segments carries that its sender left to the device to cut (large
   * send). 0 for all other frames. No byte of the frame. The checksum of its TCP or UDP header is left to who cuts it: until
   * then the field means nothing.
   */
  segmentBytes = 0;
  /** Of a super frame: how many bytes of outer headers stand in front of it, which each segment gets. No byte of the frame. */
  outerBytes = 0;
  private viewed: DataView | undefined;
  private viewedBytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array, start: number, end: number, tag: PacketTag = 0) {
    assert(start >= 0 && start <= end && end <= bytes.length, "a packet is inside its bytes");
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.tag = tag;
  }

  /** A packet of its own with a copy of `frame`. */
  static fromFrame(frame: Uint8Array, tag: PacketTag = 0): Packet {
    const bytes = new Uint8Array(HEADROOM_BYTES + frame.length);
    bytes.set(frame, HEADROOM_BYTES);
    return new Packet(bytes, HEADROOM_BYTES, bytes.length, tag);
  }

  /** An empty packet for a frame of `length` bytes, all zero. */
  static ofLength(length: number, tag: PacketTag = 0): Packet {
    return new Packet(new Uint8Array(HEADROOM_BYTES + length), HEADROOM_BYTES, HEADROOM_BYTES + length, tag);
  }

  get length(): number {
    return this.end - this.start;
  }

  /**
   * The same bytes by words: where many are read or written, a word is one step instead of four. Made when first asked for,
   * which costs as much as a hundred bytes.
   */
  get view(): DataView {
    if (this.viewed !== undefined && this.viewedBytes === this.bytes) return this.viewed;
    return this.makeView();
  }

  private makeView(): DataView {
    const { bytes } = this;
    this.viewedBytes = bytes;
    this.viewed = viewOf(bytes);
    return this.viewed;
  }

  /** The frame, as a window on the packet's own bytes. */
  get frame(): Uint8Array {
    return this.bytes.subarray(this.start, this.end);
  }

  /**
   * Makes the frame `length` bytes longer in front; the new bytes hold anything. Without room it moves to new bytes,
   * with headroom again.
   */
  prepend(length: number): void {
    if (length > this.start) {
      const bytes = new Uint8Array(HEADROOM_BYTES + length + this.length);
      bytes.set(this.frame, HEADROOM_BYTES + length);
      this.end = bytes.length;
      this.start = HEADROOM_BYTES + length;
      this.bytes = bytes;
    }
    this.start -= length;
  }

  /** A packet with bytes of its own: for flooding and for recorders. */
  copy(): Packet {
    const copy = Packet.fromFrame(this.frame, this.tag);
    copy.tni = this.tni;
    copy.vlan = this.vlan;
    copy.segmentBytes = this.segmentBytes;
    copy.outerBytes = this.outerBytes;
    return copy;
  }
}
