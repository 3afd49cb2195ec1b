/**
 * The IPv4 header (RFC 791), 20 to 60 bytes: version and header length 0, DSCP and ECN 1, total length 2,
 * identification 4, flags and fragment offset 6, TTL 8, protocol 9, checksum 10, source 12, destination 16, options 20.
 */
import { assert } from "../base/assert.ts";
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import type { Ipv4 } from "../net/ip.ts";
import { checksumOf, sumWords, foldSum } from "./checksum.ts";
import type { MalformedReason } from "./malformed.ts";

export const IPV4_HEADER_BYTES_MIN = 20;
const OPTIONS_BYTES_MAX = 40;
const TOTAL_LENGTH_MAX = 0xffff;

const OFFSET = {
  versionAndLength: 0,
  service: 1,
  totalLength: 2,
  identification: 4,
  fragment: 6,
  ttl: 8,
  protocol: 9,
  checksum: 10,
  source: 12,
  destination: 16,
  options: 20,
} as const;

const FLAG = { dontFragment: 0x4000, moreFragments: 0x2000 } as const;

/** An IPv4 header in a frame's own bytes. */
export class Ipv4View {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** End of the packet, or of what is here of it. */
  readonly payloadEnd: number;

  private constructor(bytes: Uint8Array, start: number, payloadEnd: number) {
    this.bytes = bytes;
    this.start = start;
    this.payloadEnd = payloadEnd;
  }

  /**
   * The packet in `bytes[start..end)`; bytes behind its total length are padding. `isCutShort` allows a total length
   * beyond `end`, as in a packet that an ICMP error quotes.
   */
  static parse(
    bytes: Uint8Array,
    start = 0,
    end: number = bytes.length,
    isCutShort = false,
  ): Ipv4View | MalformedReason {
    if (end - start < IPV4_HEADER_BYTES_MIN) return "ipv4-truncated";
    const first = readU8(bytes, start + OFFSET.versionAndLength);
    if (first >>> 4 !== 4) return "ipv4-version";
    const headerBytes = (first & 0x0f) * 4;
    if (headerBytes < IPV4_HEADER_BYTES_MIN || headerBytes > end - start) return "ipv4-header-length";
    const totalLength = readU16(bytes, start + OFFSET.totalLength);
    const isLying = totalLength < headerBytes || (totalLength > end - start && !isCutShort);
    return isLying ? "ipv4-total-length" : new Ipv4View(bytes, start, Math.min(end, start + totalLength));
  }

  /** Header with options, 20 to 60 bytes. */
  get headerBytes(): number {
    return (readU8(this.bytes, this.start + OFFSET.versionAndLength) & 0x0f) * 4;
  }

  get dscp(): number {
    return readU8(this.bytes, this.start + OFFSET.service) >>> 2;
  }

  get ecn(): number {
    return readU8(this.bytes, this.start + OFFSET.service) & 0x03;
  }

  /** Header and payload, in bytes. */
  get totalLength(): number {
    return readU16(this.bytes, this.start + OFFSET.totalLength);
  }

  get identification(): number {
    return readU16(this.bytes, this.start + OFFSET.identification);
  }

  get isDontFragment(): boolean {
    return (readU16(this.bytes, this.start + OFFSET.fragment) & FLAG.dontFragment) !== 0;
  }

  get hasMoreFragments(): boolean {
    return (readU16(this.bytes, this.start + OFFSET.fragment) & FLAG.moreFragments) !== 0;
  }

  /** Where the payload lies in its datagram, in bytes. */
  get fragmentOffset(): number {
    return (readU16(this.bytes, this.start + OFFSET.fragment) & 0x1fff) * 8;
  }

  get ttl(): number {
    return readU8(this.bytes, this.start + OFFSET.ttl);
  }

  get protocol(): number {
    return readU8(this.bytes, this.start + OFFSET.protocol);
  }

  get checksum(): number {
    return readU16(this.bytes, this.start + OFFSET.checksum);
  }

  get isChecksumValid(): boolean {
    return foldSum(sumWords(this.bytes, this.start, this.start + this.headerBytes)) === 0xffff;
  }

  get source(): Ipv4 {
    return readU32(this.bytes, this.start + OFFSET.source) as Ipv4;
  }

  get destination(): Ipv4 {
    return readU32(this.bytes, this.start + OFFSET.destination) as Ipv4;
  }

  get payloadStart(): number {
    return this.start + this.headerBytes;
  }

  /** The option bytes, padding included, as a window on the frame. Allocates the window. */
  get options(): Uint8Array {
    return this.bytes.subarray(this.start + OFFSET.options, this.start + this.headerBytes);
  }
}

