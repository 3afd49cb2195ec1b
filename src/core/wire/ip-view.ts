/**
 * An IP packet of either family as hosts and routers read it: one set of names for the header fields that both have.
 * What only one family can say has its fixed answer in the other: no router fragments IPv6, and its header has no
 * checksum. With the one field that a router changes: the TTL of IPv4 and the hop limit of IPv6.
 */
import { assert } from "../base/assert.ts";
import { readU128, readU16, readU32, readU8, writeU16, writeU8 } from "../base/bytes.ts";
import type { Ipv6 } from "../net/ip.ts";
import type { Headers } from "./headers.ts";
import { Ipv4View } from "./ipv4.ts";
import { IPV6_FRAGMENT_HEADER_BYTES, IPV6_HEADER_BYTES } from "./ipv6.ts";
import { updateChecksum } from "./checksum.ts";

/** An IP packet of either family; `typeof view.source` tells which. */
export type IpView = Ipv4View | Ipv6PacketView;

/** An IPv6 packet in a frame's own bytes, with what its extension headers say. */
export class Ipv6PacketView {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** Behind all extension headers; of a fragment behind its fragment header. */
  readonly payloadStart: number;
  readonly payloadEnd: number;
  /** What follows the extension headers; of a fragment what its fragment header names. */
  readonly protocol: number;
  readonly fragmentOffset: number;
  readonly hasMoreFragments: boolean;
  /** Where the fragment header lies; -1 without one. */
  readonly fragmentHeader: number;

  /** The packet that `headers` were parsed from; they may change afterwards. */
  constructor(bytes: Uint8Array, headers: Headers) {
    assert(headers.family === 6, "an IPv6 packet");
    this.bytes = bytes;
    this.start = headers.network;
    this.fragmentHeader = headers.fragmentHeader;
    this.payloadStart = headers.isFragment
      ? headers.fragmentHeader + IPV6_FRAGMENT_HEADER_BYTES
      : headers.upper;
    this.payloadEnd = headers.end;
    this.protocol = headers.isFragment ? readU8(bytes, headers.fragmentHeader) : headers.protocol;
    this.fragmentOffset = headers.fragmentOffset;
    this.hasMoreFragments = headers.hasMoreFragments;
  }

  /** Allocates the address. */
  get source(): Ipv6 {
    return readU128(this.bytes, this.start + 8) as Ipv6;
  }

  /** Allocates the address. */
  get destination(): Ipv6 {
    return readU128(this.bytes, this.start + 24) as Ipv6;
  }

  /** The hop limit. */
  get ttl(): number {
    return readU8(this.bytes, this.start + 7);
  }

  /** Header and payload, in bytes. */
  get totalLength(): number {
    return IPV6_HEADER_BYTES + readU16(this.bytes, this.start + 4);
  }

  get ecn(): number {
    return (readU16(this.bytes, this.start) >>> 4) & 0x03;
  }

  /** Of a fragment; 0 otherwise. */
  get identification(): number {
    return this.fragmentHeader < 0 ? 0 : readU32(this.bytes, this.fragmentHeader + 4);
  }

  get isDontFragment(): boolean {
    return true;
  }

  get isChecksumValid(): boolean {
    return true;
  }
}

/** The IP packet of a frame that `headers` have parsed; undefined when it is none. */
export function ipViewOf(bytes: Uint8Array, headers: Headers): IpView | undefined {
  if (headers.family === 6) return new Ipv6PacketView(bytes, headers);
  if (headers.family === 0) return undefined;
  const view = Ipv4View.parse(bytes, headers.network, headers.end);
  return typeof view === "string" ? undefined : view;
}

/** Offsets in the IPv4 header: TTL and protocol share the word at 8, the checksum is at 10. */
const IPV4 = { ttl: 8, checksum: 10 } as const;
const IPV6_HOP_LIMIT_OFFSET = 7;

/** The TTL or hop limit of a parsed IP packet. */
export function readTtl(bytes: Uint8Array, headers: Headers): number {
  return readU8(bytes, headers.network + (headers.family === 4 ? IPV4.ttl : IPV6_HOP_LIMIT_OFFSET));
}

/** Takes one off the TTL, which is 1 or more, of the IPv4 header at `network`, and updates its checksum (RFC 1624). */
export function decrementIpv4Ttl(bytes: Uint8Array, network: number): void {
  const at = network + IPV4.ttl;
  const before = readU16(bytes, at);
  writeU8(bytes, at, readU8(bytes, at) - 1);
  const field = network + IPV4.checksum;
  writeU16(bytes, field, updateChecksum(readU16(bytes, field), before, readU16(bytes, at)));
}

/** Takes one off the TTL or hop limit, which is 1 or more, of the IP header at `network`. */
export function decrementIpTtl(bytes: Uint8Array, network: number): void {
  if (readU8(bytes, network) >>> 4 === 4) {
    decrementIpv4Ttl(bytes, network);
    return;
  }
  const at = network + IPV6_HOP_LIMIT_OFFSET;
  writeU8(bytes, at, readU8(bytes, at) - 1);
}

/** Takes one off the TTL or hop limit, which is 1 or more, of a parsed IP packet. */
export function decrementTtl(bytes: Uint8Array, headers: Headers): void {
  decrementIpTtl(bytes, headers.network);
}
