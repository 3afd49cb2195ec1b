/**
 * The unified flows of a port, as records of 32-bit words in one array: what a packet of a known flow needs lies side by
 * side, so that a hit reads one word of the index and one record, however many flows there are. What only the layers ask
 * for is an object per flow (`UnifiedFlow`), which a plain hit never touches.
 *
 * ```
 * 0        words of the key, and what the flow is (bits of `Kind`)
 * 1        the generation of the rules it was made in; -1: stale
 * 2        how many flows the port's layers had made when it was last looked whether one came between
 * 3        packets
 * 4 .. 9   last use, lifetime, end of what it knows of next hops, as doubles in milliseconds
 * 10, 11   shared outer headers (number + 1) and the flow's own bits in them
 * 12       virtual subnet from here on; -1: as before
 * 13       the key's hash
 * 14 ..    the rewrite (flow-rewrite.ts)
 * 22 ..    the key
 * ```
 */
import { assert } from "#core/base/assert.ts";
import { doubleAt, wordAt } from "#core/base/bytes.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import type { OuterHeaders } from "../actions/encapsulation.ts";
import { type FlowKey, hashKey } from "../flow-key.ts";
import { REWRITE_WORDS, applyRewrite, compileRewrite, rewriteHops } from "./flow-rewrite.ts";
import {
  type FlowEffects,
  IP_BYTES_MAX,
  type UnifiedFlow,
  type UnifiedFlowRecords,
  applyTransposition,
  popTunnel,
  suits,
} from "./unified-flow.ts";

const AT = {
  kind: 0,
  generation: 1,
  flowsMade: 2,
  packets: 3,
  /** In doubles from the record's begin. */
  lastUsed: 2,
  ttl: 3,
  staleAt: 4,
  outer: 10,
  outerBits: 11,
  tni: 12,
  hash: 13,
  rewrite: 14,
} as const;
const KEY = AT.rewrite + REWRITE_WORDS;

const Kind = {
  lengthMask: 0xff,
  hairpin: 0x100,
  pops: 0x200,
  /** Only its object knows how its packets are rewritten, or what is done besides. */
  needsObject: 0x400,
  /** Layers had no flow for its packets. */
  hasMisses: 0x800,
  hasEffects: 0x1000,
  /** Besides what `pops` and `poppedShift` say: it takes hops, puts outer headers on, or sets the virtual subnet. */
  doesMore: 0x2000,
  /** How often the outer TTL must go down before outer headers come off. */
  poppedShift: 16,
} as const;

/** What the record's rewrite alone does not do. */
const MORE = Kind.pops | Kind.doesMore | (-1 << Kind.poppedShift);
const ONLY_OBJECT = Kind.needsObject | Kind.hasEffects;

/** What becomes of a packet; `not`: its flow is not what the layers would give any more, or does more than rewrite. */
export type Taken = "pass" | "hairpin" | "not";

/** What a packet of a known flow has to do with its port. */
export interface FlowPort {
  readonly generation: number;
  readonly census: { readonly flowsMade: number };
  takeIdentification(): number;
}

/** Of a plain IPv4 key. */
const KEY_WORDS_MIN = 8;
const STALE = -1;
const CAPACITY_MIN = 16;
/** The index grows when more than this part of it is taken. */
const LOAD_MAX = 0.6;
/** With fewer of its records in use than this part, a table is made anew: memory of flows that went comes back. */
const RECORDS_USED_MIN = 0.125;
/** An entry of the index: record number + 1, and above it as many bits of the hash as there is room for. */
const RECORD_BITS = 21;
const RECORD_MASK = (1 << RECORD_BITS) - 1;
const RECORDS_MAX = RECORD_MASK;
const OUTERS_MAX = 4_096;
/** Words of a cache line. */
const LINE_WORDS = 16;
/**
 * What stands before the first record, so that records begin where a pair of cache lines does: large buffers lie 16 bytes
 * behind the begin of a page with glibc. Elsewhere a record may touch one line more.
 */
