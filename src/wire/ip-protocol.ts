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

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(IpProtocol).map(([name, number]) => [number, name]),
);

/** The name of a protocol, or `proto-N`. */
export function ipProtocolName(protocol: number): string {
  return NAMES.get(protocol) ?? `proto-${protocol}`;
}
