/**
 * Two raised machines, compared whole under a renaming. Both are walked at the same time, as `fork` walks them, and each
 * value of the one has to become that of the other; objects that may change, and ids, have to match one to one. No part is
 * known here by its name: what is added to a machine is compared from then on.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { SharedMap } from "#core/base/shared-map.ts";
import { Matching, isDrawnMac, withoutIds } from "./drawn-ids.ts";
import { columnsOf, comparedFields, hasOrder, isLeftOut } from "./left-out.ts";
import type { Machine } from "./machine.ts";
import { type Reading, partText, rangeText } from "./part-text.ts";
import { type RuleList, findSwapped, ruleListOf } from "./rule-lists.ts";
import { NOTHING_EXCHANGED, type Renaming } from "./renaming.ts";

/** The first value that differs. */
export interface Difference {
  /** Where in the machine: `node.host.root.routes…`. */
  readonly path: string;
  readonly one: string;
  readonly other: string;
}

const SHOWN_MAX = 60;

function shown(value: unknown): string {
  if (typeof value === "string") return value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value;
  if (typeof value === "function") return value.name;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Map || value instanceof Set) return `a table of ${value.size}`;
  return typeof value === "object" && value !== null ? "a record" : String(value);
}

/** A key or a member, with what belongs to it. */
type Entry = readonly [key: unknown, value?: unknown];

interface Pair {
  readonly one: object;
  readonly other: object;
  readonly path: string;
  /** False for lists whose order says nothing. */
  readonly isOrdered: boolean;
}

interface EntryLists {
  readonly one: readonly Entry[];
  readonly other: readonly Entry[];
  readonly path: string;
  /** Of rules, where order has a meaning between some. */
  readonly rules?: RuleList;
}

function entriesOf(value: object): readonly Entry[] {
  if (value instanceof SharedMap) return [...(value as SharedMap<unknown, object>).entries()];
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)];
  return Array.from(value as Iterable<unknown>, (each): Entry => [each]);
}

/** The rows of a table that an object keeps as columns. */
function rowsOf(holder: object, columns: readonly string[]): readonly Entry[] {
  const lists = columns.map((name) => (holder as Record<string, readonly unknown[]>)[name] ?? []);
  return (lists[0] ?? []).map((_, index): Entry => [lists.map((list) => list[index])]);
}

/** What an entry says, and its key alone. */
interface EntryText {
  readonly key: string;
  readonly whole: string;
}

function placesBy(texts: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [index, text] of texts.entries()) addToList(places, text, index);
  return places;
}

/**
 * For each entry the place of its partner among as many others: who says the same, else who has the same key, else whoever is
 * left. Each has one: whether they are equal is for the comparison to say.
 */
function partnersOf(here: readonly EntryText[], there: readonly EntryText[]): readonly number[] {
  const order: (number | undefined)[] = here.map(() => undefined);
  const left = new Set(there.keys());
  for (const by of ["whole", "key"] as const) {
    const places = placesBy(there.map((each, index) => (left.has(index) ? each[by] : "")));
    for (const [index, each] of here.entries()) {
      if (order[index] !== undefined) continue;
      const place = places.get(each[by])?.find((found) => left.has(found));
      if (place === undefined) continue;
      order[index] = place;
      left.delete(place);
    }
  }
  const rest = [...left].values();
  return order.map((place) => place ?? rest.next().value ?? -1);
}

class Comparison {
  private found: Difference | undefined;
  private readonly objects = new Matching<object>();
  private readonly ids = new Matching<string>();
  private readonly macs = new Matching<number>();
  private work: Pair[] = [];
  /** Tables with entries that cannot be told apart before more ids have their partners. */
  private later: EntryLists[] = [];
  private readonly one: Machine;
  private readonly other: Machine;
  private readonly renaming: Renaming;
  private readonly readings: readonly [one: Reading, other: Reading];

  constructor(one: Machine, other: Machine, renaming: Renaming) {
    this.one = one;
    this.other = other;
    this.renaming = renaming;
    const isKnownMac = (mac: number): boolean => one.macs.has(mac);
    const { ids } = this;
    this.readings = [
      { renaming, isKnownMac, idOf: (id) => ids.partnerOf(id) },
      { renaming: NOTHING_EXCHANGED, isKnownMac, idOf: (id) => (ids.isPartner(id) ? id : undefined) },
    ];
  }

  run(): Difference | undefined {
    this.work.push({ one: this.one.parts, other: this.other.parts, path: "", isOrdered: true });
    while (this.found === undefined) {
      const level = this.work;
      this.work = [];
      for (const pair of level) this.comparePair(pair);
      if (this.work.length > 0) continue;
      const lists = this.later.shift();
      if (lists === undefined) break;
      this.compareUnordered(lists, true);
    }
    return this.found;
  }

  private differ(path: string, one: unknown, other: unknown): void {
    this.found ??= { path, one: shown(one), other: shown(other) };
  }