const FRONT_BYTES = 112;
/** Fewer flows than this are near anyway. */
const LOOK_AHEAD_FLOWS_MIN = 1_024;

const NO_WORDS = new Int32Array(0);
const NO_DOUBLES = new Float64Array(0);

export class UnifiedFlowTable implements UnifiedFlowRecords {
  private keyWords: number;
  /** Words of a record: whole cache lines. */
  private stride: number;
  private words: Int32Array = NO_WORDS;
  private doubles: Float64Array = NO_DOUBLES;
  /** Entries as `entryFor` makes them; 0: free. One word each, so that it stays in the nearer caches for longer. */
  private index: Int32Array = NO_WORDS;
  private capacity = 0;
  private flows: (UnifiedFlow | undefined)[] = [];
  private free: number[] = [];
  private count = 0;
  private outers: OuterHeaders[] = [];
  /** Where the last sweep stopped. */
  private hand = 0;

  /** `keyWords`: as long as keys are expected to be. */
  constructor(keyWords: number) {
    this.keyWords = keyWords;
    this.stride = strideFor(keyWords);
  }

  get size(): number {
    return this.count;
  }

  /** The record of the flow with the first `length` words of `key`; -1 without one. `hash`: its `hashKey`. */
  find(key: Int32Array, length: number, hash: number = hashKey(key, length)): number {
    if (this.count === 0 || length > this.keyWords) return -1;
    const { index, words, stride } = this;
    const mask = this.capacity - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = wordAt(index, slot);
      if (entry === 0) return -1;
      if (((entry ^ hash) & ~RECORD_MASK) !== 0) continue;
      const record = (entry & RECORD_MASK) - 1;
      const at = record * stride;
      if ((wordAt(words, at) & Kind.lengthMask) === length && isKey(words, at + KEY, key, length))
        return record;
    }
  }

  /**
   * Reads what it takes to find the first `count` of `hashes` and to take their flows: all entries, then all records, so that
   * they come from memory side by side. Changes nothing. @returns a number made of what was read, which keeps the compiler
   * from leaving the reading out.
   */
  lookAhead(hashes: Int32Array, count: number): number {
    if (this.count < LOOK_AHEAD_FLOWS_MIN) return 0;
    const { index, words, stride } = this;
    const mask = this.capacity - 1;
    let seen = 0;
    for (let i = 0; i < count; i++) seen ^= wordAt(index, wordAt(hashes, i) & mask);
    for (let i = 0; i < count; i++) {
      const hash = wordAt(hashes, i);
      let slot = hash & mask;
      let entry = wordAt(index, slot);
      while (entry !== 0 && ((entry ^ hash) & ~RECORD_MASK) !== 0) {
        slot = (slot + 1) & mask;
        entry = wordAt(index, slot);
      }
      if (entry === 0) continue;
      const at = ((entry & RECORD_MASK) - 1) * stride;
      for (let line = 0; line < stride; line += LINE_WORDS) seen ^= wordAt(words, at + line);
    }
    return seen;
  }

  /**
   * The usual packet of a known flow of `port`, in one go: rewrites it, and counts it. `headers` describes the packet, and
   * then what it has become; `tunnel` is the tunnel that it comes in.
   */
  take(
    record: number,
    port: FlowPort,
    nowMs: number,
    packet: Packet,
    headers: Headers,
    tunnel: TunnelHeaders,
  ): Taken {
    const { words, doubles } = this;
    const at = record * this.stride;
    const kind = wordAt(words, at);
    // What only the flow's object knows is not for here.
    if ((kind & ONLY_OBJECT) !== 0) return "not";
    if (!this.isCurrent(record, port.generation, port.census.flowsMade, nowMs)) return "not";
    if ((kind & MORE) === 0) {
      doubles[(at >> 1) + AT.lastUsed] = nowMs;
      words[at + AT.packets] = wordAt(words, at + AT.packets) + 1;
      if (wordAt(words, at + AT.rewrite) !== 0) applyRewrite(words, at + AT.rewrite, packet, headers);
      return (kind & Kind.hairpin) === 0 ? "pass" : "hairpin";
    }
    const pops = (kind & Kind.pops) !== 0;
    const hops = rewriteHops(words, at + AT.rewrite);
    if (hops > 0 && readTtl(packet.bytes, pops ? tunnel.inner : headers) <= hops) return "not";
    const popped = kind >>> Kind.poppedShift;
    if (popped > 0 && readTtl(packet.bytes, headers) <= popped) return "not";
    const outer = wordAt(words, at + AT.outer);
    const push = outer === 0 ? undefined : this.outers[outer - 1];
    if (push !== undefined && packet.length + push.length > IP_BYTES_MAX) return "not";
    doubles[(at >> 1) + AT.lastUsed] = nowMs;
    words[at + AT.packets] = wordAt(words, at + AT.packets) + 1;
    if (pops) popTunnel(packet, headers, tunnel);
    applyRewrite(words, at + AT.rewrite, packet, headers);
    if (push !== undefined)
      push.apply(packet, headers, port.takeIdentification(), wordAt(words, at + AT.outerBits));
    const tni = wordAt(words, at + AT.tni);
    if (tni >= 0) packet.tni = tni;
    return (kind & Kind.hairpin) === 0 ? "pass" : "hairpin";
  }

  /** True while the flow gives what the layers would give. `flowsMade`: by the port's layers, in all. */
  isCurrent(record: number, generation: number, flowsMade: number, nowMs: number): boolean {
    const at = record * this.stride;
    const { words, doubles } = this;
    if (wordAt(words, at + AT.generation) !== generation) return false;
    const times = at >> 1;
    if (nowMs >= doubleAt(doubles, times + AT.staleAt)) return false;
    if (nowMs - doubleAt(doubles, times + AT.lastUsed) >= doubleAt(doubles, times + AT.ttl)) return false;
    if ((wordAt(words, at) & Kind.hasMisses) === 0 || wordAt(words, at + AT.flowsMade) === flowsMade)
      return true;
    if (this.flows[record]?.isMissingStill() !== true) return false;
    words[at + AT.flowsMade] = flowsMade;
    return true;
  }

  /**
   * False when only the layers can say where the packet ends: too few hops left, or too long for another header.
   * `headers` describes the packet, `tunnel` the tunnel that it comes in.
   */
  suits(record: number, packet: Packet, headers: Headers, tunnel: TunnelHeaders): boolean {
    const at = record * this.stride;
    const { words } = this;
    const kind = wordAt(words, at);
    if ((kind & Kind.needsObject) !== 0) {
      const { transposition } = this.flowOf(record);
      return suits(transposition, packet, headers, tunnel);
    }
    const hops = rewriteHops(words, at + AT.rewrite);
    if (hops > 0 && readTtl(packet.bytes, (kind & Kind.pops) === 0 ? headers : tunnel.inner) <= hops)
      return false;
    const popped = kind >>> Kind.poppedShift;
    if (popped > 0 && readTtl(packet.bytes, headers) <= popped) return false;
    const outer = wordAt(words, at + AT.outer);
    return outer === 0 || packet.length + (this.outers[outer - 1]?.length ?? 0) <= IP_BYTES_MAX;
  }

  /** Rewrites a packet of the flow. `headers` then describes what it has become. */
  apply(
    record: number,
    packet: Packet,
    headers: Headers,
    tunnel: TunnelHeaders,
    identification: number,
  ): void {
    const at = record * this.stride;
    const { words } = this;
    const kind = wordAt(words, at);
    if ((kind & Kind.needsObject) !== 0) {
      applyTransposition(this.flowOf(record).transposition, packet, headers, tunnel, identification);
      return;
    }
    if ((kind & Kind.pops) !== 0) popTunnel(packet, headers, tunnel);
    applyRewrite(words, at + AT.rewrite, packet, headers);
    const outer = wordAt(words, at + AT.outer);
    if (outer !== 0)
      this.outers[outer - 1]?.apply(packet, headers, identification, wordAt(words, at + AT.outerBits));
    const tni = wordAt(words, at + AT.tni);
    if (tni >= 0) packet.tni = tni;
  }

  /** Notes one more packet. */
  touch(record: number, nowMs: number): void {
    const at = record * this.stride;
    this.doubles[(at >> 1) + AT.lastUsed] = nowMs;
    this.words[at + AT.packets] = wordAt(this.words, at + AT.packets) + 1;
  }

  isHairpin(record: number): boolean {
    return (wordAt(this.words, record * this.stride) & Kind.hairpin) !== 0;
  }

  /** True when packets get outer headers. */
  pushes(record: number): boolean {
    const at = record * this.stride;
    if (wordAt(this.words, at + AT.outer) !== 0) return true;
    if ((wordAt(this.words, at) & Kind.needsObject) === 0) return false;
    return this.flowOf(record).transposition.push !== undefined;
  }

  /** What is done besides rewriting. */
  effectsOf(record: number): FlowEffects | undefined {
    const kind = wordAt(this.words, record * this.stride);
    return (kind & Kind.hasEffects) === 0 ? undefined : this.flowOf(record).effects;
  }

  /**
   * Keeps a flow under `key`, in place of what was there. `rewriteKey` is the key that the rewritten headers arrive with:
   * that of the packets, or of the frame in their tunnel.
   */
  add(
    key: FlowKey,
    rewriteKey: FlowKey,
    flow: UnifiedFlow,
    more: { readonly generation: number; readonly flowsMade: number; readonly nowMs: number },
  ): void {
    const { length } = key;
    assert(length >= KEY_WORDS_MIN && length <= Kind.lengthMask, "a flow key has a tuple and a link");
    const former = this.find(key.words, length);
    if (former >= 0) this.remove(former);
    if (length > this.keyWords) this.widen(length);
    if (this.count + 1 > this.capacity * LOAD_MAX) this.growIndex();
    const record = this.takeRecord();
    const at = record * this.stride;
    const { words, doubles } = this;
    for (let i = 0; i < length; i++) words[at + KEY + i] = wordAt(key.words, i);
    words[at] = length | this.describe(at, rewriteKey, flow);
    words[at + AT.generation] = more.generation;
    words[at + AT.flowsMade] = more.flowsMade;
    words[at + AT.packets] = 1;
    doubles[(at >> 1) + AT.lastUsed] = more.nowMs;
    doubles[(at >> 1) + AT.ttl] = flow.ttlMs;
    doubles[(at >> 1) + AT.staleAt] = flow.staleAtMs;
    const hash = hashKey(key.words, length);
    words[at + AT.hash] = hash;
    this.flows[record] = flow;
    flow.enter(this, record);
    this.link(hash, record);
    this.count++;
  }

  /** Forgets the flow of a record; its object goes on with what it was last. */
  remove(record: number): void {
    const at = record * this.stride;
    this.flows[record]?.leave();
    this.flows[record] = undefined;
    this.unlink(wordAt(this.words, at + AT.hash), record);
    this.free.push(record);
    this.count--;
  }

  /** Removes flows that are of no use any more among the next `records`. @returns how many went. */
  sweep(records: number, generation: number, nowMs: number): number {
    let removed = 0;
    const total = this.flows.length;
    for (let i = 0; i < Math.min(records, total); i++) {
      this.hand = this.hand + 1 >= total ? 0 : this.hand + 1;
      if (this.flows[this.hand] === undefined || this.isAlive(this.hand, generation, nowMs)) continue;
      this.remove(this.hand);
      removed++;
    }
    if (removed > 0) this.giveBack();
    return removed;
  }

  /** Removes all flows that are of no use any more. */
  forgetIdle(generation: number, nowMs: number): void {
    this.sweep(this.flows.length, generation, nowMs);
    this.giveBack();
  }

  private giveBack(): void {
    const isLarge = this.flows.length > CAPACITY_MIN && this.count < this.flows.length * RECORDS_USED_MIN;
    if (!isLarge && (this.count > 0 || this.flows.length === 0)) return;
    const { words, stride, flows, outers } = this;
    const records = this.count === 0 ? 0 : Math.max(CAPACITY_MIN, this.count * 2);
    this.words = wordsFor(records * stride);
    this.doubles = new Float64Array(this.words.buffer, this.words.byteOffset, this.words.length / 2);
    this.flows = [];
    this.free = [];
    this.outers = [];
    this.hand = 0;
    this.capacity = 0;
    for (const [record, flow] of flows.entries()) {
      if (flow === undefined) continue;
      const own = this.flows.push(flow) - 1;
      const at = own * stride;
      this.words.set(words.subarray(record * stride, (record + 1) * stride), at);
      const outer = outers[wordAt(words, record * stride + AT.outer) - 1];
      if (outer !== undefined) this.words[at + AT.outer] = this.numberOf(outer);
      flow.enter(this, own);
    }
    while (this.count > this.capacity * LOAD_MAX) this.doubleCapacity();
    this.index = new Int32Array(this.capacity);
    for (const record of this.flows.keys()) this.link(wordAt(this.words, record * stride + AT.hash), record);
  }

  /** All keys with their flows, in no order that means anything. Keys are copies. */
  *items(): Generator<{ readonly key: Int32Array; readonly value: UnifiedFlow }> {
    for (const [record, value] of this.flows.entries()) {
      if (value === undefined) continue;
      const at = record * this.stride;
      const from = at + KEY;
      yield { key: this.words.slice(from, from + (wordAt(this.words, at) & Kind.lengthMask)), value };
    }
  }

  packetsOf(record: number): number {
    return wordAt(this.words, record * this.stride + AT.packets);
  }

  lastUsedMsOf(record: number): number {
    return doubleAt(this.doubles, ((record * this.stride) >> 1) + AT.lastUsed);
  }

  makeStale(record: number): void {
    this.words[record * this.stride + AT.generation] = STALE;
  }

  private isAlive(record: number, generation: number, nowMs: number): boolean {
    const at = record * this.stride;
    const times = at >> 1;
    return (
      wordAt(this.words, at + AT.generation) === generation &&
      nowMs < doubleAt(this.doubles, times + AT.staleAt) &&
      nowMs - doubleAt(this.doubles, times + AT.lastUsed) < doubleAt(this.doubles, times + AT.ttl)
    );
  }

  private flowOf(record: number): UnifiedFlow {
    const flow = this.flows[record];
    assert(flow !== undefined, "a record that is taken has a flow");
    return flow;
  }

  /** Writes what the record at `at` does to packets. @returns the bits that say what it is. */
  private describe(at: number, rewriteKey: FlowKey, { transposition, misses, effects }: UnifiedFlow): number {
    const { words } = this;
    const { push, tni, isHairpin, pops, poppedTtlDecrements } = transposition;
    const outer = push === undefined ? 0 : this.numberOf(push.headers);
    words[at + AT.outer] = Math.max(0, outer);
    words[at + AT.outerBits] = push?.flowBits ?? 0;
    words[at + AT.tni] = tni;
    const isPlain = rewriteKey.family === 4 && outer >= 0;
    if (isPlain) compileRewrite(rewriteKey, transposition, words, at + AT.rewrite);
    const doesMore = outer !== 0 || tni >= 0 || transposition.ttlDecrements > 0;
    return (
      (isHairpin ? Kind.hairpin : 0) |
      (pops ? Kind.pops : 0) |
      (isPlain ? 0 : Kind.needsObject) |
      (misses.length === 0 ? 0 : Kind.hasMisses) |
      (effects === undefined ? 0 : Kind.hasEffects) |
      (doesMore ? Kind.doesMore : 0) |
      (poppedTtlDecrements << Kind.poppedShift)
    );
  }

  /** The number of outer headers + 1; -1 when too many are known. */
  private numberOf(headers: OuterHeaders): number {
    const known = this.outers.lastIndexOf(headers);
    if (known >= 0) return known + 1;
    return this.outers.length >= OUTERS_MAX ? -1 : this.outers.push(headers);
  }

  private takeRecord(): number {
    const record = this.free.pop();
    if (record !== undefined) return record;
    const next = this.flows.length;
    assert(next < RECORDS_MAX, "a port has no more flows than its index can number");
    if ((next + 1) * this.stride > this.words.length) {
      const records = Math.max(CAPACITY_MIN, next * 2);
      this.resize(wordsFor(records * this.stride), this.stride);
    }
    return this.flows.push(undefined) - 1;
  }

  /** Makes room for longer keys. */
  private widen(keyWords: number): void {
    this.keyWords = keyWords;
    const stride = strideFor(keyWords);
    this.resize(wordsFor((this.words.length / this.stride) * stride), stride);
  }

  private resize(words: Int32Array, stride: number): void {
    const former = this.stride;
    if (stride === former) words.set(this.words);
    else {
      for (let record = 0; record < this.flows.length; record++)
        words.set(this.words.subarray(record * former, (record + 1) * former), record * stride);
    }
    this.stride = stride;
    this.words = words;
    this.doubles = new Float64Array(words.buffer, words.byteOffset, words.length / 2);
  }

  // The index: open addressing with linear probing; a removal shifts the following entries back.

  private growIndex(): void {
    const former = this.index;
    this.doubleCapacity();
    this.index = new Int32Array(this.capacity);
    for (const entry of former) if (entry !== 0) this.link(this.hashOf(entry), (entry & RECORD_MASK) - 1);
  }

  private doubleCapacity(): void {
    this.capacity = Math.max(CAPACITY_MIN, this.capacity * 2);
  }

  /** The hash of the key whose flow an entry of the index leads to. */
  private hashOf(entry: number): number {
    return wordAt(this.words, ((entry & RECORD_MASK) - 1) * this.stride + AT.hash);
  }

  private link(hash: number, record: number): void {
    const mask = this.capacity - 1;
    let slot = hash & mask;
    while (this.index[slot] !== 0) slot = (slot + 1) & mask;
    this.index[slot] = entryFor(hash, record);
  }

  private unlink(hash: number, record: number): void {
    const mask = this.capacity - 1;
    const { index } = this;
    const entry = entryFor(hash, record);
    let hole = hash & mask;
    while (index[hole] !== entry) hole = (hole + 1) & mask;
    for (let next = (hole + 1) & mask; index[next] !== 0; next = (next + 1) & mask) {
      // An entry may move back only when its home lies at or before the hole on its probe path.
      const distance = (next - this.hashOf(wordAt(index, next))) & mask;
      if (distance < ((next - hole) & mask)) continue;
      index[hole] = wordAt(index, next);
      hole = next;
    }
    index[hole] = 0;
  }
}

