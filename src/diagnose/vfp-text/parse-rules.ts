/**
 * Reads what `vfpctrl /list-layer`, `/list-group`, `/list-rule` and `/get-rule-counter` print, of one port or of many, as
 * collectlogs.ps1 gathers them. Structure is read from labels, since copies of such texts lose their indentation; lines
 * that make no sense are named with their numbers and what they belong to is left out; lines of other commands between
 * the items are counted.
 */
import { LIMITS } from "#core/base/limits.ts";
import { NO_RULE_COUNTERS, type RuleCounters } from "#dataplane/vfp/counters.ts";
import { parseNumber } from "#dataplane/vfp/listing/conditions.ts";
import type {
  ListedCondition,
  ListedGroup,
  ListedLayer,
  ListedRule,
} from "#dataplane/vfp/listing/listing.ts";
import type { ListingProblem, ShownRule } from "./documents.ts";
import { NO_CONDITIONS, RULE_COUNTERS, RULE_COUNTER_LABELS } from "#dataplane/vfp/listing/print-rules.ts";
import { logAndErrors } from "#data/words.js";

const WORDS = logAndErrors();

/** A rule with the line that it begins at. */
export type ReadRule = ListedRule & Required<Pick<ShownRule, "line">>;

export interface ReadGroup extends ListedGroup {
  readonly rules: readonly ReadRule[];
}

export interface ReadLayer extends ListedLayer {
  readonly groups: readonly ReadGroup[];
}

/** The layers of one port. */
export interface ReadPort {
  /** The GUID that stood above; undefined when the text is of one port and does not say which. */
  readonly name: string | undefined;
  readonly layers: readonly ReadLayer[];
}

export interface ReadListing {
  readonly ports: readonly ReadPort[];
  readonly problems: readonly ListingProblem[];
  /** Problems beyond `LIMITS.vfpListingProblemsMax`, which are only counted. */
  readonly problemsOmitted: number;
  /** Lines that belong to no layer, group or rule: those of other commands. */
  readonly otherLines: number;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface RuleDraft extends Mutable<Omit<ReadRule, "conditions" | "data">> {
  conditions: ListedCondition[];
  data: string[];
}
interface GroupDraft extends Mutable<Omit<ReadGroup, "rules" | "conditions">> {
  rules: RuleDraft[];
  conditions: ListedCondition[];
}
interface LayerDraft extends Mutable<Omit<ReadLayer, "groups">> {
  groups: GroupDraft[];
}

/** The fields of each item, by their labels. */
const LAYER_FIELDS = ["Friendly name", "Priority"] as const;
const GROUP_FIELDS = ["Friendly name", "Priority", "Direction", "Type", "Conditions", "Match type"] as const;
const RULE_FIELDS = ["Priority", "Flags", "Type", "Conditions", "Flow TTL", "FlagsEx"] as const;

/** What can have a line that makes no sense. */
type Draft = LayerDraft | GroupDraft | RuleDraft;

/** Which lines may come next. */
type Section =
  | "none"
  | "layer"
  | "group"
  | "group-conditions"
  | "rule"
  | "rule-conditions"
  | "data"
  | "ended"
  | "counters";

const HEADING = /^(LAYER|GROUP|RULE) ?:(?: (.*))?$/;
const PORT_HEADING = /^(?:Policy for port|Get-port-counter for port) ?: *([0-9A-Fa-f-]{36})?$/i;
const BARE_GUID = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
const PRIORITY_MAX = 0xffff;

class ListingReader {
  private readonly ports: { name: string | undefined; layers: LayerDraft[] }[] = [];
  readonly problems: ListingProblem[] = [];
  problemsOmitted = 0;
  otherLines = 0;
  /** What is left out. */
  private readonly brokenItems = new Set<Draft>();
  /** Groups whose heading came once more: rules that follow take the place of those that were read. */
  private readonly repeated = new Set<GroupDraft>();
  /** The fields that an item has not had so far. */
  private readonly missing = new Map<Draft, Set<string>>();
  private layer: LayerDraft | undefined;
  private group: GroupDraft | undefined;
  private rule: RuleDraft | undefined;
  private section: Section = "none";
  private line = 0;
  private dataIndent = 0;
  private isNamingPort = false;

  read(text: string): void {
    for (const raw of text.split(/\r\n|\n|\r/)) {
      this.line++;
      this.readLine(raw.replace(/^\uFEFF/, "").trimEnd());
    }
  }

