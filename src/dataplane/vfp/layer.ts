/**
 * One layer on one port: its groups, its flows, its counters. Walked once per slow-path packet.
 * Source: dataplane.md §1.3, §1.10, §1.12 step 4.
 */
import { assert } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type LayerCounters, NO_LAYER_COUNTERS, NO_RULE_COUNTERS, type RuleCounters } from "./counters.ts";
import type { FlowCensus } from "./flows/flow-census.ts";
import type { FlowKey } from "./flow-key.ts";
import { FlowStamps, FlowTable } from "./flows/flow-table.ts";
import type { Group } from "./group.ts";
import { type ChainStep, type LayerFlow, type RuleMatch, LayerFlowPair } from "./flows/layer-flow.ts";
import type { NatPool } from "./actions/nat-pool.ts";
import type { VfpDirection, LayerDefinition, Rule } from "./rule.ts";
import type { Transposition } from "./actions/transposition.ts";
import { wordAt } from "#core/base/bytes.ts";

/** A tuple that had no flow in a layer when a packet came through. */
export interface LayerMiss {
  readonly layer: Layer;
  readonly hash: number;
  readonly stamp: number;
}

/** How many slots of a full flow table are looked through for idle flows before a new one is refused. */
const SWEEP_SLOTS = 64;
/** A pool of keys with fewer of its records in use than this part is made anew. */
const KEYS_USED_MIN = 0.125;
const COUNTERS_MIN = 64;
/** A tuple of IPv4. */
const TUPLE_WORDS_USUAL = 4;
/** A whole key of IPv4. */
const KEY_WORDS_USUAL = 8;

export class Layer {
  readonly definition: LayerDefinition;
  /** Undefined until the first packet. */
  private counterPair: Readonly<Record<VfpDirection, LayerCounters>> | undefined;
  private readonly census: FlowCensus;
  /** A rule here has `Condition.tcpSyn`. */
  asksForSyn = false;
  /** A rule here puts outer headers on. */
  encapsulates = false;
  private groupList: readonly Group[] = [];
  /** Of rules that ever matched. */
  private rules: Map<Rule, RuleCounters> | undefined;
  /** Counters of rules that are gone are dropped when there are twice as many as after the last time. */
  private countersMax = COUNTERS_MIN;
  private readonly flows: FlowTable<LayerFlow> | undefined;
  private keyPool: KeyPool | undefined;
  private readonly stamps = new FlowStamps();

  constructor(definition: LayerDefinition, census: FlowCensus) {
    this.definition = definition;
    this.census = census;
    this.flows = definition.isStateful ? new FlowTable(TUPLE_WORDS_USUAL) : undefined;
  }

  private get keys(): KeyPool {
    return (this.keyPool ??= new KeyPool(KEY_WORDS_USUAL, TUPLE_WORDS_USUAL));
  }

  /** By direction. */
  get counters(): Readonly<Record<VfpDirection, LayerCounters>> {
    return (this.counterPair ??= { in: { ...NO_LAYER_COUNTERS }, out: { ...NO_LAYER_COUNTERS } });
  }

  /** For listings, which change nothing; undefined before the first packet. */
  get countersSoFar(): Readonly<Record<VfpDirection, LayerCounters>> | undefined {
    return this.counterPair;
  }

  countersOn(direction: VfpDirection): LayerCounters {
    return direction === "out" ? this.counters.out : this.counters.in;
  }

  get groups(): readonly Group[] {
    return this.groupList;
  }

  /** Flows, counted once per direction. */
  get flowCount(): number {
    return this.flows?.size ?? 0;
  }

