/**
 * Rules as they work, in place of how they are kept: an index puts them where the hash of an address says, which is another
 * place on each node. What it finds follows from the rules, their ranks and, where two of one rank can match one packet, their
 * order; and from the index being in order, which is asked of it.
 */
import { prefixesOverlap, type Prefix } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import { ConditionMatcher } from "#dataplane/vfp/matching/condition-matcher.ts";
import { PrefixIndex, onlyDestination } from "#dataplane/vfp/matching/prefix-index.ts";
import { type IndexedRule, RuleIndex } from "#dataplane/vfp/matching/rule-index.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { partText } from "./part-text.ts";
import { NOTHING_EXCHANGED } from "./renaming.ts";

/** A rule with what decides when it wins. */
export interface RankedRule {
  readonly rule: Rule;
  readonly rank: number;
  /** False where what it was compiled to is not what its condition comes to. */
  readonly isCompiledSo: boolean;
}

export interface RuleList {
  readonly isSound: boolean;
  /** The winner first. */
  readonly rules: readonly RankedRule[];
  /** True when one packet can match both. */
  readonly overlap: (one: Rule, other: Rule) => boolean;
}

function areApart<T>(
  one: readonly T[] | undefined,
  other: readonly T[] | undefined,
  meet: (a: T, b: T) => boolean,
): boolean {
  if (one === undefined || other === undefined) return false;
  return !one.some((a) => other.some((b) => meet(a, b)));
}

const portsMeet = (a: PortRange, b: PortRange): boolean => a.first <= b.last && b.first <= a.last;
const areEqual = (a: unknown, b: unknown): boolean => a === b;

function destinationsOf({ destination, destinationSets }: Condition): readonly Prefix[] | undefined {
  return destinationSets === undefined ? destination : undefined;
}

function canBothMatch({ condition: one }: Rule, { condition: other }: Rule): boolean {
  const areDisjoint =
    areApart(one.protocols, other.protocols, areEqual) ||
    areApart(destinationsOf(one), destinationsOf(other), prefixesOverlap) ||
    areApart(one.destinationPorts, other.destinationPorts, portsMeet) ||
    (one.sourceSets === undefined &&
      other.sourceSets === undefined &&
      areApart(one.source, other.source, prefixesOverlap));
  return !areDisjoint;
}

/** In a group of longest prefixes the longer one wins, and equal ones by their order. */
function havePrefixInCommon(one: Rule, other: Rule): boolean {
  const [a, b] = [onlyDestination(one), onlyDestination(other)];
  return a.address === b.address && a.length === b.length;
}

const AS_IT_IS = { renaming: NOTHING_EXCHANGED, idOf: (id: string) => id, isKnownMac: () => true };
/** All of a compiled condition. */
const MATCHER_DEPTH = 8;

function rankedOf({ rule, matcher, rank }: IndexedRule, family: 4 | 6): RankedRule {
  const textOf = (each: ConditionMatcher): string => partText(each, AS_IT_IS, MATCHER_DEPTH);
  const isCompiledSo =
    matcher === undefined || textOf(matcher) === textOf(new ConditionMatcher(rule.condition, family));
  return { rule, rank, isCompiledSo };
}

/** undefined for anything that is no index of rules. */
export function ruleListOf(value: object): RuleList | undefined {
  if (!(value instanceof RuleIndex || value instanceof PrefixIndex)) return undefined;
  const overlap = value instanceof PrefixIndex ? havePrefixInCommon : canBothMatch;
  const rules = value.list().map((each) => rankedOf(each, value.family));
  return { isSound: value.isSound(), rules, overlap };
}

/** Two rules of one rank that stand the other way round there, though one packet can match both. `places`: there, by place here. */
export function findSwapped(
  { rules, overlap }: RuleList,
  places: readonly number[],
): readonly [first: number, second: number] | undefined {
  let highest = -1;
  for (const [index, place] of places.entries()) {
    if (place > highest) {
      highest = place;
      continue;
    }
    for (let before = 0; before < index; before++) {
      const [one, other] = [rules[before], rules[index]];
      if ((places[before] ?? 0) < place || one === undefined || other === undefined) continue;
      if (one.rank !== other.rank || overlap(one.rule, other.rule)) return [before, index];
    }
  }
  return undefined;
}
