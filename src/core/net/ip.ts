/**
 * IP addresses and prefixes (CIDR) as values: IPv4 as a number, IPv6 as a bigint. Both compare with `===` and are map keys;
 * `typeof` tells them apart. Text stops at the edge.
 */

declare const brand: unique symbol;
/** An IPv4 address as an unsigned 32-bit integer in host order. */
export type Ipv4 = number & { readonly [brand]: "Ipv4" };
/** An IPv6 address as an unsigned 128-bit integer. */
export type Ipv6 = bigint & { readonly [brand]: "Ipv6" };
/** An address of either family. */
export type Ip = Ipv4 | Ipv6;
export type IpFamily = 4 | 6;

export function familyOf(ip: Ip): IpFamily {
  return typeof ip === "number" ? 4 : 6;
}

/** Bits of an address of `family`. */
export function bitsOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128;
}

const [DOT, ZERO, OCTET_MAX] = [46, 48, 255] as const;

/** Parses dotted decimal. Leading zeros are refused, as Go's `netip` does, because readers disagree on them. */
export function parseIpv4(text: string): Ipv4 | undefined {
  let [value, octet, digits, dots] = [0, 0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      if (digits === 0 || dots === 3) return undefined;
      value = value * 256 + octet;
      octet = 0;
      digits = 0;
      dots++;
      continue;
    }
    const digit = code - ZERO;
    const isLeadingZero = digits > 0 && octet === 0;
    if (digit < 0 || digit > 9 || isLeadingZero) return undefined;
    octet = octet * 10 + digit;
    digits++;
    if (octet > OCTET_MAX) return undefined;
  }
  return dots === 3 && digits > 0 ? ((value * 256 + octet) as Ipv4) : undefined;
}

/** The 16-bit groups of a part of an address; only its last part may end with dotted decimal. */
function parseGroups(text: string, isLast: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      const embedded = isLast && index === parts.length - 1 ? parseIpv4(part) : undefined;
      if (embedded === undefined) return undefined;
      groups.push(embedded >>> 16, embedded & 0xffff);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

/** Parses RFC 4291 text forms, without a zone. */
export function parseIpv6(text: string): Ipv6 | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  let value = 0n;
  for (const group of [...head, ...Array.from({ length: missing }, () => 0), ...tail]) {
    value = (value << 16n) | BigInt(group);
  }
  return value as Ipv6;
}

export function parseIp(text: string): Ip | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function formatIpv4(ip: Ipv4): string {
  return `${ip >>> 24}.${(ip >>> 16) & 255}.${(ip >>> 8) & 255}.${ip & 255}`;
}

/** RFC 5952: lower case, the longest run of two or more zero groups shortened, the first of equals; §5: IPv4-mapped ones mixed. */
function formatIpv6(ip: Ipv6): string {
  if (ip >> 32n === 0xffffn) return `::ffff:${formatIpv4(Number(ip & 0xffff_ffffn) as Ipv4)}`;
  const groups: string[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((ip >> shift) & 0xffffn).toString(16));
  let bestStart = -1;
  let bestLength = 1;
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === "0") length++;
    if (length > bestLength) {
      bestStart = start;
      bestLength = length;
    }
  }
  if (bestStart < 0) return groups.join(":");
  return `${groups.slice(0, bestStart).join(":")}::${groups.slice(bestStart + bestLength).join(":")}`;
}

export function formatIp(ip: Ip): string {
  return typeof ip === "number" ? formatIpv4(ip) : formatIpv6(ip);
}

/** The address `offset` after `ip`; undefined when that leaves the family's range. */
export function addToIp(ip: Ip, offset: number): Ip | undefined {
  if (typeof ip === "number") {
    const sum = ip + offset;
    return sum >= 0 && sum <= 0xffff_ffff ? (sum as Ipv4) : undefined;
  }
  const sum = ip + BigInt(offset);
  return sum >= 0n && sum < 1n << 128n ? (sum as Ipv6) : undefined;
}

