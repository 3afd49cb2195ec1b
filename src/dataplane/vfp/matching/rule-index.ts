/**
 * Finds the winning rule among many, and gives a changed copy of itself for the price of the change.
 *
 * Rules lie in tables, one for each shape (`tuple-space.ts`), and there in buckets by what they ask for; the few whose
 * conditions fix nothing lie in one list. A changed copy shares all buckets that did not change, so ten thousand services
 * are added one after the other without copying ten thousand rules each time.
 */
import { ConditionMatcher, PrefixSets, type SetSource } from "./condition-matcher.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { AddressSet } from "./condition.ts";
import type { FlowKey } from "../flow-key.ts";
import type { Rule } from "../rule.ts";
import { type Place, type Shape, hashOfKey, placesOf } from "./tuple-space.ts";

/** A rule, ready to be tried. */
export interface IndexedRule {
  readonly rule: Rule;
  /** Compiled when a packet is tried with it first: of thousands of rules on thousands of ports, most never see one. */
  matcher: ConditionMatcher | undefined;
  /** The lowest wins; of equals, the lowest sequence. */
  readonly rank: number;
  readonly sequence: number;
}

/** Few rules are tried faster one after the other. */
const INDEXED_MIN = 8;
const BUCKETS_MIN = 16;
/** Rules per bucket that make the next copy have more buckets. */
const LOAD_MAX = 4;
/** Copying this many references is what one change costs at most, besides its bucket. */
const BUCKETS_MAX = 8_192;
/** Rules of further shapes are tried one by one: a packet asks once per table. */
const TABLES_MAX = 64;

type Bucket = readonly IndexedRule[];
const EMPTY: Bucket = Object.freeze([]);

/** The winner comes first. */
export function compareRules(a: IndexedRule, b: IndexedRule): number {
  return a.rank - b.rank || a.sequence - b.sequence;
}

