/**
 * Groups, compiled. A group is immutable: ports share it, and each keeps its own counters.
 * What wins: the lowest priority number, or the longest destination prefix; among equals the first in the list
 * (dataplane.md §1.4, §1.5; the order of equals is the compiler's choice).
 */
import { assert } from "../base/assert.ts";
import { type Prefix, prefixFamily } from "../net/prefix.ts";
import { ConditionMatcher, type MissReason } from "./condition-matcher.ts";
import type { FlowKey } from "./flow-key.ts";
import type { Direction, GroupDefinition, MatchType, Rule } from "./rule.ts";

/** A rule that almost matched. */
export interface NearMiss {
  readonly rule: Rule;
  readonly reason: Exclude<MissReason, "other">;
}

/** An immutable list of rules for one direction and family. Made by `createGroup`. */
export class Group implements GroupDefinition {
  readonly name: string;
  readonly direction: Direction;
  readonly family: 4 | 6;
  readonly priority: number;
  readonly match: MatchType;
  /** In the order in which they are tried. */
  readonly rules: readonly Rule[];
  /** True when a rule takes ports of a NAT pool. */
  readonly allocatesPorts: boolean;
  private readonly matchers: readonly ConditionMatcher[];

  constructor(definition: GroupDefinition) {
    this.name = definition.name;
    this.direction = definition.direction;
    this.family = definition.family;
    this.priority = definition.priority;
    this.match = definition.match;
    this.rules = Object.freeze(orderRules(definition));
    this.allocatesPorts = this.rules.some((rule) => rule.action.type === "dynnat");
    for (const { action, isStateful, isTerminating } of this.rules) {
      assert(action.type !== "dynnat" || isStateful, "a dynnat rule is stateful: its flow holds the port");
      // A flow is found by the tuple that the layer got: nothing may match behind a rule that changed it.
      assert(
        (action.type !== "dynnat" && action.type !== "nat") || isTerminating,
        "a NAT rule ends its layer",
      );
    }
    this.matchers = Object.freeze(
      this.rules.map((rule) => new ConditionMatcher(rule.condition, definition.family)),
    );
    Object.freeze(this);
  }

  /** The index of the winning rule; -1 when none matches. */
  find(key: FlowKey): number {
    for (let index = 0; index < this.matchers.length; index++) {
      if (this.matchers[index]?.matches(key) === true) return index;
    }
    return -1;
  }

  /** The first rule that `key` misses for one explainable reason. For traces. */
  findNearMiss(key: FlowKey): NearMiss | undefined {
    for (const [index, rule] of this.rules.entries()) {
      if (rule.missCodes === undefined) continue;
      const reason = this.matchers[index]?.missReason(key) ?? "other";
      if (reason !== "other" && rule.missCodes[reason] !== undefined) return { rule, reason };
    }
    return undefined;
  }
}

function onlyDestination(rule: Rule): Prefix {
  const [prefix, ...more] = rule.condition.destination ?? [];
  assert(prefix !== undefined && more.length === 0, "an LPM rule has exactly one destination prefix");
  return prefix;
}

/** Sorts rules so that the first match wins. Sorting is stable: equals keep the order of the list. */
function orderRules(definition: GroupDefinition): Rule[] {
  if (definition.match === "priority") return [...definition.rules].sort((a, b) => a.priority - b.priority);
  for (const rule of definition.rules) {
    assert(prefixFamily(onlyDestination(rule)) === definition.family, "an LPM rule has its group's family");
  }
  return [...definition.rules].sort((a, b) => onlyDestination(b).length - onlyDestination(a).length);
}

/** Compiles a group. The result is frozen; equal content should be compiled once and shared. */
export function createGroup(definition: GroupDefinition): Group {
  return new Group(definition);
}
