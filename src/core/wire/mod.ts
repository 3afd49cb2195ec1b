/**
 * The public door of the wire formats, `mullion/wire`: packets, headers as views and as values, checksums, whole frames,
 * text. Bytes are never trusted: what parses says `undefined` or why not.
 *
 * @example
 * const packet = Packet.fromFrame(bytes);
 * const headers = new Headers();
 * if (headers.parse(packet) === undefined && isVxlan(packet.bytes, headers)) decapsulateVxlan(packet, headers);
 * const lines = formatFrame(packet.frame);
 */
export { Packet } from "./packet.ts";
export { destinationIp, Headers, sourceIp } from "./headers.ts";
export { describeMalformed, type MalformedReason } from "./malformed.ts";
export { type Layer, type LayerContent, listLayers, type TcpStart } from "./layers.ts";
export { describeFrame, formatFrame } from "./text/format.ts";
export { diffFields, type FieldChange, type FieldValue, listFields } from "./text/fields.ts";
export {
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildMldFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
  type FragmentFields,
  type IpFields,
  type LinkFields,
} from "./build-frame.ts";
export {
  decapsulateGeneve,
  decapsulateNvgre,
  decapsulateVxlan,
  encapsulateGeneve,
  encapsulateNvgre,
  encapsulateStt,
  encapsulateVxlan,
  type GeneveMetadata,
  type GeneveOuter,
  isGeneve,
  isNvgre,
  isVxlan,
  type NvgreOuter,
  readSttSegment,
  type ReceivedSttSegment,
  type SttOuter,
  type TunnelOuter,
  type UdpTunnelOuter,
  type VxlanOuter,
} from "./tunnels/encapsulation.ts";
export { TunnelHeaders, type TunnelKind } from "./tunnels/tunnel.ts";
export { isSegmentable, segmentPacket, segmentTcp } from "./segmentation.ts";
export { checksumOf, updateChecksum } from "./checksum.ts";
export { type ChecksumProblem, fillChecksums, verifyChecksums } from "./transport-checksum.ts";
export { decrementTtl, readTtl } from "./ip-view.ts";
export {
  ETHERNET_HEADER_BYTES,
  EtherType,
  type EthernetFields,
  EthernetView,
  emitEthernet,
  toEthernetFields,
} from "./ethernet.ts";
export { IpProtocol } from "./ip-protocol.ts";
export { emitVlan, popVlan, pushVlan, toVlanTag, VLAN_TAG_BYTES, type VlanTag, VlanView } from "./vlan.ts";
export { ARP_BYTES, ArpOperation, type ArpRepr, ArpView, emitArp, toArpRepr } from "./arp.ts";
export {
  emitIpv4,
  IPV4_HEADER_BYTES_MIN,
  type Ipv4Fields,
  ipv4HeaderLength,
  type Ipv4Option,
  Ipv4View,
  parseIpv4Options,
  toIpv4Fields,
} from "./ipv4.ts";
export {
  emitIpv6,
  emitIpv6Extension,
  emitIpv6Fragment,
  IPV6_FRAGMENT_HEADER_BYTES,
  IPV6_HEADER_BYTES,
  type Ipv6Extension,
  type Ipv6ExtensionPlace,
  Ipv6ExtensionType,
  type Ipv6Fields,
  type Ipv6FragmentFields,
  Ipv6FragmentView,
  Ipv6View,
  isIpv6Extension,
  listIpv6Extensions,
  toIpv6Fields,
} from "./ipv6.ts";
export {
  emitIcmp,
  ICMP_HEADER_BYTES,
  type IcmpRepr,
  IcmpType,
  IcmpUnreachable,
  IcmpView,
  isIcmpError,
  toIcmpRepr,
} from "./icmp.ts";
export {
  emitIcmpv6,
  type Icmpv6Repr,
  Icmpv6Type,
  Icmpv6Unreachable,
  Icmpv6View,
  toIcmpv6Repr,
} from "./icmpv6/icmpv6.ts";
export { emitNd, ND_HOP_LIMIT, type NdRepr, NdView, toNdRepr } from "./icmpv6/nd.ts";
export { type NdOption, NdOptionType } from "./icmpv6/nd-options.ts";
export { emitTcp, TCP_HEADER_BYTES_MIN, type TcpFields, TcpFlag, tcpHeaderLength, TcpView } from "./tcp.ts";
export {
  emitTcpOptions,
  findTcpOption,
  parseTcpOptions,
  type SackBlock,
  type TcpOption,
  TcpOptionKind,
} from "./tcp-options.ts";
export { emitUdp, toUdpFields, UDP_HEADER_BYTES, type UdpFields, UdpView } from "./udp.ts";
export {
  emitGeneve,
  GENEVE_HEADER_BYTES,
  GENEVE_PORT,
  type GeneveFields,
  type GeneveOption,
  GeneveView,
  toGeneveFields,
} from "./tunnels/geneve.ts";
export { emitNvgre, NVGRE_HEADER_BYTES, NvgreView } from "./tunnels/nvgre.ts";
export {
  emitStt,
  STT_HEADER_BYTES,
  STT_PORT,
  type SttFields,
  SttFlag,
  SttReassembler,
  type SttSegment,
  SttView,
  toSttFields,
  toSttSegment,
} from "./tunnels/stt.ts";
export {
  fromOvnGeneve,
  fromOvnSttContextId,
  fromOvnVxlanVni,
  OVN_GROUP_MIN,
  type OvnTunnelKeys,
  toOvnGeneveOption,
  toOvnSttContextId,
  toOvnVxlanVni,
} from "./tunnels/ovn-metadata.ts";
export {
  emitVxlan,
  VXLAN_FLAG_VNI_VALID,
  VXLAN_HEADER_BYTES,
  VXLAN_PORT,
  VxlanView,
} from "./tunnels/vxlan.ts";
export {
  type DnsMessage,
  type DnsQuestion,
  DnsRcode,
  type DnsRecord,
  emitDns,
  formatDns,
  parseDns,
} from "./dns/dns.ts";
export { DnsType, isDnsName } from "./dns/dns-structure.ts";
