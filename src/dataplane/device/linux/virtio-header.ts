/**
 * What stands before each frame of a TAP (`struct virtio_net_hdr_v1_hash_tunnel`; docs: dataplane.md §6.9), in the byte order of
 * the machine: what the sender left to the device. That is a checksum, of which the field then holds the sum of the pseudo header
 * alone, not complemented; and cutting a packet that is longer than the MTU, which may stand in a tunnel of UDP (VXLAN, GENEVE).
 */
import { assert } from "#core/base/assert.ts";
import { writeU16 } from "#core/base/bytes.ts";
import { checksumOf, foldSum, pseudoHeaderSum } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { insideOf, isSegmentable } from "#core/wire/segmentation.ts";
import type { Packet } from "#core/wire/packet.ts";

/** With the places of a tunnel's headers, which older kernels leave alone. */
export const VIRTIO_HEADER_BYTES = 24;

/** The last two are offsets in the frame: of the outer UDP header, and of the IP header inside. */
const AT = {
  flags: 0,
  kind: 1,
  headerBytes: 2,
  segmentBytes: 4,
  sumFrom: 6,
  sumField: 8,
  outerTransport: 20,
  innerNetwork: 22,
} as const;
const NEEDS_CHECKSUM = 1;
/** The outer UDP header is to get one, too. */
const NEEDS_OUTER_CHECKSUM = 8;
const KIND = { none: 0, tcp4: 1, tcp6: 4, udp: 5 } as const;
/** Beside the kind: the packet has CWR set, or stands in a tunnel over IPv4, or over IPv6. */
const IN_TUNNEL = { 4: 0x20, 6: 0x40 } as const;
const KIND_MASK = 0x1f;
const ETHERNET_BYTES = 14;
const UDP_BYTES = 8;
const FIELD = { tcp: 16, udp: 6 } as const;
/** The protocol whose segments a device cuts, by kind. */
const PROTOCOLS: ReadonlyMap<number, number> = new Map([
  [KIND.tcp4, IpProtocol.tcp],
  [KIND.tcp6, IpProtocol.tcp],
  [KIND.udp, IpProtocol.udp],
]);
const ADDRESSES = { 4: { at: 12, bytes: 4 }, 6: { at: 8, bytes: 16 } } as const;

/**
 * Finishes the checksum of a frame that came with `header`. A super frame stays whole, knows how it is to be cut, and leaves its
 * checksum to who cuts it. `headers` are overwritten.
 * @returns false for a header that does not fit its frame.
 */
export function takeVirtio(header: DataView, packet: Packet, headers: Headers): boolean {
  const kinds = header.getUint8(AT.kind);
  const kind = kinds & KIND_MASK;
  if (kind !== KIND.none) {
    packet.segmentBytes = header.getUint16(AT.segmentBytes, true);
    const protocol = PROTOCOLS.get(kind);
    if (protocol === undefined || packet.segmentBytes === 0) return false;
    if ((kinds & (IN_TUNNEL[4] | IN_TUNNEL[6])) !== 0 && !takeTunnel(header, packet)) return false;
    if (headers.parse(insideOf(packet)) !== undefined) return false;
    if (headers.protocol === protocol && isSegmentable(packet.bytes, headers)) return true;
    packet.segmentBytes = 0;
    packet.outerBytes = 0;
  }
  if ((header.getUint8(AT.flags) & NEEDS_CHECKSUM) === 0) return true;
  const from = packet.start + header.getUint16(AT.sumFrom, true);
  const offset = header.getUint16(AT.sumField, true);
  if (from + offset + 2 > packet.end) return false;
  const sum = checksumOf(packet.bytes, from, packet.end);
  // RFC 768: a UDP checksum of zero says that there is none.
  writeU16(packet.bytes, from + offset, sum === 0 && offset === FIELD.udp ? 0xffff : sum);
  return true;
}

/**
 * Says where the frame inside begins. The outer UDP header of a super frame has no checksum, as RFC 7348 has it for VXLAN
 * (RFC 6935 over IPv6), also where its sender left one to the device.
 * @returns false for offsets that no tunnel has.
 */
function takeTunnel(header: DataView, packet: Packet): boolean {
  const transport = header.getUint16(AT.outerTransport, true);
  const outerBytes = header.getUint16(AT.innerNetwork, true) - ETHERNET_BYTES;
  if (outerBytes < transport + UDP_BYTES || outerBytes > packet.length) return false;
  packet.outerBytes = outerBytes;
  if ((header.getUint8(AT.flags) & NEEDS_OUTER_CHECKSUM) !== 0)
    writeU16(packet.bytes, packet.start + transport + FIELD.udp, 0);
  return true;
}

/**
 * Writes the header of a frame that goes out. One with all its checksums has nothing in it; of a super frame the device makes
 * segments of TCP, or datagrams of UDP. `headers` are those of such a packet, in a tunnel those inside, whose checksum field
 * becomes a sum.
 */
export function leaveVirtio(header: DataView, packet: Packet, headers: Headers): void {
  new Uint8Array(header.buffer, header.byteOffset, VIRTIO_HEADER_BYTES).fill(0);
  if (packet.segmentBytes === 0) return;
  const { family, network, transport, payload, end, protocol } = headers;
  const isTcp = protocol === IpProtocol.tcp;
  assert((isTcp || protocol === IpProtocol.udp) && family !== 0, "a super frame is TCP or UDP");
  const field = isTcp ? FIELD.tcp : FIELD.udp;
  const addresses = ADDRESSES[family];
  const sum = pseudoHeaderSum(
    packet.bytes,
    network + addresses.at,
    addresses.bytes,
    protocol,
    end - transport,
  );
  writeU16(packet.bytes, transport + field, foldSum(sum));
  header.setUint8(AT.flags, NEEDS_CHECKSUM);
  header.setUint8(AT.kind, isTcp ? (family === 4 ? KIND.tcp4 : KIND.tcp6) : KIND.udp);
  header.setUint16(AT.headerBytes, payload - packet.start, true);
  header.setUint16(AT.segmentBytes, packet.segmentBytes, true);
  header.setUint16(AT.sumFrom, transport - packet.start, true);
  header.setUint16(AT.sumField, field, true);
  if (packet.outerBytes > 0) leaveTunnel(header, packet, network);
}

/** `network` is where the IP header inside begins. */
function leaveTunnel(header: DataView, packet: Packet, network: number): void {
  const outer = new Headers();
  const reason = outer.parse(packet);
  assert(reason === undefined && outer.family !== 0, "a tunnel is one over IP");
  header.setUint8(AT.kind, header.getUint8(AT.kind) | IN_TUNNEL[outer.family]);
  header.setUint16(AT.outerTransport, outer.transport - packet.start, true);
  header.setUint16(AT.innerNetwork, network - packet.start, true);
}
