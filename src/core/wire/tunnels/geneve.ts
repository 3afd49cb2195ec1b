/**
 * The GENEVE header (RFC 8926; dataplane.md §6.2), 8 bytes and options: version and option length 0, flags 1, protocol
 * type 2, VNI 4–6, reserved 7, options 8. What follows is an Ethernet frame when the protocol type says so.
 *
 * HNS does not speak it; nodes of OVN and Antrea do.
 */
import { assert } from "../../base/assert.ts";
import { readU16, readU24, readU8, writeU16, writeU24, writeU8 } from "../../base/bytes.ts";
import type { MalformedReason } from "../malformed.ts";

export const GENEVE_HEADER_BYTES = 8;
/** Class, type and length in front of each option's data. */
export const GENEVE_OPTION_HEADER_BYTES = 4;
/** The UDP destination port of GENEVE. */
export const GENEVE_PORT = 6081;
/** The protocol type of an Ethernet frame, in GENEVE and GRE ("trans-Ether bridging"). */
export const TRANSPARENT_ETHERNET = 0x6558;

const FLAG = { control: 0x80, critical: 0x40 } as const;
const CRITICAL_TYPE = 0x80;
/** Six bits count words of 4 bytes. */
const OPTION_BYTES_MAX = 63 * 4;

/** One option as a value. */
export interface GeneveOption {
  readonly optionClass: number;
  /** 8 bits; the top one marks an option that a receiver must understand. */
  readonly type: number;
  /** A multiple of 4 bytes, at most 124. */
  readonly data: Uint8Array;
}

/** A GENEVE header as a value. */
export interface GeneveFields {
  readonly vni: number;
  readonly protocolType: number;
  /** The packet is for the tunnel's own end. */
  readonly isControl: boolean;
  readonly options: readonly GeneveOption[];
}

/** A GENEVE header in a frame's own bytes. */
export class GeneveView {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** Start of what the tunnel carries, behind all options. */
  readonly payloadStart: number;

  private constructor(bytes: Uint8Array, start: number, payloadStart: number) {
    this.bytes = bytes;
    this.start = start;
    this.payloadStart = payloadStart;
  }

  /** The header in `bytes[start..end)`, a UDP payload. Its options are all inside. Reserved bits are ignored. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): GeneveView | MalformedReason {
    if (end - start < GENEVE_HEADER_BYTES) return "geneve-truncated";
    // RFC 8926 §3.4: a packet of an unknown version is dropped.
    if (readU8(bytes, start) >>> 6 !== 0) return "geneve-version";
    const payloadStart = start + GENEVE_HEADER_BYTES + (readU8(bytes, start) & 0x3f) * 4;
    if (payloadStart > end) return "geneve-option-length";
    let at = start + GENEVE_HEADER_BYTES;
    while (at < payloadStart) {
      if (payloadStart - at < GENEVE_OPTION_HEADER_BYTES) return "geneve-option-length";
      at += GENEVE_OPTION_HEADER_BYTES + (readU8(bytes, at + 3) & 0x1f) * 4;
    }
    return at === payloadStart ? new GeneveView(bytes, start, payloadStart) : "geneve-option-length";
  }

  /** The virtual network identifier, 24 bits. */
  get vni(): number {
    return readU24(this.bytes, this.start + 4);
  }

  get protocolType(): number {
    return readU16(this.bytes, this.start + 2);
  }

  get isControl(): boolean {
    return (readU8(this.bytes, this.start + 1) & FLAG.control) !== 0;
  }

  /** True when an option must be understood. */
  get hasCriticalOptions(): boolean {
    return (readU8(this.bytes, this.start + 1) & FLAG.critical) !== 0;
  }

  /** Bytes of all options with their headers. */
  get optionBytes(): number {
    return this.payloadStart - this.start - GENEVE_HEADER_BYTES;
  }

  /** The options in their order; data are windows on the frame. Allocates. */
  listOptions(): GeneveOption[] {
    const options: GeneveOption[] = [];
    for (let at = this.start + GENEVE_HEADER_BYTES; at < this.payloadStart; ) {
      const from = at + GENEVE_OPTION_HEADER_BYTES;
      const to = from + (readU8(this.bytes, at + 3) & 0x1f) * 4;
      const [optionClass, type] = [readU16(this.bytes, at), readU8(this.bytes, at + 2)];
      options.push({ optionClass, type, data: this.bytes.subarray(from, to) });
      at = to;
    }
    return options;
  }
}

export function toGeneveFields(view: GeneveView): GeneveFields {
  const { vni, protocolType, isControl } = view;
  return { vni, protocolType, isControl, options: view.listOptions() };
}

/** Bytes that `emitGeneve` writes. */
export function geneveLength(fields: Pick<GeneveFields, "options">): number {
  let length = GENEVE_HEADER_BYTES;
  for (const option of fields.options) length += GENEVE_OPTION_HEADER_BYTES + option.data.length;
  return length;
}

/** Writes header and options at `offset`. @returns the bytes written. */
export function emitGeneve(fields: GeneveFields, bytes: Uint8Array, offset: number): number {
  const length = geneveLength(fields);
  assert(length - GENEVE_HEADER_BYTES <= OPTION_BYTES_MAX, "GENEVE carries at most 252 bytes of options");
  const isCritical = fields.options.some((option) => (option.type & CRITICAL_TYPE) !== 0);
  writeU8(bytes, offset, (length - GENEVE_HEADER_BYTES) / 4);
  writeU8(bytes, offset + 1, (fields.isControl ? FLAG.control : 0) | (isCritical ? FLAG.critical : 0));
  writeU16(bytes, offset + 2, fields.protocolType);
  writeU24(bytes, offset + 4, fields.vni);
  writeU8(bytes, offset + 7, 0);
  let at = offset + GENEVE_HEADER_BYTES;
  for (const { optionClass, type, data } of fields.options) {
    assert(data.length % 4 === 0 && data.length <= 124, "a GENEVE option has up to 31 words");
    writeU16(bytes, at, optionClass);
    writeU8(bytes, at + 2, type);
    writeU8(bytes, at + 3, data.length / 4);
    bytes.set(data, at + GENEVE_OPTION_HEADER_BYTES);
    at += GENEVE_OPTION_HEADER_BYTES + data.length;
  }
  return length;
}
