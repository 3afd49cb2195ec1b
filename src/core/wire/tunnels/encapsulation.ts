/**
 * Encapsulation in place: outer headers go into a packet's headroom, and come off by moving its start. STT, which cuts a
 * frame into segments, makes new packets. Engines that look at every packet locate tunnels with tunnel.ts instead.
 */
import { readU32, writeU16 } from "../../base/bytes.ts";
import { buildTcpFrame } from "../build-frame.ts";
import {
  type IpFields,
  type LinkFields,
  emitIp,
  emitLink,
  ipEtherType,
  ipLength,
  linkLength,
} from "../emit-headers.ts";
import {
  GENEVE_PORT,
  type GeneveFields,
  GeneveView,
  TRANSPARENT_ETHERNET,
  emitGeneve,
  geneveLength,
} from "./geneve.ts";
import { familyOf } from "../../net/ip.ts";
import type { Headers } from "../headers.ts";
import { IpProtocol } from "../ip-protocol.ts";
import type { MalformedReason } from "../malformed.ts";
import { NVGRE_HEADER_BYTES, NvgreView, emitNvgre } from "./nvgre.ts";
import type { Packet } from "../packet.ts";
import {
  STT_FRAME_BYTES_MAX,
  STT_HEADER_BYTES,
  STT_PORT,
  type SttFields,
  type SttSegment,
  emitStt,
  sttSequence,
  toSttSegment,
} from "./stt.ts";
import { TCP_HEADER_BYTES_MIN, TcpFlag, TcpView } from "../tcp.ts";
import { computeTransportChecksum } from "../transport-checksum.ts";
import { UDP_CHECKSUM_OFFSET, UDP_HEADER_BYTES, UdpView, emitUdp } from "../udp.ts";
import { VXLAN_HEADER_BYTES, VXLAN_PORT, VxlanView, emitVxlan } from "./vxlan.ts";

/** What stands in front of every tunnel's own header. */
export interface TunnelOuter {
  readonly link: LinkFields;
  /** dataplane.md §6.1: Windows sends TTL 128 and DF. */
  readonly ip: IpFields;
}

/** The outer headers of a tunnel over UDP. The UDP checksum is zero, as RFC 7348 asks (dataplane.md §6.1). */
export interface UdpTunnelOuter extends TunnelOuter {
  /** Spreads flows over paths: a hash of the inner headers. */
  readonly sourcePort: number;
  /** Default: the tunnel's own. */
  readonly destinationPort?: number;
}

/** The outer headers of a VXLAN packet. */
export interface VxlanOuter extends UdpTunnelOuter {
  /** 24 bits. */
  readonly vni: number;
}

/** The outer headers of a GENEVE packet. */
export interface GeneveOuter extends UdpTunnelOuter {
  readonly vni: number;
  /** Default: none. */
  readonly options?: GeneveFields["options"];
  /** The UDP checksum is computed, as a receiver may ask for (RFC 8926, 3.3). Default: it is zero. */
  readonly hasChecksum?: boolean;
}

/** The outer headers of an NVGRE packet. */
export interface NvgreOuter extends TunnelOuter {
  /** 24 bits. */
  readonly virtualSubnetId: number;
  /** 8 bits. */
  readonly flowId: number;
}

/** Link, IP and UDP in front of a tunnel header of `headerBytes`. @returns where that header goes. */
function prependUdp(packet: Packet, outer: UdpTunnelOuter, port: number, headerBytes: number): number {
  const { link, ip, sourcePort, destinationPort = port } = outer;
  const udpPayload = headerBytes + packet.length;
  packet.prepend(linkLength(link) + ipLength(ip) + UDP_HEADER_BYTES + headerBytes);
  const { bytes } = packet;
  let at = packet.start;
  at += emitLink(link, ipEtherType(ip), bytes, at);
  const payloadLength = UDP_HEADER_BYTES + udpPayload;
  at += emitIp(ip, { protocol: IpProtocol.udp, payloadLength }, bytes, at);
  return at + emitUdp({ sourcePort, destinationPort }, udpPayload, bytes, at);
}

