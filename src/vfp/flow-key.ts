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
import { readI32, readU16, readU8, wordAt } from "../base/bytes.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import type { TunnelHeaders } from "../wire/tunnel.ts";
import type { Direction } from "./rule.ts";

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

const ECHO_TYPES: ReadonlySet<number> = new Set([0, 8, 128, 129]);

/** A reusable key. */
export class FlowKey {
  readonly words: Int32Array = new Int32Array(KEY_WORDS_MAX);
  /** Words of the whole tuple, where the link begins. */
  tupleLength: number = TUPLE_WORDS_IPV4;
  /** Words of the whole key. */
  length: number = TUPLE_WORDS_IPV4 + LINK_WORDS;
  /** What `Condition.isSourceTranslated` asks for. It follows from the packet and the rules, so no flow is known by it. */
  isSourceTranslated = false;
  /** What `Condition.tcpSyn` asks for. No flow is known by it: a connection begins with one such segment. */
  isSyn = false;

  /** Of the outermost IP header. */
  get family(): 4 | 6 {
    return (wordAt(this.words, 0) & IS_IPV6) === 0 ? 4 : 6;
  }

  /** Of the outermost IP header; 252 for VXLAN. */
  get protocol(): number {
    return wordAt(this.words, 0) & 0xff;
  }

