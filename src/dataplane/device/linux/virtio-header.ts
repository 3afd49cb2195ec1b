/**
 * The ten bytes before each frame of a TAP (`struct virtio_net_hdr`; docs: dataplane.md §6.9), in the byte order of the
 * machine: what the sender left to the device. That is a checksum, of which the field then holds the sum of the pseudo header
 * alone, not complemented; and cutting a packet that is longer than the MTU.
 */
import { assert } from "#core/base/assert.ts";
import { writeU16 } from "#core/base/bytes.ts";
import { checksumOf, foldSum, pseudoHeaderSum } from "#core/wire/checksum.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { isSegmentable } from "#core/wire/segmentation.ts";
import type { Packet } from "#core/wire/packet.ts";

export const VIRTIO_HEADER_BYTES = 10;

const AT = { flags: 0, kind: 1, headerBytes: 2, segmentBytes: 4, sumFrom: 6, sumField: 8 } as const;
const NEEDS_CHECKSUM = 1;
const KIND = { none: 0, tcp4: 1, tcp6: 4, udp: 5 } as const;
/** The bit beside the kind says that the packet has CWR set. */
const KIND_MASK = 0x7f;
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
  const kind = header.getUint8(AT.kind) & KIND_MASK;
  if (kind !== KIND.none) {
    packet.segmentBytes = header.getUint16(AT.segmentBytes, true);
    const protocol = PROTOCOLS.get(kind);
    if (protocol === undefined || packet.segmentBytes === 0) return false;
    if (headers.parse(packet) !== undefined) return false;
    if (headers.protocol === protocol && isSegmentable(packet.bytes, headers)) return true;
    packet.segmentBytes = 0;
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
 * Writes the header of a frame that goes out. One with all its checksums has nothing in it; of a super frame the device makes
 * segments of TCP, or datagrams of UDP. `headers` are those of such a packet, whose checksum field becomes a sum.
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
}
