/** Ranges of addresses that are guessed from the addresses in them. Cluster files are IPv4. */
import { type Ipv4, type Prefix, lastIp, prefixContains, prefixOf, prefixesOverlap } from "#core/net/ip.ts";

const BITS = 32;

/** First and last address of a range name no machine. */
export function isHostOf(range: Prefix, ip: Ipv4): boolean {
  return prefixContains(range, ip) && ip !== range.address && ip !== lastIp(range);
}

/** The smallest range that holds all of `ips`; undefined for none. */
export function smallestRange(ips: readonly Ipv4[]): Prefix | undefined {
  const [first] = ips;
  if (first === undefined) return undefined;
  let [low, high] = [Number(first), Number(first)];
  for (const ip of ips) {
    low = Math.min(low, Number(ip));
    high = Math.max(high, Number(ip));
  }
  let length = BITS;
  while (!prefixContains(prefixOf(low as Ipv4, length), high as Ipv4)) length--;
  return prefixOf(low as Ipv4, length);
}

/** The smallest range that covers all of `ranges`; undefined for none. */
export function coverOf(ranges: readonly Prefix[]): Prefix | undefined {
  const cover = smallestRange(ranges.flatMap((range) => [range.address as Ipv4, lastIp(range) as Ipv4]));
  return cover;
}

/** True when `range` shares no address with any of `others`. */
export function isApart(range: Prefix, others: readonly Prefix[]): boolean {
  return others.every((other) => !prefixesOverlap(range, other));
}

/** `range` made as wide as `length` bits, or less where it would meet one of `others`. */
export function widened(range: Prefix, length: number, others: readonly Prefix[]): Prefix {
  let wide = range;
  while (wide.length > length) {
    const next = prefixOf(wide.address, wide.length - 1);
    if (!isApart(next, others)) break;
    wide = next;
  }
  return wide;
}
