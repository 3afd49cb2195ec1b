/**
 * Finds the winning rule among many, and gives a changed copy of itself for the price of the change.
 *
 * Rules that ask for exactly one protocol, destination and destination port (those of services) lie in buckets by
 * these three; the few others lie in one list. A changed copy shares all buckets that did not change, so ten thousand
 * services are added one after the other without copying ten thousand rules each time.
 */
import { wordAt } from "../base/bytes.ts";
import { bitsOf, familyOf } from "../net/ip.ts";
import type { Condition } from "./condition.ts";
import { ConditionMatcher } from "./condition-matcher.ts";
import type { FlowKey } from "./flow-key.ts";
import type { Rule } from "./rule.ts";

/** A rule, ready to be tried. */
export interface IndexedRule {
  readonly rule: Rule;
  readonly matcher: ConditionMatcher;
  /** The lowest wins; of equals, the lowest sequence. */
  readonly rank: number;
  readonly sequence: number;
  /** Hash of what an exact rule asks for; undefined for the others. */
  readonly hash: number | undefined;
}

/** Few rules are tried faster one after the other. */
const INDEXED_MIN = 8;
const BUCKETS_MIN = 16;
/** Rules per bucket that make the next copy have more buckets. */
const LOAD_MAX = 4;
/** Copying this many references is what one change costs at most, besides its bucket. */
const BUCKETS_MAX = 8_192;

type Bucket = readonly IndexedRule[];
const EMPTY: Bucket = Object.freeze([]);

function hashStart(protocol: number, port: number): number {
  return Math.imul((protocol << 16) ^ port ^ 0x5bd1_e995, 0x9e37_79b1);
}

function hashWord(hash: number, word: number): number {
  return Math.imul(hash ^ (hash >>> 15) ^ word, 0x85eb_ca6b);
}

function hashEnd(hash: number): number {
  return (hash ^ (hash >>> 13)) >>> 0;
}

function addressWords(address: number | bigint): number[] {
  if (typeof address === "number") return [address | 0];
  return [96n, 64n, 32n, 0n].map((shift) => Number((address >> shift) & 0xffff_ffffn) | 0);
}

/** What an exact rule lies under; undefined when the condition leaves one of the three open. */
function exactHash(condition: Condition): number | undefined {
  const { protocols, destination, destinationPorts } = condition;
  const [protocol] = protocols ?? [];
  const [prefix] = destination ?? [];
  const [range] = destinationPorts ?? [];
  if (protocol === undefined || prefix === undefined || range === undefined) return undefined;
  const isExact =
    protocols?.length === 1 &&
    destination?.length === 1 &&
    // A set has more addresses than the one that is listed.
    condition.destinationSets === undefined &&
    destinationPorts?.length === 1 &&
    range.first === range.last &&
    prefix.length === bitsOf(familyOf(prefix.address));
  if (!isExact) return undefined;
  return hashEnd(addressWords(prefix.address).reduce(hashWord, hashStart(protocol, range.first)));
}

/** What a rule for exactly this packet's protocol, destination and port lies under. */
function keyHash(key: FlowKey): number {
  let hash = hashStart(key.protocol, key.destinationPort);
  for (let at = key.family === 4 ? 3 : 6; at < key.outerTupleLength; at++)
    hash = hashWord(hash, wordAt(key.words, at));
  return hashEnd(hash);
}

/** The winner comes first. */
export function compareRules(a: IndexedRule, b: IndexedRule): number {
  return a.rank - b.rank || a.sequence - b.sequence;
}

/** `list` with one more rule. */
export function insertRule(list: Bucket, added: IndexedRule): Bucket {
  const at = list.findIndex((each) => compareRules(added, each) < 0);
  return Object.freeze(list.toSpliced(at < 0 ? list.length : at, 0, added));
}

function bucketCountFor(exactCount: number): number {
  let count = BUCKETS_MIN;
  while (count < BUCKETS_MAX && exactCount > count * LOAD_MAX) count *= 2;
  return count;
}

/** The first of sorted rules that matches. */
export function firstMatch(list: Bucket, key: FlowKey): IndexedRule | undefined {
  for (const each of list) if (each.matcher.matches(key)) return each;
  return undefined;
}

/** The matcher that a condition was compiled to last: equal rules of many ports and nodes share both. */
const KNOWN_MATCHERS = new WeakMap<Condition, ConditionMatcher>();

