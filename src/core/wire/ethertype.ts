/** Ethertypes (IEEE), named where we look inside. Any 16-bit value may arrive. */
export const EtherType = {
  ipv4: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  ipv6: 0x86dd,
} as const;

/** The name of an ethertype as a person writes it, or `ethertype 0xNNNN`. Values below 0x0600 are IEEE 802.3 lengths. */
export function etherTypeName(etherType: number): string {
  switch (etherType) {
    case EtherType.ipv4:
      return "IPv4";
    case EtherType.arp:
      return "ARP";
    case EtherType.vlan:
      return "802.1Q";
    case EtherType.ipv6:
      return "IPv6";
    default:
      return etherType < 0x0600
        ? `802.3 length ${etherType}`
        : `ethertype 0x${etherType.toString(16).padStart(4, "0")}`;
  }
}
