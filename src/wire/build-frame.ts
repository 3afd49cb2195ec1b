/**
 * Whole frames from values: Ethernet, a tag, IP, a transport, with right checksums, in a packet with headroom.
 * Host stacks send with these, tests make their frames with them. What a sender must decide has no default.
 */
import { assert } from "../base/assert.ts";
import { writeU16 } from "../base/bytes.ts";
import { type Ip, familyOf } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { ARP_BYTES, type ArpRepr, emitArp } from "./arp.ts";
import { ETHERNET_HEADER_BYTES, emitEthernet } from "./ethernet.ts";
import { EtherType } from "./ethertype.ts";
import { type IcmpRepr, emitIcmp, icmpLength } from "./icmp.ts";
import { type Icmpv6Repr, emitIcmpv6, icmpv6Length } from "./icmpv6.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { emitIpv4, ipv4HeaderLength } from "./ipv4.ts";
import {
  IPV6_FRAGMENT_HEADER_BYTES,
  IPV6_HEADER_BYTES,
  type Ipv6Extension,
  Ipv6ExtensionType,
  emitIpv6,
  emitIpv6Extension,
  emitIpv6Fragment,
  ipv6ExtensionLength,
} from "./ipv6.ts";
import { type NdRepr, emitNd, ndLength } from "./nd.ts";
import { Packet } from "./packet.ts";
import { type TcpFields, emitTcp, tcpHeaderLength } from "./tcp.ts";
import { computeTransportChecksum, transportChecksumOffset } from "./transport-checksum.ts";
import { UDP_HEADER_BYTES, type UdpFields, emitUdp } from "./udp.ts";
import { VLAN_TAG_BYTES, type VlanTag, emitVlan } from "./vlan.ts";

const NO_BYTES = new Uint8Array(0);

/** The link layer of a frame. */
export interface LinkFields {
  readonly sourceMac: Mac;
  readonly destinationMac: Mac;
  /** Default: the frame has no tag. */
  readonly vlan?: VlanTag;
}

/** The IP header of a frame, of either family; that of `source` decides. */
export interface IpFields {
  readonly source: Ip;
  /** Of the same family as `source`. */
  readonly destination: Ip;
  /** TTL or hop limit, 0 to 255. */
  readonly ttl: number;
  /** IPv4's identification, 16 bits. IPv6 has it only in fragments: there 32 bits, otherwise not looked at. */
  readonly identification: number;
  /** IPv4's flag DF. Not looked at for IPv6, which nobody fragments on the way. */
  readonly isDontFragment: boolean;
  /** 6 bits. Default 0. */
  readonly dscp?: number;
  /** 2 bits. Default 0: not ECN-capable. */
  readonly ecn?: number;
  /** IPv4 only: option bytes, at most 40, padded to a multiple of 4. Default none. */
  readonly ipv4Options?: Uint8Array;
  /** IPv6 only: 20 bits. Default 0: no label. */
  readonly flowLabel?: number;
  /** IPv6 only: extension headers in this order, in front of a fragment header. Default none. */
  readonly extensions?: readonly Ipv6Extension[];
}

/** Which part of a datagram a fragment carries. */
export interface FragmentFields {
  /** In bytes, a multiple of 8. */
  readonly offset: number;
  readonly hasMore: boolean;
}

/** A frame in the making: the packet, and where the next header goes. */
interface Draft {
  readonly packet: Packet;
  readonly at: number;
}

function linkLength(link: LinkFields): number {
  return ETHERNET_HEADER_BYTES + (link.vlan === undefined ? 0 : VLAN_TAG_BYTES);
}

/** Makes the packet for `length` bytes behind the link layer, and writes the link layer. */
function draftFrame(link: LinkFields, etherType: number, length: number): Draft {
  const packet = Packet.ofLength(linkLength(link) + length);
  const { bytes, start } = packet;
  const { sourceMac, destinationMac, vlan } = link;
  const outerType = vlan === undefined ? etherType : EtherType.vlan;
  let at = start + emitEthernet({ sourceMac, destinationMac, etherType: outerType }, bytes, start);
  if (vlan !== undefined) at += emitVlan(vlan, etherType, bytes, at);
  return { packet, at };
}

function extensionsLength(ip: IpFields): number {
  let length = 0;
  for (const extension of ip.extensions ?? []) length += ipv6ExtensionLength(extension);
  return length;
}

function draftIpv4(
  link: LinkFields,
  ip: IpFields,
  protocol: number,
  payloadLength: number,
  fragment: FragmentFields | undefined,
): Draft {
  const { source, destination } = ip;
  assert(typeof source === "number" && typeof destination === "number", "both addresses are of one family");
  const { packet, at } = draftFrame(link, EtherType.ipv4, ipv4HeaderLength(ip.ipv4Options) + payloadLength);
  const written = emitIpv4(
    {
      source,
      destination,
      protocol,
      ttl: ip.ttl,
      identification: ip.identification,
      isDontFragment: ip.isDontFragment,
      payloadLength,
      dscp: ip.dscp ?? 0,
      ecn: ip.ecn ?? 0,
      hasMoreFragments: fragment?.hasMore ?? false,
      fragmentOffset: fragment?.offset ?? 0,
      options: ip.ipv4Options ?? NO_BYTES,
    },
    packet.bytes,
    at,
  );
  return { packet, at: at + written };
}

/** Writes the extension headers of `ip`, the last of which names `last`. @returns the bytes written. */
function emitExtensions(ip: IpFields, last: number, bytes: Uint8Array, offset: number): number {
  const extensions = ip.extensions ?? [];
  let at = offset;
  for (const [index, extension] of extensions.entries()) {
    at += emitIpv6Extension(extension, extensions[index + 1]?.type ?? last, bytes, at);
  }
  return at - offset;
}

function draftIpv6(
  link: LinkFields,
  ip: IpFields,
  protocol: number,
  payloadLength: number,
  fragment: FragmentFields | undefined,
): Draft {
  const { source, destination } = ip;
  assert(typeof source === "bigint" && typeof destination === "bigint", "both addresses are of one family");
  const fragmentBytes = fragment === undefined ? 0 : IPV6_FRAGMENT_HEADER_BYTES;
  const length = extensionsLength(ip) + fragmentBytes + payloadLength;
  const draft = draftFrame(link, EtherType.ipv6, IPV6_HEADER_BYTES + length);
  const { bytes } = draft.packet;
  const last = fragment === undefined ? protocol : Ipv6ExtensionType.fragment;
  const header = {
    source,
    destination,
    nextHeader: ip.extensions?.[0]?.type ?? last,
    hopLimit: ip.ttl,
    payloadLength: length,
    dscp: ip.dscp ?? 0,
    ecn: ip.ecn ?? 0,
    flowLabel: ip.flowLabel ?? 0,
  };
  let at = draft.at + emitIpv6(header, bytes, draft.at);
  at += emitExtensions(ip, last, bytes, at);
  if (fragment !== undefined) {
    const { offset: fragmentOffset, hasMore: hasMoreFragments } = fragment;
    const { identification } = ip;
    at += emitIpv6Fragment(
      { nextHeader: protocol, fragmentOffset, hasMoreFragments, identification },
      bytes,
      at,
    );
  }
  return { packet: draft.packet, at };
}

function draftIp(
  link: LinkFields,
  ip: IpFields,
  protocol: number,
  payloadLength: number,
  fragment?: FragmentFields,
): Draft {
  return familyOf(ip.source) === 4
    ? draftIpv4(link, ip, protocol, payloadLength, fragment)
    : draftIpv6(link, ip, protocol, payloadLength, fragment);
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