  /** What was read, without what is broken. */
  finish(): readonly ReadPort[] {
    this.reportCut();
    for (const [item, absent] of this.missing) if (absent.size > 0) item.absent = [...absent];
    const whole = <T extends Draft>(items: readonly T[]): T[] =>
      items.filter((item) => !this.brokenItems.has(item));
    const ports = this.ports.map(({ name, layers }) => ({
      name,
      layers: whole(layers).map((layer) => ({
        ...layer,
        groups: whole(layer.groups).map((group) => ({ ...group, rules: whole(group.rules) })),
      })),
    }));
    return ports.filter(({ layers, name }) => layers.length > 0 || name !== undefined);
  }

  /** The field of an item was there. */
  private carry(item: Draft, label: string): void {
    this.missing.get(item)?.delete(label);
  }

  /** A text that ends inside of a rule was cut there. */
  private reportCut(): void {
    const { rule, section } = this;
    if (rule === undefined || !["rule", "rule-conditions", "data"].includes(section)) return;
    const name = rule.name === "" ? rule.id : rule.name;
    this.problem(WORDS.listingEndsInRule({ shorten: shorten(name), line: rule.line }));
  }

  private readLine(raw: string): void {
    const text = raw.trim();
    if (text === "") {
      // Items end with an empty line; a heading whose value stands on the next line is only of ports.
      if (this.section === "ended" || this.section === "counters") this.section = "none";
      return;
    }
    if (this.readEnvelope(text)) return;
    const heading = HEADING.exec(text);
    if (heading !== null) this.begin(heading[1] ?? "", (heading[2] ?? "").trim());
    else this.readInside(raw, text);
  }

  /** @returns true when the line is none of an item. */
  private readEnvelope(text: string): boolean {
    const port = PORT_HEADING.exec(text);
    if (port !== null) {
      this.isNamingPort = port[1] === undefined;
      if (port[1] !== undefined) this.beginPort(port[1]);
      return true;
    }
    if (this.isNamingPort && BARE_GUID.test(text)) {
      this.isNamingPort = false;
      this.beginPort(text);
      return true;
    }
    if (text === "ITEM LIST" || /^=+$/.test(text)) return true;
    if (/^Command \S+ succeeded!$/.test(text)) {
      this.section = "none";
      return true;
    }
    if (!text.startsWith("ERROR:")) return false;
    this.problem(`vfpctrl said ${JSON.stringify(text)} instead of a list`);
    this.section = "none";
    return true;
  }

  private begin(kind: string, id: string): void {
    if (kind === "LAYER") this.beginLayer(id);
    else if (kind === "GROUP") this.beginGroup(id);
    else this.beginRule(id);
  }

  private beginPort(name: string): void {
    const known = this.ports.find((port) => port.name === name);
    if (known === undefined) this.ports.push({ name, layers: [] });
    else this.ports.push(...this.ports.splice(this.ports.indexOf(known), 1));
    this.layer = undefined;
    this.group = undefined;
    this.rule = undefined;
    this.section = "none";
  }

  private beginLayer(id: string): LayerDraft {
    const port = this.ports.at(-1) ?? this.firstPort();
    const known = id === "" ? undefined : port.layers.find((layer) => layer.id === id);
    const layer = known ?? { id, name: id, flags: 0, priority: 0, groups: [] };
    if (known === undefined) {
      port.layers.push(layer);
      this.missing.set(layer, new Set(LAYER_FIELDS));
    }
    this.layer = layer;
    this.group = undefined;
    this.rule = undefined;
    this.section = "layer";
    return layer;
  }

  private firstPort(): { name: string | undefined; layers: LayerDraft[] } {
    const port = { name: undefined, layers: [] };
    this.ports.push(port);
    return port;
  }

  private beginGroup(id: string): GroupDraft {
    const layer = this.layer ?? this.beginLayer("");
    const group: GroupDraft = {
      id,
      name: id,
      priority: 0,
      direction: "OUT",
      type: "IPv4",
      conditions: [],
      match: "",
      rules: [],
    };
    layer.groups.push(group);
    this.missing.set(group, new Set(GROUP_FIELDS));
    this.group = group;
    this.rule = undefined;
    this.section = "group";
    return group;
  }

