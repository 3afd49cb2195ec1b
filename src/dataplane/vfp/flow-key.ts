/**
 * What the engine knows a packet by: a few 32-bit words read from its headers, without allocation.
 *
 * ```
 * tuple    outer   0      protocol, family, direction, has ports, is a tunnel
 *                  1      source port << 16 | destination port (ICMP echo: its identifier, twice; tunnel: 0)
 *                  2, 3   source, destination (IPv6: 2..5, 6..9)
 *          tunnel: kind and number, then a tuple of the same form for the inner frame
 * link             VLAN, both MACs (3 words); of a tunnel then those of the inner frame
 * metadata         the packet's virtual subnet: always of a tunnel, otherwise only when there is one
 * ```
 *
 * The tuple is what a layer's flows are known by, since an answer comes with other MACs. All words are the key of a
 * unified flow: whatever a rule can ask for must be in it. A plain IPv4 packet has 4 and 8 of them.
 *
 * VXLAN has VFP's private protocol number 252 (dataplane.md §1.5), and its UDP source port, which only spreads flows
 * over paths, is no part of the key.
 */
import { wordAt } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import type { VfpDirection } from "./rule.ts";

const TUPLE_WORDS_IPV4 = 4;
const TUPLE_WORDS_IPV6 = 10;
/** VLAN and both MACs. */
const LINK_WORDS = 4;
/** IPv6 in IPv6: two tuples, two links, the tunnel and the virtual subnet. */
export const KEY_WORDS_MAX: number = 2 * (TUPLE_WORDS_IPV6 + LINK_WORDS) + 2;

/** VFP's own protocol number of VXLAN (dataplane.md §1.5). */
export const VXLAN_PROTOCOL = 252;

const IS_IPV6 = 1 << 8;
const IS_INBOUND = 1 << 9;
const HAS_PORTS = 1 << 10;
const IS_TUNNEL = 1 << 11;
/** Of an inner tuple: its first word holds an ethertype. */
const IS_NOT_IP = 1 << 16;
const IS_TAGGED = 1 << 16;
/** Of the tunnel word; the rest is the tunnel's number. */
const IS_NVGRE = 1 << 24;

/**
 * Each word of a key has its own odd factor, so that the products are worked out side by side, and in any order
 * (multilinear hashing); the last lines of `mixHash` spread what they come to over all bits.
 */
const HASH_FACTORS: Int32Array = hashFactors();
const HASH_LENGTH_FACTOR = 0x27d4_eb2f;

function hashFactors(): Int32Array {
  const factors = new Int32Array(KEY_WORDS_MAX + 1);
  for (let i = 0, state = 0x9e37_79b9; i < factors.length; i++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x6d2b_79f5;
    factors[i] = state | 1;
  }
  return factors;
}

// The factors of the keys of IPv4, and of IPv4 in IPv4, by themselves: those are read for most packets.
const F0 = wordAt(HASH_FACTORS, 0);
const F1 = wordAt(HASH_FACTORS, 1);
const F2 = wordAt(HASH_FACTORS, 2);
const F3 = wordAt(HASH_FACTORS, 3);
const F4 = wordAt(HASH_FACTORS, 4);
const F5 = wordAt(HASH_FACTORS, 5);
const F6 = wordAt(HASH_FACTORS, 6);
const F7 = wordAt(HASH_FACTORS, 7);
const F8 = wordAt(HASH_FACTORS, 8);
const F9 = wordAt(HASH_FACTORS, 9);
const F10 = wordAt(HASH_FACTORS, 10);
const F11 = wordAt(HASH_FACTORS, 11);
const F12 = wordAt(HASH_FACTORS, 12);
const F13 = wordAt(HASH_FACTORS, 13);
const F14 = wordAt(HASH_FACTORS, 14);
const F15 = wordAt(HASH_FACTORS, 15);
const F16 = wordAt(HASH_FACTORS, 16);
const F17 = wordAt(HASH_FACTORS, 17);
const PLAIN_LENGTH_SUM = Math.imul(TUPLE_WORDS_IPV4 + LINK_WORDS, HASH_LENGTH_FACTOR);
const TUNNEL_WORDS_IPV4 = 2 * (TUPLE_WORDS_IPV4 + LINK_WORDS) + 2;
const TUNNEL_LENGTH_SUM = Math.imul(TUNNEL_WORDS_IPV4, HASH_LENGTH_FACTOR);

