/** IP prefixes (CIDR) as values. */
import { type Ip, type IpFamily, type Ipv4, type Ipv6, bitsOf, familyOf, formatIp, parseIp } from "./ip.ts";

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