  /** Replaces all groups. Counters of rules that stay go on. */
  setGroups(groups: readonly Group[]): void {
    assert(
      groups.every((group) => !group.allocatesPorts) || this.flows !== undefined,
      `dynnat needs a stateful layer to give ports back, not ${this.definition.name}`,
    );
    this.groupList = [...groups].sort((a, b) => a.priority - b.priority);
    this.asksForSyn = groups.some((group) => group.asksForSyn);
    this.encapsulates = groups.some((group) => group.encapsulates);
    if (this.rules !== undefined && this.rules.size >= this.countersMax) this.dropCounters(this.rules);
  }

  /** How often a rule matched on the slow path. */
  matchCount(rule: Rule): number {
    return this.rules?.get(rule)?.matchedPackets ?? 0;
  }

  /** What a rule did on the slow path; undefined when it never matched. */
  countersOf(rule: Rule): Readonly<RuleCounters> | undefined {
    return this.rules?.get(rule);
  }

  /** The counters of a rule that is matching. */
  countersFor(rule: Rule): RuleCounters {
    this.rules ??= new Map();
    const known = this.rules.get(rule);
    if (known !== undefined) return known;
    const made: RuleCounters = { ...NO_RULE_COUNTERS };
    this.rules.set(rule, made);
    return made;
  }

  /** The first rule that wins for `key`, group by group, starting behind `after`. */
  findRule(key: FlowKey, after?: Group): RuleMatch | undefined {
    let isBehind = after === undefined;
    for (const group of this.groupList) {
      if (isBehind && group.family === key.family && group.direction === key.direction) {
        const rule = group.find(key);
        if (rule !== undefined) return { group, rule };
      }
      if (group === after) isBehind = true;
    }
    return undefined;
  }

  /** The live flow of `key`'s tuple. An idle one is removed on the way. */
  findFlow(key: FlowKey, nowMs: number): LayerFlow | undefined {
    const flow = this.flows?.get(key.words, key.tupleLength);
    if (flow === undefined || !this.isExpired(flow.pair, nowMs)) return flow;
    this.expire(flow.pair);
    return undefined;
  }

  /**
   * Keeps a flow pair for a stateful match. `before` is the key the layer saw, `after` the one it left behind.
   * A packet that was turned round leaves another direction behind than it came with, so its answer is known by the
   * direction that it came with.
   * @returns undefined when the table is full and nothing in it is idle.
   */
  addFlow(options: {
    readonly chain: readonly ChainStep[];
    readonly before: FlowKey;
    readonly after: FlowKey;
    readonly forward: Transposition;
    readonly reverse: Transposition;
    readonly nat: { readonly pool: NatPool; readonly port: number } | undefined;
    readonly generation: number;
    readonly nowMs: number;
    readonly scratch: FlowKey;
  }): LayerFlowPair | undefined {
    const flows = this.flows;
    if (flows === undefined) return undefined;
    if (flows.size >= LIMITS.flowsPerPortMax * 2 && this.sweep(options.nowMs, SWEEP_SLOTS) === 0)
      return undefined;
    options.after.writeReverseTuple(options.scratch);
    const keys = this.keys.add(options.before, options.scratch);
    const pair = new LayerFlowPair({ ...options, keys });
    this.setFlow(flows, options.scratch, pair.answer);
    // Last: in a hairpin layer a packet from an address and port to the same has the tuple of its own answer.
    this.setFlow(flows, options.before, pair.main);
    return pair;
  }

  /** Loads the whole key of the packet that made `pair`. */
  loadMainKey(pair: LayerFlowPair, into: FlowKey): void {
    this.keys.loadMain(pair.keys, into);
  }

  /** True once the layer had a flow. Before that, no packet has to remember that there was none. */
  get hadFlows(): boolean {
    return this.stamps.isUsed;
  }

  /** What a packet that finds no flow here remembers; undefined where there never was one. */
  missOf(key: FlowKey): LayerMiss | undefined {
    if (!this.hadFlows) return undefined;
    const hash = this.stamps.hashOf(key);
    return { layer: this, hash, stamp: this.stamps.stampAt(hash) };
  }

