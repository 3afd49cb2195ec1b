/** An answer in the place of a question: Ethernet and IP headers stay, as ovn-controller leaves them, and the rest is another. */
import { writeU16 } from "#core/base/bytes.ts";
import { Headers } from "#core/wire/headers.ts";
import { IPV6_HEADER_BYTES } from "#core/wire/ipv6.ts";
import { writeIpv4Checksum } from "#core/wire/ipv4.ts";
import { Packet } from "#core/wire/packet.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";
import { UDP_HEADER_BYTES } from "#core/wire/udp.ts";
import type { PacketFields } from "./packet-fields.ts";

/** The frame with `transport` behind its IP headers. IPv6 has no UDP without a checksum; IPv4 keeps what `transport` has. */
function answerFrame({ headers, packet }: PacketFields, transport: Uint8Array): Packet {
  const before = headers.upper - packet.start;
  const answer = Packet.ofLength(before + transport.length);
  answer.bytes.set(packet.bytes.subarray(packet.start, headers.upper), answer.start);
  answer.bytes.set(transport, answer.start + before);
  const network = answer.start + headers.network - packet.start;
  const length = answer.end - network;
  if (headers.family === 4) {
    writeU16(answer.bytes, network + 2, length);
    writeIpv4Checksum(answer.bytes, network);
    return answer;
  }
  writeU16(answer.bytes, network + 4, length - IPV6_HEADER_BYTES);
  const made = new Headers();
  made.parse(answer);
  fillChecksums(answer.bytes, made);
  return answer;
}

/** An answer in ICMPv6; the checksum of `message` is written here. */
export function answerIcmpv6(fields: PacketFields, message: Uint8Array): Packet {
  return answerFrame(fields, message);
}

/** An answer in UDP, with the ports of the question. */
export function answerUdp(fields: PacketFields, payload: Uint8Array): Packet {
  const { headers, packet } = fields;
  const datagram = new Uint8Array(UDP_HEADER_BYTES + payload.length);
  datagram.set(packet.bytes.subarray(headers.transport, headers.transport + 4));
  writeU16(datagram, 4, datagram.length);
  datagram.set(payload, UDP_HEADER_BYTES);
  return answerFrame(fields, datagram);
}

/** The payload of a UDP packet, by the shorter of its own length and what is there; undefined for what is none. */
export function udpPayload({ headers, packet }: PacketFields): Uint8Array | undefined {
  if (headers.payload < 0) return undefined;
  return packet.bytes.subarray(headers.payload, headers.end);
}
