/** Ranges of addresses that are guessed from the addresses in them. */
import { defined } from "#core/base/assert.ts";
import {
  type Ipv4,
  type Prefix,
  hostPrefix,
  lastIp,
  parsePrefix,
  prefixContains,
  prefixCovers,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { AddressRange } from "../file/cluster-file.ts";

/** First and last address of a range name no machine. */
export function isHostOf(range: Prefix, ip: Ipv4): boolean {
  return prefixContains(range, ip) && ip !== range.address && ip !== lastIp(range);
}

/** The smallest range that covers all of `ranges`, which are of one family; undefined for none. */
export function coverOf([first, ...rest]: readonly Prefix[]): Prefix | undefined {
  if (first === undefined) return undefined;
  let cover = first;
  while (!rest.every((range) => prefixCovers(cover, range)))
    cover = prefixOf(cover.address, cover.length - 1);
  return cover;
}

/** The smallest range that holds all of `ips`; undefined for none. */
export function smallestRange(ips: readonly Ipv4[]): Prefix | undefined {
  return coverOf(ips.map(hostPrefix));
}

/** True when `range` shares no address with any of `others`. */
export function isApart(range: Prefix, others: readonly Prefix[]): boolean {
  return others.every((other) => !prefixesOverlap(range, other));
}

/** The first of the candidates that is apart from `others`; when none is, the first. */
export function firstApart(candidates: readonly string[], others: readonly Prefix[]): Prefix {
  const ranges = candidates.flatMap((text) => parsePrefix(text) ?? []);
  return defined(ranges.find((range) => isApart(range, others)) ?? ranges[0], "there are candidates");
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

/** What AKS and EKS give a node when nobody says otherwise; also what one node gets at most. */
const ADDRESSES = 30;

/** Sorted addresses as ranges. */
function joined(ips: readonly Ipv4[]): readonly AddressRange[] {
  const ranges: { first: Ipv4; last: Ipv4 }[] = [];
  for (const ip of ips.toSorted((a, b) => a - b)) {
    const before = ranges.at(-1);
    if (before !== undefined && ip <= before.last + 1) before.last = ip;
    else ranges.push({ first: ip, last: ip });
  }
  return ranges;
}

/** The next free addresses of the subnet behind `from`, and from its start when its end is reached. */
function freeBehind(from: Ipv4, count: number, subnet: Prefix, taken: Set<Ipv4>): readonly Ipv4[] {
  const [first, last] = [Number(subnet.address) + 1, Number(lastIp(subnet)) - 1];
  const start = prefixContains(subnet, from) ? from + 1 : first;
  const found: Ipv4[] = [];
  const size = last - first + 1;
  for (let step = 0; step < size && found.length < count; step++) {
    const ip = (first + ((start - first + step) % size)) as Ipv4;
    if (taken.has(ip)) continue;
    taken.add(ip);
    found.push(ip);
  }
  return found;
}

/** A node that has single addresses for its pods. */
export interface AddressHolder {
  readonly name: string;
  readonly address: Ipv4;
  /** The addresses of its pods. */
  readonly ips: readonly Ipv4[];
  /** How many pods it takes; undefined: as most. */
  readonly podsMax: number | undefined;
}

/**
 * The addresses that nodes have for pods where no range is a node's own, by node: those of its pods, and free ones behind
 * the node's address for pods to come. A cloud reserves such addresses for each node, as many as the node takes pods
 * (https://learn.microsoft.com/en-us/azure/aks/concepts-network-legacy-cni). `taken` are addresses of machines.
 */
export function nodeAddresses(
  holders: readonly AddressHolder[],
  subnet: Prefix,
  taken: readonly Ipv4[],
): ReadonlyMap<string, readonly AddressRange[]> {
  const used = new Set([...taken, ...holders.flatMap(({ ips }) => ips)]);
  return new Map(
    holders.map(({ name, address, ips, podsMax = ADDRESSES }) => {
      const own = [...new Set(ips)].filter((ip) => !taken.includes(ip));
      const count = Math.min(podsMax, ADDRESSES) - own.length;
      return [name, joined([...own, ...freeBehind(address, count, subnet, used)])];
    }),
  );
}
