/**
 * Groups, compiled. A group is immutable: ports share it, and each keeps its own counters.
 * What wins: the lowest priority number, or the longest destination prefix; among equals the first in the list
 * (dataplane.md §1.4, §1.5; the order of equals is the compiler's choice).
 */
import { assert } from "#core/base/assert.ts";
import { type Prefix, prefixFamily } from "#core/net/ip.ts";
import type { Condition } from "./matching/condition.ts";
import { ConditionMatcher, type MissReason, type PrefixSets } from "./matching/condition-matcher.ts";
import type { FlowKey } from "./flow-key.ts";
import type { Action, VfpDirection, GroupDefinition, MatchType, MissNote, Rule } from "./rule.ts";
import { PrefixIndex, onlyDestination } from "./matching/prefix-index.ts";
import { type IndexedRule, RuleIndex, type RuleSet, indexRule, matcherOf } from "./matching/rule-index.ts";

/** A rule that almost matched. */
export interface NearMiss {
  readonly rule: Rule;
  readonly reason: Exclude<MissReason, "other">;
}

/** How many rules are of a kind that ports have to know of. */
interface RuleCounts {
  /** They take ports of a NAT pool. */
  readonly dynnat: number;
  /** They have `Condition.tcpSyn`. */
  readonly syn: number;
  /** They put outer headers on. */
  readonly encap: number;
}

/** What a new version of a group is made from. */
interface Contents {
  readonly index: RuleSet;
  readonly matcher: ConditionMatcher | undefined;
  readonly counts: RuleCounts;
  readonly nextSequence: number;
}

const NAT_ACTIONS: ReadonlySet<string> = new Set(["nat", "dynnat", "lbnat", "redirect"]);
const TUNNEL_ACTIONS: ReadonlySet<string> = new Set(["routeencap", "mapencap", "decap"]);
/** dataplane.md §3.6: vfpctrl takes at most so many destinations of one routeencap rule. */
const ENCAP_DESTINATIONS_MAX = 8;

/** An immutable list of rules for one direction and family. Made by `createGroup`. */
export class Group implements GroupDefinition {
  readonly name: string;
  readonly direction: VfpDirection;
  readonly family: 4 | 6;
  readonly priority: number;
  readonly match: MatchType;
  readonly condition: Condition | undefined;
  readonly missNotes: readonly MissNote[];
  private readonly contents: Contents;

  /** Use `createGroup`. */
  constructor(definition: Omit<GroupDefinition, "rules">, contents: Contents) {
    this.name = definition.name;
    this.direction = definition.direction;
    this.family = definition.family;
    this.priority = definition.priority;
    this.match = definition.match;
    this.condition = definition.condition;
    this.missNotes = definition.missNotes ?? [];
    this.contents = contents;
    Object.freeze(this);
  }

  /** In the order in which they are tried. Costs a sort: for listings. */
  get rules(): readonly Rule[] {
    return this.contents.index.list().map((each) => each.rule);
  }

  get size(): number {
    return this.contents.index.size;
  }

  /** True when a rule takes ports of a NAT pool. */
  get allocatesPorts(): boolean {
    return this.contents.counts.dynnat > 0;
  }

  /** True when a rule tells segments that ask for a connection from others. */
  get asksForSyn(): boolean {
    return this.contents.counts.syn > 0;
  }

  /** True when a rule puts outer headers on. */
  get encapsulates(): boolean {
    return this.contents.counts.encap > 0;
  }

  /** True when `rule` itself is in this group. */
  has(rule: Rule): boolean {
    return this.contents.index.has(rule);
  }

  /** True when a rule of this LPM group asks for exactly this prefix. */
  hasDestination(prefix: Prefix): boolean {
    const { index } = this.contents;
    assert(index instanceof PrefixIndex, "only LPM groups are asked for prefixes");
    return index.hasPrefix(prefix);
  }

  /** The winning rule; undefined when none matches, or the group's own condition does not hold. */
  find(key: FlowKey): Rule | undefined {
    const { matcher, index } = this.contents;
    return matcher === undefined || matcher.matches(key) ? index.find(key)?.rule : undefined;
  }

  /** A group that differs in these rules. Costs what the change costs, not what the group holds. */
  replaceRules(removed: readonly Rule[], added: readonly Rule[]): Group {
    if (removed.length === 0 && added.length === 0) return this;
    const { index, matcher, counts, nextSequence } = this.contents;
    const [gone, come] = [countKinds(removed), countKinds(added)];
    const indexed = prepare(this, added, nextSequence);
    return new Group(this, {
      index: index.with(new Set(removed), indexed),
      matcher,
      counts: {
        dynnat: counts.dynnat - gone.dynnat + come.dynnat,
        syn: counts.syn - gone.syn + come.syn,
        encap: counts.encap - gone.encap + come.encap,
      },
      nextSequence: nextSequence + added.length,
    });
  }

