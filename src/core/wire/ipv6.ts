/**
 * The IPv6 header (RFC 8200), 40 bytes: version, traffic class and flow label 0–3, payload length 4, next header 6,
 * hop limit 7, source 8, destination 24; and the extension headers that may follow it.
 */
import { assert } from "../base/assert.ts";
import { readU128, readU16, readU32, readU8, writeU128, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import type { Ipv6 } from "../net/ip.ts";
import type { MalformedReason } from "./malformed.ts";

export const IPV6_HEADER_BYTES = 40;
export const IPV6_FRAGMENT_HEADER_BYTES = 8;
/** RFC 8200 sets no bound; a longer chain is hostile. */
export const IPV6_EXTENSIONS_MAX = 8;
const PAYLOAD_LENGTH_MAX = 0xffff;

/** Next-header numbers of the extension headers that are walked. */
export const Ipv6ExtensionType = { hopByHop: 0, routing: 43, fragment: 44, destination: 60 } as const;

const OFFSET = {
  flow: 0,
  payloadLength: 4,
  nextHeader: 6,
  hopLimit: 7,
  source: 8,
  destination: 24,
} as const;

/** An IPv6 header in a frame's own bytes. */
export class Ipv6View {
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
   * The packet in `bytes[start..end)`; bytes behind its payload length are padding, jumbograms are refused.
   * `isCutShort` allows a payload length beyond `end`, as in a packet that an ICMPv6 error quotes.
   */
  static parse(
    bytes: Uint8Array,
    start = 0,
    end: number = bytes.length,
    isCutShort = false,
  ): Ipv6View | MalformedReason {
    if (end - start < IPV6_HEADER_BYTES) return "ipv6-truncated";
    if (readU8(bytes, start) >>> 4 !== 6) return "ipv6-version";
    const length = IPV6_HEADER_BYTES + readU16(bytes, start + OFFSET.payloadLength);
    if (length > end - start && !isCutShort) return "ipv6-payload-length";
    return new Ipv6View(bytes, start, Math.min(end, start + length));
  }

  get dscp(): number {
    return (readU16(this.bytes, this.start + OFFSET.flow) >>> 6) & 0x3f;
  }

  get ecn(): number {
    return (readU16(this.bytes, this.start + OFFSET.flow) >>> 4) & 0x03;
  }

  get flowLabel(): number {
    return readU32(this.bytes, this.start + OFFSET.flow) & 0xf_ffff;
  }

  /** Everything behind the 40 bytes of the header, extension headers included. */
  get payloadLength(): number {
    return readU16(this.bytes, this.start + OFFSET.payloadLength);
  }

  /** What follows the header: an extension or a transport protocol. */
  get nextHeader(): number {
    return readU8(this.bytes, this.start + OFFSET.nextHeader);
  }

  get hopLimit(): number {
    return readU8(this.bytes, this.start + OFFSET.hopLimit);
  }

  /** Allocates the address. */
  get source(): Ipv6 {
    return readU128(this.bytes, this.start + OFFSET.source) as Ipv6;
  }

  /** Allocates the address. */
  get destination(): Ipv6 {
    return readU128(this.bytes, this.start + OFFSET.destination) as Ipv6;
  }

  get payloadStart(): number {
    return this.start + IPV6_HEADER_BYTES;
  }
}

/** An IPv6 header as a value. */
export interface Ipv6Fields {
  readonly source: Ipv6;
  readonly destination: Ipv6;
  readonly nextHeader: number;
  readonly hopLimit: number;
  readonly payloadLength: number;
  /** Default 0. */
  readonly dscp?: number;
  /** Default 0, not ECN-capable. */
  readonly ecn?: number;
  /** 20 bits. Default 0, no label. */
  readonly flowLabel?: number;
}

export function toIpv6Fields(view: Ipv6View): Required<Ipv6Fields> {
  return {
    source: view.source,
    destination: view.destination,
    nextHeader: view.nextHeader,
    hopLimit: view.hopLimit,
    payloadLength: view.payloadLength,
    dscp: view.dscp,
    ecn: view.ecn,
    flowLabel: view.flowLabel,
  };
}

/** Writes the header at `offset`. @returns the bytes written, 40. */
export function emitIpv6(fields: Ipv6Fields, bytes: Uint8Array, offset: number): number {
  assert(fields.payloadLength <= PAYLOAD_LENGTH_MAX, "an IPv6 payload is at most 65535 bytes");
  const trafficClass = ((fields.dscp ?? 0) << 2) | ((fields.ecn ?? 0) & 0x03);
  writeU32(
    bytes,
    offset + OFFSET.flow,
    0x6000_0000 | (trafficClass << 20) | ((fields.flowLabel ?? 0) & 0xf_ffff),
  );
  writeU16(bytes, offset + OFFSET.payloadLength, fields.payloadLength);
  writeU8(bytes, offset + OFFSET.nextHeader, fields.nextHeader);
  writeU8(bytes, offset + OFFSET.hopLimit, fields.hopLimit);
  writeU128(bytes, offset + OFFSET.source, fields.source);
  writeU128(bytes, offset + OFFSET.destination, fields.destination);
  return IPV6_HEADER_BYTES;
}

/** A fragment header (RFC 8200 §4.5): next header 0, offset and more-fragments flag 2, identification 4. */
export class Ipv6FragmentView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): Ipv6FragmentView | MalformedReason {
    return end - start < IPV6_FRAGMENT_HEADER_BYTES
      ? "ipv6-extension-truncated"
      : new Ipv6FragmentView(bytes, start);
  }

  get nextHeader(): number {
    return readU8(this.bytes, this.start);
  }

  /** Where the payload lies in the fragmentable part of its packet, in bytes. */
  get fragmentOffset(): number {
    return readU16(this.bytes, this.start + 2) & 0xfff8;
  }

  get hasMoreFragments(): boolean {
    return (readU8(this.bytes, this.start + 3) & 1) !== 0;
  }

  get identification(): number {
    return readU32(this.bytes, this.start + 4);
  }
}

