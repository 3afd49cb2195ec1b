/** Layers, groups and rules as `vfpctrl` prints them: labels, indentation, order and quirks (dataplane.md §7.1–7.6). */
import type { LayerCounters, RuleCounters } from "../counters.ts";
import {
  type Excerpt,
  type ListedCondition,
  type ListedGroup,
  type ListedLayer,
  type ListedRule,
  LayerFlag,
  RuleFlag,
} from "./listing.ts";

// The words behind the numbers of `Flags` (dataplane.md §7.2, §7.4; the words of rules beyond two are those of the help).

const LAYER_WORDS: readonly (readonly [number, string])[] = [
  [LayerFlag.defaultAllow, "Default Allow"],
  [LayerFlag.clearTni, "Clear TNI"],
  [LayerFlag.updateFlows, "Update flows on address change"],
];

const RULE_WORDS: readonly (readonly [number, string])[] = [
  [RuleFlag.terminating, "terminating"],
  [RuleFlag.stateful, "stateful"],
  [RuleFlag.nonSynOnly, "non-syn-only"],
  [RuleFlag.trackTcpState, "track-tcp-state"],
  [RuleFlag.synOnly, "syn-only"],
  [RuleFlag.skipHairpin, "skip-hairpinning"],
];

/**
 * The flags of layers, in the order in which they are printed. vfpctrl puts a comma in front of each word but the very
 * first of its output, and none in front of `Hairpin Layer` (observed): so the first layer of a list reads
 * `0x1 Default Allow`, all others `0x1, Default Allow`.
 */
export class LayerFlagWords {
  private isFirst = true;

  /** With its blank at the end; undefined for a layer without flags, which has no such line. */
  next(flags: number): string | undefined {
    if (flags === 0) return undefined;
    let text = `0x${flags.toString(16)}`;
    if ((flags & LayerFlag.hairpin) !== 0) {
      text += " Hairpin Layer";
      this.isFirst = false;
    }
    for (const [flag, word] of LAYER_WORDS) {
      if ((flags & flag) === 0) continue;
      text += `${this.isFirst ? "" : ","} ${word} `;
      this.isFirst = false;
    }
    return text.endsWith(" ") ? text : `${text} `;
  }
}

/** `8195 terminating stateful `: with its blank at the end. */
export function ruleFlagWords(flags: number): string {
  const words = RULE_WORDS.filter(([flag]) => (flags & flag) !== 0).map(([, word]) => word);
  return [flags, ...words, ""].join(" ");
}

/** The line of items without conditions. */
export const NO_CONDITIONS = "<none>";

/** Labels of `/get-rule-counter`, in order; the names of the fields are those of its JSON (dataplane.md §1.5). */
export const RULE_COUNTER_LABELS: readonly (readonly [keyof RuleCounters, string])[] = [
  ["matchedPackets", "Matched packets"],
  ["droppedPackets", "Dropped packets"],
  ["pendingPackets", "Pending packets"],
  ["droppedFlows", "Dropped flows"],
];

/** Labels of `/get-layer-counter`, in order (observed, dataplane.md §7.6). */
export const LAYER_COUNTER_LABELS: readonly (readonly [keyof LayerCounters, string])[] = [
  ["flowMatch", "Flow match"],
  ["flowDrop", "Flow drop"],
  ["flowPending", "Flow pending"],
  ["pendingDrop", "Pending drop"],
  ["ruleMatch", "Rule match"],
  ["ruleDrop", "Rule drop"],
  ["rulePending", "Rule pending"],
  ["ruleUnifiedFlowDrop", "Rule unified flow drop"],
  ["noMatch", "No match"],
  ["fragmentCacheMatch", "Frag cache match"],
  ["fragmentCacheDrop", "Frag cache drop"],
  ["fragmentCacheNoMatch", "Frag cache no match"],
];

/** The heading above the counters of a rule. Inferred: that there is one, and where they stand. */
export const RULE_COUNTERS = "Rule counters:";

function conditionLines(conditions: readonly ListedCondition[]): readonly string[] {
  const lines = conditions.map(({ label, value }) => `${label} : ${value}`);
  return ["Conditions:", ...(lines.length === 0 ? [NO_CONDITIONS] : lines).map((line) => `    ${line}`)];
}

function indented(blanks: number, lines: readonly string[]): readonly string[] {
  return lines.map((line) => " ".repeat(blanks) + line);
}

