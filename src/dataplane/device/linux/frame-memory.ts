/**
 * Memory for frames that come and go by the hundred thousand: what one device is done with, the next frame gets. New memory
 * for each would be cleared first, and collected afterwards, which takes longer than all that is done with a frame.
 */
import { HEADROOM_BYTES, type Packet } from "#core/wire/packet.ts";
import { VIRTIO_HEADER_BYTES } from "./virtio-header.ts";

/** Where a frame begins: outer headers fit in front, and so does the header that a TAP gives and takes. */
export const FRAME_AT: number = HEADROOM_BYTES + VIRTIO_HEADER_BYTES;
/** The largest IP packet, its Ethernet header with a VLAN tag. */
export const LARGE_BYTES: number = FRAME_AT + 18 + 65_535;
/** A frame of an Ethernet, and some more. */
export const SMALL_BYTES: number = FRAME_AT + 1_686;
/** Of each size: more than a burst of every port of a busy cluster. */
const KEPT_MAX = 256;
const NOTHING = new Uint8Array(0);

/** Takes a packet its memory away. */
export function detach(packet: Packet): void {
  packet.bytes = NOTHING;
  packet.start = 0;
  packet.end = 0;
}

export class FrameMemory {
  private readonly small: Uint8Array[] = [];
  private readonly large: Uint8Array[] = [];

  /** Memory of `SMALL_BYTES` or `LARGE_BYTES`, which holds anything. */
  take(size: "small" | "large"): Uint8Array {
    const isSmall = size === "small";
    return (isSmall ? this.small : this.large).pop() ?? new Uint8Array(isSmall ? SMALL_BYTES : LARGE_BYTES);
  }

  /** Takes back what a packet of ours has: whoever was given it, it is of no more use. Other memory is left to the collector. */
  release(packet: Packet): void {
    const { bytes } = packet;
    if (this.listOf(bytes) === undefined) return;
    detach(packet);
    this.giveBack(bytes);
  }

  /** Takes back memory that no packet has any more. */
  giveBack(bytes: Uint8Array): void {
    const kept = this.listOf(bytes);
    if (kept !== undefined && kept.length < KEPT_MAX) kept.push(bytes);
  }

  /** Nobody else asks for memory of these odd sizes. */
  private listOf({ length }: Uint8Array): Uint8Array[] | undefined {
    if (length === SMALL_BYTES) return this.small;
    return length === LARGE_BYTES ? this.large : undefined;
  }
}
