/**
 * Cutting a super frame into segments, as a device does for a stack that left it the work (dataplane.md §6.9): a TCP stream
 * into segments (large send), one long UDP datagram into datagrams of their own (USO).
 */
import { assert } from "../base/assert.ts";
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import { checksumOf } from "./checksum.ts";
import { Headers } from "./headers.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { Packet } from "./packet.ts";
import { TcpFlag } from "./tcp.ts";
import { fillChecksums } from "./transport-checksum.ts";

/** Offsets of what each segment has of its own. */
const OFFSET = {
  ipv4TotalLength: 2,
  ipv4Identification: 4,
  ipv4Checksum: 10,
  ipv6PayloadLength: 4,
  tcpSequence: 4,
  tcpFlags: 13,
  udpLength: 4,
} as const;
const IPV6_HEADER_BYTES = 40;

/** Writes the length of the IP packet that ends with the frame; an IPv4 packet gets the identification of segment `index`. `at` is its start. */
function finishIp(packet: Packet, at: number, family: number, index: number): void {
  const { bytes } = packet;
  if (family === 6) {
    writeU16(bytes, at + OFFSET.ipv6PayloadLength, packet.end - at - IPV6_HEADER_BYTES);
    return;
  }
  writeU16(bytes, at + OFFSET.ipv4TotalLength, packet.end - at);
  writeU16(bytes, at + OFFSET.ipv4Identification, readU16(bytes, at + OFFSET.ipv4Identification) + index);
}

/** FIN and PSH belong to the last segment, CWR to the first. */
function segmentFlags(flags: number, isFirst: boolean, isLast: boolean): number {
  return flags & ~(isFirst ? 0 : TcpFlag.cwr) & ~(isLast ? 0 : TcpFlag.fin | TcpFlag.psh);
}

/** True when segments can be cut out of the packet: whole, TCP without SYN, RST and URG, or UDP (dataplane.md §6.9). */
export function isSegmentable(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.payload < 0 || headers.transport < 0 || headers.isFragment) return false;
  if (headers.protocol === IpProtocol.udp) return true;
  if (headers.protocol !== IpProtocol.tcp) return false;
  const flags = readU8(bytes, headers.transport + OFFSET.tcpFlags);
  return (flags & (TcpFlag.syn | TcpFlag.rst | TcpFlag.urg)) === 0;
}

/** The super frame of a packet by itself, without outer headers; nothing is copied. */
export function insideOf(packet: Packet): Packet {
  const { bytes, start, end, tag, outerBytes, segmentBytes } = packet;
  if (outerBytes === 0) return packet;
  const inside = new Packet(bytes, start + outerBytes, end, tag);
  inside.tni = packet.tni;
  inside.vlan = packet.vlan;
  inside.segmentBytes = segmentBytes;
  return inside;
}

/**
 * How long the IP packets on a wire become of which the frame consists: of a super frame the longest of its segments,
 * with its headers. `totalLength` is that of the frame's own.
 */
export function segmentLength(packet: Packet, totalLength: number): number {
  if (packet.segmentBytes === 0) return totalLength;
  const headers = new Headers();
  const inside = insideOf(packet);
  if (headers.parse(inside) !== undefined || !isSegmentable(packet.bytes, headers)) return totalLength;
  const cutBytes = Math.max(0, headers.end - headers.payload - packet.segmentBytes);
  return totalLength - cutBytes;
}

/** The segments of a super frame; undefined: it is none, or its sender asked for what cannot be done. */
export function cutSuperFrame(packet: Packet): readonly Packet[] | undefined {
  const headers = new Headers();
  if (packet.segmentBytes === 0) return undefined;
  const inside = insideOf(packet);
  if (headers.parse(inside) !== undefined || !isSegmentable(packet.bytes, headers)) return undefined;
  const segments = segmentPacket(inside, headers, packet.segmentBytes);
  for (const [index, segment] of segments.entries()) putOuterHeaders(packet, segment, index);
  return segments;
}