/** Puts outer headers in front of the frame of `packet`. Headers parsed before no longer hold. */
export function encapsulateVxlan(packet: Packet, outer: VxlanOuter): void {
  const at = prependUdp(packet, outer, VXLAN_PORT, VXLAN_HEADER_BYTES);
  emitVxlan(outer.vni, packet.bytes, at);
}

/** Puts outer headers in front of the frame of `packet`. Headers parsed before no longer hold. */
export function encapsulateGeneve(packet: Packet, outer: GeneveOuter): void {
  const { vni, options = [], hasChecksum = false } = outer;
  const at = prependUdp(packet, outer, GENEVE_PORT, geneveLength({ options }));
  emitGeneve({ vni, options, protocolType: TRANSPARENT_ETHERNET, isControl: false }, packet.bytes, at);
  if (hasChecksum) writeUdpChecksum(packet, outer, at - UDP_HEADER_BYTES);
}

/** `at`: where the UDP header is, which reaches to the end of the packet. */
function writeUdpChecksum({ bytes, start, end }: Packet, { link, ip }: TunnelOuter, at: number): void {
  const network = start + linkLength(link);
  const checksum = computeTransportChecksum(bytes, network, familyOf(ip.source), IpProtocol.udp, at, end);
  writeU16(bytes, at + UDP_CHECKSUM_OFFSET, checksum);
}

/** Puts outer headers in front of the frame of `packet`. Headers parsed before no longer hold. */
export function encapsulateNvgre(packet: Packet, outer: NvgreOuter): void {
  const { link, ip } = outer;
  const payloadLength = NVGRE_HEADER_BYTES + packet.length;
  packet.prepend(linkLength(link) + ipLength(ip) + NVGRE_HEADER_BYTES);
  const { bytes } = packet;
  let at = packet.start;
  at += emitLink(link, ipEtherType(ip), bytes, at);
  at += emitIp(ip, { protocol: IpProtocol.gre, payloadLength }, bytes, at);
  emitNvgre(outer.virtualSubnetId, outer.flowId, bytes, at);
}

/** True when `headers` show a whole UDP datagram to `port`. */
function isUdpTo(port: number, bytes: Uint8Array, headers: Headers): boolean {
  if (headers.protocol !== IpProtocol.udp || headers.transport < 0 || headers.isFragment) return false;
  const view = UdpView.parse(bytes, headers.transport, headers.end);
  return typeof view !== "string" && view.destinationPort === port;
}

/** True when `headers` show a whole UDP datagram to the port of VXLAN. */
export function isVxlan(bytes: Uint8Array, headers: Headers): boolean {
  return isUdpTo(VXLAN_PORT, bytes, headers);
}

/** True when `headers` show a whole UDP datagram to the port of GENEVE. */
export function isGeneve(bytes: Uint8Array, headers: Headers): boolean {
  return isUdpTo(GENEVE_PORT, bytes, headers);
}

/** True when `headers` show a whole IP packet whose GRE header is one of NVGRE. */
export function isNvgre(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.protocol !== IpProtocol.gre || headers.isFragment) return false;
  return NvgreView.isNvgre(bytes, headers.upper, headers.end);
}

/**
 * Takes the outer headers off a packet for which `isVxlan` holds: its frame is then the inner one. Headers parsed before
 * no longer hold.
 * @returns the VNI, or why the packet was left as it is.
 */
export function decapsulateVxlan(packet: Packet, headers: Headers): number | MalformedReason {
  const udp = UdpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof udp === "string") return udp;
  const vxlan = VxlanView.parse(packet.bytes, udp.payloadStart, udp.payloadEnd);
  if (typeof vxlan === "string") return vxlan;
  packet.start = vxlan.payloadStart;
  packet.end = udp.payloadEnd;
  packet.outerBytes = 0;
  return vxlan.vni;
}

/** What a GENEVE packet says about the frame in it. Option data are windows on the packet's former headers. */
export type GeneveMetadata = Pick<GeneveFields, "vni" | "options">;

/**
 * Takes the outer headers off a packet for which `isGeneve` holds and that carries Ethernet. Headers parsed before no
 * longer hold.
 * @returns VNI and options, or why the packet was left as it is.
 */