/** Where `wanted` stands in a sorted list, or would stand. */
function placeIn(list: Bucket, wanted: IndexedRule): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const each = list[middle];
    if (each !== undefined && compareRules(each, wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A changed copy. Spread: V8 copies a frozen array that way at once, and with `slice` or `toSpliced` element by element
 * (10 000 of them in 10 and in 500 µs).
 */
function changed(list: Bucket, change: (copy: IndexedRule[]) => void): Bucket {
  const copy = [...list];
  change(copy);
  return Object.freeze(copy);
}

/** Rules in one bucket from which on it is worth while to know where each stands: back ends have thousands that ask for the same. */
const PILE_MIN = 64;

/**
 * What an index and its changed copies work out once and keep in common. It makes no difference to what they find, and only
 * frozen values hold it, so forks of a world share it.
 */
export class IndexMemory implements SetSource {
  /** Long lists of prefixes as sets: those of the switch, if one of its ports has the rules. */
  private sets: PrefixSets | undefined;
  /** As what a rule was put on a pile last; in a former copy of the index it may stand elsewhere. */
  private piled: WeakMap<Rule, IndexedRule> | undefined;

  /** From now on sets come from `sets`, unless they come from elsewhere already. */
  takeSets(sets: PrefixSets): void {
    this.sets ??= sets;
  }

  setOf(prefixes: readonly Prefix[]): AddressSet {
    return (this.sets ??= new PrefixSets()).get(prefixes);
  }

  notePiled(indexed: IndexedRule): void {
    (this.piled ??= new WeakMap()).set(indexed.rule, indexed);
  }

  lastPiled(rule: Rule): IndexedRule | undefined {
    return this.piled?.get(rule);
  }
}

/** `list` with one more rule. */
export function insertRule(list: Bucket, added: IndexedRule, memory: IndexMemory): Bucket {
  if (list.length >= PILE_MIN) memory.notePiled(added);
  return changed(list, (copy) => copy.splice(placeIn(list, added), 0, added));
}

function positionOf(list: Bucket, rule: Rule, memory: IndexMemory): number {
  const last = list.length > PILE_MIN ? memory.lastPiled(rule) : undefined;
  const expected = last === undefined ? 0 : placeIn(list, last);
  if (list[expected]?.rule === rule) return expected;
  for (let at = 0; at < list.length; at++) if (list[at]?.rule === rule) return at;
  return -1;
}

/** `list` without a rule; `list` itself when it is not there. */
export function removeRule(list: Bucket, rule: Rule, memory: IndexMemory): Bucket {
  const at = positionOf(list, rule, memory);
  return at < 0 ? list : changed(list, (copy) => copy.splice(at, 1));
}

function bucketCountFor(ruleCount: number): number {
  let count = BUCKETS_MIN;
  while (count < BUCKETS_MAX && ruleCount > count * LOAD_MAX) count *= 2;
  return count;
}

/** What tries a packet of `family` with the rule. */
export function matcherOf(indexed: IndexedRule, family: 4 | 6, memory: IndexMemory): ConditionMatcher {
  return (indexed.matcher ??= new ConditionMatcher(indexed.rule.condition, family, memory));
}

/** Prepares a rule for an index. */
export function indexRule(rule: Rule, rank: number, sequence: number): IndexedRule {
  return { rule, matcher: undefined, rank, sequence };
}

/** An immutable set of rules, whatever finds the winner. */
export interface RuleSet {
  readonly size: number;
  readonly memory: IndexMemory;
  /** The rule that wins for `key`. */
  find(key: FlowKey): IndexedRule | undefined;
  /** A copy without `removed`, all of which are here, and with `added`. */
  with(removed: ReadonlySet<Rule>, added: readonly IndexedRule[]): RuleSet;
  /** True when `rule` itself, not an equal one, is here. */
  has(rule: Rule): boolean;
  /** All rules, the winner first. Costs a sort: for listings and traces. */
  list(): IndexedRule[];
  /** True when each rule lies where packets look for it, in its order: for whoever doubts it. Costs a look at all. */
  isSound(): boolean;
}

/** The winner comes first, and nothing else than rules stands in the list. */
export function isSorted(list: Bucket): boolean {
  return list.every((each, index) => {
    const before = list[index - 1];
    return each !== undefined && (before === undefined || compareRules(before, each) <= 0);
  });
}

/** The rules of one shape, by what they ask for. Immutable; its number of buckets is a power of two. */
class ShapeTable {
  readonly shape: Shape;
  /** No rule here has a lower rank; after a removal, perhaps none this low. */
  readonly lowestRank: number;
  readonly buckets: readonly Bucket[];
  /** A rule counts in each bucket that it lies in. */
  readonly count: number;

  constructor(shape: Shape, buckets: readonly Bucket[], count: number, lowestRank: number) {
    this.shape = shape;
    this.buckets = buckets;
    this.count = count;
    this.lowestRank = lowestRank;
    Object.freeze(this);
  }

  bucketOf(hash: number): Bucket {
    return this.buckets[hash & (this.buckets.length - 1)] ?? EMPTY;
  }

  get isCrowded(): boolean {
    return this.count > this.buckets.length * LOAD_MAX * 2 && this.buckets.length < BUCKETS_MAX;
  }
}

/** One rule in one bucket. */
interface Placed {
  readonly hash: number;
  readonly indexed: IndexedRule;
}

function makeTable(shape: Shape, placed: readonly Placed[], memory: IndexMemory): ShapeTable {
  const lists = Array.from({ length: bucketCountFor(placed.length) }, (): IndexedRule[] => []);
  let lowestRank = Number.POSITIVE_INFINITY;
  for (const { hash, indexed } of placed) {
    lists[hash & (lists.length - 1)]?.push(indexed);
    lowestRank = Math.min(lowestRank, indexed.rank);
  }
  for (const list of lists) if (list.length > PILE_MIN) for (const each of list) memory.notePiled(each);
  const buckets = lists.map((list) => (list.length === 0 ? EMPTY : Object.freeze(list.sort(compareRules))));
  return new ShapeTable(shape, Object.freeze(buckets), placed.length, lowestRank);
}

/** What one change does to a table. */
class TableEdit {
  private readonly table: ShapeTable;
  private readonly memory: IndexMemory;
  private readonly buckets: Bucket[];
  private count: number;
  private lowestRank: number;

  constructor(table: ShapeTable, memory: IndexMemory) {
    this.table = table;
    this.memory = memory;
    this.buckets = [...table.buckets];
    this.count = table.count;
    this.lowestRank = table.lowestRank;
  }

  /** @returns false when the rule is not in that bucket. */
  remove(hash: number, rule: Rule): boolean {
    const before = this.count;
    this.change(hash, (list) => removeRule(list, rule, this.memory));
    return this.count < before;
  }

  add(hash: number, indexed: IndexedRule): void {
    this.lowestRank = Math.min(this.lowestRank, indexed.rank);
    this.change(hash, (list) => insertRule(list, indexed, this.memory));
  }

  finish(): ShapeTable {
    return new ShapeTable(this.table.shape, Object.freeze(this.buckets), this.count, this.lowestRank);
  }

  private change(hash: number, edit: (list: Bucket) => Bucket): void {
    const at = hash & (this.buckets.length - 1);
    const before = this.buckets[at] ?? EMPTY;
    const after = edit(before);
    this.count += after.length - before.length;
    this.buckets[at] = after;
  }
}

const NO_BUCKETS: readonly Bucket[] = Object.freeze(Array.from({ length: BUCKETS_MIN }, () => EMPTY));

/** What one change does to all tables. */
class TableEdits {
  private readonly tables: Map<Shape, ShapeTable>;
  private readonly edits = new Map<Shape, TableEdit>();
  private readonly memory: IndexMemory;

  constructor(tables: readonly ShapeTable[], memory: IndexMemory) {
    this.memory = memory;
    this.tables = new Map(tables.map((table) => [table.shape, table]));
  }

  /** True when every shape has a table, or may get one. */
  hasRoomFor(places: readonly Place[]): boolean {
    const added = new Set(places.map(({ shape }) => shape).filter((shape) => !this.tables.has(shape)));
    return this.tables.size + added.size <= TABLES_MAX;
  }

  of(shape: Shape): TableEdit {
    const known = this.edits.get(shape);
    if (known !== undefined) return known;
    const table = this.tables.get(shape) ?? new ShapeTable(shape, NO_BUCKETS, 0, Number.POSITIVE_INFINITY);
    const edit = new TableEdit(table, this.memory);
    this.tables.set(shape, table);
    this.edits.set(shape, edit);
    return edit;
  }

  finish(): readonly ShapeTable[] {
    for (const [shape, edit] of this.edits) this.tables.set(shape, edit.finish());
    return byLowestRank(this.tables.values());
  }
}

function byLowestRank(tables: Iterable<ShapeTable>): readonly ShapeTable[] {
  return Object.freeze(
    [...tables].filter(({ count }) => count > 0).sort((a, b) => a.lowestRank - b.lowestRank),
  );
}

interface RuleIndexParts {
  readonly size: number;
  readonly memory: IndexMemory;
  readonly tables: readonly ShapeTable[];
  readonly others: Bucket;
  readonly family: 4 | 6;
}

/** An immutable set of rules by priority. */
export class RuleIndex implements RuleSet {
  readonly size: number;
  readonly memory: IndexMemory;
  /** Those that may hold the winner come first. */
  private readonly tables: readonly ShapeTable[];
  /** All other rules, the winner first. */
  private readonly others: Bucket;
  readonly family: 4 | 6;

  private constructor(parts: RuleIndexParts) {
    this.size = parts.size;
    this.memory = parts.memory;
    this.tables = parts.tables;
    this.others = parts.others;
    this.family = parts.family;
    Object.freeze(this);
  }

  static of(
    rules: readonly IndexedRule[],
    family: 4 | 6,
    memory: IndexMemory = new IndexMemory(),
  ): RuleIndex {
    const byShape = new Map<Shape, Placed[]>();
    const others: IndexedRule[] = [];
    for (const indexed of rules) {
      const places = rules.length < INDEXED_MIN ? [] : placesOf(indexed.rule.condition, family);
      const missing = new Set(places.map(({ shape }) => shape).filter((shape) => !byShape.has(shape)));
      if (places.length === 0 || byShape.size + missing.size > TABLES_MAX) {
        others.push(indexed);
        continue;
      }
      for (const { shape, hash } of places) {
        const placed = byShape.get(shape);
        if (placed === undefined) byShape.set(shape, [{ hash, indexed }]);
        else placed.push({ hash, indexed });
      }
    }
    const tables = byLowestRank([...byShape].map(([shape, placed]) => makeTable(shape, placed, memory)));
    return new RuleIndex({
      size: rules.length,
      memory,
      tables,
      others: Object.freeze(others.sort(compareRules)),
      family,
    });
  }

  find(key: FlowKey): IndexedRule | undefined {
    let best: IndexedRule | undefined;
    for (const table of this.tables) {
      if (best !== undefined && table.lowestRank > best.rank) break;
      best = this.better(best, table.bucketOf(hashOfKey(table.shape, key)), key);
    }
    return this.better(best, this.others, key);
  }

  /** The first of sorted rules that matches, if it comes before `best`. */
  private better(best: IndexedRule | undefined, list: Bucket, key: FlowKey): IndexedRule | undefined {
    const { family, memory } = this;
    for (const each of list) {
      if (best !== undefined && compareRules(best, each) < 0) return best;
      if (matcherOf(each, family, memory).matches(key)) return each;
    }
    return best;
  }

  with(removed: ReadonlySet<Rule>, added: readonly IndexedRule[]): RuleIndex {
    const size = this.size - removed.size + added.length;
    // What comes of an empty group, which many worlds may begin with, remembers for itself.
    const memory = this.size === 0 ? new IndexMemory() : this.memory;
    if (this.tables.length === 0) {
      const rules = [...this.others.filter((each) => !removed.has(each.rule)), ...added];
      return RuleIndex.of(rules, this.family, memory);
    }
    const edits = new TableEdits(this.tables, memory);
    let { others } = this;
    const goneFromOthers = new Set<Rule>();
    for (const rule of removed) if (!this.removeFrom(edits, rule)) goneFromOthers.add(rule);
    if (goneFromOthers.size > 0)
      others = Object.freeze(others.filter((each) => !goneFromOthers.has(each.rule)));
    for (const each of added) {
      const places = placesOf(each.rule.condition, this.family);
      if (places.length === 0 || !edits.hasRoomFor(places)) others = insertRule(others, each, memory);
      else for (const { shape, hash } of places) edits.of(shape).add(hash, each);
    }
    const { family } = this;
    const next = new RuleIndex({ size, memory, tables: edits.finish(), others, family });
    const isCrowded = next.tables.some((table) => table.isCrowded);
    return isCrowded ? RuleIndex.of(next.list(), family, memory) : next;
  }

  has(rule: Rule): boolean {
    return this.others.some((each) => each.rule === rule) || this.placesHere(rule).length > 0;
  }

  list(): IndexedRule[] {
    const all = new Set(this.others);
    for (const { buckets } of this.tables)
      for (const bucket of buckets) for (const each of bucket) all.add(each);
    return [...all].sort(compareRules);
  }

  isSound(): boolean {
    const all = this.list();
    const others = new Set(this.others);
    let placed = 0;
    for (const each of all) {
      if (others.has(each)) continue;
      const places = placesOf(each.rule.condition, this.family);
      placed += places.length;
      for (const { shape, hash } of places) {
        const table = this.tables.find((found) => found.shape === shape);
        if (table === undefined || table.lowestRank > each.rank || !table.bucketOf(hash).includes(each))
          return false;
      }
    }
    const lists = this.tables.flatMap(({ buckets }) => buckets);
    const ranks = this.tables.map(({ lowestRank }) => lowestRank);
    return (
      all.length === this.size &&
      placed === lists.reduce((sum, { length }) => sum + length, 0) &&
      [this.others, ...lists].every((list) => isSorted(list)) &&
      ranks.every((rank, index) => index === 0 || rank >= (ranks[index - 1] ?? rank))
    );
  }

  /** @returns false when the rule does not lie in the tables. */
  private removeFrom(edits: TableEdits, rule: Rule): boolean {
    const places = placesOf(rule.condition, this.family);
    const areHere = places.length > 0 && this.tables.some(({ shape }) => shape === places[0]?.shape);
    if (!areHere) return false;
    const removed = places.filter(({ shape, hash }) => edits.of(shape).remove(hash, rule));
    return removed.length > 0;
  }

  /** Where `rule` lies in the tables; none: it does not. */
  private placesHere(rule: Rule): readonly Place[] {
    if (this.tables.length === 0) return [];
    const places = placesOf(rule.condition, this.family);
    const [first] = places;
    const table = first && this.tables.find(({ shape }) => shape === first.shape);
    const isHere =
      table !== undefined && positionOf(table.bucketOf(first?.hash ?? 0), rule, this.memory) >= 0;
    return isHere ? places : [];
  }
}
