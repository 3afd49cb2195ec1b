/**
 * A listing as what a port of the engine takes, so that packets can be sent through what a real node printed. What the
 * text does not carry is named, rule by rule.
 */
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import { assert } from "#core/base/assert.ts";
import type { Provenance } from "#core/base/recorder.ts";
import { prefixFamily } from "#core/net/ip.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { GroupDefinition, LayerDefinition, MatchType, Rule } from "#dataplane/vfp/rule.ts";
import { readConditions } from "#dataplane/vfp/listing/conditions.ts";
import {
  LayerFlag,
  type ListedGroup,
  type ListedLayer,
  type ListedRule,
  MatchWord,
  RuleFlag,
} from "#dataplane/vfp/listing/listing.ts";
import { readAction, readMssDelta } from "#dataplane/vfp/listing/rule-data.ts";
import { logAndErrors } from "#data/words.js";

const WORDS = logAndErrors();

const MS_PER_SECOND = 1_000;

/** Something that a rule has on the node and not here. */
export interface LoadNote {
  readonly layer: string;
  readonly group: string;
  /** The rule's name; empty for notes on a group or layer. */
  readonly rule: string;
  /** Of the text, where there is one. */
  readonly line?: number;
  /** `left-out`: it is not in the program. `incomplete`: it is, without something. */
  readonly effect: "left-out" | "incomplete";
  readonly message: string;
}

export interface LoadedLayer {
  readonly definition: LayerDefinition;
  readonly groups: readonly Group[];
}

export interface LoadedProgram {
  readonly layers: readonly LoadedLayer[];
  /** NAT pools that rules take ports of: the port has to have them. */
  readonly natPools: readonly string[];
  readonly notes: readonly LoadNote[];
}

/** What a rule needs to stand in the engine: a pool or a choice is kept by its flow. */
const FLOW_TYPES: readonly string[] = ["dynnat", "lbnat"];
/** They change what a flow is known by, so nothing of their layer comes behind them. */
const ENDING_TYPES: readonly string[] = [
  "nat",
  "dynnat",
  "lbnat",
  "caredirect",
  "routeencap",
  "mapencap",
  "decap",
];
const ENCAP_DESTINATIONS_MAX = 8;

class Loader {
  readonly notes: LoadNote[] = [];
  readonly natPools = new Set<string>();
  private readonly source: string;
  private layer = "";
  private group = "";

  constructor(source: string) {
    this.source = source;
  }

  loadLayer(listed: ListedLayer): LoadedLayer {
    this.layer = listed.id;
    this.group = "";
    const rules = listed.groups.flatMap((group) => group.rules);
    const isStateful = rules.some(
      (rule) => (rule.flags & RuleFlag.stateful) !== 0 || FLOW_TYPES.includes(rule.type),
    );
    const definition: LayerDefinition = {
      name: listed.id,
      priority: listed.priority,
      // The list does not say whether a layer keeps flows; one whose rules do has to.
      isStateful,
      isDefaultAllow: (listed.flags & LayerFlag.defaultAllow) !== 0,
      isHairpin: (listed.flags & LayerFlag.hairpin) !== 0,
      clearsTni: (listed.flags & LayerFlag.clearTni) !== 0,
      updatesFlows: (listed.flags & LayerFlag.updateFlows) !== 0,
    };
    return { definition, groups: listed.groups.flatMap((group) => this.loadGroup(group)) };
  }

  private loadGroup(listed: ListedGroup): readonly Group[] {
    this.group = listed.id;
    const family = listed.type === "IPv4" ? 4 : 6;
    const match = matchOf(listed.match);
    if (match === undefined) {
      this.note(undefined, "left-out", `how it finds rules is not known: ${JSON.stringify(listed.match)}`);
      return [];
    }
    const { condition, left } = readConditions(listed.conditions, family);
    if (left.length > 0) {
      this.note(undefined, "left-out", `its condition ${describe(left)} cannot be asked for`);
      return [];
    }
    const definition: Omit<GroupDefinition, "rules"> = {
      name: listed.id,
      direction: listed.direction === "OUT" ? "out" : "in",
      family,
      priority: listed.priority,
      match,
      ...(listed.conditions.length > 0 && { condition }),
    };
    const rules = listed.rules.flatMap((rule, index) => this.loadRule(rule, index, family, match));
    return [createGroup({ ...definition, rules })];
  }

