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

/** Finds for each entry here the place of its partner there, of as many. */
class Partners {
  private readonly order: (number | undefined)[];
  private readonly left: Set<number>;

  constructor(count: number) {
    this.order = Array.from({ length: count });
    this.left = new Set(this.order.keys());
  }

  /** Places here that have no partner yet. */
  get missing(): readonly number[] {
    return [...this.order.keys()].filter((index) => this.order[index] === undefined);
  }

  get free(): readonly number[] {
    return [...this.left];
  }

  /** Those who say the same find each other; `once`: where nobody else says it. Texts by place, of who has no partner. */
  match(here: ReadonlyMap<number, string>, there: ReadonlyMap<number, string>, once: boolean): void {
    const [askers, places] = [new Map<string, number[]>(), new Map<string, number[]>()];
    for (const [place, text] of here) addToList(askers, text, place);
    for (const [place, text] of there) addToList(places, text, place);
    for (const [text, asking] of askers) {
      const found = places.get(text) ?? [];
      if (once && (asking.length > 1 || found.length > 1)) continue;
      for (const [index, place] of asking.entries()) {
        const partner = found[index];
        if (partner === undefined) continue;
        this.order[place] = partner;
        this.left.delete(partner);
      }
    }
  }

  /** Whoever is left gets whoever is left: whether they are equal is for the comparison to say. */
  finish(): readonly number[] {
    const rest = [...this.left].values();
    return this.order.map((place) => place ?? rest.next().value ?? -1);
  }
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
    const partners = new Partners(one.length);
    // Most keys are an entry's own under the renaming; the rest of an entry tells the others apart.
    for (const part of ["key", "whole"] as const) {
      const here = this.textsOf(one, partners.missing, part, 0);
      const there = this.textsOf(other, partners.free, part, 1);
      if (part === "whole" && !isLast && new Set(there.values()).size < there.size) {
        this.later.push(lists);
        return;
      }
      partners.match(here, there, part === "key");
    }
    partners.match(
      this.textsOf(one, partners.missing, "key", 0),
      this.textsOf(other, partners.free, "key", 1),
      false,
    );
    const order = partners.finish();
    for (const [index, [key, value]] of one.entries()) {
      const partner = other[order[index] ?? -1] ?? [undefined];
      const at = `${path}[${typeof key === "object" ? index : shown(key)}]`;
      this.compare(key, partner[0], at);
      this.compare(value, partner[1], at);
    }
    const swapped = rules === undefined ? undefined : findSwapped(rules, order);
    if (swapped !== undefined) this.differ(`${path}[${swapped[1]}]`, `after rule ${swapped[0]}`, "before it");
  }

  private textsOf(
    entries: readonly Entry[],
    places: readonly number[],
    part: "key" | "whole",
    side: 0 | 1,
  ): ReadonlyMap<number, string> {
    const reading = this.readings[side];
    return new Map(
      places.map((place) => {
        const entry = entries[place] ?? [undefined];
        return [place, partText(part === "key" ? entry[0] : entry, reading)] as const;
      }),
    );
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
