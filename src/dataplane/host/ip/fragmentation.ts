/** Cuts IP packets into fragments and puts them together again (RFC 791 §3.2, RFC 8200 §4.5). */
import {
  IPV4_HEADER_BYTES_MIN,
  Ipv4View,
  emitIpv4,
  parseIpv4Options,
  toIpv4Fields,
} from "#core/wire/ipv4.ts";
import { IPV6_HEADER_BYTES, emitIpv6Fragment, Ipv6ExtensionType } from "#core/wire/ipv6.ts";
import { Ipv6PacketView, type IpView } from "#core/wire/ip-view.ts";
import { readU8, writeU16, writeU8 } from "#core/base/bytes.ts";
import { Packet } from "#core/wire/packet.ts";
import type { Stack } from "../stack.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { ETHERNET_HEADER_BYTES } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";

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

const DATAGRAM_BYTES_MAX = 65_535;
const TOO_LONG = "the fragments make up more than 65535 bytes";

/** What a system keeps beside the bytes of a fragment. Inferred: about what Linux' sk_buff takes, and Windows the same. */
const PIECE_BYTES = 512;

interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Where a piece at `offset` belongs among sorted ones. */
function placeFor(pieces: readonly Piece[], offset: number): number {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle]?.offset ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What has come of one datagram. */
class Train implements Task {
  readonly key: string;
  /** In the order of their offsets: small fragments of one datagram may be thousands. */
  readonly pieces: Piece[] = [];
  /** Of all pieces. */
  length = 0;
  /** The fragment with offset 0: its header becomes the datagram's, and an ICMP error quotes it. */
  first: Packet | undefined;
  /** Length of the datagram's payload; unknown until the last fragment came. */
  totalLength: number | undefined;
  timer: Timer | undefined;
  tag: PacketTag = 0;
  private readonly reassembly: Reassembly;

  constructor(reassembly: Reassembly, key: string) {
    this.reassembly = reassembly;
    this.key = key;
  }

  run(): void {
    this.timer = undefined;
    this.reassembly.expire(this);
  }
}

/** Whose fragments they are: a stack, or a switch that tracks connections. */
export interface FragmentOwner {
  readonly env: Pick<Stack["env"], "clock">;
  readonly profile: Pick<Stack["profile"], "reassemblyTimeoutMs">;
  readonly drops: Pick<Stack["drops"], "add">;
  readonly icmp: Pick<Stack["icmp"], "sendError">;
  drop(packet: Packet, code: "reassembly-failed", text: string): void;
}

/** Puts fragments of IP datagrams together again (RFC 791 §3.2, RFC 1122 §3.3.2; RFC 8200 §4.5 for IPv6). */
export class Reassembly {
  private readonly compartment: FragmentOwner;
  private readonly isSilent: boolean;
  private readonly trains = new Map<string, Train>();
  /** What all pieces take. */
  private bytes = 0;

  /** `silent`: no ICMP error says what did not come; Linux defragments for connection tracking so. */
  constructor(compartment: FragmentOwner, manner: "reporting" | "silent" = "reporting") {
    this.compartment = compartment;
    this.isSilent = manner === "silent";
  }

  /** Takes a fragment. @returns the whole datagram as a frame when this was the missing piece. */
  accept(packet: Packet, view: IpView): Packet | undefined {
    const train = this.trainOf(view);
    if (train === undefined) {
      this.compartment.drop(
        packet,
        "reassembly-failed",
        `fragments of ${this.trains.size} incomplete datagrams take ${this.bytes} bytes already`,
      );
      return undefined;
    }
    const reason = this.add(train, packet, view);
    if (reason !== undefined) {
      this.forget(train);
      this.compartment.drop(packet, "reassembly-failed", reason);
      return undefined;
    }
    if (!isComplete(train)) return undefined;
    this.forget(train);
    const whole = assemble(train);
    if (typeof whole !== "string") return whole;
    this.compartment.drop(packet, "reassembly-failed", whole);
    return undefined;
  }

  /** Called by the timer of a train: the rest did not come in time. */
  expire(train: Train): void {
    this.remove(train);
    if (train.first === undefined) {
      this.compartment.drops.add("reassembly-failed");
      return;
    }
    this.compartment.drop(train.first, "reassembly-failed", "the other fragments did not come in time");
    if (!this.isSilent) this.compartment.icmp.sendError(train.first, "reassembly-timed-out");
  }

  private trainOf(view: IpView): Train | undefined {
    // Of IPv6 the first fragment says which protocol it is, the others need not say the same (RFC 8200 §4.5).
    const protocol = typeof view.source === "number" ? view.protocol : "ipv6";
    const key = `${view.source}/${view.destination}/${protocol}/${view.identification}`;
    // As Linux: over the limit nothing is taken, until what is there is complete or its time is over.
    if (this.bytes >= LIMITS.reassemblyBytesMax) return undefined;
    const known = this.trains.get(key);
    if (known !== undefined) return known;
    const train = new Train(this, key);
    this.trains.set(key, train);
    train.timer = this.compartment.env.clock.schedule(this.compartment.profile.reassemblyTimeoutMs, train);
    return train;
  }