  /** True for a pair that is looked at no further. */
  private isSettled({ one, other, path }: Pair): boolean {
    const [here, there] = [this.one.outside.get(one), this.other.outside.get(other)];
    if (here !== undefined || there !== undefined) {
      if (this.renaming.ofText(here ?? "") !== there) this.differ(path, here ?? one, there ?? other);
      return true;
    }
    if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) {
      this.differ(path, one, other);
      return true;
    }
    if (isLeftOut(one)) return true;
    // What is equal may be one frozen value here and two there.
    if (Object.isFrozen(one) && Object.isFrozen(other)) return false;
    // Both machines have it: it is neither's own.
    if (one === other) return true;
    const isKnown = this.objects.partnerOf(one) !== undefined;
    if (!this.objects.match(one, other)) this.differ(path, "shared", "shared otherwise");
    return isKnown;
  }

  private comparePair(pair: Pair): void {
    const { one, other, path, isOrdered } = pair;
    if (this.found !== undefined || this.isSettled(pair)) return;
    const rules = ruleListOf(one);
    if (rules !== undefined) {
      this.compareRules(rules, ruleListOf(other), path);
      return;
    }
    const isTable = one instanceof Map || one instanceof Set || one instanceof SharedMap;
    if (isTable || (Array.isArray(one) && !isOrdered))
      this.compareUnordered({ one: entriesOf(one), other: entriesOf(other), path }, false);
    if (one instanceof SharedMap || (Array.isArray(one) && !isOrdered)) return;
    const columns = columnsOf(one);
    if (columns.length > 0)
      this.compareUnordered({ one: rowsOf(one, columns), other: rowsOf(other, columns), path }, false);
    if (ArrayBuffer.isView(one)) this.compareViews(one, other as ArrayBufferView, path);
    else this.compareFields(pair, columns);
  }

  private compareRules(one: RuleList, other: RuleList | undefined, path: string): void {
    if (one.isSound !== other?.isSound)
      this.differ(path, one.isSound ? "in order" : "out of order", "otherwise");
    const entries = (each: RuleList): readonly Entry[] => each.rules.map((rule): Entry => [rule]);
    if (other !== undefined)
      this.compareUnordered({ one: entries(one), other: entries(other), path, rules: one }, false);
  }

  /** `isLast`: entries that still cannot be told apart are taken in their order. */
  private compareUnordered(lists: EntryLists, isLast: boolean): void {
    const { one, other, path, rules } = lists;
    if (one.length !== other.length) {
      this.differ(path, `${one.length} entries`, `${other.length} entries`);
      return;
    }
    const here = one.map((each) => this.textOf(each, 0));
    const there = other.map((each) => this.textOf(each, 1));
    if (!isLast && new Set(there.map(({ whole }) => whole)).size < there.length) {
      this.later.push(lists);
      return;
    }
    const order = partnersOf(here, there);
    for (const [index, [key, value]] of one.entries()) {
      const partner = other[order[index] ?? -1] ?? [undefined];
      const at = `${path}[${typeof key === "object" ? index : shown(key)}]`;
      this.compare(key, partner[0], at);
      this.compare(value, partner[1], at);
    }
    const swapped = rules === undefined ? undefined : findSwapped(rules, order);
    if (swapped !== undefined) this.differ(`${path}[${swapped[1]}]`, `after rule ${swapped[0]}`, "before it");
  }

  private textOf([key, value]: Entry, side: number): EntryText {
    const reading = this.readings[side === 0 ? 0 : 1];
    const text = partText(key, reading);
    return { key: text, whole: `${text}=${partText(value, reading)}` };
  }

  private compareFields({ one, other, path }: Pair, columns: readonly string[]): void {
    const names = comparedFields(one);
    if (names.join() !== comparedFields(other).join()) {
      this.differ(path, `fields ${names.join(", ")}`, `fields ${comparedFields(other).join(", ")}`);
      return;
    }
    const range = rangeText(one, this.renaming);
    if (range !== undefined) {
      const there = rangeText(other, NOTHING_EXCHANGED);
      if (range !== there) this.differ(path, rangeText(one, NOTHING_EXCHANGED), there);
      return;
    }
    for (const name of names) {
      if (columns.includes(name)) continue;
      const at = path === "" ? name : `${path}.${name}`;
      const values = [one, other].map((each) => (each as Record<string, unknown>)[name]);
      this.compare(values[0], values[1], at, hasOrder(one, name));
    }
  }

  private compareViews(one: ArrayBufferView, other: ArrayBufferView, path: string): void {
    const [here, there] = [one, other] as unknown as readonly [ArrayLike<unknown>, ArrayLike<unknown>];
    if (here.length !== there.length) this.differ(`${path}.length`, here.length, there.length);
    for (let index = 0; index < here.length; index++)
      if (!Object.is(here[index], there[index])) this.differ(`${path}[${index}]`, here[index], there[index]);
  }

  private compare(one: unknown, other: unknown, path: string, isOrdered = true): void {
    if (typeof one === "object" && one !== null && typeof other === "object" && other !== null)
      this.work.push({ one, other, path, isOrdered });
    else if (!this.areSame(one, other)) this.differ(path, one, other);
  }

  private areSame(one: unknown, other: unknown): boolean {
    if (typeof one === "function" && typeof other === "function") return one.name === other.name;
    if (typeof one === "string" && typeof other === "string") return this.areSameText(one, other);
    if (typeof one !== "number" && typeof one !== "bigint") return Object.is(one, other);
    const renamed = this.renaming.ofNumber(one);
    if (Object.is(renamed, other)) return true;
    const areDrawn = isDrawnMac(renamed) && isDrawnMac(other);
    if (!areDrawn || this.one.macs.has(renamed) || this.one.macs.has(other)) return false;
    return this.macs.match(renamed, other);
  }

  private areSameText(one: string, other: string): boolean {
    const [here, there] = [withoutIds(one), withoutIds(other)];
    if (here.ids.length !== there.ids.length) return false;
    const renamed = this.renaming.ofText(here.plain);
    if (renamed !== there.plain && renamed !== NOTHING_EXCHANGED.ofText(there.plain)) return false;
    return here.ids.every((id, index) => this.ids.match(id, there.ids[index] ?? ""));
  }
}

/** What differs, the nearest to the roots of the machine first; undefined: they are equal under the renaming. */
export function compareMachines(one: Machine, other: Machine, renaming: Renaming): Difference | undefined {
  return new Comparison(one, other, renaming).run();
}
