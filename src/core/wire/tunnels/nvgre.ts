/**
 * The NVGRE header (RFC 7637 §3.2; dataplane.md §6.4), 8 bytes: GRE flags and version 0, protocol type 2, virtual subnet
 * id 4–6, flow id 7. An Ethernet frame follows. Other kinds of GRE are no NVGRE and stay payload.
 */
import { readU16, readU24, readU8, writeU16, writeU24, writeU8 } from "../../base/bytes.ts";
import { TRANSPARENT_ETHERNET } from "./geneve.ts";
import type { MalformedReason } from "../malformed.ts";

export const NVGRE_HEADER_BYTES = 8;

/** Key present, neither checksum nor sequence number, version 0. */
const FLAGS_AND_VERSION = 0x2000;

/** An NVGRE header in a frame's own bytes. */
export class NvgreView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  /** True when the GRE header in `bytes[start..end)` announces NVGRE, whole or cut. */
  static isNvgre(bytes: Uint8Array, start: number, end: number): boolean {
    return (
      end - start >= 4 &&
      readU16(bytes, start) === FLAGS_AND_VERSION &&
      readU16(bytes, start + 2) === TRANSPARENT_ETHERNET
    );
  }

  /** The header in `bytes[start..end)`, the payload of IP protocol 47. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): NvgreView | MalformedReason {
    if (end - start >= 4 && !NvgreView.isNvgre(bytes, start, end)) return "gre-not-nvgre";
    return end - start < NVGRE_HEADER_BYTES ? "nvgre-truncated" : new NvgreView(bytes, start);
  }

  /** The virtual subnet id, 24 bits. */
  get virtualSubnetId(): number {
    return readU24(this.bytes, this.start + 4);
  }

  /** Spreads flows over paths, 8 bits. */
  get flowId(): number {
    return readU8(this.bytes, this.start + 7);
  }

  /** Start of the inner Ethernet frame. */
  get payloadStart(): number {
    return this.start + NVGRE_HEADER_BYTES;
  }
}

/** Writes the header at `offset`. @returns the bytes written, 8. */
export function emitNvgre(
  virtualSubnetId: number,
  flowId: number,
  bytes: Uint8Array,
  offset: number,
): number {
  writeU16(bytes, offset, FLAGS_AND_VERSION);
  writeU16(bytes, offset + 2, TRANSPARENT_ETHERNET);
  writeU24(bytes, offset + 4, virtualSubnetId);
  writeU8(bytes, offset + 7, flowId);
  return NVGRE_HEADER_BYTES;
}