  private loadRule(listed: ListedRule, index: number, family: 4 | 6, match: MatchType): readonly Rule[] {
    const { condition, left } = readConditions(listed.conditions, family);
    if (left.length > 0) {
      // Without one of its conditions a rule would catch what it does not catch on the node.
      this.note(listed, "left-out", `its condition ${describe(left)} cannot be asked for`);
      return [];
    }
    const { action, lost } = readAction(listed);
    if (action === undefined) {
      this.note(listed, "left-out", `the text does not say ${lost}`);
      return [];
    }
    if (action.type === "routeencap" && action.destinations.length > ENCAP_DESTINATIONS_MAX) {
      this.note(listed, "left-out", `a rule leads to at most ${ENCAP_DESTINATIONS_MAX} tunnels`);
      return [];
    }
    if (lost !== undefined) this.note(listed, "incomplete", `the text does not carry ${lost}`);
    if ((listed.flags & RuleFlag.mirror) !== 0)
      this.note(listed, "incomplete", "the text does not carry where copies of its packets go");
    if (action.type === "dynnat") this.natPools.add(action.pool);
    const keepsFlows = (listed.flags & RuleFlag.stateful) !== 0 || FLOW_TYPES.includes(listed.type);
    const changesTuple =
      action.type === "transpose" && (action.source !== undefined || action.destination !== undefined);
    const rule: Rule = {
      id: `${index}|${listed.id === "" ? listed.name : listed.id}`,
      name: listed.name === "" ? listed.id : listed.name,
      listedId: listed.id,
      priority: listed.priority,
      condition: { ...condition, ...readSynFlags(listed) },
      action,
      isTerminating:
        (listed.flags & RuleFlag.terminating) !== 0 || ENDING_TYPES.includes(listed.type) || changesTuple,
      isStateful: keepsFlows,
      ...(listed.ttl > 0 && { flowTtlMs: listed.ttl * MS_PER_SECOND }),
      ...readMssDelta(listed),
      ...((listed.flags & RuleFlag.skipHairpin) !== 0 && { skipsHairpin: true }),
      ...unusedFlags(listed),
      provenance: this.provenanceOf(listed),
    };
    if (match === "priority") return [rule];
    return this.splitPrefixes(rule, listed, family);
  }

  /** In a group with longest prefix match the engine has one prefix per rule. */
  private splitPrefixes(rule: Rule, listed: ListedRule, family: 4 | 6): readonly Rule[] {
    const prefixes = rule.condition.destination ?? [];
    if (prefixes.length === 0) {
      this.note(listed, "left-out", WORDS.ruleWithoutDestination);
      return [];
    }
    assert(
      prefixes.every((prefix) => prefixFamily(prefix) === family),
      "conditions are read for the group's family",
    );
    return prefixes.map((prefix, index) => ({
      ...rule,
      id: `${rule.id}|${index}`,
      condition: { ...rule.condition, destination: [prefix] },
    }));
  }

  private provenanceOf(listed: ListedRule): Provenance {
    const line = lineOf(listed);
    return {
      object: "vfpctrl",
      id: listed.id,
      name: line === undefined ? this.source : `${this.source} line ${line}`,
    };
  }

  private note(listed: ListedRule | undefined, effect: LoadNote["effect"], message: string): void {
    const { layer, group } = this;
    const line = listed === undefined ? undefined : lineOf(listed);
    const rule = listed === undefined ? "" : listed.name === "" ? listed.id : listed.name;
    this.notes.push({ layer, group, rule, effect, message, ...(line === undefined ? {} : { line }) });
  }
}

function lineOf(listed: ListedRule): number | undefined {
  return "line" in listed && typeof listed.line === "number" ? listed.line : undefined;
}

/** A rule cannot ask for both: then it is the first. */
function readSynFlags({ flags }: ListedRule): Pick<Condition, "tcpSyn"> {
  if ((flags & RuleFlag.synOnly) !== 0) return { tcpSyn: "only" };
  return (flags & RuleFlag.nonSynOnly) === 0 ? {} : { tcpSyn: "never" };
}

/** Bits that say nothing to the engine, so that they come out again as they went in. */
function unusedFlags(listed: ListedRule): { readonly listedFlags?: number } {
  const used =
    RuleFlag.terminating | RuleFlag.stateful | RuleFlag.skipHairpin | RuleFlag.synOnly | RuleFlag.nonSynOnly;
  const rest = listed.flags & ~used;
  return rest === 0 ? {} : { listedFlags: rest };
}

function describe(conditions: readonly { readonly label: string; readonly value: string }[]): string {
  return conditions.map(({ label, value }) => JSON.stringify(`${label} : ${value}`)).join(", ");
}

function matchOf(text: string): MatchType | undefined {
  if (text === MatchWord["lpm-destination"]) return "lpm-destination";
  // A text without the word is of rules alone.
  return text === "" || text.startsWith("Priority") ? "priority" : undefined;
}

/** Makes a program of what a node printed. `source` names the text, so that a trace can name its line. */
export function loadListing(layers: readonly ListedLayer[], source: string): LoadedProgram {
  const loader = new Loader(source);
  const loaded = layers.map((layer) => loader.loadLayer(layer));
  return { layers: loaded, natPools: [...loader.natPools], notes: loader.notes };
}
