/**
 * Where the headers of a frame are: one pass over the bytes, one reusable object, no allocation.
 *
 * The engine, the switch and the host stacks all start here. `parse` refuses truncated frames and lying lengths
 * with a reason; after it succeeded, every offset that is not -1 may be read through the views of this folder.
 * After a refusal the fields tell what was found in front of the broken header, and `transport` is -1.
 *
 * Inferred: no source says what Windows does with the frames that are refused here. A first fragment too short for its
 * transport header and a second IPv6 fragment header are refused because a filter could not see the ports.
 */
import { readU128, readU16, readU32, readU8 } from "../base/bytes.ts";
import type { Ip } from "../net/ip.ts";
import { ARP_BYTES } from "./arp.ts";
import { ETHERNET_HEADER_BYTES, EtherType } from "./ethernet.ts";
import { ICMP_HEADER_BYTES } from "./icmp.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { IPV4_HEADER_BYTES_MIN } from "./ipv4.ts";
import {
  IPV6_EXTENSIONS_MAX,
  IPV6_FRAGMENT_HEADER_BYTES,
  IPV6_HEADER_BYTES,
  Ipv6ExtensionType,
  isIpv6Extension,
} from "./ipv6.ts";
import type { MalformedReason } from "./malformed.ts";
import type { Packet } from "./packet.ts";
import { TCP_HEADER_BYTES_MIN } from "./tcp.ts";
import { UDP_HEADER_BYTES } from "./udp.ts";
import { VLAN_TAG_BYTES } from "./vlan.ts";

/** Offsets and the few fields that everybody needs. Offsets count from the start of the packet's `bytes`. */
export class Headers {
  /** Start of the Ethernet header. */
  ethernet = 0;
  /** The 802.1Q tag's VLAN id, or 0 without a tag. */
  vlan = 0;
  /** True when the frame carries an 802.1Q tag (a tag of VLAN 0 is one, too). */
  isTagged = false;
  /** The ethertype behind the tag. */
  etherType = 0;
  /** Start of what the ethertype announces: ARP, IPv4 or IPv6. */
  network = 0;
  /** 4 or 6 for IP, 0 for everything else. */
  family: 0 | 4 | 6 = 0;
  /**
   * The IP protocol of the transport header; for IPv6 the one behind the extension headers, for a later fragment
   * what its fragment header names. -1 when not IP.
   */
  protocol = -1;
  /** Start of the transport header; -1 when there is none to read (not IP, a later fragment, an unknown protocol). */
  transport = -1;
  /** Start of what the IP packet carries, whatever it is: behind all extension headers. -1 when not IP. */
  upper = -1;
  /** Start of the payload of TCP, UDP or ICMP; -1 when `transport` is, and for TCP embedded in an ICMP error. */
  payload = -1;
  /** End of the IP packet; Ethernet padding lies behind it. For other ethertypes the end of the frame. */
  end = 0;
  isFragment = false;
  /** Byte offset of the fragment in its datagram; 0 for the first one. */
  fragmentOffset = 0;
  /** Offset of IPv6's fragment extension header; -1 without one. */
  fragmentHeader = -1;
  /** True when more fragments follow. */
  hasMoreFragments = false;

  /** Reads `packet`. @returns why the frame cannot be taken; undefined when it can. */
  parse(packet: Packet): MalformedReason | undefined {
    return this.parseBytes(packet.bytes, packet.start, packet.end);
  }

  /** Reads the frame in `bytes[start..end)`. */
  parseBytes(bytes: Uint8Array, start: number, end: number): MalformedReason | undefined {
    this.reset(start, end);
    if (end - start < ETHERNET_HEADER_BYTES) return "ethernet-truncated";
    this.etherType = readU16(bytes, start + 12);
    this.network = start + ETHERNET_HEADER_BYTES;
    if (this.etherType === EtherType.vlan) {
      if (end - start < ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES) return "vlan-truncated";
      this.isTagged = true;
      this.vlan = readU16(bytes, start + 14) & 0x0fff;
      this.etherType = readU16(bytes, start + 16);
      this.network = start + ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES;
    }
    switch (this.etherType) {
      case EtherType.ipv4:
        return this.parseIpv4(bytes, end);
      case EtherType.ipv6:
        return this.parseIpv6(bytes, end);
      case EtherType.arp:
        return end - this.network < ARP_BYTES ? "arp-truncated" : undefined;
      default:
        return undefined;
    }
  }