export function decapsulateGeneve(packet: Packet, headers: Headers): GeneveMetadata | MalformedReason {
  const udp = UdpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof udp === "string") return udp;
  const geneve = GeneveView.parse(packet.bytes, udp.payloadStart, udp.payloadEnd);
  if (typeof geneve === "string") return geneve;
  if (geneve.protocolType !== TRANSPARENT_ETHERNET) return "geneve-not-ethernet";
  packet.start = geneve.payloadStart;
  packet.end = udp.payloadEnd;
  packet.outerBytes = 0;
  return { vni: geneve.vni, options: geneve.listOptions() };
}

/**
 * Takes the outer headers off a packet for which `isNvgre` holds. Headers parsed before no longer hold.
 * @returns the virtual subnet id, or why the packet was left as it is.
 */
export function decapsulateNvgre(packet: Packet, headers: Headers): number | MalformedReason {
  const nvgre = NvgreView.parse(packet.bytes, headers.upper, headers.end);
  if (typeof nvgre === "string") return nvgre;
  packet.start = nvgre.payloadStart;
  packet.end = headers.end;
  packet.outerBytes = 0;
  return nvgre.virtualSubnetId;
}

/** The outer headers of an STT frame's segments. */
export interface SttOuter extends TunnelOuter {
  /** 15 bits of hash; the top bit is set by the emitter. */
  readonly sourcePort: number;
  /** 32 bits, another one for each frame. */
  readonly packetId: number;
  /** Bytes of STT header and frame per segment: MTU less IP and TCP headers. */
  readonly segmentBytesMax: number;
}

/** The segments of a frame, each a packet of its own; undefined when frame and header exceed 65 535 bytes. */
export function encapsulateStt(packet: Packet, stt: SttFields, outer: SttOuter): Packet[] | undefined {
  const frameBytes = STT_HEADER_BYTES + packet.length;
  if (frameBytes > STT_FRAME_BYTES_MAX) return undefined;
  const whole = new Uint8Array(frameBytes);
  emitStt(stt, whole, 0);
  whole.set(packet.frame, STT_HEADER_BYTES);
  const segments: Packet[] = [];
  for (let offset = 0; offset < frameBytes; offset += outer.segmentBytesMax) {
    const { identification } = outer.ip;
    const segment = buildTcpFrame({
      link: outer.link,
      ip: { ...outer.ip, identification: (identification + segments.length) & 0xffff },
      tcp: {
        sourcePort: outer.sourcePort | 0x8000,
        destinationPort: STT_PORT,
        sequence: sttSequence({ frameBytes, offset }),
        acknowledgment: outer.packetId,
        flags: TcpFlag.psh | TcpFlag.ack,
        window: 0xffff,
      },
      payload: whole.subarray(offset, offset + outer.segmentBytesMax),
    });
    segment.tag = packet.tag;
    segments.push(segment);
  }
  return segments;
}

/** One received segment. */
export interface ReceivedSttSegment extends SttSegment {
  /** Names the sender: what `SttReassembler.add` asks for. */
  readonly source: string;
  /** A window on the packet. */
  readonly payload: Uint8Array;
}

/**
 * Reads a segment; undefined when `headers` show no whole TCP packet to the port of STT without options, as STT sends
 * none.
 */
export function readSttSegment(packet: Packet, headers: Headers): ReceivedSttSegment | undefined {
  if (headers.protocol !== IpProtocol.tcp || headers.transport < 0 || headers.isFragment) return undefined;
  const tcp = TcpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof tcp === "string") return undefined;
  if (tcp.destinationPort !== STT_PORT || tcp.headerBytes !== TCP_HEADER_BYTES_MIN) return undefined;
  const addressWords = headers.family === 4 ? 2 : 8;
  const addresses = headers.network + (headers.family === 4 ? 12 : 8);
  const words = Array.from({ length: addressWords }, (_, i) => readU32(packet.bytes, addresses + i * 4));
  return {
    ...toSttSegment(tcp.sequence, tcp.acknowledgment),
    source: `${words.join(".")}|${tcp.sourcePort}`,
    payload: packet.bytes.subarray(tcp.payloadStart, tcp.payloadEnd),
  };
}