function mixHash(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

/** What unified flows are found by: 32 bits, signed, of the first `length` words of a key. */
export function hashKey(words: Int32Array, length: number): number {
  let sum = Math.imul(length, HASH_LENGTH_FACTOR);
  for (let i = 0; i < length; i++) sum = (sum + Math.imul(wordAt(words, i), wordAt(HASH_FACTORS, i))) | 0;
  return mixHash(sum);
}

const ECHO_TYPES: ReadonlySet<number> = new Set([0, 8, 128, 129]);

/** A connection of TCP or UDP, as the machine that begins it sees it. */
export interface ConnectionTuple {
  /** `IpProtocol`. */
  readonly protocol: number;
  readonly source: Ip;
  readonly destination: Ip;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

/** @returns where the next words go. */
function writeAddress(words: Int32Array, at: number, ip: Ip): number {
  if (typeof ip === "number") {
    words[at] = ip;
    return at + 1;
  }
  for (let i = 0; i < 4; i++) words[at + i] = Number(BigInt.asIntN(32, ip >> BigInt(96 - 32 * i)));
  return at + 4;
}

/** A reusable key. */
export class FlowKey {
  readonly words: Int32Array;
  /** Words of the whole tuple, where the link begins. */
  tupleLength: number = TUPLE_WORDS_IPV4;
  /** Words of the whole key. */
  length: number = TUPLE_WORDS_IPV4 + LINK_WORDS;
  /** `hashKey` of the whole key, as `read` left it. */
  hash = 0;
  /** What `Condition.isSourceTranslated` asks for. It follows from the packet and the rules, so no flow is known by it. */
  isSourceTranslated = false;
  /** What `Condition.tcpSyn` asks for. No flow is known by it: a connection begins with one such segment. */
  isSyn = false;

  /** `words`: room for `KEY_WORDS_MAX`, where the key is not to have its own. */
  constructor(words: Int32Array = new Int32Array(KEY_WORDS_MAX)) {
    this.words = words;
  }

  /** Of the outermost IP header. */
  get family(): 4 | 6 {
    return (wordAt(this.words, 0) & IS_IPV6) === 0 ? 4 : 6;
  }

  /** Of the outermost IP header; 252 for VXLAN. */
  get protocol(): number {
    return wordAt(this.words, 0) & 0xff;
  }

  get direction(): VfpDirection {
    return (wordAt(this.words, 0) & IS_INBOUND) === 0 ? "out" : "in";
  }

  get hasPorts(): boolean {
    return (wordAt(this.words, 0) & HAS_PORTS) !== 0;
  }

  get isTunnel(): boolean {
    return (wordAt(this.words, 0) & IS_TUNNEL) !== 0;
  }

  get sourcePort(): number {
    return wordAt(this.words, 1) >>> 16;
  }

  get destinationPort(): number {
    return wordAt(this.words, 1) & 0xffff;
  }

  /** Of a tunnel: its VNI or virtual subnet id; -1 of other packets. */
  get tunnelId(): number {
    return this.isTunnel ? wordAt(this.words, this.outerTupleLength) & 0xff_ffff : -1;
  }

  /** The packet's virtual subnet; 0 when it has none. */
  get tni(): number {
    const at = this.tupleLength + (this.isTunnel ? 2 * LINK_WORDS : LINK_WORDS);
    return at < this.length ? wordAt(this.words, at) : 0;
  }

  /**
   * Reads the key of an IP packet, which `headers` describes. `headers.family` must not be 0. `tunnel`, when it holds one, is that of this packet.
   */
  read(
    packet: Packet,
    headers: Headers,
    direction: VfpDirection,
    tunnel?: TunnelHeaders,
    tni: number = 0,
  ): void {
    const { words } = this;
    const { view } = packet;
    if (tunnel !== undefined && tunnel.kind !== undefined) {
      this.readTunnel(view, headers, direction, tunnel, tni);
      return;
    }
    if (headers.family === 4) {
      this.readPlainIpv4(view, headers, direction === "in" ? IS_INBOUND : 0);
      if (tni === 0) return;
    } else {
      this.tupleLength = this.readTuple(view, headers, 0);
      this.length = this.readLink(view, headers, this.tupleLength);
      if (direction === "in") words[0] = wordAt(words, 0) | IS_INBOUND;
    }
    if (tni !== 0) {
      words[this.length] = tni;
      this.length++;
    }
    this.hash = hashKey(words, this.length);
  }

  /** What most packets are, written out: this is asked for each of them. */
  private readPlainIpv4(view: DataView, headers: Headers, inbound: number): void {
    const { words } = this;
    const { network, ethernet, protocol, transport } = headers;
    const hasPorts = transport >= 0 && (protocol === IpProtocol.tcp || protocol === IpProtocol.udp);
    const first = (hasPorts ? protocol | HAS_PORTS : protocol & 0xff) | inbound;
    const ports = hasPorts ? view.getInt32(transport) : echoPorts(view, headers);
    const source = view.getInt32(network + 12);
    const destination = view.getInt32(network + 16);
    const vlan = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    const link0 = view.getInt32(ethernet);
    const link1 = view.getInt32(ethernet + 4);
    const link2 = view.getInt32(ethernet + 8);
    // From the last on: one check of bounds is enough for all.
    words[7] = link2;
    words[6] = link1;
    words[5] = link0;
    words[4] = vlan;
    words[3] = destination;
    words[2] = source;
    words[1] = ports;
    words[0] = first;
    this.tupleLength = TUPLE_WORDS_IPV4;
    this.length = TUPLE_WORDS_IPV4 + LINK_WORDS;
    this.hash = mixHash(
      (PLAIN_LENGTH_SUM +
        Math.imul(first, F0) +
        Math.imul(ports, F1) +
        Math.imul(source, F2) +
        Math.imul(destination, F3) +
        Math.imul(vlan, F4) +
        Math.imul(link0, F5) +
        Math.imul(link1, F6) +
        Math.imul(link2, F7)) |
        0,
    );
  }

  /** Holds the tuple of a connection on its way out, and no link. */
  loadConnection({ protocol, source, destination, sourcePort, destinationPort }: ConnectionTuple): void {
    const { words } = this;
    words[0] = protocol | HAS_PORTS | (typeof source === "number" ? 0 : IS_IPV6);
    words[1] = (sourcePort << 16) | destinationPort;
    this.tupleLength = writeAddress(words, writeAddress(words, 2, source), destination);
    this.length = this.tupleLength;
  }

  /** Takes over what another key holds. */
  copyFrom(other: FlowKey): void {
    for (let i = 0; i < other.length; i++) this.words[i] = wordAt(other.words, i);
    this.tupleLength = other.tupleLength;
    this.length = other.length;
    this.hash = other.hash;
    this.isSourceTranslated = other.isSourceTranslated;
    this.isSyn = other.isSyn;
  }

  /** Loads a key that was kept. */
  load(words: Int32Array, from = 0, length: number = words.length): void {
    for (let i = 0; i < length; i++) this.words[i] = wordAt(words, from + i);
    this.isSourceTranslated = false;
    this.isSyn = false;
    this.length = length;
    const outer = this.outerTupleLength;
    this.tupleLength = this.isTunnel ? outer + 1 + tupleWords(wordAt(this.words, outer + 1)) : outer;
  }

  /** The whole key as words of its own. */
  keep(): Int32Array {
    return this.words.slice(0, this.length);
  }

  /** The other direction. */
  turn(): void {
    this.words[0] = wordAt(this.words, 0) ^ IS_INBOUND;
  }

  /** Writes the tuple of the answer into `into`: both ends swapped, the other direction; of a tunnel, inside, too. */
  writeReverseTuple(into: FlowKey): void {
    const outer = this.outerTupleLength;
    this.reverse(0, outer, into.words);
    into.words[0] = wordAt(into.words, 0) ^ IS_INBOUND;
    into.tupleLength = this.tupleLength;
    if (!this.isTunnel) return;
    into.words[outer] = wordAt(this.words, outer);
    this.reverse(outer + 1, this.tupleLength - outer - 1, into.words);
  }

  /** Of a tunnel: writes the key of its inner frame, as if it had come alone, into `into`. */
  writeInner(into: FlowKey): void {
    const from = this.outerTupleLength + 1;
    const length = this.tupleLength - from;
    for (let i = 0; i < length; i++) into.words[i] = wordAt(this.words, from + i);
    const link = this.tupleLength + LINK_WORDS;
    for (let i = 0; i < LINK_WORDS; i++) into.words[length + i] = wordAt(this.words, link + i);
    into.tupleLength = length;
    into.length = length + LINK_WORDS;
    if (this.direction === "in") into.words[0] = wordAt(into.words, 0) | IS_INBOUND;
  }

  /** Words of the outermost tuple. */
  get outerTupleLength(): number {
    return tupleWords(wordAt(this.words, 0));
  }

  private readTunnel(
    view: DataView,
    headers: Headers,
    direction: VfpDirection,
    tunnel: TunnelHeaders,
    tni: number,
  ): void {
    const words = this.words;
    if (headers.family === 4 && tunnel.inner.family === 4) {
      this.tupleLength = 2 * TUPLE_WORDS_IPV4 + 1;
      this.length = TUNNEL_WORDS_IPV4;
      this.readTunnelIpv4(view, headers, direction, tunnel, tni);
      return;
    }
    const outer = this.readTuple(view, headers, 0);
    const protocol = tunnel.kind === "vxlan" ? VXLAN_PROTOCOL : headers.protocol;
    words[0] = protocol | (wordAt(words, 0) & IS_IPV6) | IS_TUNNEL | (direction === "in" ? IS_INBOUND : 0);
    words[1] = 0;
    words[outer] = tunnel.id | (tunnel.kind === "nvgre" ? IS_NVGRE : 0);
    let at = this.readTuple(view, tunnel.inner, outer + 1);
    this.tupleLength = at;
    at = this.readLink(view, headers, at);
    at = this.readLink(view, tunnel.inner, at);
    words[at] = tni;
    this.length = at + 1;
    this.hash = hashKey(words, this.length);
  }

  /** IPv4 in IPv4, written out. */
  private readTunnelIpv4(
    view: DataView,
    headers: Headers,
    direction: VfpDirection,
    tunnel: TunnelHeaders,
    tni: number,
  ): void {
    const { words } = this;
    const { inner } = tunnel;
    const isVxlan = tunnel.kind === "vxlan";
    const { network, ethernet } = headers;
    const first =
      (isVxlan ? VXLAN_PROTOCOL : headers.protocol) | IS_TUNNEL | (direction === "in" ? IS_INBOUND : 0);
    const source = view.getInt32(network + 12);
    const destination = view.getInt32(network + 16);
    const id = isVxlan ? tunnel.id : tunnel.id | IS_NVGRE;
    const { protocol, transport } = inner;
    const hasPorts = transport >= 0 && (protocol === IpProtocol.tcp || protocol === IpProtocol.udp);
    const innerFirst = hasPorts ? protocol | HAS_PORTS : protocol & 0xff;
    const ports = hasPorts ? view.getInt32(transport) : echoPorts(view, inner);
    const innerSource = view.getInt32(inner.network + 12);
    const innerDestination = view.getInt32(inner.network + 16);
    const vlan = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    const link0 = view.getInt32(ethernet);
    const link1 = view.getInt32(ethernet + 4);
    const link2 = view.getInt32(ethernet + 8);
    const innerVlan = inner.isTagged ? IS_TAGGED | inner.vlan : 0;
    const inner0 = view.getInt32(inner.ethernet);
    const inner1 = view.getInt32(inner.ethernet + 4);
    const inner2 = view.getInt32(inner.ethernet + 8);
    words[17] = tni;
    words[16] = inner2;
    words[15] = inner1;
    words[14] = inner0;
    words[13] = innerVlan;
    words[12] = link2;
    words[11] = link1;
    words[10] = link0;
    words[9] = vlan;
    words[8] = innerDestination;
    words[7] = innerSource;
    words[6] = ports;
    words[5] = innerFirst;
    words[4] = id;
    words[3] = destination;
    words[2] = source;
    words[1] = 0;
    words[0] = first;
    const outerSum =
      TUNNEL_LENGTH_SUM +
      Math.imul(first, F0) +
      Math.imul(source, F2) +
      Math.imul(destination, F3) +
      Math.imul(id, F4) +
      Math.imul(vlan, F9) +
      Math.imul(link0, F10) +
      Math.imul(link1, F11) +
      Math.imul(link2, F12);
    const innerSum =
      Math.imul(innerFirst, F5) +
      Math.imul(ports, F6) +
      Math.imul(innerSource, F7) +
      Math.imul(innerDestination, F8) +
      Math.imul(innerVlan, F13) +
      Math.imul(inner0, F14) +
      Math.imul(inner1, F15) +
      Math.imul(inner2, F16) +
      Math.imul(tni, F17);
    this.hash = mixHash(((outerSum | 0) + (innerSum | 0)) | 0);
  }

  /** @returns where the next words go. */
  private readTuple(view: DataView, headers: Headers, at: number): number {
    const words = this.words;
    if (headers.family === 0) {
      words[at] = headers.etherType | IS_NOT_IP;
      words[at + 1] = 0;
      words[at + 2] = 0;
      words[at + 3] = 0;
      return at + TUPLE_WORDS_IPV4;
    }
    const isIpv4 = headers.family === 4;
    words[at] = (headers.protocol & 0xff) | (isIpv4 ? 0 : IS_IPV6);
    words[at + 1] = 0;
    if (headers.transport >= 0) this.readPorts(view, headers, at);
    const { network } = headers;
    if (isIpv4) {
      words[at + 2] = view.getInt32(network + 12);
      words[at + 3] = view.getInt32(network + 16);
      return at + TUPLE_WORDS_IPV4;
    }
    for (let i = 0; i < 8; i++) words[at + 2 + i] = view.getInt32(network + 8 + i * 4);
    return at + TUPLE_WORDS_IPV6;
  }

  /** @returns where the next words go. */
  private readLink(view: DataView, headers: Headers, at: number): number {
    const words = this.words;
    const { ethernet } = headers;
    words[at] = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    words[at + 1] = view.getInt32(ethernet);
    words[at + 2] = view.getInt32(ethernet + 4);
    words[at + 3] = view.getInt32(ethernet + 8);
    return at + LINK_WORDS;
  }

  private reverse(from: number, length: number, target: Int32Array): void {
    const { words } = this;
    target[from] = wordAt(words, from);
    const ports = wordAt(words, from + 1);
    target[from + 1] = (ports << 16) | (ports >>> 16);
    const addressWords = (length - 2) / 2;
    for (let i = 0; i < addressWords; i++) {
      target[from + 2 + i] = wordAt(words, from + 2 + addressWords + i);
      target[from + 2 + addressWords + i] = wordAt(words, from + 2 + i);
    }
  }

  private readPorts(view: DataView, headers: Headers, tuple: number): void {
    const { protocol, transport } = headers;
    if (protocol === IpProtocol.tcp || protocol === IpProtocol.udp) {
      this.words[tuple] = wordAt(this.words, tuple) | HAS_PORTS;
      this.words[tuple + 1] = view.getInt32(transport);
    } else {
      this.words[tuple + 1] = echoPorts(view, headers);
    }
  }
}

/** Both directions of an echo carry the identifier, so it ties the reply to the request. 0 for what is none. */
function echoPorts(view: DataView, { protocol, transport }: Headers): number {
  if (transport < 0 || (protocol !== IpProtocol.icmp && protocol !== IpProtocol.icmpv6)) return 0;
  if (!ECHO_TYPES.has(view.getUint8(transport))) return 0;
  const identifier = view.getUint16(transport + 4);
  return (identifier << 16) | identifier;
}

/** Words of the tuple that begins with `first`. */
function tupleWords(first: number): number {
  return (first & IS_IPV6) === 0 || (first & IS_NOT_IP) !== 0 ? TUPLE_WORDS_IPV4 : TUPLE_WORDS_IPV6;
}
