/**
 * Finds the rule with the longest destination prefix among thousands: rules lie in buckets by length and prefix, and a
 * packet asks once per length that occurs. A changed copy shares all buckets that did not change.
 */
import { wordAt } from "#core/base/bytes.ts";
import { assert } from "#core/base/assert.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { FlowKey } from "../flow-key.ts";
import type { Rule } from "../rule.ts";
import {
  IndexMemory,
  type IndexedRule,
  type RuleSet,
  compareRules,
  insertRule,
  isSorted,
  matcherOf,
  removeRule,
} from "./rule-index.ts";
import { ipWords } from "../actions/transposition.ts";

const BUCKETS_MIN = 8;
const BUCKETS_MAX = 8_192;
/** Rules per bucket that make the next copy have more buckets. */
const LOAD_MAX = 4;

type Bucket = readonly IndexedRule[];
const EMPTY: Bucket = Object.freeze([]);

/** The only destination of a rule in a group of longest prefixes. */
export function onlyDestination(rule: Rule): Prefix {
  const [prefix, ...more] = rule.condition.destination ?? [];
  assert(prefix !== undefined && more.length === 0, "an LPM rule has exactly one destination prefix");
  return prefix;
}

/** Hash of the first `length` bits of the address in `words` from `at` on. */
function hashPrefix(words: Int32Array, at: number, length: number): number {
  let hash = Math.imul(length + 1, 0x9e37_79b1);
  for (let bits = length, i = at; bits > 0; bits -= 32, i++) {
    const word = bits >= 32 ? wordAt(words, i) : wordAt(words, i) & (-1 << (32 - bits));
    hash = Math.imul(hash ^ (hash >>> 15) ^ word, 0x85eb_ca6b);
  }
  return (hash ^ (hash >>> 13)) >>> 0;
}

function bucketOfPrefix({ address, length }: Prefix): number {
  return hashPrefix(Int32Array.from(ipWords(address)), 0, length);
}

function bucketOfRule(rule: Rule): number {
  return bucketOfPrefix(onlyDestination(rule));
}

interface PrefixIndexParts {
  readonly size: number;
  readonly memory: IndexMemory;
  readonly buckets: readonly Bucket[];
  readonly lengths: readonly (readonly [length: number, count: number])[];
  readonly family: 4 | 6;
}

/** An immutable set of rules by longest prefix. */
export class PrefixIndex implements RuleSet {
  readonly size: number;
  readonly memory: IndexMemory;
  private readonly buckets: readonly Bucket[];
  /** How many rules have each prefix length, the longest first. */
  private readonly lengths: readonly (readonly [length: number, count: number])[];
  readonly family: 4 | 6;

  private constructor(parts: PrefixIndexParts) {
    this.size = parts.size;
    this.memory = parts.memory;
    this.buckets = parts.buckets;
    this.lengths = parts.lengths;
    this.family = parts.family;
    Object.freeze(this);
  }

  static of(
    rules: readonly IndexedRule[],
    family: 4 | 6,
    memory: IndexMemory = new IndexMemory(),
  ): PrefixIndex {
    let count = BUCKETS_MIN;
    while (count < BUCKETS_MAX && rules.length > count * LOAD_MAX) count *= 2;
    const lists = Array.from({ length: count }, (): IndexedRule[] => []);
    const lengths = new Map<number, number>();
    for (const each of rules) {
      lists[bucketOfRule(each.rule) & (count - 1)]?.push(each);
      addLength(lengths, each.rule, 1);
    }
    const buckets = lists.map((list) => (list.length === 0 ? EMPTY : Object.freeze(list.sort(compareRules))));
    return new PrefixIndex({
      size: rules.length,
      memory,
      buckets: Object.freeze(buckets),
      lengths: sortLengths(lengths),
      family,
    });
  }