  /** @returns why the whole datagram must go; undefined when the piece was taken. */
  private add(train: Train, packet: Packet, view: IpView): string | undefined {
    const bytes = packet.bytes.slice(view.payloadStart, view.payloadEnd);
    const offset = view.fragmentOffset;
    const end = offset + bytes.length;
    if (end > DATAGRAM_BYTES_MAX) return TOO_LONG;
    if (view.hasMoreFragments && bytes.length % 8 !== 0)
      return "a fragment in the middle is not a multiple of 8 bytes";
    const at = placeFor(train.pieces, offset);
    const [before, behind] = [train.pieces[at - 1], train.pieces[at]];
    if (behind?.offset === offset && behind.bytes.length === bytes.length) return undefined;
    // Overlapping fragments serve attacks only (RFC 5722 for IPv6, and both systems for IPv4).
    if (before !== undefined && offset < endOf(before)) return "fragments overlap";
    if (behind !== undefined && behind.offset < end) return "fragments overlap";
    if (!view.hasMoreFragments) train.totalLength = end;
    const last = train.pieces.at(-1);
    if (
      train.totalLength !== undefined &&
      Math.max(end, last === undefined ? 0 : endOf(last)) > train.totalLength
    )
      return "a fragment is after the last one";
    if (offset === 0) train.first = packet;
    if (packet.tag !== 0) train.tag = packet.tag;
    train.pieces.splice(at, 0, { offset, bytes });
    train.length += bytes.length;
    this.bytes += bytes.length + PIECE_BYTES;
    return undefined;
  }

  private forget(train: Train): void {
    if (train.timer !== undefined) this.compartment.env.clock.cancel(train.timer);
    this.remove(train);
  }

  private remove(train: Train): void {
    this.trains.delete(train.key);
    this.bytes -= train.length + train.pieces.length * PIECE_BYTES;
  }
}

function endOf({ offset, bytes }: Piece): number {
  return offset + bytes.length;
}

function isComplete(train: Train): boolean {
  return train.first !== undefined && train.length === train.totalLength;
}

/** @returns the datagram, or why there is none. */
function assemble(train: Train): Packet | string {
  const { first, totalLength } = train;
  const headers = new Headers();
  if (first === undefined || totalLength === undefined || headers.parse(first) !== undefined)
    return "the first fragment has no readable headers";
  const whole = headers.family === 6 ? wholeIpv6(first, headers, train) : wholeIpv4(first, train);
  if (typeof whole === "string") return whole;
  const { packet, before } = whole;
  for (const piece of train.pieces) packet.bytes.set(piece.bytes, packet.start + before + piece.offset);
  return packet;
}

/** A frame with room for the whole datagram and its headers; `before` are the bytes in front of what was cut. */
interface WholeFrame {
  readonly packet: Packet;
  readonly before: number;
}

function wholeIpv4(first: Packet, { totalLength = 0, tag }: Train): WholeFrame | string {
  const view = Ipv4View.parse(first.bytes, first.start + ETHERNET_HEADER_BYTES, first.end);
  if (typeof view === "string") return view;
  // The header counts, too: Linux gives up a datagram that is longer with it (`ip_frag_reasm`).
  if (view.payloadStart - view.start + totalLength > DATAGRAM_BYTES_MAX) return TOO_LONG;
  const before = view.payloadStart - first.start;
  const packet = Packet.ofLength(before + totalLength, tag);
  packet.bytes.set(first.bytes.subarray(first.start, view.payloadStart), packet.start);
  const fields = { ...toIpv4Fields(view), hasMoreFragments: false, payloadLength: totalLength };
  emitIpv4(fields, packet.bytes, packet.start + (view.start - first.start));
  return { packet, before };
}

/** The headers in front of the fragment header stay; the one that named it names what it named. */
function wholeIpv6(first: Packet, headers: Headers, { totalLength = 0, tag }: Train): WholeFrame | string {
  const { protocol, fragmentHeader, start } = new Ipv6PacketView(first.bytes, headers);
  const before = fragmentHeader - first.start;
  const payloadLength = fragmentHeader - start - IPV6_HEADER_BYTES + totalLength;
  if (payloadLength > DATAGRAM_BYTES_MAX) return TOO_LONG;
  const packet = Packet.ofLength(before + totalLength, tag);
  packet.bytes.set(first.bytes.subarray(first.start, fragmentHeader), packet.start);
  const network = packet.start + (start - first.start);
  writeU16(packet.bytes, network + 4, payloadLength);
  let naming = network + 6;
  const end = packet.start + before;
  for (let at = network + IPV6_HEADER_BYTES; at < end; at += (readU8(packet.bytes, at + 1) + 1) * 8)
    naming = at;
  writeU8(packet.bytes, naming, protocol);
  return { packet, before };
}