function entryFor(hash: number, record: number): number {
  return (hash & ~RECORD_MASK) | (record + 1);
}

function strideFor(keyWords: number): number {
  return Math.ceil((KEY + keyWords) / LINE_WORDS) * LINE_WORDS;
}

function wordsFor(length: number): Int32Array {
  return new Int32Array(new ArrayBuffer(FRONT_BYTES + length * 4), FRONT_BYTES, length);
}

function isKey(words: Int32Array, at: number, key: Int32Array, length: number): boolean {
  for (let i = length - 1; i >= KEY_WORDS_MIN; i--) if (words[at + i] !== key[i]) return false;
  // The words of a plain IPv4 key, which no key is shorter than, without a branch for each.
  const differences =
    (wordAt(words, at + 7) ^ wordAt(key, 7)) |
    (wordAt(words, at + 6) ^ wordAt(key, 6)) |
    (wordAt(words, at + 5) ^ wordAt(key, 5)) |
    (wordAt(words, at + 4) ^ wordAt(key, 4)) |
    (wordAt(words, at + 3) ^ wordAt(key, 3)) |
    (wordAt(words, at + 2) ^ wordAt(key, 2)) |
    (wordAt(words, at + 1) ^ wordAt(key, 1)) |
    (wordAt(words, at) ^ wordAt(key, 0));
  return differences === 0;
}
