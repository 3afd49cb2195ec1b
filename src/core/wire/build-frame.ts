/**
 * Whole frames from values: Ethernet, a tag, IP, a transport, with right checksums, in a packet with headroom.
 * Host stacks send with these, tests make their frames with them. What a sender must decide has no default.
 */
import { assert } from "../base/assert.ts";
import { writeU16 } from "../base/bytes.ts";
import { type Ipv6, familyOf } from "../net/ip.ts";
import { ARP_BYTES, type ArpRepr, emitArp } from "./arp.ts";
import {
  type FragmentFields,
  type IpFields,
  type LinkFields,
  emitIp,
  emitLink,
  ipEtherType,
  ipLength,
  linkLength,
} from "./emit-headers.ts";
import { EtherType } from "./ethernet.ts";
import { type IcmpRepr, emitIcmp, icmpLength } from "./icmp.ts";
import { type Icmpv6Repr, emitIcmpv6, icmpv6Length } from "./icmpv6/icmpv6.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { MLD_HOP_LIMIT, MLD_ROUTER_ALERT, type MldRepr, emitMld, mldLength } from "./icmpv6/mld.ts";
import { type NdRepr, emitNd, ndLength } from "./icmpv6/nd.ts";
import { Packet } from "./packet.ts";
import { type TcpFields, emitTcp, tcpHeaderLength } from "./tcp.ts";
import { computeTransportChecksum, transportChecksumOffset } from "./transport-checksum.ts";
import { UDP_HEADER_BYTES, type UdpFields, emitUdp } from "./udp.ts";

export type { FragmentFields, IpFields, LinkFields };

const NO_BYTES = new Uint8Array(0);

/** A frame in the making: the packet, and where the next header goes. */
interface Draft {
  readonly packet: Packet;
  readonly at: number;
}

/** Makes the packet for `length` bytes behind the link layer, and writes the link layer. */
function draftFrame(link: LinkFields, etherType: number, length: number): Draft {
  const packet = Packet.ofLength(linkLength(link) + length);
  return { packet, at: packet.start + emitLink(link, etherType, packet.bytes, packet.start) };
}

function draftIp(
  link: LinkFields,
  ip: IpFields,
  protocol: number,
  payloadLength: number,
  fragment?: FragmentFields,
): Draft {
  const { packet, at } = draftFrame(link, ipEtherType(ip), ipLength(ip, fragment) + payloadLength);
  return { packet, at: at + emitIp(ip, { protocol, payloadLength, fragment }, packet.bytes, at) };
}

/** Writes the checksum of the transport packet that fills the draft from `at` to its end. */
function finishTransport(draft: Draft, link: LinkFields, ip: IpFields, protocol: number): Packet {
  const { packet, at } = draft;
  const network = packet.start + linkLength(link);
  const family = familyOf(ip.source);
  const checksum = computeTransportChecksum(packet.bytes, network, family, protocol, at, packet.end);
  writeU16(packet.bytes, at + transportChecksumOffset(protocol), checksum);
  return packet;
}

/** A frame with anything behind its ethertype. Frames are not padded to Ethernet's minimum, as on a virtual switch. */
export function buildEthernetFrame(options: {
  readonly link: LinkFields;
  readonly etherType: number;
  readonly payload: Uint8Array;
}): Packet {
  const { packet, at } = draftFrame(options.link, options.etherType, options.payload.length);
  packet.bytes.set(options.payload, at);
  return packet;
}

export function buildArpFrame(options: { readonly link: LinkFields; readonly arp: ArpRepr }): Packet {
  const { packet, at } = draftFrame(options.link, EtherType.arp, ARP_BYTES);
  emitArp(options.arp, packet.bytes, at);
  return packet;
}