function counterLines(counters: RuleCounters): readonly string[] {
  return [RULE_COUNTERS, ...RULE_COUNTER_LABELS.map(([field, label]) => `    ${label} : ${counters[field]}`)];
}

/** Lines of an item without those of fields that an excerpt does not carry. */
function carried({ absent = [] }: Excerpt, lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !absent.includes(line.split(":", 1)[0]?.trim() ?? ""));
}

/** One rule, with the empty line behind it. */
export function ruleLines(rule: ListedRule, withCounters = false): readonly string[] {
  return [
    `    RULE : ${rule.id}`,
    ...indented(8, [
      ...(rule.name === "" ? [] : [`Friendly name : ${rule.name}`]),
      ...carried(rule, [
        `Priority : ${rule.priority}`,
        `Flags : ${ruleFlagWords(rule.flags)}`,
        `Type : ${rule.type}`,
      ]),
      ...(rule.absent?.includes("Conditions") === true ? [] : conditionLines(rule.conditions)),
      ...carried(rule, [`Flow TTL: ${rule.ttl}`]),
      ...rule.data,
      ...carried(rule, [`FlagsEx : ${rule.flagsEx} `]),
      ...(withCounters && rule.counters !== undefined ? counterLines(rule.counters) : []),
    ]),
    "",
  ];
}

/** One group without its rules, with the empty line behind it. A group without an id is none: rules stood alone. */
export function groupLines(group: ListedGroup): readonly string[] {
  if (group.id === "") return [];
  return [
    `  GROUP : ${group.id}`,
    ...indented(6, [
      ...carried(group, [
        `Friendly name : ${group.name}`,
        `Priority : ${group.priority}`,
        `Direction : ${group.direction}`,
        `Type : ${group.type}`,
      ]),
      ...(group.absent?.includes("Conditions") === true ? [] : indented(2, conditionLines(group.conditions))),
      ...carried(group, [`Match type : ${group.match}`]),
    ]),
    "",
  ];
}

/** One layer without its groups. A layer without an id is none: groups stood alone. */
export function layerLines(layer: ListedLayer, words: LayerFlagWords): readonly string[] {
  if (layer.id === "") return [];
  const flags = words.next(layer.flags);
  return [
    `LAYER : ${layer.id}`,
    ...indented(4, [
      ...carried(layer, [
        `Friendly name : ${layer.name}`,
        ...(flags === undefined ? [] : [`Flags : ${flags}`]),
        `Priority : ${layer.priority}`,
      ]),
    ]),
  ];
}

/** `/list-layer`. */
export function layerListLines(layers: readonly ListedLayer[]): readonly string[] {
  const words = new LayerFlagWords();
  return layers.flatMap((layer) => [...layerLines(layer, words), ""]);
}

/** `/list-group` of one layer. */
export function groupListLines(layer: ListedLayer): readonly string[] {
  return layer.groups.flatMap(groupLines);
}

/** `/list-rule` and `/get-rule-counter`: the headings of layers stand there when no layer was asked for. */
export function ruleListLines(
  layers: readonly ListedLayer[],
  options: { readonly withLayers: boolean; readonly withCounters?: boolean },
): readonly string[] {
  const words = new LayerFlagWords();
  return layers.flatMap((layer) => {
    const heading = options.withLayers ? layerLines(layer, words) : [];
    return [
      ...(heading.length === 0 ? [] : [...heading, ""]),
      ...layer.groups.flatMap((group) => [
        ...groupLines(group),
        ...group.rules.flatMap((rule) => ruleLines(rule, options.withCounters)),
      ]),
    ];
  });
}

/** `/get-layer-counter`. */
export function layerCounterLines(layers: readonly ListedLayer[]): readonly string[] {
  const words = new LayerFlagWords();
  return layers.flatMap((layer) => {
    const { counters } = layer;
    if (counters === undefined) return [];
    const side = (name: string, counts: LayerCounters): readonly string[] => [
      `    Direction - ${name}`,
      ...LAYER_COUNTER_LABELS.map(([field, label]) => `      ${label} count : ${counts[field]}`),
    ];
    return [
      ...layerLines(layer, words),
      "",
      "  LAYER COUNTER",
      ...side("OUT", counters.out),
      ...side("IN", counters.in),
      "",
    ];
  });
}

/** What stands around the items of a list. */
export function itemList(verb: string, lines: readonly string[]): readonly string[] {
  return ["", " ITEM LIST", "===========", "", ...lines, `Command ${verb} succeeded!`];
}