/** A fragment header as a value. */
export interface Ipv6FragmentFields {
  readonly nextHeader: number;
  /** In bytes, a multiple of 8. */
  readonly fragmentOffset: number;
  readonly hasMoreFragments: boolean;
  readonly identification: number;
}

/** Writes a fragment header at `offset`. @returns the bytes written, 8. */
export function emitIpv6Fragment(fields: Ipv6FragmentFields, bytes: Uint8Array, offset: number): number {
  const at = fields.fragmentOffset;
  assert(at % 8 === 0 && at <= 0xfff8, "a fragment offset is a multiple of 8 below 65536");
  writeU8(bytes, offset, fields.nextHeader);
  writeU8(bytes, offset + 1, 0);
  writeU16(bytes, offset + 2, at | (fields.hasMoreFragments ? 1 : 0));
  writeU32(bytes, offset + 4, fields.identification);
  return IPV6_FRAGMENT_HEADER_BYTES;
}

/** An extension header other than the fragment header, to be emitted. */
export interface Ipv6Extension {
  readonly type:
    | typeof Ipv6ExtensionType.hopByHop
    | typeof Ipv6ExtensionType.routing
    | typeof Ipv6ExtensionType.destination;
  /**
   * What follows next header and length. Options (hop-by-hop, destination) are padded with Pad1 or PadN to a
   * multiple of 8; routing data must come out at such a multiple with its two first bytes.
   */
  readonly data: Uint8Array;
}

/** Bytes that `emitIpv6Extension` writes. */
export function ipv6ExtensionLength(extension: Ipv6Extension): number {
  return Math.ceil((2 + extension.data.length) / 8) * 8;
}

/** Writes an extension header at `offset`. @returns the bytes written, a multiple of 8. */
export function emitIpv6Extension(
  extension: Ipv6Extension,
  nextHeader: number,
  bytes: Uint8Array,
  offset: number,
): number {
  const length = ipv6ExtensionLength(extension);
  const padding = length - 2 - extension.data.length;
  assert(length <= 2048, "an IPv6 extension header is at most 2048 bytes");
  assert(
    padding === 0 || extension.type !== Ipv6ExtensionType.routing,
    "a routing header fills units of 8 bytes",
  );
  writeU8(bytes, offset, nextHeader);
  writeU8(bytes, offset + 1, length / 8 - 1);
  bytes.set(extension.data, offset + 2);
  const pad = offset + length - padding;
  bytes.fill(0, pad, offset + length);
  if (padding > 1) {
    writeU8(bytes, pad, 1);
    writeU8(bytes, pad + 1, padding - 2);
  }
  return length;
}

/** An extension header in a packet. */
export interface Ipv6ExtensionPlace {
  /** One of `Ipv6ExtensionType`. */
  readonly type: number;
  readonly start: number;
  readonly length: number;
  readonly nextHeader: number;
}

/** Where the next extension header would be, from the header that names it. */
function placeOf(
  bytes: Uint8Array,
  type: number,
  start: number,
  end: number,
): Ipv6ExtensionPlace | MalformedReason {
  if (end - start < 8) return "ipv6-extension-truncated";
  const length = type === Ipv6ExtensionType.fragment ? 8 : (readU8(bytes, start + 1) + 1) * 8;
  if (length > end - start) return "ipv6-extension-truncated";
  return { type, start, length, nextHeader: readU8(bytes, start) };
}

/** True for the extension headers that are walked to find the transport header. */
export function isIpv6Extension(nextHeader: number): boolean {
  return (
    nextHeader === Ipv6ExtensionType.hopByHop ||
    nextHeader === Ipv6ExtensionType.routing ||
    nextHeader === Ipv6ExtensionType.fragment ||
    nextHeader === Ipv6ExtensionType.destination
  );
}

/**
 * The extension headers of a packet whose IPv6 header starts at `start`, in order. The walk ends at the fragment
 * header of a later fragment, behind which no header is.
 */
export function listIpv6Extensions(
  bytes: Uint8Array,
  start: number,
  end: number,
): Ipv6ExtensionPlace[] | MalformedReason {
  const places: Ipv6ExtensionPlace[] = [];
  if (end - start < IPV6_HEADER_BYTES) return "ipv6-truncated";
  let next = readU8(bytes, start + OFFSET.nextHeader);
  let at = start + IPV6_HEADER_BYTES;
  while (isIpv6Extension(next)) {
    const isSecondFragment =
      next === Ipv6ExtensionType.fragment &&
      places.some((place) => place.type === Ipv6ExtensionType.fragment);
    if (places.length === IPV6_EXTENSIONS_MAX || isSecondFragment) return "ipv6-extension-chain";
    const place = placeOf(bytes, next, at, end);
    if (typeof place === "string") return place;
    places.push(place);
    if (place.type === Ipv6ExtensionType.fragment && (readU16(bytes, at + 2) & 0xfff8) !== 0) return places;
    next = place.nextHeader;
    at += place.length;
  }
  return places;
}
