/**
 * The VXLAN header (RFC 7348 §5; dataplane.md §6.1), 8 bytes: flags 0, reserved 1–3, VNI 4–6, reserved 7. An
 * Ethernet frame without check sequence follows.
 */
import { readU24, readU8, writeU24, writeU8 } from "../../base/bytes.ts";
import type { MalformedReason } from "../malformed.ts";

export const VXLAN_HEADER_BYTES = 8;
/** The UDP destination port of VXLAN. */
export const VXLAN_PORT = 4789;

/** The bit of the flags octet that says the VNI means something. */
export const VXLAN_FLAG_VNI_VALID = 0x08;

/** A VXLAN header in a frame's own bytes. */
export class VxlanView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  /** The header in `bytes[start..end)`, a UDP payload. Bits that RFC 7348 reserves are ignored, as it asks. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): VxlanView | MalformedReason {
    if (end - start < VXLAN_HEADER_BYTES) return "vxlan-truncated";
    return (readU8(bytes, start) & VXLAN_FLAG_VNI_VALID) === 0
      ? "vxlan-vni-invalid"
      : new VxlanView(bytes, start);
  }

  /** The VXLAN network identifier, 24 bits. */
  get vni(): number {
    return readU24(this.bytes, this.start + 4);
  }

  /** Start of the inner Ethernet frame. */
  get payloadStart(): number {
    return this.start + VXLAN_HEADER_BYTES;
  }
}

/** Writes the header at `offset`. @returns the bytes written, 8. */
export function emitVxlan(vni: number, bytes: Uint8Array, offset: number): number {
  writeU8(bytes, offset, VXLAN_FLAG_VNI_VALID);
  writeU24(bytes, offset + 1, 0);
  writeU24(bytes, offset + 4, vni);
  writeU8(bytes, offset + 7, 0);
  return VXLAN_HEADER_BYTES;
}
