/** Cutting a TCP super frame into segments, as a device does for a stack that left it the work (dataplane.md §6.9). */
import { assert } from "../base/assert.ts";
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import { Headers } from "./headers.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { Packet } from "./packet.ts";
import { TcpFlag } from "./tcp.ts";
import { fillChecksums } from "./transport-checksum.ts";

/** Offsets of what each segment has of its own. */
const OFFSET = {
  ipv4TotalLength: 2,
  ipv4Identification: 4,
  ipv6PayloadLength: 4,
  tcpSequence: 4,
  tcpFlags: 13,
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

/**
 * The segments of a whole TCP packet, each with at most `payloadBytesMax` bytes of payload and right checksums. The
 * packet is left as it is; one that is short enough is copied.
 */
export function segmentTcp(packet: Packet, headers: Headers, payloadBytesMax: number): Packet[] {
  assert(headers.protocol === IpProtocol.tcp && headers.payload >= 0, "only a whole TCP packet is segmented");
  assert(payloadBytesMax > 0, "a segment carries at least one byte");
  const segments: Packet[] = [];
  const headerBytes = headers.payload - packet.start;
  const payloadBytes = headers.end - headers.payload;
  const own = new Headers();
  for (let from = 0; from === 0 || from < payloadBytes; from += payloadBytesMax) {
    const length = Math.min(payloadBytesMax, payloadBytes - from);
    const segment = Packet.ofLength(headerBytes + length, packet.tag);
    const { bytes, start } = segment;
    bytes.set(packet.bytes.subarray(packet.start, headers.payload), start);
    bytes.set(
      packet.bytes.subarray(headers.payload + from, headers.payload + from + length),
      start + headerBytes,
    );
    const shift = start - packet.start;
    const tcp = headers.transport + shift;
    finishIp(segment, headers.network + shift, headers.family, segments.length);
    writeU32(bytes, tcp + OFFSET.tcpSequence, readU32(bytes, tcp + OFFSET.tcpSequence) + from);
    const flags = segmentFlags(
      readU8(bytes, tcp + OFFSET.tcpFlags),
      from === 0,
      from + length === payloadBytes,
    );
    writeU8(bytes, tcp + OFFSET.tcpFlags, flags);
    const reason = own.parse(segment);
    assert(reason === undefined, "a segment of a sound packet is sound");
    fillChecksums(bytes, own);
    segments.push(segment);
  }
  return segments;
}