  /** False when a flow may have come for the tuple of `miss`. */
  isStillMissed(miss: LayerMiss): boolean {
    return this.stamps.stampAt(miss.hash) === miss.stamp;
  }

  /** Forgets both directions and gives the NAT port back. */
  removeFlow(pair: LayerFlowPair): void {
    if (pair.isRemoved) return;
    pair.end();
    this.census.closed(pair);
    const { keys } = this;
    this.deleteIfOwn(pair, keys.mainAt(pair.keys), keys.mainTupleLength(pair.keys));
    this.deleteIfOwn(pair, keys.answerAt(pair.keys), keys.answerLength(pair.keys));
    keys.release(pair.keys);
    pair.nat?.pool.release(pair.nat.port);
  }

  /** How many slots a whole search goes through. */
  get flowSlots(): number {
    return this.flows?.slotCount ?? 0;
  }

  /** Removes idle flows among the next `slots`. @returns how many pairs went. */
  sweep(nowMs: number, slots: number): number {
    let removed = 0;
    for (const flow of this.flows?.sample(slots) ?? []) {
      if (flow.pair.isRemoved || !this.isExpired(flow.pair, nowMs)) continue;
      this.expire(flow.pair);
      removed++;
    }
    if (removed > 0) this.giveKeysBack();
    return removed;
  }

  /** Removes all idle flows, and gives back what they and rules that are gone have taken. */
  forgetIdle(nowMs: number): void {
    for (const flow of Array.from(this.flows?.entries() ?? []))
      if (!flow.pair.isRemoved && this.isExpired(flow.pair, nowMs)) this.expire(flow.pair);
    this.giveKeysBack();
    if (this.rules !== undefined) this.dropCounters(this.rules);
  }

  private giveKeysBack(): void {
    const former = this.keyPool;
    if (former === undefined || !former.isSparse) return;
    const pool = new KeyPool(KEY_WORDS_USUAL, TUPLE_WORDS_USUAL);
    for (const flow of this.flows?.entries() ?? [])
      if (flow.isMain) flow.pair.keys = pool.take(former, flow.pair.keys);
    this.keyPool = pool;
  }

  /** Removes every flow that holds a port of `pool`. */
  removeFlowsOf(pool: NatPool): void {
    for (const flow of Array.from(this.flows?.entries() ?? [])) {
      if (flow.pair.nat?.pool === pool) this.removeFlow(flow.pair);
    }
  }

  /** Removes every flow: what is left of connections is judged by the rules anew. */
  removeFlows(): void {
    for (const flow of Array.from(this.flows?.entries() ?? [])) this.removeFlow(flow.pair);
  }

  /** All live flow pairs, for listings. */
  listFlows(): LayerFlowPair[] {
    return [...(this.flows?.entries() ?? [])].filter((flow) => flow.isMain).map((flow) => flow.pair);
  }

  private isExpired(pair: LayerFlowPair, nowMs: number): boolean {
    return pair.isExpired(nowMs, this.census.ttlMs(pair));
  }

  private expire(pair: LayerFlowPair): void {
    this.census.timedOut(pair);
    this.removeFlow(pair);
  }

  private dropCounters(counters: Map<Rule, RuleCounters>): void {
    for (const rule of counters.keys())
      if (!this.groupList.some((group) => group.has(rule))) counters.delete(rule);
    this.countersMax = Math.max(COUNTERS_MIN, counters.size * 2);
  }

  /** A flow that another one takes the tuple from is gone as a whole. */
  private setFlow(flows: FlowTable<LayerFlow>, key: FlowKey, flow: LayerFlow): void {
    const { words, tupleLength } = key;
    const former = flows.get(words, tupleLength);
    if (former !== undefined && former.pair !== flow.pair) this.removeFlow(former.pair);
    flows.set(words, tupleLength, flow);
    this.stamps.note(words, tupleLength, flows.size);
    this.census.flowsMade = (this.census.flowsMade + 1) | 0;
  }

