/**
 * Link layer and IP headers of either family, as one value each, written in front of a payload. Frame builders and
 * encapsulation use it.
 */
import { assert } from "../base/assert.ts";
import { type Ip, familyOf } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { ETHERNET_HEADER_BYTES, EtherType, emitEthernet } from "./ethernet.ts";
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
import { VLAN_TAG_BYTES, type VlanTag, emitVlan } from "./vlan.ts";

const NO_OPTIONS = new Uint8Array(0);

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
  /** IPv4's flag DF. Not looked at for IPv6, which no router fragments. */
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

/** Bytes of the link layer: 14, or 18 with a tag. */
export function linkLength(link: LinkFields): number {
  return ETHERNET_HEADER_BYTES + (link.vlan === undefined ? 0 : VLAN_TAG_BYTES);
}

/** Writes the link layer at `offset`. @returns the bytes written. */
export function emitLink(link: LinkFields, etherType: number, bytes: Uint8Array, offset: number): number {
  const { sourceMac, destinationMac, vlan } = link;
  const outerType = vlan === undefined ? etherType : EtherType.vlan;
  const written = emitEthernet({ sourceMac, destinationMac, etherType: outerType }, bytes, offset);
  return vlan === undefined ? written : written + emitVlan(vlan, etherType, bytes, offset + written);
}

/** The ethertype of the IP header that `ip` describes. */
export function ipEtherType(ip: IpFields): number {
  return familyOf(ip.source) === 4 ? EtherType.ipv4 : EtherType.ipv6;
}

function extensionsLength(ip: IpFields): number {
  let length = 0;
  for (const extension of ip.extensions ?? []) length += ipv6ExtensionLength(extension);
  return length;
}

/** Bytes of the IP header with all its options and extension headers. */
export function ipLength(ip: IpFields, fragment?: FragmentFields): number {
  if (familyOf(ip.source) === 4) return ipv4HeaderLength(ip.ipv4Options);
  return IPV6_HEADER_BYTES + extensionsLength(ip) + (fragment === undefined ? 0 : IPV6_FRAGMENT_HEADER_BYTES);
}

/** The IP header in front of `payloadLength` bytes of `protocol`. */
export interface IpPlacement {
  readonly protocol: number;
  readonly payloadLength: number;
  /** Default: the packet is no fragment. */
  readonly fragment?: FragmentFields | undefined;
}

/** Writes the IP header at `offset`. @returns the bytes written, as `ipLength` says. */
export function emitIp(ip: IpFields, placement: IpPlacement, bytes: Uint8Array, offset: number): number {
  return familyOf(ip.source) === 4
    ? emitIpv4Header(ip, placement, bytes, offset)
    : emitIpv6Headers(ip, placement, bytes, offset);
}

function emitIpv4Header(ip: IpFields, placement: IpPlacement, bytes: Uint8Array, offset: number): number {
  const { source, destination } = ip;
  assert(typeof source === "number" && typeof destination === "number", "both addresses are of one family");
  const { protocol, payloadLength, fragment } = placement;
  const { ttl, identification, isDontFragment } = ip;
  return emitIpv4(
    {
      source,
      destination,
      protocol,
      ttl,
      identification,
      isDontFragment,
      payloadLength,
      dscp: ip.dscp ?? 0,
      ecn: ip.ecn ?? 0,
      hasMoreFragments: fragment?.hasMore ?? false,
      fragmentOffset: fragment?.offset ?? 0,
      options: ip.ipv4Options ?? NO_OPTIONS,
    },
    bytes,
    offset,
  );
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

function emitIpv6Headers(ip: IpFields, placement: IpPlacement, bytes: Uint8Array, offset: number): number {
  const { source, destination } = ip;
  assert(typeof source === "bigint" && typeof destination === "bigint", "both addresses are of one family");
  const { protocol, payloadLength, fragment } = placement;
  const last = fragment === undefined ? protocol : Ipv6ExtensionType.fragment;
  const header = {
    source,
    destination,
    nextHeader: ip.extensions?.[0]?.type ?? last,
    hopLimit: ip.ttl,
    payloadLength: ipLength(ip, fragment) - IPV6_HEADER_BYTES + payloadLength,
    dscp: ip.dscp ?? 0,
    ecn: ip.ecn ?? 0,
    flowLabel: ip.flowLabel ?? 0,
  };
  let at = offset + emitIpv6(header, bytes, offset);
  at += emitExtensions(ip, last, bytes, at);
  if (fragment !== undefined) {
    const { offset: fragmentOffset, hasMore: hasMoreFragments } = fragment;
    const { identification } = ip;
    const fields = { nextHeader: protocol, fragmentOffset, hasMoreFragments, identification };
    at += emitIpv6Fragment(fields, bytes, at);
  }
  return at - offset;
}