  /**
   * Reads an IP packet that stands alone in `bytes[start..end)`, as ICMP errors embed one. The packet may be cut
   * short: its headers must be there (of TCP the first 8 bytes), its lengths may point beyond `end`. What lies behind
   * its own end, such as the extensions of RFC 4884, is left out.
   */
  parseEmbedded(bytes: Uint8Array, start: number, end: number): MalformedReason | undefined {
    this.reset(start, end);
    if (end - start < 1) return "ipv4-truncated";
    if (readU8(bytes, start) >>> 4 === 6) {
      if (end - start < IPV6_HEADER_BYTES) return "ipv6-truncated";
      this.etherType = EtherType.ipv6;
      this.family = 6;
      this.end = Math.min(end, start + IPV6_HEADER_BYTES + readU16(bytes, start + 4));
      return this.walkExtensions(bytes, true);
    }
    if (readU8(bytes, start) >>> 4 !== 4) return "ipv4-version";
    if (end - start < IPV4_HEADER_BYTES_MIN) return "ipv4-truncated";
    const headerBytes = (readU8(bytes, start) & 0x0f) * 4;
    if (headerBytes < IPV4_HEADER_BYTES_MIN || headerBytes > end - start) return "ipv4-header-length";
    const totalLength = readU16(bytes, start + 2);
    if (totalLength < headerBytes) return "ipv4-total-length";
    this.etherType = EtherType.ipv4;
    this.family = 4;
    this.end = Math.min(end, start + totalLength);
    this.readIpv4Fragment(bytes);
    this.protocol = readU8(bytes, start + 9);
    return this.parseTransport(bytes, start + headerBytes, true);
  }

  /**
   * What `parse` would find in an untagged frame of one's own making: an IP header without options, then UDP, or a
   * protocol that is not looked into.
   */
  describe(start: number, end: number, family: 4 | 6, protocol: number, upper: number): void {
    this.reset(start, end);
    this.etherType = family === 4 ? EtherType.ipv4 : EtherType.ipv6;
    this.network = start + ETHERNET_HEADER_BYTES;
    this.family = family;
    this.protocol = protocol;
    this.upper = upper;
    if (protocol !== IpProtocol.udp) return;
    this.transport = upper;
    this.payload = upper + UDP_HEADER_BYTES;
  }

  /** Takes over what `other` found: the headers of a frame that has lost those in front of it. */
  copyFrom(other: Headers): void {
    this.ethernet = other.ethernet;
    this.vlan = other.vlan;
    this.isTagged = other.isTagged;
    this.etherType = other.etherType;
    this.network = other.network;
    this.family = other.family;
    this.protocol = other.protocol;
    this.transport = other.transport;
    this.upper = other.upper;
    this.payload = other.payload;
    this.end = other.end;
    this.isFragment = other.isFragment;
    this.fragmentOffset = other.fragmentOffset;
    this.fragmentHeader = other.fragmentHeader;
    this.hasMoreFragments = other.hasMoreFragments;
  }

  private reset(start: number, end: number): void {
    this.ethernet = start;
    this.vlan = 0;
    this.isTagged = false;
    this.etherType = 0;
    this.network = start;
    this.family = 0;
    this.protocol = -1;
    this.transport = -1;
    this.upper = -1;
    this.payload = -1;
    this.end = end;
    this.isFragment = false;
    this.fragmentOffset = 0;
    this.fragmentHeader = -1;
    this.hasMoreFragments = false;
  }

  private parseIpv4(bytes: Uint8Array, end: number): MalformedReason | undefined {
    const at = this.network;
    if (end - at < IPV4_HEADER_BYTES_MIN) return "ipv4-truncated";
    if (readU8(bytes, at) >>> 4 !== 4) return "ipv4-version";
    const headerBytes = (readU8(bytes, at) & 0x0f) * 4;
    if (headerBytes < IPV4_HEADER_BYTES_MIN || headerBytes > end - at) return "ipv4-header-length";
    const totalLength = readU16(bytes, at + 2);
    if (totalLength < headerBytes || totalLength > end - at) return "ipv4-total-length";
    this.family = 4;
    this.end = at + totalLength;
    this.readIpv4Fragment(bytes);
    this.protocol = readU8(bytes, at + 9);
    return this.parseTransport(bytes, at + headerBytes, false);
  }

  private readIpv4Fragment(bytes: Uint8Array): void {
    const word = readU16(bytes, this.network + 6);
    this.hasMoreFragments = (word & 0x2000) !== 0;
    this.fragmentOffset = (word & 0x1fff) * 8;
    this.isFragment = this.hasMoreFragments || this.fragmentOffset !== 0;
  }

  private parseIpv6(bytes: Uint8Array, end: number): MalformedReason | undefined {
    const at = this.network;
    if (end - at < IPV6_HEADER_BYTES) return "ipv6-truncated";
    if (readU8(bytes, at) >>> 4 !== 6) return "ipv6-version";
    const payloadLength = readU16(bytes, at + 4);
    if (payloadLength > end - at - IPV6_HEADER_BYTES) return "ipv6-payload-length";
    this.family = 6;
    this.end = at + IPV6_HEADER_BYTES + payloadLength;
    return this.walkExtensions(bytes, false);
  }