  /**
   * The heading of a group is read. It stands above the list of groups and again above the rules, in every list: the one
   * with the same fields is meant, and rules that follow take the place of those that were read.
   */
  private settleGroup(group: GroupDraft): void {
    const { layer } = this;
    const known = layer?.groups.find(
      (each) =>
        each !== group &&
        each.id === group.id &&
        each.priority === group.priority &&
        each.direction === group.direction &&
        each.type === group.type &&
        each.match === group.match,
    );
    if (layer === undefined || known === undefined || group.id === "" || this.brokenItems.has(group)) return;
    layer.groups.splice(layer.groups.indexOf(group), 1);
    known.conditions = group.conditions;
    this.repeated.add(known);
    this.group = known;
  }

  private beginRule(id: string): void {
    const group = this.group ?? this.beginGroup("");
    if (this.repeated.delete(group)) group.rules = [];
    this.rule = {
      id,
      name: "",
      priority: 0,
      flags: 0,
      type: "",
      conditions: [],
      ttl: 0,
      data: [],
      flagsEx: 0,
      line: this.line,
    };
    group.rules.push(this.rule);
    this.missing.set(this.rule, new Set(RULE_FIELDS));
    this.section = "rule";
  }

  private readInside(raw: string, text: string): void {
    switch (this.section) {
      case "layer":
        return this.readLayerField(text);
      case "group":
        return this.readGroupField(text);
      case "group-conditions":
        return this.readGroupCondition(text);
      case "rule":
        return this.readRuleField(text);
      case "rule-conditions":
        return this.readRuleCondition(text);
      case "data":
        return this.readData(raw, text);
      case "ended":
        return this.readBehindRule(text);
      case "counters":
        return this.readCounter(text);
      case "none":
        this.otherLines++;
    }
  }

  private readLayerField(text: string): void {
    const { layer } = this;
    const [label, value] = fieldOf(text);
    if (layer === undefined) return;
    this.carry(layer, label);
    if (label === "Friendly name") layer.name = value;
    else if (label === "Priority") layer.priority = this.number(value, layer, "Priority");
    else if (label === "Flags") layer.flags = this.layerFlags(value, layer);
    else {
      // Behind the heading stand groups, or something of another command, such as counters.
      this.section = "none";
      this.otherLines++;
    }
  }

  private layerFlags(value: string, layer: LayerDraft): number {
    const hex = /^0x([0-9a-f]{1,8})\b/i.exec(value)?.[1];
    if (hex !== undefined) return Number.parseInt(hex, 16);
    this.broken(layer, WORDS.layerFlagsInvalid({ shorten: shorten(value) }));
    return 0;
  }

  private readGroupField(text: string): void {
    const { group } = this;
    const [label, value] = fieldOf(text);
    if (group === undefined) return;
    this.carry(group, label);
    if (label === "Friendly name") group.name = value;
    else if (label === "Priority") group.priority = this.number(value, group, "Priority");
    else if (label === "Direction") this.readDirection(group, value);
    else if (label === "Type") this.readFamily(group, value);
    else if (label === "Conditions") this.section = "group-conditions";
    else if (label === "Match type") this.endGroup(group, value);
    else this.broken(group, `a group has no field ${shorten(label)}`);
  }

  private readDirection(group: GroupDraft, value: string): void {
    if (value === "OUT" || value === "IN") group.direction = value;
    else this.broken(group, `Direction is OUT or IN, not ${shorten(value)}`);
  }

  private readFamily(group: GroupDraft, value: string): void {
    if (value === "IPv4" || value === "IPv6") group.type = value;
    else this.broken(group, `Type of a group is IPv4 or IPv6, not ${shorten(value)}`);
  }

  private endGroup(group: GroupDraft, match: string): void {
    this.carry(group, "Match type");
    group.match = match;
    this.section = "none";
    this.settleGroup(group);
  }

  private readGroupCondition(text: string): void {
    const { group } = this;
    const [label, value] = fieldOf(text);
    if (group === undefined) return;
    if (label === "Match type") this.endGroup(group, value);
    else if (text !== NO_CONDITIONS) this.addCondition(group, label, value, text);
  }

  private addCondition(item: GroupDraft | RuleDraft, label: string, value: string, text: string): void {
    if (label === "" || value === "") this.broken(item, WORDS.conditionInvalid({ shorten: shorten(text) }));
    else item.conditions.push({ label, value });
  }

