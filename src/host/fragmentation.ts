/** Cuts an IPv4 packet into fragments (RFC 791 §3.2). */
import {
  IPV4_HEADER_BYTES_MIN,
  type Ipv4View,
  emitIpv4,
  parseIpv4Options,
  toIpv4Fields,
} from "../wire/ipv4.ts";
import { Packet } from "../wire/packet.ts";

/** Options with this bit are repeated in every fragment (RFC 791 §3.1). */
const COPIED_OPTION = 0x80;

/** Options of all fragments but the first. */
function copiedOptions(options: Uint8Array): Uint8Array {
  const list = parseIpv4Options(options);
  if (typeof list === "string") return new Uint8Array(0);
  const copied = list.filter((option) => (option.type & COPIED_OPTION) !== 0);
  return Uint8Array.from(copied.flatMap((option) => [option.type, option.data.length + 2, ...option.data]));
}

/**
 * The fragments of the packet at `view`, each an own frame with the Ethernet header of the first; none is longer
 * than `mtuBytes` (68 or more) after that header. A packet that is a fragment itself is cut on. Tags are kept.
 */
export function fragmentIpv4(packet: Packet, view: Ipv4View, mtuBytes: number): Packet[] {
  const fields = toIpv4Fields(view);
  const ethernetBytes = view.start - packet.start;
  const fragments: Packet[] = [];
  let sent = 0;
  while (sent < fields.payloadLength) {
    const options = sent === 0 ? fields.options : copiedOptions(fields.options);
    const headerBytes = IPV4_HEADER_BYTES_MIN + Math.ceil(options.length / 4) * 4;
    const room = Math.floor((mtuBytes - headerBytes) / 8) * 8;
    const rest = fields.payloadLength - sent;
    const isLast = rest <= mtuBytes - headerBytes;
    const payloadLength = isLast ? rest : room;
    const fragment = Packet.ofLength(ethernetBytes + headerBytes + payloadLength, packet.tag);
    fragment.bytes.set(packet.bytes.subarray(packet.start, view.start), fragment.start);
    const header = {
      ...fields,
      options,
      payloadLength,
      hasMoreFragments: !isLast || fields.hasMoreFragments,
      fragmentOffset: fields.fragmentOffset + sent,
    };
    emitIpv4(header, fragment.bytes, fragment.start + ethernetBytes);
    const from = view.payloadStart + sent;
    const to = fragment.start + ethernetBytes + headerBytes;
    fragment.bytes.set(packet.bytes.subarray(from, from + payloadLength), to);
    fragments.push(fragment);
    sent += payloadLength;
  }
  return fragments;
}