  find(key: FlowKey): IndexedRule | undefined {
    const at = key.family === 4 ? 3 : 6;
    for (const [length] of this.lengths) {
      const bucket = this.buckets[hashPrefix(key.words, at, length) & (this.buckets.length - 1)] ?? EMPTY;
      // Others in the bucket have shorter prefixes, which come later, or do not match.
      const found = this.firstMatch(bucket, key);
      if (found !== undefined && onlyDestination(found.rule).length === length) return found;
    }
    return undefined;
  }

  /** The first of sorted rules that matches. */
  private firstMatch(list: Bucket, key: FlowKey): IndexedRule | undefined {
    const { family, memory } = this;
    for (const each of list) if (matcherOf(each, family, memory).matches(key)) return each;
    return undefined;
  }

  with(removed: ReadonlySet<Rule>, added: readonly IndexedRule[]): PrefixIndex {
    const { family } = this;
    const memory = this.size === 0 ? new IndexMemory() : this.memory;
    const size = this.size - removed.size + added.length;
    if (size > this.buckets.length * LOAD_MAX * 2 && this.buckets.length < BUCKETS_MAX) {
      const rules = [...this.list().filter((each) => !removed.has(each.rule)), ...added];
      return PrefixIndex.of(rules, family, memory);
    }
    const buckets = [...this.buckets];
    const lengths = new Map(this.lengths);
    const edit = (rule: Rule, change: (list: Bucket) => Bucket): void => {
      const at = bucketOfRule(rule) & (buckets.length - 1);
      buckets[at] = change(buckets[at] ?? EMPTY);
    };
    for (const rule of removed) {
      edit(rule, (list) => removeRule(list, rule, memory));
      addLength(lengths, rule, -1);
    }
    for (const each of added) {
      edit(each.rule, (list) => insertRule(list, each, memory));
      addLength(lengths, each.rule, 1);
    }
    return new PrefixIndex({
      size,
      memory,
      buckets: Object.freeze(buckets),
      lengths: sortLengths(lengths),
      family,
    });
  }

  has(rule: Rule): boolean {
    // Rules of groups of another kind may be asked for, too.
    if (rule.condition.destination?.length !== 1) return false;
    const bucket = this.buckets[bucketOfRule(rule) & (this.buckets.length - 1)] ?? EMPTY;
    return bucket.some((each) => each.rule === rule);
  }

  /** True when a rule asks for exactly this prefix. */
  hasPrefix(prefix: Prefix): boolean {
    const bucket = this.buckets[bucketOfPrefix(prefix) & (this.buckets.length - 1)] ?? EMPTY;
    return bucket.some(({ rule }) => {
      const { address, length } = onlyDestination(rule);
      return address === prefix.address && length === prefix.length;
    });
  }

  list(): IndexedRule[] {
    return this.buckets.flat().sort(compareRules);
  }

  isSound(): boolean {
    const lengths = new Map<number, number>();
    const arePlaced = this.buckets.every((bucket, at) =>
      bucket.every(({ rule }) => {
        addLength(lengths, rule, 1);
        return (bucketOfRule(rule) & (this.buckets.length - 1)) === at;
      }),
    );
    const counted = sortLengths(lengths);
    return (
      arePlaced &&
      this.buckets.every((bucket) => isSorted(bucket)) &&
      this.buckets.flat().length === this.size &&
      counted.length === this.lengths.length &&
      counted.every(
        ([length, count], at) => this.lengths[at]?.[0] === length && this.lengths[at]?.[1] === count,
      )
    );
  }
}

function addLength(lengths: Map<number, number>, rule: Rule, change: number): void {
  const { length } = onlyDestination(rule);
  const count = (lengths.get(length) ?? 0) + change;
  if (count === 0) lengths.delete(length);
  else lengths.set(length, count);
}

function sortLengths(
  lengths: ReadonlyMap<number, number>,
): readonly (readonly [length: number, count: number])[] {
  return Object.freeze([...lengths].toSorted((a, b) => b[0] - a[0]));
}