  private readRuleField(text: string): void {
    const { rule } = this;
    const [label, value] = fieldOf(text);
    if (rule === undefined) return;
    this.carry(rule, label);
    if (label === "Friendly name") rule.name = value;
    else if (label === "Priority") rule.priority = this.number(value, rule, "Priority");
    else if (label === "Flags")
      rule.flags = this.number(value.split(" ")[0] ?? "", rule, "Flags", 0xffff_ffff);
    else if (label === "Type") rule.type = value;
    else if (label === "Conditions") this.section = "rule-conditions";
    else if (label === "Flow TTL") this.beginData(rule, value);
    else if (label === "FlagsEx") this.endRule(rule, value);
    else this.broken(rule, `a rule has no field ${shorten(label)}`);
  }

  private readRuleCondition(text: string): void {
    const { rule } = this;
    const [label, value] = fieldOf(text);
    if (rule === undefined) return;
    if (label === "Flow TTL") this.beginData(rule, value);
    else if (label === "FlagsEx") this.endRule(rule, value);
    else if (text !== NO_CONDITIONS) this.addCondition(rule, label, value, text);
  }

  private beginData(rule: RuleDraft, value: string): void {
    this.carry(rule, "Flow TTL");
    rule.ttl = this.number(value, rule, "Flow TTL", 0xffff_ffff);
    this.dataIndent = -1;
    this.section = "data";
  }

  private readData(raw: string, text: string): void {
    const { rule } = this;
    if (rule === undefined) return;
    const [label, value] = fieldOf(text);
    if (label === "FlagsEx") {
      this.endRule(rule, value);
      return;
    }
    const indent = raw.length - raw.trimStart().length;
    if (this.dataIndent < 0) this.dataIndent = indent;
    rule.data.push(" ".repeat(Math.max(0, indent - this.dataIndent)) + text);
    if (rule.data.length > LIMITS.vfpRuleLinesMax) this.broken(rule, "the rule does not end");
  }

  private endRule(rule: RuleDraft, value: string): void {
    this.carry(rule, "FlagsEx");
    rule.flagsEx = this.number(value.split(" ")[0] ?? "", rule, "FlagsEx", 0xffff_ffff);
    if (rule.type === "") this.broken(rule, "the rule has no Type");
    this.section = "ended";
  }

  private readBehindRule(text: string): void {
    if (text === RULE_COUNTERS) this.section = "counters";
    else this.otherLines++;
  }

  private readCounter(text: string): void {
    const [label, value] = fieldOf(text);
    const field = RULE_COUNTER_LABELS.find((each) => each[1] === label)?.[0];
    if (field === undefined || this.rule === undefined) {
      this.otherLines++;
      return;
    }
    const counters: RuleCounters = this.rule.counters ?? { ...NO_RULE_COUNTERS };
    counters[field] = this.number(value, this.rule, label, Number.MAX_SAFE_INTEGER);
    this.rule.counters = counters;
  }

  private number(text: string, item: Draft, label: string, max: number = PRIORITY_MAX): number {
    const value = max > 0xffff_ffff ? wholeNumber(text) : parseNumber(text.trim(), max);
    if (value !== undefined) return value;
    this.broken(item, `${label} must be a whole number up to ${max}, not ${shorten(text)}`);
    return 0;
  }

  private broken(item: Draft, message: string): void {
    // One problem per item is enough to mend it; the rest of it may only follow from the first.
    if (!this.brokenItems.has(item)) this.problem(message);
    this.brokenItems.add(item);
  }

  private problem(message: string): void {
    if (this.problems.length >= LIMITS.vfpListingProblemsMax) this.problemsOmitted++;
    else this.problems.push({ line: this.line, message });
  }
}

function wholeNumber(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function fieldOf(text: string): readonly [label: string, value: string] {
  const colon = text.indexOf(":");
  return colon < 0 ? ["", ""] : [text.slice(0, colon).trimEnd(), text.slice(colon + 1).trim()];
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Reads a text of at most `LIMITS.vfpListingCharactersMax` characters; never throws. */
export function parseRules(text: string): ReadListing {
  if (text.length > LIMITS.vfpListingCharactersMax) {
    const message = WORDS.listingTooLong({
      textCount: text.length,
      vfpListingCharactersMax: LIMITS.vfpListingCharactersMax,
    });
    return { ports: [], problems: [{ line: 1, message }], problemsOmitted: 0, otherLines: 0 };
  }
  const reader = new ListingReader();
  reader.read(text);
  const { problems, problemsOmitted, otherLines } = reader;
  return { ports: reader.finish(), problems, problemsOmitted, otherLines };
}
