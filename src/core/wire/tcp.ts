/**
 * The TCP header (RFC 9293), 20 to 60 bytes: source port 0, destination port 2, sequence 4, acknowledgment 8,
 * data offset 12, flags 13, window 14, checksum 16, urgent pointer 18, options 20 (tcp-options.ts).
 */
import { assert } from "../base/assert.ts";
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import type { MalformedReason } from "./malformed.ts";
import { type TcpOption, emitTcpOptions, tcpOptionsLength } from "./tcp-options.ts";

export const TCP_HEADER_BYTES_MIN = 20;
/** Where the checksum lies in the header. */
export const TCP_CHECKSUM_OFFSET = 16;

const OFFSET = {
  sourcePort: 0,
  destinationPort: 2,
  sequence: 4,
  acknowledgment: 8,
  dataOffset: 12,
  flags: 13,
  window: 14,
  checksum: TCP_CHECKSUM_OFFSET,
  urgentPointer: 18,
  options: 20,
} as const;

/** Bits of the flags octet. */
export const TcpFlag = {
  fin: 0x01,
  syn: 0x02,
  rst: 0x04,
  psh: 0x08,
  ack: 0x10,
  urg: 0x20,
  ece: 0x40,
  cwr: 0x80,
} as const;

/** A TCP header in a frame's own bytes. */
export class TcpView {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** End of the segment. */
  readonly payloadEnd: number;

  private constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.payloadEnd = end;
  }

  /** The segment in `bytes[start..end)`. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): TcpView | MalformedReason {
    if (end - start < TCP_HEADER_BYTES_MIN) return "tcp-truncated";
    const headerBytes = (readU8(bytes, start + OFFSET.dataOffset) >>> 4) * 4;
    if (headerBytes < TCP_HEADER_BYTES_MIN || headerBytes > end - start) return "tcp-data-offset";
    return new TcpView(bytes, start, end);
  }

  get sourcePort(): number {
    return readU16(this.bytes, this.start + OFFSET.sourcePort);
  }

  get destinationPort(): number {
    return readU16(this.bytes, this.start + OFFSET.destinationPort);
  }

  get sequence(): number {
    return readU32(this.bytes, this.start + OFFSET.sequence);
  }

  get acknowledgment(): number {
    return readU32(this.bytes, this.start + OFFSET.acknowledgment);
  }

  /** Header with options, 20 to 60 bytes. */
  get headerBytes(): number {
    return (readU8(this.bytes, this.start + OFFSET.dataOffset) >>> 4) * 4;
  }

  /** Bits of `TcpFlag`. */
  get flags(): number {
    return readU8(this.bytes, this.start + OFFSET.flags);
  }

  /** True when every flag of `mask` is set. */
  has(mask: number): boolean {
    return (this.flags & mask) === mask;
  }

  /** As on the wire, not scaled. */
  get window(): number {
    return readU16(this.bytes, this.start + OFFSET.window);
  }

  get checksum(): number {
    return readU16(this.bytes, this.start + OFFSET.checksum);
  }

  get urgentPointer(): number {
    return readU16(this.bytes, this.start + OFFSET.urgentPointer);
  }

  get payloadStart(): number {
    return this.start + this.headerBytes;
  }

  get payloadLength(): number {
    return this.payloadEnd - this.payloadStart;
  }

  /** The option bytes, padding included, as a window on the frame. Allocates the window. */
  get options(): Uint8Array {
    return this.bytes.subarray(this.start + OFFSET.options, this.payloadStart);
  }
}

/** A TCP header as a value. */
export interface TcpFields {
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** 32 bits, unsigned. */
  readonly sequence: number;
  /** 32 bits, unsigned; 0 in a segment without the flag ACK. */
  readonly acknowledgment: number;
  /** Bits of `TcpFlag`. */
  readonly flags: number;
  /** As on the wire, not scaled. */
  readonly window: number;
  /** Default 0. */
  readonly urgentPointer?: number;
  /** In the order given; at most 40 bytes with padding. Default none. */
  readonly options?: readonly TcpOption[];
}

/** Bytes of the header that `emitTcp` writes. */
export function tcpHeaderLength(options: readonly TcpOption[] = []): number {
  return TCP_HEADER_BYTES_MIN + tcpOptionsLength(options);
}

/** Writes the header at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written, 20 to 60. */
export function emitTcp(fields: TcpFields, bytes: Uint8Array, offset: number): number {
  const headerBytes = tcpHeaderLength(fields.options);
  assert(headerBytes <= 60, "TCP options are at most 40 bytes");
  writeU16(bytes, offset + OFFSET.sourcePort, fields.sourcePort);
  writeU16(bytes, offset + OFFSET.destinationPort, fields.destinationPort);
  writeU32(bytes, offset + OFFSET.sequence, fields.sequence);
  writeU32(bytes, offset + OFFSET.acknowledgment, fields.acknowledgment);
  writeU8(bytes, offset + OFFSET.dataOffset, (headerBytes / 4) << 4);
  writeU8(bytes, offset + OFFSET.flags, fields.flags);
  writeU16(bytes, offset + OFFSET.window, fields.window);
  writeU16(bytes, offset + OFFSET.checksum, 0);
  writeU16(bytes, offset + OFFSET.urgentPointer, fields.urgentPointer ?? 0);
  emitTcpOptions(fields.options ?? [], bytes, offset + OFFSET.options);
  return headerBytes;
}