  /** The same rules, with other things to say about packets that match none. */
  withMissNotes(missNotes: readonly MissNote[]): Group {
    return new Group({ ...this.definition(), missNotes }, this.contents);
  }

  private definition(): Omit<GroupDefinition, "rules"> {
    const { name, direction, family, priority, match, condition, missNotes } = this;
    return {
      name,
      direction,
      family,
      priority,
      match,
      missNotes,
      ...(condition === undefined ? {} : { condition }),
    };
  }

  /** The first rule that `key` misses for one explainable reason. For traces. */
  findNearMiss(key: FlowKey): NearMiss | undefined {
    const { index } = this.contents;
    for (const indexed of index.list()) {
      const { rule } = indexed;
      if (rule.missCodes === undefined) continue;
      const reason = matcherOf(indexed, this.family, index.memory).missReason(key);
      if (reason !== "other" && rule.missCodes[reason] !== undefined) return { rule, reason };
    }
    return undefined;
  }

  /** What there is to say about a packet that no rule matched. For traces. */
  findMissNote(key: FlowKey): MissNote | undefined {
    return this.missNotes.find((note) => matchesOnce(note.condition, key));
  }
}

/** Lets a group find the sets of long lists of prefixes among those of the switch that it is on. */
export function shareSets(group: Group, sets: PrefixSets): void {
  // An empty group has no list, and may be a constant of many worlds.
  if (group.size > 0) group["contents"].index.memory.takeSets(sets);
}

function matchesOnce(condition: Condition, key: FlowKey): boolean {
  return new ConditionMatcher(condition, key.family).matches(key);
}

function countKinds(rules: readonly Rule[]): RuleCounts {
  let [dynnat, syn, encap] = [0, 0, 0];
  for (const { action, condition } of rules) {
    if (action.type === "dynnat") dynnat++;
    if (action.type === "routeencap" || action.type === "mapencap") encap++;
    if (condition.tcpSyn !== undefined) syn++;
  }
  return { dynnat, syn, encap };
}

function changesTuple(action: Action): boolean {
  if (action.type === "transpose") {
    return action.source !== undefined || action.destination !== undefined;
  }
  return NAT_ACTIONS.has(action.type) || TUNNEL_ACTIONS.has(action.type);
}

function checkRule({ action, condition, isStateful, isTerminating }: Rule): void {
  assert(action.type !== "dynnat" || isStateful, "a dynnat rule is stateful: its flow holds the port");
  assert(action.type !== "lbnat" || isStateful, "an lbnat rule is stateful: its flow holds the choice");
  assert(action.type !== "lbnat" || action.backEnds.length > 0, "an lbnat rule has a back end");
  // A flow is found by the tuple that the layer got: nothing may match behind a rule that changed it.
  assert(!changesTuple(action) || isTerminating, "a rule that changes addresses or tunnels ends its layer");
  if (action.type === "routeencap") {
    const count = action.destinations.length;
    assert(count > 0 && count <= ENCAP_DESTINATIONS_MAX, "a routeencap rule has one to eight destinations");
  }
  assert(
    condition.isSourceTranslated !== true || (isTerminating && !isStateful),
    "a rule for translated packets ends its layer, without flows",
  );
}

/** The winner has the lowest rank. */
function rankOf(definition: Omit<GroupDefinition, "rules">, rule: Rule): number {
  if (definition.match === "priority") return rule.priority;
  const prefix = onlyDestination(rule);
  assert(rule.condition.destinationSets === undefined, "an LPM rule has a prefix and no sets");
  assert(prefixFamily(prefix) === definition.family, "an LPM rule has its group's family");
  return -prefix.length;
}

function prepare(
  definition: Omit<GroupDefinition, "rules">,
  rules: readonly Rule[],
  firstSequence: number,
): readonly IndexedRule[] {
  return rules.map((rule, offset) => {
    checkRule(rule);
    // Counters go by the rule, in forks too: what is shared by forks is frozen.
    Object.freeze(rule);
    return indexRule(rule, rankOf(definition, rule), firstSequence + offset);
  });
}

/** Compiles a group. The result is frozen; equal content should be compiled once and shared. */
export function createGroup(definition: GroupDefinition): Group {
  const indexed = prepare(definition, definition.rules, 0);
  const { condition, family } = definition;
  return new Group(definition, {
    index: (definition.match === "priority" ? RuleIndex : PrefixIndex).of(indexed, family),
    matcher: condition === undefined ? undefined : new ConditionMatcher(condition, family),
    counts: countKinds(definition.rules),
    nextSequence: definition.rules.length,
  });
}
