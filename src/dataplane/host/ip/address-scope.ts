/** How far an address reaches (RFC 4291 §2.4, RFC 4007): link-local ones never leave their link. */
import type { Ip, Ipv6, Prefix } from "#core/net/ip.ts";

/** fe80::/64: the part of fe80::/10 that is in use. */
export const LINK_LOCAL_PREFIX: Prefix = Object.freeze({
  address: 0xfe80_0000_0000_0000_0000_0000_0000_0000n as Ipv6,
  length: 64,
});
/** ff02::1, everybody on the link. */
export const ALL_NODES = 0xff02_0000_0000_0000_0000_0000_0000_0001n as Ipv6;
/** ff02::2, all routers on the link. */
export const ALL_ROUTERS = 0xff02_0000_0000_0000_0000_0000_0000_0002n as Ipv6;
/** `::`, of a sender that has no address yet. */
export const UNSPECIFIED = 0n as Ipv6;

/** True for fe80::/10. IPv4 has such addresses, too; its routers do not tell them apart. */
export function isLinkLocal(ip: Ip): boolean {
  return typeof ip === "bigint" && ip >> 118n === 0x3fan;
}
