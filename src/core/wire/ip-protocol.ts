/** IP protocol numbers (IANA), named where we look inside or print. Any octet may arrive. */
export const IpProtocol = {
  icmp: 1,
  igmp: 2,
  ipip: 4,
  tcp: 6,
  udp: 17,
  ipv6: 41,
  gre: 47,
  icmpv6: 58,
  sctp: 132,
} as const;

/** As people write them; the numbers between are IPv6 extension headers (RFC 8200). */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0, "hop-by-hop options"],
  [IpProtocol.icmp, "ICMP"],
  [IpProtocol.igmp, "IGMP"],
  [IpProtocol.ipip, "IP-in-IP"],
  [IpProtocol.tcp, "TCP"],
  [IpProtocol.udp, "UDP"],
  [IpProtocol.ipv6, "IPv6"],
  [43, "routing"],
  [44, "fragment"],
  [IpProtocol.gre, "GRE"],
  [50, "ESP"],
  [51, "AH"],
  [IpProtocol.icmpv6, "ICMPv6"],
  [59, "no next header"],
  [60, "destination options"],
  [IpProtocol.sctp, "SCTP"],
]);

/** The name of a protocol as a person writes it, or `protocol N`. */
export function ipProtocolName(protocol: number): string {
  return NAMES.get(protocol) ?? `protocol ${protocol}`;
}