  /** Another pair may have taken over a key since. */
  private deleteIfOwn(pair: LayerFlowPair, from: number, length: number): void {
    const { words } = this.keys;
    if (this.flows?.get(words, length, from)?.pair === pair) this.flows.delete(words, length, from);
  }
}

const RECORDS_MIN = 16;
const NO_WORDS = new Int32Array(0);
/** The first word of a record: the key's length, its tuple's, the length of the answer's tuple. */
const LENGTH = { mask: 0xff, tupleShift: 8, answerShift: 16 } as const;

/**
 * What the flow pairs of a layer are known by, side by side in one array: the whole key of the packet that made a pair, so
 * that its rule can be looked up again, and the tuple of its answers. An array per pair would cost more than the pair.
 */
class KeyPool {
  /** For those who look a tuple up: it stands at `mainAt`, `answerAt`. */
  words: Int32Array = NO_WORDS;
  private stride: number;
  private records = 0;
  private readonly free: number[] = [];

  /** `keyWords`, `tupleWords`: as long as they are expected to be. */
  constructor(keyWords: number, tupleWords: number) {
    this.stride = 1 + keyWords + tupleWords;
  }

  /** Keeps both. @returns the record's number. */
  add(main: FlowKey, answer: FlowKey): number {
    const record = this.allot(1 + main.length + answer.tupleLength);
    const { words } = this;
    const at = record * this.stride;
    words[at] =
      main.length | (main.tupleLength << LENGTH.tupleShift) | (answer.tupleLength << LENGTH.answerShift);
    for (let i = 0; i < main.length; i++) words[at + 1 + i] = wordAt(main.words, i);
    const from = at + 1 + main.length;
    for (let i = 0; i < answer.tupleLength; i++) words[from + i] = wordAt(answer.words, i);
    return record;
  }

  release(record: number): void {
    this.free.push(record);
  }

  /** Most of its records are free, or all of them. */
  get isSparse(): boolean {
    const used = this.records - this.free.length;
    if (used === 0) return this.records > 0;
    return this.records > RECORDS_MIN && used < this.records * KEYS_USED_MIN;
  }

  /** Keeps what another pool has under `record`. @returns the record's number here. */
  take(other: KeyPool, record: number): number {
    const from = record * other.stride;
    const head = wordAt(other.words, from);
    const length = 1 + (head & LENGTH.mask) + (head >>> LENGTH.answerShift);
    const own = this.allot(length);
    this.words.set(other.words.subarray(from, from + length), own * this.stride);
    return own;
  }

  /** A free record with room for `length` words. */
  private allot(length: number): number {
    if (length > this.stride) this.resize(this.words.length / this.stride, length);
    const record = this.free.pop() ?? this.records++;
    if ((record + 1) * this.stride > this.words.length)
      this.resize(Math.max(RECORDS_MIN, record * 2), this.stride);
    return record;
  }

  loadMain(record: number, into: FlowKey): void {
    into.load(this.words, this.mainAt(record), wordAt(this.words, record * this.stride) & LENGTH.mask);
  }

  mainAt(record: number): number {
    return record * this.stride + 1;
  }

  mainTupleLength(record: number): number {
    return (wordAt(this.words, record * this.stride) >>> LENGTH.tupleShift) & LENGTH.mask;
  }

  answerAt(record: number): number {
    const at = record * this.stride;
    return at + 1 + (wordAt(this.words, at) & LENGTH.mask);
  }

  answerLength(record: number): number {
    return wordAt(this.words, record * this.stride) >>> LENGTH.answerShift;
  }

  private resize(records: number, stride: number): void {
    const former = this.stride;
    const words = new Int32Array(records * stride);
    if (former === stride) words.set(this.words);
    else {
      for (let record = 0; record < this.records; record++)
        words.set(this.words.subarray(record * former, (record + 1) * former), record * stride);
    }
    this.words = words;
    this.stride = stride;
  }
}
