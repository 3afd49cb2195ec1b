/** The tables of effects and of times in docs/reference/hns-faults.md. */
import { formatMarkdownTable } from "./markdown-table.ts";
import { COST_MODEL_TABLE, costOf } from "#hns/failures/faults/cost-model.ts";
import { COST_MODELS, type FaultEffectName } from "#hns/failures/faults/fault.ts";
import {
  CALL_FIELDS,
  EFFECT_FIELDS,
  EFFECT_MEANINGS,
  type FieldShape,
  type Fields,
} from "#hns/failures/faults/fault-fields.ts";

/** Fields that most effects share; they have a table of their own. */
const SCHEDULE: readonly string[] = ["calls", "nth", "after", "every", "rate", "times"];

function shapeText(shape: FieldShape): string {
  switch (shape.type) {
    case "number":
      return shape.isWhole ? "whole number" : "number";
    case "boolean":
      return "true or false";
    case "text":
      return shape.noun;
    case "one-of":
      return shape.names.map((name) => `\`${name}\``).join(", ");
    case "numbers":
      return "list of numbers";
    case "error":
      return "error";
    case "calls":
      return "object";
  }
}

function fieldTable(fields: Fields): string {
  const rows = Object.entries(fields).map(([name, { shape, meaning, isRequired }]) => [
    `\`${name}\`${isRequired === true ? " (needed)" : ""}`,
    shapeText(shape),
    meaning,
  ]);
  return formatMarkdownTable([["Field", "What it holds", "Meaning"], ...rows]);
}

function ownFields(effect: FaultEffectName): Fields {
  return Object.fromEntries(
    Object.entries(EFFECT_FIELDS[effect]).filter(([name]) => !SCHEDULE.includes(name)),
  );
}

function effectSection(effect: FaultEffectName): string {
  const own = ownFields(effect);
  const takesCalls = Object.hasOwn(EFFECT_FIELDS[effect], "calls");
  const isScheduled = Object.hasOwn(EFFECT_FIELDS[effect], "nth");
  const shared = takesCalls
    ? "It has `calls` and the fields of the schedule."
    : isScheduled
      ? "It has the fields of the schedule."
      : "";
  const parts = [
    `### \`${effect}\``,
    [EFFECT_MEANINGS[effect], shared].filter((text) => text !== "").join(" "),
  ];
  if (Object.keys(own).length > 0) parts.push(fieldTable(own));
  return parts.join("\n\n");
}

/** All effects with their fields, then what they share. */
export function formatEffects(): string {
  const schedule = Object.fromEntries(
    Object.entries(EFFECT_FIELDS.fail).filter(([name]) => SCHEDULE.includes(name) && name !== "calls"),
  );
  const effects = Object.keys(EFFECT_FIELDS) as FaultEffectName[];
  return [
    ...effects.map(effectSection),
    "### `calls`: which calls a fault concerns",
    "All fields have to fit; without `calls` it is every call. A call of HNS v1 counts as what it does, so that `kind` and `operation` find it as well.",
    fieldTable(CALL_FIELDS),
    "### The schedule: which of them it strikes",
    "All fields have to agree; without any it is each one.",
    fieldTable(schedule),
  ].join("\n\n");
}

/** The cluster of the measurement that the model is fitted to. */
const ENDPOINTS = 5_000;
const LOAD_BALANCERS = 2_000;
const MS_PER_MINUTE = 60_000;

function milliseconds(ms: number): string {
  return `${Number(ms.toPrecision(2))} ms`;
}

/** One row per model, with the total that it is fitted to. */
export function formatCosts(): string {
  const rows = COST_MODELS.map((name) => {
    const cost = COST_MODEL_TABLE[name];
    let total = 0;
    for (let made = 0; made < ENDPOINTS + LOAD_BALANCERS; made++)
      total += costOf(cost, "create", made < ENDPOINTS ? "Endpoint" : "LoadBalancer", made);
    return [
      `\`${name}\``,
      milliseconds(cost.readMs),
      milliseconds(cost.changeMs),
      cost.changeMsPerObject < 1e-9 ? "0" : milliseconds(cost.changeMsPerObject),
      milliseconds(cost.networkMs),
      `${Math.round(total / MS_PER_MINUTE)} min`,
    ];
  });
  const titles = [
    "Model",
    "List, query",
    "Make, change, delete",
    "and for each that is there",
    "Make, delete a network",
    "5000 endpoints, 2000 load balancers",
  ];
  return formatMarkdownTable([titles, ...rows]);
}
