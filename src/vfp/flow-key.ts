/**
 * What the engine knows a packet by: a few 32-bit words read from its headers, without allocation.
 *
 * ```
 * word   IPv4                      IPv6
 * 0      protocol, family, direction, has ports
 * 1      source port << 16 | destination port (ICMP echo: its identifier, twice)
 * 2      source                    2..5   source
 * 3      destination               6..9   destination
 * 4      VLAN                      10     VLAN
 * 5..7   both MACs                 11..13 both MACs
 * ```
 *
 * The first 4 (10) words are the tuple: what a layer's flows are known by, since an answer comes with other MACs.
 * All 8 (14) words are the key of a unified flow: whatever a rule can ask for must be in it.
 */
import { readI32, readU16, readU8, wordAt } from "../base/bytes.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import type { Direction } from "./rule.ts";

export const KEY_WORDS_MAX = 14;
const TUPLE_WORDS_IPV4 = 4;
const TUPLE_WORDS_IPV6 = 10;
/** VLAN and both MACs. */
const LINK_WORDS = 4;

const IS_IPV6 = 1 << 8;
const IS_INBOUND = 1 << 9;
const HAS_PORTS = 1 << 10;
const IS_TAGGED = 1 << 16;

const ECHO_TYPES: ReadonlySet<number> = new Set([0, 8, 128, 129]);

/** A reusable key. */
export class FlowKey {
  readonly words: Int32Array = new Int32Array(KEY_WORDS_MAX);
  /** Words of the tuple. */
  tupleLength: 4 | 10 = TUPLE_WORDS_IPV4;
  /** What `Condition.isSourceTranslated` asks for. It follows from the packet and the rules, so no flow is known by it. */
  isSourceTranslated = false;

  /** Words of the whole key. */
  get length(): number {
    return this.tupleLength + LINK_WORDS;
  }

  get family(): 4 | 6 {
    return this.tupleLength === TUPLE_WORDS_IPV4 ? 4 : 6;
  }

  get protocol(): number {
    return wordAt(this.words, 0) & 0xff;
  }

  get direction(): Direction {
    return (wordAt(this.words, 0) & IS_INBOUND) === 0 ? "out" : "in";
  }

  get hasPorts(): boolean {
    return (wordAt(this.words, 0) & HAS_PORTS) !== 0;
  }

  get sourcePort(): number {
    return wordAt(this.words, 1) >>> 16;
  }

  get destinationPort(): number {
    return wordAt(this.words, 1) & 0xffff;
  }

  /** Reads the key of an IP packet. `headers.family` must not be 0. */
  read(bytes: Uint8Array, headers: Headers, direction: Direction): void {
    const words = this.words;
    const network = headers.network;
    const isIpv4 = headers.family === 4;
    words[0] = (headers.protocol & 0xff) | (isIpv4 ? 0 : IS_IPV6) | (direction === "in" ? IS_INBOUND : 0);
    words[1] = 0;
    this.readPorts(bytes, headers);
    this.tupleLength = isIpv4 ? TUPLE_WORDS_IPV4 : TUPLE_WORDS_IPV6;
    const addresses = network + (isIpv4 ? 12 : 8);
    let at = 2;
    for (; at < this.tupleLength; at++) words[at] = readI32(bytes, addresses + (at - 2) * 4);
    words[at] = headers.isTagged ? IS_TAGGED | headers.vlan : 0;
    words[at + 1] = readI32(bytes, headers.ethernet);
    words[at + 2] = readI32(bytes, headers.ethernet + 4);
    words[at + 3] = readI32(bytes, headers.ethernet + 8);
  }

  /** Takes over what another key holds. */
  copyFrom(other: FlowKey): void {
    this.words.set(other.words);
    this.tupleLength = other.tupleLength;
    this.isSourceTranslated = other.isSourceTranslated;
  }

  /** Loads a key that was kept. */
  load(words: Int32Array): void {
    this.words.set(words);
    this.isSourceTranslated = false;
    this.tupleLength = words.length === TUPLE_WORDS_IPV4 + LINK_WORDS ? TUPLE_WORDS_IPV4 : TUPLE_WORDS_IPV6;
  }

  /** The whole key as words of its own. */
  keep(): Int32Array {
    return this.words.slice(0, this.length);
  }

  /** Writes the tuple of the answer into `into`: both ends swapped, the other direction. */
  writeReverseTuple(into: FlowKey): void {
    const words = this.words;
    const target = into.words;
    into.tupleLength = this.tupleLength;
    target[0] = wordAt(words, 0) ^ IS_INBOUND;
    const ports = wordAt(words, 1);
    target[1] = (ports << 16) | (ports >>> 16);
    const addressWords = (this.tupleLength - 2) / 2;
    for (let i = 0; i < addressWords; i++) {
      target[2 + i] = wordAt(words, 2 + addressWords + i);
      target[2 + addressWords + i] = wordAt(words, 2 + i);
    }
  }

  private readPorts(bytes: Uint8Array, headers: Headers): void {
    if (headers.transport < 0) return;
    const at = headers.transport;
    switch (headers.protocol) {
      case IpProtocol.tcp:
      case IpProtocol.udp:
        this.words[0] = wordAt(this.words, 0) | HAS_PORTS;
        this.words[1] = readI32(bytes, at);
        return;
      case IpProtocol.icmp:
      case IpProtocol.icmpv6: {
        // Both directions of an echo carry the identifier, so it ties the reply to the request.
        if (!ECHO_TYPES.has(readU8(bytes, at))) return;
        const identifier = readU16(bytes, at + 4);
        this.words[1] = (identifier << 16) | identifier;
        return;
      }
      default:
    }
  }
}