/** An IP packet of any protocol, or one fragment of it. `payload` is taken as it is: no checksum in it is touched. */
export function buildIpFrame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly protocol: number;
  readonly payload: Uint8Array;
  /** Default: the packet is no fragment. */
  readonly fragment?: FragmentFields;
}): Packet {
  const { link, ip, protocol, payload, fragment } = options;
  const { packet, at } = draftIp(link, ip, protocol, payload.length, fragment);
  packet.bytes.set(payload, at);
  return packet;
}

export function buildTcpFrame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly tcp: TcpFields;
  /** Default: none. */
  readonly payload?: Uint8Array;
}): Packet {
  const { link, ip, tcp, payload = NO_BYTES } = options;
  const headerBytes = tcpHeaderLength(tcp.options);
  const draft = draftIp(link, ip, IpProtocol.tcp, headerBytes + payload.length);
  emitTcp(tcp, draft.packet.bytes, draft.at);
  draft.packet.bytes.set(payload, draft.at + headerBytes);
  return finishTransport(draft, link, ip, IpProtocol.tcp);
}

export function buildUdpFrame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly udp: UdpFields;
  readonly payload: Uint8Array;
  /** `none` writes zero, which on IPv6 only tunnels may do. Default `computed`. */
  readonly checksum?: "computed" | "none";
}): Packet {
  const { link, ip, udp, payload } = options;
  const draft = draftIp(link, ip, IpProtocol.udp, UDP_HEADER_BYTES + payload.length);
  emitUdp(udp, payload.length, draft.packet.bytes, draft.at);
  draft.packet.bytes.set(payload, draft.at + UDP_HEADER_BYTES);
  return options.checksum === "none" ? draft.packet : finishTransport(draft, link, ip, IpProtocol.udp);
}

/** An ICMP message in IPv4. */
export function buildIcmpFrame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly icmp: IcmpRepr;
}): Packet {
  const { link, ip, icmp } = options;
  assert(familyOf(ip.source) === 4, "ICMP travels in IPv4");
  const draft = draftIp(link, ip, IpProtocol.icmp, icmpLength(icmp));
  emitIcmp(icmp, draft.packet.bytes, draft.at);
  return finishTransport(draft, link, ip, IpProtocol.icmp);
}

/** An ICMPv6 echo or error in IPv6. */
export function buildIcmpv6Frame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly icmpv6: Icmpv6Repr;
}): Packet {
  const { link, ip, icmpv6 } = options;
  assert(familyOf(ip.source) === 6, "ICMPv6 travels in IPv6");
  const draft = draftIp(link, ip, IpProtocol.icmpv6, icmpv6Length(icmpv6));
  emitIcmpv6(icmpv6, draft.packet.bytes, draft.at);
  return finishTransport(draft, link, ip, IpProtocol.icmpv6);
}

/** A message of neighbour discovery; its hop limit (`ip.ttl`) must be 255 to be taken. */
export function buildNdFrame(options: {
  readonly link: LinkFields;
  readonly ip: IpFields;
  readonly nd: NdRepr;
}): Packet {
  const { link, ip, nd } = options;
  assert(familyOf(ip.source) === 6, "neighbour discovery travels in IPv6");
  const draft = draftIp(link, ip, IpProtocol.icmpv6, ndLength(nd));
  emitNd(nd, draft.packet.bytes, draft.at);
  return finishTransport(draft, link, ip, IpProtocol.icmpv6);
}

/** A message of multicast listener discovery, with the hop limit and the router alert that it has to have. */
export function buildMldFrame(options: {
  readonly link: LinkFields;
  readonly source: Ipv6;
  readonly destination: Ipv6;
  readonly mld: MldRepr;
}): Packet {
  const { link, source, destination, mld } = options;
  const ip: IpFields = {
    source,
    destination,
    ttl: MLD_HOP_LIMIT,
    identification: 0,
    isDontFragment: false,
    extensions: [MLD_ROUTER_ALERT],
  };
  const draft = draftIp(link, ip, IpProtocol.icmpv6, mldLength(mld));
  emitMld(mld, draft.packet.bytes, draft.at);
  return finishTransport(draft, link, ip, IpProtocol.icmpv6);
}
