/** The TTL of IPv4 and the hop limit of IPv6: what a router changes. */
import { readU16, readU8, writeU16, writeU8 } from "../base/bytes.ts";
import { updateChecksum } from "./checksum.ts";
import type { Headers } from "./headers.ts";

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