  private walkExtensions(bytes: Uint8Array, isEmbedded: boolean): MalformedReason | undefined {
    let next = readU8(bytes, this.network + 6);
    let at = this.network + IPV6_HEADER_BYTES;
    for (let count = 0; isIpv6Extension(next); count++) {
      if (count === IPV6_EXTENSIONS_MAX) return "ipv6-extension-chain";
      if (this.end - at < 8) return "ipv6-extension-truncated";
      let length = (readU8(bytes, at + 1) + 1) * 8;
      if (next === Ipv6ExtensionType.fragment) {
        // A second fragment header could take back what the first one said.
        if (this.fragmentHeader >= 0) return "ipv6-extension-chain";
        this.readIpv6Fragment(bytes, at);
        length = IPV6_FRAGMENT_HEADER_BYTES;
      }
      next = readU8(bytes, at);
      at += length;
      if (at > this.end) return "ipv6-extension-truncated";
      // A later fragment carries no further headers.
      if (this.fragmentOffset !== 0) break;
    }
    this.protocol = next;
    return this.parseTransport(bytes, at, isEmbedded);
  }

  private readIpv6Fragment(bytes: Uint8Array, at: number): void {
    this.fragmentHeader = at;
    this.fragmentOffset = readU16(bytes, at + 2) & 0xfff8;
    this.hasMoreFragments = (readU8(bytes, at + 3) & 1) !== 0;
    this.isFragment = this.hasMoreFragments || this.fragmentOffset !== 0;
  }

  private parseTransport(bytes: Uint8Array, at: number, isEmbedded: boolean): MalformedReason | undefined {
    this.upper = at;
    if (this.fragmentOffset !== 0) return undefined;
    const room = this.end - at;
    switch (this.protocol) {
      case IpProtocol.tcp:
        return this.parseTcp(bytes, at, room, isEmbedded);
      case IpProtocol.udp:
        return this.parseUdp(bytes, at, room, isEmbedded);
      case IpProtocol.icmp:
        return this.family === 4 ? this.parseIcmp(at, room) : undefined;
      case IpProtocol.icmpv6:
        return this.family === 6 ? this.parseIcmp(at, room) : undefined;
      default:
        return undefined;
    }
  }

  private parseTcp(
    bytes: Uint8Array,
    at: number,
    room: number,
    isEmbedded: boolean,
  ): MalformedReason | undefined {
    if (isEmbedded) {
      // RFC 792: an ICMP error carries at least the first 8 bytes of the transport header.
      if (room < 8) return "tcp-truncated";
      this.transport = at;
      return undefined;
    }
    if (room < TCP_HEADER_BYTES_MIN) return "tcp-truncated";
    const headerBytes = (readU8(bytes, at + 12) >>> 4) * 4;
    if (headerBytes < TCP_HEADER_BYTES_MIN || headerBytes > room) return "tcp-data-offset";
    this.transport = at;
    this.payload = at + headerBytes;
    return undefined;
  }

  private parseUdp(
    bytes: Uint8Array,
    at: number,
    room: number,
    isEmbedded: boolean,
  ): MalformedReason | undefined {
    if (room < UDP_HEADER_BYTES) return "udp-truncated";
    const length = readU16(bytes, at + 4);
    // The length of a first fragment counts the bytes of the later ones, too.
    const isLying = length < UDP_HEADER_BYTES || (!this.isFragment && length > room);
    if (isLying && !isEmbedded) return "udp-length";
    this.transport = at;
    this.payload = at + UDP_HEADER_BYTES;
    return undefined;
  }

  private parseIcmp(at: number, room: number): MalformedReason | undefined {
    if (room < ICMP_HEADER_BYTES) return "icmp-truncated";
    this.transport = at;
    this.payload = at + ICMP_HEADER_BYTES;
    return undefined;
  }
}

/** The source address of a parsed IP packet. Allocates for IPv6 only. */
export function sourceIp(bytes: Uint8Array, headers: Headers): Ip {
  return headers.family === 6
    ? (readU128(bytes, headers.network + 8) as Ip)
    : (readU32(bytes, headers.network + 12) as Ip);
}

/** The destination address of a parsed IP packet. Allocates for IPv6 only. */
export function destinationIp(bytes: Uint8Array, headers: Headers): Ip {
  return headers.family === 6
    ? (readU128(bytes, headers.network + 24) as Ip)
    : (readU32(bytes, headers.network + 16) as Ip);
}