/** An IPv4 header as a value. Its checksum follows from the rest. */
export interface Ipv4Fields {
  readonly source: Ipv4;
  readonly destination: Ipv4;
  readonly protocol: number;
  readonly ttl: number;
  readonly identification: number;
  readonly isDontFragment: boolean;
  readonly payloadLength: number;
  /** Default 0. */
  readonly dscp?: number;
  /** Default 0, not ECN-capable. */
  readonly ecn?: number;
  /** Default false. */
  readonly hasMoreFragments?: boolean;
  /** In bytes, a multiple of 8. Default 0. */
  readonly fragmentOffset?: number;
  /** Option bytes, at most 40; padded with zeros to a multiple of 4. Default none. */
  readonly options?: Uint8Array;
}

export function toIpv4Fields(view: Ipv4View): Required<Ipv4Fields> {
  return {
    source: view.source,
    destination: view.destination,
    protocol: view.protocol,
    ttl: view.ttl,
    identification: view.identification,
    isDontFragment: view.isDontFragment,
    payloadLength: view.totalLength - view.headerBytes,
    dscp: view.dscp,
    ecn: view.ecn,
    hasMoreFragments: view.hasMoreFragments,
    fragmentOffset: view.fragmentOffset,
    options: view.options,
  };
}

/** Bytes of the header that `emitIpv4` writes for these option bytes. */
export function ipv4HeaderLength(options?: Uint8Array): number {
  return IPV4_HEADER_BYTES_MIN + Math.ceil((options?.length ?? 0) / 4) * 4;
}

/** Writes the header with its checksum at `offset`. @returns the bytes written, 20 to 60. */
export function emitIpv4(fields: Ipv4Fields, bytes: Uint8Array, offset: number): number {
  const options = fields.options;
  const fragmentOffset = fields.fragmentOffset ?? 0;
  const headerBytes = ipv4HeaderLength(options);
  const totalLength = headerBytes + fields.payloadLength;
  assert(headerBytes <= IPV4_HEADER_BYTES_MIN + OPTIONS_BYTES_MAX, "IPv4 options are at most 40 bytes");
  assert(totalLength <= TOTAL_LENGTH_MAX, "an IPv4 packet is at most 65535 bytes");
  assert(
    fragmentOffset % 8 === 0 && fragmentOffset <= 0xfff8,
    "a fragment offset is a multiple of 8 below 65536",
  );
  writeU8(bytes, offset + OFFSET.versionAndLength, 0x40 | (headerBytes / 4));
  writeU8(bytes, offset + OFFSET.service, ((fields.dscp ?? 0) << 2) | ((fields.ecn ?? 0) & 0x03));
  writeU16(bytes, offset + OFFSET.totalLength, totalLength);
  writeU16(bytes, offset + OFFSET.identification, fields.identification);
  const flags =
    (fields.isDontFragment ? FLAG.dontFragment : 0) |
    (fields.hasMoreFragments === true ? FLAG.moreFragments : 0);
  writeU16(bytes, offset + OFFSET.fragment, flags | (fragmentOffset / 8));
  writeU8(bytes, offset + OFFSET.ttl, fields.ttl);
  writeU8(bytes, offset + OFFSET.protocol, fields.protocol);
  writeU32(bytes, offset + OFFSET.source, fields.source);
  writeU32(bytes, offset + OFFSET.destination, fields.destination);
  bytes.fill(0, offset + OFFSET.options, offset + headerBytes);
  if (options !== undefined) bytes.set(options, offset + OFFSET.options);
  writeIpv4Checksum(bytes, offset);
  return headerBytes;
}

/** Computes the checksum of the header at `offset` anew and writes it. */
export function writeIpv4Checksum(bytes: Uint8Array, offset: number): void {
  const headerBytes = (readU8(bytes, offset + OFFSET.versionAndLength) & 0x0f) * 4;
  writeU16(bytes, offset + OFFSET.checksum, 0);
  writeU16(bytes, offset + OFFSET.checksum, checksumOf(bytes, offset, offset + headerBytes));
}

/** Option types that end or fill the list (RFC 791). They have no length byte. */
const OPTION = { end: 0, noOperation: 1 } as const;

/** One option. */
export interface Ipv4Option {
  /** Type octet; its top bit says that fragments repeat the option. */
  readonly type: number;
  /** What follows type and length: a window on the bytes. */
  readonly data: Uint8Array;
}

/** The options in option bytes, fillers left out. */
export function parseIpv4Options(options: Uint8Array): Ipv4Option[] | MalformedReason {
  const list: Ipv4Option[] = [];
  let at = 0;
  while (at < options.length) {
    const type = readU8(options, at);
    if (type === OPTION.end) break;
    if (type === OPTION.noOperation) {
      at++;
      continue;
    }
    const length = at + 1 < options.length ? readU8(options, at + 1) : 0;
    if (length < 2 || at + length > options.length) return "ipv4-option-length";
    list.push({ type, data: options.subarray(at + 2, at + length) });
    at += length;
  }
  return list;
}
