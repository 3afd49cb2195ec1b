/** The UDP header (RFC 768), 8 bytes: source port 0, destination port 2, length 4, checksum 6. */
import { assert } from "../base/assert.ts";
import { readU16, writeU16 } from "../base/bytes.ts";
import type { MalformedReason } from "./malformed.ts";

export const UDP_HEADER_BYTES = 8;
/** Where the checksum lies in the header. */
export const UDP_CHECKSUM_OFFSET = 6;

const OFFSET = { sourcePort: 0, destinationPort: 2, length: 4, checksum: UDP_CHECKSUM_OFFSET } as const;

/** A UDP header in a frame's own bytes. */
export class UdpView {
  private readonly bytes: Uint8Array;
  readonly start: number;
  private readonly end: number;

  private constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  /**
   * The datagram in `bytes[start..end)`. The length field of a first fragment counts bytes of later ones, too:
   * `isFragment` allows that.
   */
  static parse(
    bytes: Uint8Array,
    start = 0,
    end: number = bytes.length,
    isFragment = false,
  ): UdpView | MalformedReason {
    if (end - start < UDP_HEADER_BYTES) return "udp-truncated";
    const length = readU16(bytes, start + OFFSET.length);
    if (length < UDP_HEADER_BYTES || (length > end - start && !isFragment)) return "udp-length";
    return new UdpView(bytes, start, Math.min(end, start + length));
  }

  get sourcePort(): number {
    return readU16(this.bytes, this.start + OFFSET.sourcePort);
  }

  get destinationPort(): number {
    return readU16(this.bytes, this.start + OFFSET.destinationPort);
  }

  /** Header and payload, in bytes. */
  get length(): number {
    return readU16(this.bytes, this.start + OFFSET.length);
  }

  /** 0: the sender computed none. */
  get checksum(): number {
    return readU16(this.bytes, this.start + OFFSET.checksum);
  }

  get payloadStart(): number {
    return this.start + UDP_HEADER_BYTES;
  }

  /** End of the payload that is here; bytes behind it belong to no header. */
  get payloadEnd(): number {
    return this.end;
  }
}

/** A UDP header as a value. */
export interface UdpFields {
  readonly sourcePort: number;
  readonly destinationPort: number;
}

export function toUdpFields(view: UdpView): UdpFields {
  return { sourcePort: view.sourcePort, destinationPort: view.destinationPort };
}

/** Writes the header at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written, 8. */
export function emitUdp(fields: UdpFields, payloadLength: number, bytes: Uint8Array, offset: number): number {
  const length = UDP_HEADER_BYTES + payloadLength;
  assert(length <= 0xffff, "a UDP datagram is at most 65535 bytes");
  writeU16(bytes, offset + OFFSET.sourcePort, fields.sourcePort);
  writeU16(bytes, offset + OFFSET.destinationPort, fields.destinationPort);
  writeU16(bytes, offset + OFFSET.length, length);
  writeU16(bytes, offset + OFFSET.checksum, 0);
  return UDP_HEADER_BYTES;
}

/** The checksum field for a computed or updated checksum: RFC 768 sends a computed zero as all ones, since zero means none. */
export function udpChecksumField(checksum: number): number {
  return checksum === 0 ? 0xffff : checksum;
}
