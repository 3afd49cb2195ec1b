/** The fields of an ARP body that a switch reads and writes (RFC 826, Ethernet and IPv4). */

/** Offsets in the body. */
export const ARP = { operation: 6, senderMac: 8, senderIp: 14, targetMac: 18, targetIp: 24 } as const;
export const REQUEST = 1;
export const REPLY = 2;