/** Puts the outer headers of a super frame in front of its segment `index`. Their UDP has no checksum, as tunnels send it. */
function putOuterHeaders(whole: Packet, segment: Packet, index: number): void {
  const { outerBytes } = whole;
  if (outerBytes === 0) return;
  segment.prepend(outerBytes);
  const { bytes, start, end } = segment;
  bytes.set(whole.bytes.subarray(whole.start, whole.start + outerBytes), start);
  const outer = new Headers();
  // The lengths are still those of the whole, so it is that which is read.
  const reason = outer.parse(whole);
  assert(reason === undefined && outer.family !== 0, "outer headers are those of IP");
  const shift = start - whole.start;
  const network = outer.network + shift;
  finishIp(segment, network, outer.family, index);
  if (outer.family === 4) {
    writeU16(bytes, network + OFFSET.ipv4Checksum, 0);
    writeU16(bytes, network + OFFSET.ipv4Checksum, checksumOf(bytes, network, outer.upper + shift));
  }
  const transport = outer.transport + shift;
  if (outer.protocol === IpProtocol.udp) writeU16(bytes, transport + OFFSET.udpLength, end - transport);
}

/**
 * The segments of a whole packet, each with at most `payloadBytesMax` bytes of payload and right checksums. The packet is
 * left as it is; one that is short enough is copied. A UDP datagram becomes several.
 */
export function segmentPacket(packet: Packet, headers: Headers, payloadBytesMax: number): Packet[] {
  assert(headers.payload >= 0, "only a whole packet is segmented");
  assert(payloadBytesMax > 0, "a segment carries at least one byte");
  const segments: Packet[] = [];
  const payloadBytes = headers.end - headers.payload;
  for (let from = 0; from === 0 || from < payloadBytes; from += payloadBytesMax) {
    const length = Math.min(payloadBytesMax, payloadBytes - from);
    segments.push(cutSegment(packet, headers, { index: segments.length, from, length }));
  }
  return segments;
}

/** The segments of a whole TCP packet, as `segmentPacket` cuts them. */
export function segmentTcp(packet: Packet, headers: Headers, payloadBytesMax: number): Packet[] {
  assert(headers.protocol === IpProtocol.tcp, "only a TCP packet has segments");
  return segmentPacket(packet, headers, payloadBytesMax);
}

/** A copy of the packet's headers with `length` bytes of its payload from `from` on. */
function cutSegment(
  packet: Packet,
  headers: Headers,
  { index, from, length }: { readonly index: number; readonly from: number; readonly length: number },
): Packet {
  const headerBytes = headers.payload - packet.start;
  const segment = Packet.ofLength(headerBytes + length, packet.tag);
  segment.tni = packet.tni;
  segment.vlan = packet.vlan;
  const { bytes, start } = segment;
  bytes.set(packet.bytes.subarray(packet.start, headers.payload), start);
  const payload = headers.payload + from;
  bytes.set(packet.bytes.subarray(payload, payload + length), start + headerBytes);
  const shift = start - packet.start;
  finishIp(segment, headers.network + shift, headers.family, index);
  const transport = headers.transport + shift;
  if (headers.protocol === IpProtocol.udp)
    writeU16(bytes, transport + OFFSET.udpLength, segment.end - transport);
  else finishTcp(segment, transport, { from, isLast: payload + length === headers.end });
  const own = new Headers();
  const reason = own.parse(segment);
  assert(reason === undefined, "a segment of a sound packet is sound");
  fillChecksums(bytes, own);
  return segment;
}

function finishTcp({ bytes }: Packet, at: number, { from, isLast }: { from: number; isLast: boolean }): void {
  writeU32(bytes, at + OFFSET.tcpSequence, readU32(bytes, at + OFFSET.tcpSequence) + from);
  const flags = segmentFlags(readU8(bytes, at + OFFSET.tcpFlags), from === 0, isLast);
  writeU8(bytes, at + OFFSET.tcpFlags, flags);
}
