/**
 * How far an address reaches (RFC 4291 §2.4, RFC 4007): link-local ones never leave their link, loopback ones never leave a
 * compartment. And the choice that follows: which of an interface's addresses a packet carries as its source.
 */
import {
  type Ip,
  type Ipv6,
  type Prefix,
  type InterfaceAddress,
  bitsOf,
  familyOf,
  maskIp,
} from "#core/net/ip.ts";
import type { OperatingSystem } from "../stack-profile.ts";

/** fe80::/64: the part of fe80::/10 that is in use. */
export const LINK_LOCAL_PREFIX: Prefix = Object.freeze({
  address: 0xfe80_0000_0000_0000_0000_0000_0000_0000n as Ipv6,
  length: 64,
});
/** ff02::1, all nodes on the link. */
export const ALL_NODES = 0xff02_0000_0000_0000_0000_0000_0000_0001n as Ipv6;
/** ff02::2, all routers on the link. */
export const ALL_ROUTERS = 0xff02_0000_0000_0000_0000_0000_0000_0002n as Ipv6;
/** `::`, of a sender that has no address yet. */
export const UNSPECIFIED = 0n as Ipv6;

/** True for fe80::/10. IPv4 has such addresses, too; its routers do not tell them apart. */
export function isLinkLocal(ip: Ip): boolean {
  return typeof ip === "bigint" && ip >> 118n === 0x3fan;
}

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(ip: Ip): boolean {
  return typeof ip === "number" ? ip >>> 24 === 127 : ip === 1n;
}

/** What a source address is wanted for, when the program has chosen none. */
export interface SourceQuestion {
  readonly destination: Ip;
  readonly nextHop: Ip;
  /** True for an address that is a source only where there is no other. */
  readonly isDeprecated: (ip: Ip) => boolean;
}

/**
 * Chooses among the addresses of the outgoing interface (RFC 6724 rule 5 prefers those); undefined when it has
 * none of the family.
 *
 * Windows follows RFC 6724 for IPv4, too: the longest common prefix with the destination, counted up to the
 * address's own prefix length (rule 8), then the address whose subnet holds the next hop (rule 5.5), then the
 * older address. Linux takes the first address whose subnet holds the next hop, else the first one
 * (net/ipv4/devinet.c, inet_select_addr); for IPv6 it follows RFC 6724, too (net/ipv6/addrconf.c, ipv6_dev_get_saddr).
 */
export function selectSource(
  os: OperatingSystem,
  addresses: readonly InterfaceAddress[],
  question: SourceQuestion,
): Ip | undefined {
  const { destination, nextHop } = question;
  const candidates = addresses.filter((address) => familyOf(address.ip) === familyOf(destination));
  if (os === "linux" && familyOf(destination) === 4)
    return (candidates.find((address) => isInSubnet(address, nextHop)) ?? candidates[0])?.ip;
  let best: InterfaceAddress | undefined;
  for (const candidate of candidates) {
    if (candidate.ip === destination) return candidate.ip;
    if (best === undefined || isBetter(candidate, best, question)) best = candidate;
  }
  return best?.ip;
}

function isBetter(a: InterfaceAddress, b: InterfaceAddress, question: SourceQuestion): boolean {
  const { destination, nextHop, isDeprecated } = question;
  // Rule 2: an address that reaches as far as the destination does.
  const isNear = isLinkLocal(destination) || isLinkLocalGroup(destination);
  const isANear = isLinkLocal(a.ip);
  if (isANear !== isLinkLocal(b.ip)) return isANear === isNear;
  // Rule 3.
  const isAOld = isDeprecated(a.ip);
  if (isAOld !== isDeprecated(b.ip)) return !isAOld;
  const difference = commonBits(a, destination) - commonBits(b, destination);
  if (difference !== 0) return difference > 0;
  return isInSubnet(a, nextHop) && !isInSubnet(b, nextHop);
}

/** ff02::/16. */
function isLinkLocalGroup(ip: Ip): boolean {
  return typeof ip === "bigint" && ip >> 112n === 0xff02n;
}

function isInSubnet(address: InterfaceAddress, ip: Ip): boolean {
  return (
    familyOf(address.ip) === familyOf(ip) && maskIp(address.ip, address.length) === maskIp(ip, address.length)
  );
}

/** Leading bits that `address` and `ip` share, at most the length of the address's prefix. */
function commonBits(address: InterfaceAddress, ip: Ip): number {
  const bits = bitsOf(familyOf(ip));
  let count = 0;
  while (count < address.length && count < bits && maskIp(address.ip, count + 1) === maskIp(ip, count + 1))
    count++;
  return count;
}
