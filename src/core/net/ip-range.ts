/** Ranges of IP addresses, as VFP's conditions have them, and what they are as prefixes. */
import {
  type Ip,
  type IpFamily,
  type Prefix,
  addToIp,
  familyOf,
  formatIp,
  hostPrefix,
  lastIp,
  parseIp,
  parsePrefix,
  prefixOf,
} from "./ip.ts";

/** All addresses of one family from `first` to `last`, both included. */
export interface IpRange {
  readonly first: Ip;
  readonly last: Ip;
}

/** Parses `10.0.0.1`, `10.0.0.0-10.0.0.255` and `10.0.0.0/24`; undefined when it is none of them. */
export function parseIpRange(text: string): IpRange | undefined {
  const trimmed = text.trim();
  if (trimmed.includes("/")) {
    const prefix = parsePrefix(trimmed);
    return prefix === undefined ? undefined : rangeOfPrefix(prefix);
  }
  const parts = trimmed.split("-");
  const first = parseIp(parts[0]?.trim() ?? "");
  const last = parts.length === 1 ? first : parseIp(parts[1]?.trim() ?? "");
  if (parts.length > 2 || first === undefined || last === undefined) return undefined;
  return familyOf(first) === familyOf(last) && first <= last ? { first, last } : undefined;
}

/** A single address stands alone; any other range as `first-last`. */
export function formatIpRange({ first, last }: IpRange): string {
  return first === last ? formatIp(first) : `${formatIp(first)}-${formatIp(last)}`;
}

export function rangeOfPrefix(prefix: Prefix): IpRange {
  return { first: prefix.address, last: lastIp(prefix) };
}

/** The fewest prefixes that hold exactly the addresses of the range, in ascending order. */
export function prefixesOfRange({ first, last }: IpRange): readonly Prefix[] {
  const prefixes: Prefix[] = [];
  let next: Ip | undefined = first;
  while (next !== undefined && next <= last) {
    const prefix = largestPrefixAt(next, last);
    prefixes.push(prefix);
    next = addToIp(lastIp(prefix), 1);
  }
  return prefixes;
}

/** The largest prefix that begins at `first` and does not reach beyond `last`. */
function largestPrefixAt(first: Ip, last: Ip): Prefix {
  let prefix = hostPrefix(first);
  while (prefix.length > 0) {
    const wider = prefixOf(first, prefix.length - 1);
    if (wider.address !== first || lastIp(wider) > last) break;
    prefix = wider;
  }
  return prefix;
}

/** Ascending, with neighbours joined. All of one family. */
export function joinRanges(ranges: readonly IpRange[]): readonly IpRange[] {
  const joined: IpRange[] = [];
  for (const range of ranges.toSorted((a, b) => (a.first < b.first ? -1 : Number(a.first > b.first)))) {
    const open = joined.at(-1);
    const follower = open === undefined ? undefined : addToIp(open.last, 1);
    if (open === undefined || (follower !== undefined && range.first > follower)) joined.push(range);
    else if (range.last > open.last) joined[joined.length - 1] = { first: open.first, last: range.last };
  }
  return joined;
}

/** All addresses of a family. */
export function wholeFamily(family: IpFamily): IpRange {
  const zero = (family === 4 ? 0 : 0n) as Ip;
  return rangeOfPrefix({ address: zero, length: 0 });
}

/** What is in `ranges` and in none of `removed`; all of one family. Ascending, with neighbours joined. */
export function subtractRanges(ranges: readonly IpRange[], removed: readonly IpRange[]): readonly IpRange[] {
  const holes = joinRanges(removed);
  return joinRanges(ranges).flatMap((range) => {
    const left: IpRange[] = [];
    let next: Ip | undefined = range.first;
    for (const hole of holes) {
      if (next === undefined || hole.last < next || hole.first > range.last) continue;
      const before = addToIp(hole.first, -1);
      if (before !== undefined && before >= next) left.push({ first: next, last: before });
      next = addToIp(hole.last, 1);
    }
    if (next !== undefined && next <= range.last) left.push({ first: next, last: range.last });
    return left;
  });
}
