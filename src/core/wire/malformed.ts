/** Why bytes were refused: one stable word for programs, one sentence for people. */

const TEXTS = {
  "ethernet-truncated": "the frame is shorter than an Ethernet header (14 bytes)",
  "vlan-truncated": "the frame ends inside its 802.1Q tag",
  "arp-truncated": "the frame ends inside its ARP message (28 bytes)",
  "arp-not-ethernet-ipv4": "the ARP message is not about IPv4 addresses on Ethernet",
  "ipv4-truncated": "the frame ends inside its IPv4 header",
  "ipv4-version": "the ethertype is IPv4, but the version field differs",
  "ipv4-header-length": "the IPv4 header length is below 20 bytes or reaches beyond the frame",
  "ipv4-total-length": "the IPv4 total length is below the header length or reaches beyond the frame",
  "ipv4-option-length": "an IPv4 option reaches beyond the header or has no length",
  "ipv6-truncated": "the frame ends inside its IPv6 header (40 bytes)",
  "ipv6-version": "the ethertype is IPv6, but the version field differs",
  "ipv6-payload-length": "the IPv6 payload length reaches beyond the frame",
  "ipv6-extension-truncated": "an IPv6 extension header reaches beyond the packet",
  "ipv6-extension-chain": "the IPv6 packet has too many extension headers, or two fragment headers",
  "tcp-truncated": "the packet ends inside its TCP header",
  "tcp-data-offset": "the TCP data offset is below 20 bytes or reaches beyond the packet",
  "tcp-option-length": "a TCP option reaches beyond the header or has no length",
  "udp-truncated": "the packet ends inside its UDP header (8 bytes)",
  "udp-length": "the UDP length is below 8 bytes or reaches beyond the packet",
  "icmp-truncated": "the packet ends inside its ICMP header (8 bytes)",
  "nd-truncated": "the packet ends inside its neighbour discovery message",
  "nd-not-discovery": "the ICMPv6 message is not a solicitation or advertisement of neighbour discovery",
  "nd-option-length": "a neighbour discovery option reaches beyond the packet or has no length",
  "mld-truncated": "a message of multicast listener discovery names more groups or sources than it has",
  "vxlan-truncated": "the datagram ends inside its VXLAN header (8 bytes)",
  "vxlan-vni-invalid": "the VXLAN header does not mark its VNI as valid",
  "geneve-truncated": "the datagram ends inside its GENEVE header (8 bytes)",
  "geneve-version": "the version of the GENEVE header is not 0",
  "geneve-option-length": "a GENEVE option reaches beyond the header, or the header beyond the datagram",
  "geneve-not-ethernet": "the GENEVE payload is not an Ethernet frame",
  "nvgre-truncated": "the packet ends inside its NVGRE header (8 bytes)",
  "gre-not-nvgre": "the GRE header is not one of NVGRE: a key, Ethernet, nothing else",
  "stt-truncated": "the segment ends inside its STT header (18 bytes)",
  "stt-version": "the version of the STT header is not 0",
  "stt-segment-length": "the STT segment is empty, or outside the frame that it claims to belong to",
  "stt-segment-overlap": "two STT segments of one frame overlap",
  "dns-truncated": "the DNS message ends inside its header or a record",
  "dns-too-long": "the DNS message is longer, or has more records, than is taken",
  "dns-name": "a name in the DNS message is too long, loops, or holds a character that no name has",
  "dns-record-length":
    "a record of the DNS message is longer than the message, or has not the length of its type",
} as const;

/** Why a header was refused. The words are stable. */
export type MalformedReason = keyof typeof TEXTS;

/** One clause that says to a person what is wrong. */
export function describeMalformed(reason: MalformedReason): string {
  return TEXTS[reason];
}