function matcherOf(condition: Condition, family: 4 | 6): ConditionMatcher {
  const known = KNOWN_MATCHERS.get(condition);
  if (known?.family === family) return known;
  const matcher = new ConditionMatcher(condition, family);
  // What is frozen stays what it is.
  if (Object.isFrozen(condition)) KNOWN_MATCHERS.set(condition, matcher);
  return matcher;
}

/** Prepares a rule for an index. */
export function indexRule(rule: Rule, family: 4 | 6, rank: number, sequence: number): IndexedRule {
  const matcher = matcherOf(rule.condition, family);
  return Object.freeze({ rule, matcher, rank, sequence, hash: exactHash(rule.condition) });
}

/** An immutable set of rules, whatever finds the winner. */
export interface RuleSet {
  readonly size: number;
  /** The rule that wins for `key`. */
  find(key: FlowKey): IndexedRule | undefined;
  /** A copy without `removed`, all of which are here, and with `added`. */
  with(removed: ReadonlySet<Rule>, added: readonly IndexedRule[]): RuleSet;
  /** True when `rule` itself, not an equal one, is here. */
  has(rule: Rule): boolean;
  /** All rules, the winner first. Costs a sort: for listings and traces. */
  list(): IndexedRule[];
}

/** An immutable set of rules by priority. */
export class RuleIndex implements RuleSet {
  readonly size: number;
  /** Exact rules by hash; its length is a power of two, or 0 while there are too few. */
  private readonly buckets: readonly Bucket[];
  /** All other rules, the winner first. */
  private readonly others: Bucket;
  private readonly exactCount: number;

  private constructor(buckets: readonly Bucket[], others: Bucket, exactCount: number) {
    this.buckets = buckets;
    this.others = others;
    this.exactCount = exactCount;
    this.size = exactCount + others.length;
    Object.freeze(this);
  }

  static of(rules: readonly IndexedRule[]): RuleIndex {
    const exact = rules.length < INDEXED_MIN ? [] : rules.filter((each) => each.hash !== undefined);
    const others = exact.length === 0 ? rules : rules.filter((each) => each.hash === undefined);
    const buckets = exact.length === 0 ? [] : distribute(exact);
    return new RuleIndex(Object.freeze(buckets), Object.freeze(others.toSorted(compareRules)), exact.length);
  }

  find(key: FlowKey): IndexedRule | undefined {
    const exact = this.exactCount === 0 ? undefined : firstMatch(this.bucketOf(keyHash(key)), key);
    for (const each of this.others) {
      if (exact !== undefined && compareRules(exact, each) < 0) return exact;
      if (each.matcher.matches(key)) return each;
    }
    return exact;
  }

  with(removed: ReadonlySet<Rule>, added: readonly IndexedRule[]): RuleIndex {
    const isIndexed = this.exactCount > 0;
    const count = this.exactCount + added.length;
    if (!isIndexed || count > this.buckets.length * LOAD_MAX * 2) {
      return RuleIndex.of([...this.list().filter((each) => !removed.has(each.rule)), ...added]);
    }
    const buckets = [...this.buckets];
    let { others, exactCount } = this;
    const edit = (hash: number | undefined, change: (list: Bucket) => Bucket): void => {
      if (hash === undefined) {
        others = change(others);
        return;
      }
      const at = hash & (buckets.length - 1);
      const before = buckets[at] ?? EMPTY;
      const after = change(before);
      exactCount += after.length - before.length;
      buckets[at] = after;
    };
    for (const rule of removed)
      edit(exactHash(rule.condition), (list) => Object.freeze(list.filter((each) => each.rule !== rule)));
    for (const each of added) edit(each.hash, (list) => insertRule(list, each));
    return new RuleIndex(Object.freeze(buckets), others, exactCount);
  }

  has(rule: Rule): boolean {
    const hash = this.exactCount === 0 ? undefined : exactHash(rule.condition);
    const list = hash === undefined ? this.others : this.bucketOf(hash);
    return list.some((each) => each.rule === rule);
  }

  list(): IndexedRule[] {
    return [...this.buckets.flat(), ...this.others].sort(compareRules);
  }

  private bucketOf(hash: number): Bucket {
    return this.buckets[hash & (this.buckets.length - 1)] ?? EMPTY;
  }
}

function distribute(exact: readonly IndexedRule[]): Bucket[] {
  const lists = Array.from({ length: bucketCountFor(exact.length) }, (): IndexedRule[] => []);
  for (const each of exact) lists[(each.hash ?? 0) & (lists.length - 1)]?.push(each);
  return lists.map((list) => (list.length === 0 ? EMPTY : Object.freeze(list.sort(compareRules))));
}
