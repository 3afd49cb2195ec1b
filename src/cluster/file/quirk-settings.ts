/** Defects of nodes as a cluster file sets them: names of `knowledge/quirks.ts`, each off, on, or on at a rate. */
import { type ParsedNode, isMap, isScalar } from "yaml";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { JsonObject } from "#core/base/json.ts";
import {
  QUIRK_NAMES,
  type QuirkName,
  type QuirkSetting,
  type QuirkSettings,
  isQuirkName,
  parseQuirk,
} from "#core/catalogue/quirks.ts";
import { childPath, entriesOf } from "./mapping.ts";
import { type ValuePlace, type Reading, nameOf, quote } from "./reading.ts";
import type { ValueShape, ShapePart } from "./shape.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

const ADVICE = WORDS.adviceQuirkSetting;

/** The setting as `parseQuirk` reads it: words, numbers, and what YAML makes of `true`. */
function settingText(node: ParsedNode | undefined): string | undefined {
  if (!isScalar(node)) return undefined;
  if (typeof node.value === "boolean") return node.value ? "on" : "off";
  if (typeof node.value === "number") return String(node.value);
  return typeof node.value === "string" ? node.value : undefined;
}

function readSetting(
  name: QuirkName,
  node: ParsedNode | undefined,
  place: ValuePlace,
  reading: Reading,
): QuirkSetting | undefined {
  const text = settingText(node);
  const parsed = text === undefined ? undefined : parseQuirk(`${name}=${text}`);
  if (parsed !== undefined && "setting" in parsed) return parsed.setting;
  const what = node === undefined ? "empty" : nameOf(node);
  reading.reportValue(place, `must be a setting of ${name}, but is ${what}`, ADVICE);
  return undefined;
}

function reportUnknown(name: string, place: ValuePlace, reading: Reading): void {
  const [nearest] = nearestNames(name, QUIRK_NAMES);
  const advice = nearest === undefined ? WORDS.adviceQuirkNames : `Did you mean ${nearest}?`;
  reading.report("cluster-file-unknown-field", place, `there is no defect ${quote(name)}`, advice);
}

/** A mapping from names of defects to settings. */
export const QUIRK_SETTINGS: ValueShape<QuirkSettings> = Object.freeze({
  noun: "a mapping from defects to on, off or a rate",
  read(node: ParsedNode, place: ValuePlace, reading: Reading): QuirkSettings | undefined {
    if (!isMap(node)) {
      reading.reportValue(
        place,
        `must be a mapping, but is ${nameOf(node)}`,
        "Write defect: on, one per line.",
      );
      return undefined;
    }
    const settings: Partial<Record<QuirkName, QuirkSetting>> = {};
    let isComplete = true;
    for (const [name, entry] of entriesOf(node, place, reading)) {
      const path = childPath(place.path, name);
      if (!isQuirkName(name)) {
        reportUnknown(name, { offset: entry.keyOffset, path }, reading);
        isComplete = false;
        continue;
      }
      const at = { offset: entry.node?.range[0] ?? entry.keyOffset, path };
      const setting = readSetting(name, entry.node, at, reading);
      if (setting === undefined) isComplete = false;
      else settings[name] = setting;
    }
    return isComplete ? Object.freeze(settings) : undefined;
  },
  schema: (): JsonObject => ({
    type: "object",
    propertyNames: { enum: [...QUIRK_NAMES] },
    additionalProperties: {
      anyOf: [
        { enum: ["on", "off", true, false] },
        { type: "number", minimum: 0, maximum: 1 },
        { type: "string", pattern: "^(0|1|0?\\.[0-9]{1,9}|1\\.0+)(@.*)?$" },
      ],
    },
  }),
  parts: (): readonly ShapePart[] => [],
});