/** True for 224.0.0.0/4 and ff00::/8. */
export function isMulticastIp(ip: Ip): boolean {
  return typeof ip === "number" ? ip >>> 28 === 0xe : ip >> 120n === 0xffn;
}

/** A network: all addresses that share the first `length` bits of `address`. Host bits of `address` are zero. */
export interface Prefix {
  readonly address: Ip;
  /** 0 to 32 or 128. */
  readonly length: number;
}

/** Everything of one family. */
export const ANY_IPV4: Prefix = Object.freeze({ address: 0 as Ipv4, length: 0 });

/** Everything of the other family. */
export const ANY_IPV6: Prefix = Object.freeze({ address: 0n as Ipv6, length: 0 });

/** `ip` with all bits after the first `length` cleared. */
export function maskIp(ip: Ip, length: number): Ip {
  if (typeof ip === "number") return (length === 0 ? 0 : (ip & (-1 << (32 - length))) >>> 0) as Ipv4;
  const hostBits = BigInt(128 - length);
  return ((ip >> hostBits) << hostBits) as Ipv6;
}

const ALL_ONES = 0xffff_ffff as Ipv4;

/** The IPv4 mask of `length` ones: 255.255.255.0 of 24. */
export function maskOf(length: number): Ipv4 {
  return maskIp(ALL_ONES, length) as Ipv4;
}

/** How many ones an IPv4 mask begins with; undefined for what is no mask. */
export function lengthOfMask(mask: Ipv4): number | undefined {
  const length = Math.clz32(~mask);
  return maskOf(length) === mask ? length : undefined;
}

/** An address with a prefix length, host bits kept: what an interface carries. */
export interface InterfaceAddress {
  readonly ip: Ip;
  readonly length: number;
}

/** Parses `address/length`, host bits kept. A bare address is no such text. */
export function parseInterfaceAddress(text: string): InterfaceAddress | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const ip = parseIp(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  if (ip === undefined || !/^(0|[1-9]\d{0,2})$/.test(lengthText)) return undefined;
  const length = Number(lengthText);
  return length <= bitsOf(familyOf(ip)) ? { ip, length } : undefined;
}

/** Parses `address/length` whose host bits are zero; undefined otherwise. */
export function parsePrefix(text: string): Prefix | undefined {
  const parsed = parseInterfaceAddress(text);
  if (parsed === undefined || maskIp(parsed.ip, parsed.length) !== parsed.ip) return undefined;
  return { address: parsed.ip, length: parsed.length };
}

export function formatPrefix(prefix: Prefix): string {
  return `${formatIp(prefix.address)}/${prefix.length}`;
}

/** The prefix of `length` bits that holds `ip`. */
export function prefixOf(ip: Ip, length: number): Prefix {
  return { address: maskIp(ip, length), length };
}

/** The prefix that holds `ip` alone. */
export function hostPrefix(ip: Ip): Prefix {
  return { address: ip, length: bitsOf(familyOf(ip)) };
}

export function prefixFamily(prefix: Prefix): IpFamily {
  return familyOf(prefix.address);
}

export function prefixContains(prefix: Prefix, ip: Ip): boolean {
  return typeof ip === typeof prefix.address && maskIp(ip, prefix.length) === prefix.address;
}

export function prefixCovers(outer: Prefix, inner: Prefix): boolean {
  return inner.length >= outer.length && prefixContains(outer, inner.address);
}

export function prefixesOverlap(a: Prefix, b: Prefix): boolean {
  return prefixCovers(a, b) || prefixCovers(b, a);
}

export function equalPrefixes(a: Prefix, b: Prefix): boolean {
  return a.length === b.length && a.address === b.address;
}

/** The last address of the prefix (for IPv4: its broadcast address). */
export function lastIp(prefix: Prefix): Ip {
  if (typeof prefix.address === "number") {
    const hostMask = prefix.length === 0 ? 0xffff_ffff : (1 << (32 - prefix.length)) - 1;
    return ((prefix.address | (prefix.length === 0 ? -1 : hostMask)) >>> 0) as Ipv4;
  }
  return (prefix.address | ((1n << BigInt(128 - prefix.length)) - 1n)) as Ipv6;
}
