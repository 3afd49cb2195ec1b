/** Cuts IP packets into fragments (RFC 791 §3.2, RFC 8200 §4.5). */
import {
  IPV4_HEADER_BYTES_MIN,
  type Ipv4View,
  emitIpv4,
  parseIpv4Options,
  toIpv4Fields,
} from "#core/wire/ipv4.ts";
import { IPV6_HEADER_BYTES, emitIpv6Fragment, Ipv6ExtensionType } from "#core/wire/ipv6.ts";
import type { Ipv6PacketView } from "#core/wire/ip-view.ts";
import { readU8, writeU16, writeU8 } from "#core/base/bytes.ts";
import { Packet } from "#core/wire/packet.ts";

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

/** Where IPv6's header has payload length and next header. */
const IPV6_OFFSET = { payloadLength: 4, nextHeader: 6 } as const;
const FRAGMENT_HEADER_BYTES = 8;

/**
 * The same for an IPv6 packet. Only senders cut IPv6, so the identification is given with the cut; what follows the
 * fixed header is cut, extension headers too. `mtuBytes` is 1280 or more.
 */
export function fragmentIpv6(
  packet: Packet,
  view: Ipv6PacketView,
  mtuBytes: number,
  identification: number,
): Packet[] {
  const before = view.start + IPV6_HEADER_BYTES - packet.start;
  const room = Math.floor((mtuBytes - IPV6_HEADER_BYTES - FRAGMENT_HEADER_BYTES) / 8) * 8;
  const from = view.start + IPV6_HEADER_BYTES;
  const total = view.payloadEnd - from;
  const nextHeader = readU8(packet.bytes, view.start + IPV6_OFFSET.nextHeader);
  const fragments: Packet[] = [];
  for (let sent = 0; sent < total; sent += room) {
    const length = Math.min(room, total - sent);
    const fragment = Packet.ofLength(before + FRAGMENT_HEADER_BYTES + length, packet.tag);
    const { bytes, start } = fragment;
    bytes.set(packet.bytes.subarray(packet.start, from), start);
    const network = start + (view.start - packet.start);
    writeU16(bytes, network + IPV6_OFFSET.payloadLength, FRAGMENT_HEADER_BYTES + length);
    writeU8(bytes, network + IPV6_OFFSET.nextHeader, Ipv6ExtensionType.fragment);
    const fields = {
      nextHeader,
      fragmentOffset: sent,
      hasMoreFragments: sent + length < total,
      identification,
    };
    emitIpv6Fragment(fields, bytes, start + before);
    bytes.set(
      packet.bytes.subarray(from + sent, from + sent + length),
      start + before + FRAGMENT_HEADER_BYTES,
    );
    fragments.push(fragment);
  }
  return fragments;
}
