/**
 * The 802.1Q tag. The view starts behind ethertype 0x8100: priority (3 bits), drop eligible (1), VLAN id (12),
 * then the ethertype of what the tag carries.
 */
import { readU16, readU8, writeU16 } from "../base/bytes.ts";
import { ETHERNET_HEADER_BYTES, EtherType } from "./ethernet.ts";
import type { MalformedReason } from "./malformed.ts";
import type { Packet } from "./packet.ts";

export const VLAN_TAG_BYTES = 4;
/** Both MAC addresses: what stays in front of a tag. */
const ADDRESS_BYTES = 12;

const OFFSET = { control: 0, etherType: 2 } as const;

/** A tag as a value. */
export interface VlanTag {
  /** 0 to 4095; 0 carries a priority only. */
  readonly id: number;
  /** Priority code point, 0 to 7. Default 0, best effort. */
  readonly priority?: number;
  /** Default false. */
  readonly isDropEligible?: boolean;
}

/** A tag in a frame's own bytes. */
export class VlanView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  /** The tag in `bytes[start..end)`, where `start` lies behind the ethertype 0x8100. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): VlanView | MalformedReason {
    return end - start < VLAN_TAG_BYTES ? "vlan-truncated" : new VlanView(bytes, start);
  }

  get id(): number {
    return readU16(this.bytes, this.start + OFFSET.control) & 0x0fff;
  }

  get priority(): number {
    return readU8(this.bytes, this.start + OFFSET.control) >>> 5;
  }

  get isDropEligible(): boolean {
    return (readU8(this.bytes, this.start + OFFSET.control) & 0x10) !== 0;
  }

  /** The ethertype behind the tag. */
  get etherType(): number {
    return readU16(this.bytes, this.start + OFFSET.etherType);
  }

  get payloadStart(): number {
    return this.start + VLAN_TAG_BYTES;
  }
}

export function toVlanTag(view: VlanView): Required<VlanTag> {
  return { id: view.id, priority: view.priority, isDropEligible: view.isDropEligible };
}

/** Writes tag and following ethertype at `offset`. @returns the bytes written, 4. */
export function emitVlan(tag: VlanTag, etherType: number, bytes: Uint8Array, offset: number): number {
  const control =
    ((tag.priority ?? 0) << 13) | (tag.isDropEligible === true ? 0x1000 : 0) | (tag.id & 0x0fff);
  writeU16(bytes, offset + OFFSET.control, control);
  writeU16(bytes, offset + OFFSET.etherType, etherType);
  return VLAN_TAG_BYTES;
}

/** Puts a tag in front of what an Ethernet frame carries. Headers parsed before no longer hold. */
export function pushVlan(packet: Packet, tag: VlanTag): void {
  const before = packet.start;
  const etherType = readU16(packet.bytes, before + ADDRESS_BYTES);
  packet.prepend(VLAN_TAG_BYTES);
  if (packet.outerBytes > 0) packet.outerBytes += VLAN_TAG_BYTES;
  const at = packet.start;
  packet.bytes.copyWithin(at, at + VLAN_TAG_BYTES, at + VLAN_TAG_BYTES + ADDRESS_BYTES);
  writeU16(packet.bytes, at + ADDRESS_BYTES, EtherType.vlan);
  emitVlan(tag, etherType, packet.bytes, at + ETHERNET_HEADER_BYTES);
}

/** Takes the tag off a tagged frame. @returns false when the frame had none. Headers parsed before no longer hold. */
export function popVlan(packet: Packet): boolean {
  if (packet.length < ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES) return false;
  if (readU16(packet.bytes, packet.start + ADDRESS_BYTES) !== EtherType.vlan) return false;
  packet.bytes.copyWithin(packet.start + VLAN_TAG_BYTES, packet.start, packet.start + ADDRESS_BYTES);
  packet.start += VLAN_TAG_BYTES;
  if (packet.outerBytes > 0) packet.outerBytes -= VLAN_TAG_BYTES;
  return true;
}