  get direction(): Direction {
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
   * Reads the key of an IP packet. `headers.family` must not be 0. `tunnel`, when it holds one, is that of this packet.
   */
  read(
    bytes: Uint8Array,
    headers: Headers,
    direction: Direction,
    tunnel?: TunnelHeaders,
    tni: number = 0,
  ): void {
    const words = this.words;
    if (tunnel !== undefined && tunnel.kind !== undefined) {
      this.readTunnel(bytes, headers, direction, tunnel, tni);
      return;
    }
    if (headers.family === 4) this.readPlainIpv4(bytes, headers);
    else {
      this.tupleLength = this.readTuple(bytes, headers, 0);
      this.length = this.readLink(bytes, headers, this.tupleLength);
    }
    if (direction === "in") words[0] = wordAt(words, 0) | IS_INBOUND;
    if (tni === 0) return;
    words[this.length] = tni;
    this.length++;
  }

  /** What most packets are, written out: this is asked for each of them. */
  private readPlainIpv4(bytes: Uint8Array, headers: Headers): void {
    const { words } = this;
    const { network, ethernet, protocol, transport } = headers;
    const hasPorts = transport >= 0 && (protocol === IpProtocol.tcp || protocol === IpProtocol.udp);
    words[0] = hasPorts ? protocol | HAS_PORTS : protocol & 0xff;
    words[1] = hasPorts ? readI32(bytes, transport) : 0;
    if (!hasPorts && transport >= 0) this.readPorts(bytes, headers, 0);
    words[2] = readI32(bytes, network + 12);
    words[3] = readI32(bytes, network + 16);
    words[4] = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    words[5] = readI32(bytes, ethernet);
    words[6] = readI32(bytes, ethernet + 4);
    words[7] = readI32(bytes, ethernet + 8);
    this.tupleLength = TUPLE_WORDS_IPV4;
    this.length = TUPLE_WORDS_IPV4 + LINK_WORDS;
  }

  /** Takes over what another key holds. */
  copyFrom(other: FlowKey): void {
    for (let i = 0; i < other.length; i++) this.words[i] = wordAt(other.words, i);
    this.tupleLength = other.tupleLength;
    this.length = other.length;
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
    bytes: Uint8Array,
    headers: Headers,
    direction: Direction,
    tunnel: TunnelHeaders,
    tni: number,
  ): void {
    const words = this.words;
    if (headers.family === 4 && tunnel.inner.family === 4) {
      this.readTunnelIpv4(bytes, headers, direction, tunnel, tni);
      return;
    }
    const outer = this.readTuple(bytes, headers, 0);
    const protocol = tunnel.kind === "vxlan" ? VXLAN_PROTOCOL : headers.protocol;
    words[0] = protocol | (wordAt(words, 0) & IS_IPV6) | IS_TUNNEL | (direction === "in" ? IS_INBOUND : 0);
    words[1] = 0;
    words[outer] = tunnel.id | (tunnel.kind === "nvgre" ? IS_NVGRE : 0);
    let at = this.readTuple(bytes, tunnel.inner, outer + 1);
    this.tupleLength = at;
    at = this.readLink(bytes, headers, at);
    at = this.readLink(bytes, tunnel.inner, at);
    words[at] = tni;
    this.length = at + 1;
  }

  /** IPv4 in IPv4, written out. */
  private readTunnelIpv4(
    bytes: Uint8Array,
    headers: Headers,
    direction: Direction,
    tunnel: TunnelHeaders,
    tni: number,
  ): void {
    const { words } = this;
    const { inner } = tunnel;
    const isVxlan = tunnel.kind === "vxlan";
    const { network, ethernet } = headers;
    words[0] =
      (isVxlan ? VXLAN_PROTOCOL : headers.protocol) | IS_TUNNEL | (direction === "in" ? IS_INBOUND : 0);
    words[1] = 0;
    words[2] = readI32(bytes, network + 12);
    words[3] = readI32(bytes, network + 16);
    words[4] = isVxlan ? tunnel.id : tunnel.id | IS_NVGRE;
    const { protocol, transport } = inner;
    const hasPorts = transport >= 0 && (protocol === IpProtocol.tcp || protocol === IpProtocol.udp);
    words[5] = hasPorts ? protocol | HAS_PORTS : protocol & 0xff;
    words[6] = hasPorts ? readI32(bytes, transport) : 0;
    if (!hasPorts && transport >= 0) this.readPorts(bytes, inner, 5);
    words[7] = readI32(bytes, inner.network + 12);
    words[8] = readI32(bytes, inner.network + 16);
    words[9] = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    words[10] = readI32(bytes, ethernet);
    words[11] = readI32(bytes, ethernet + 4);
    words[12] = readI32(bytes, ethernet + 8);
    words[13] = inner.isTagged ? IS_TAGGED | inner.vlan : 0;
    words[14] = readI32(bytes, inner.ethernet);
    words[15] = readI32(bytes, inner.ethernet + 4);
    words[16] = readI32(bytes, inner.ethernet + 8);
    words[17] = tni;
    this.tupleLength = 2 * TUPLE_WORDS_IPV4 + 1;
    this.length = 2 * (TUPLE_WORDS_IPV4 + LINK_WORDS) + 2;
  }

  /** @returns where the next words go. */
  private readTuple(bytes: Uint8Array, headers: Headers, at: number): number {
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
    if (headers.transport >= 0) this.readPorts(bytes, headers, at);
    const { network } = headers;
    if (isIpv4) {
      words[at + 2] = readI32(bytes, network + 12);
      words[at + 3] = readI32(bytes, network + 16);
      return at + TUPLE_WORDS_IPV4;
    }
    for (let i = 0; i < 8; i++) words[at + 2 + i] = readI32(bytes, network + 8 + i * 4);
    return at + TUPLE_WORDS_IPV6;
  }

  /** @returns where the next words go. */
  private readLink(bytes: Uint8Array, headers: Headers, at: number): number {
    const words = this.words;
    const { ethernet } = headers;
    words[at] = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    words[at + 1] = readI32(bytes, ethernet);
    words[at + 2] = readI32(bytes, ethernet + 4);
    words[at + 3] = readI32(bytes, ethernet + 8);
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

  private readPorts(bytes: Uint8Array, headers: Headers, tuple: number): void {
    const at = headers.transport;
    switch (headers.protocol) {
      case IpProtocol.tcp:
      case IpProtocol.udp:
        this.words[tuple] = wordAt(this.words, tuple) | HAS_PORTS;
        this.words[tuple + 1] = readI32(bytes, at);
        return;
      case IpProtocol.icmp:
      case IpProtocol.icmpv6: {
        // Both directions of an echo carry the identifier, so it ties the reply to the request.
        if (!ECHO_TYPES.has(readU8(bytes, at))) return;
        const identifier = readU16(bytes, at + 4);
        this.words[tuple + 1] = (identifier << 16) | identifier;
        return;
      }
      default:
    }
  }
}

/** Words of the tuple that begins with `first`. */
function tupleWords(first: number): number {
  return (first & IS_IPV6) === 0 || (first & IS_NOT_IP) !== 0 ? TUPLE_WORDS_IPV4 : TUPLE_WORDS_IPV6;
}
