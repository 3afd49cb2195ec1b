/** Ethertypes (IEEE), named where we look inside. Any 16-bit value may arrive. */
export const EtherType = {
  ipv4: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  ipv6: 0x86dd,
} as const;
