/** Reads faults and plans of faults from documents. What is unknown or out of range is refused, and nothing is taken. */
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import {
  QUIRK_NAMES,
  type QuirkName,
  type QuirkSetting,
  type QuirkSettings,
  isQuirkName,
} from "#core/catalogue/quirks.ts";
import type { FaultEffectName, HnsFault, HnsFaultPlan } from "./fault.ts";
import { CALL_FIELDS, EFFECT_FIELDS, FAULT_ID, type FieldShape, type Fields } from "./fault-fields.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

export const FAULT_PLAN_VERSION = "mullion/v1alpha1";
export const FAULT_PLAN_KIND = "HnsFaultPlan";
/** Faults of one service: each is asked for every call. */
export const FAULTS_MAX = 256;

/** A refusal of a fault, with what to write instead. */
export function invalidFault(detail: string): HcnError {
  return new HcnError("ERROR_INVALID_PARAMETER", { detail, explanation: "hns-fault-invalid" });
}

function shown(value: JsonValue | undefined): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function wrong(where: string, value: JsonValue | undefined, expected: string): HcnError {
  return invalidFault(`${where} is ${shown(value)}; it must be ${expected}`);
}

const HRESULT = /^0x[0-9a-f]{1,8}$/i;
const U32_MAX = 0xffff_ffff;

/** The number of an error given by name or number; undefined when it is neither. */
export function hresultOf(error: string | number): number | undefined {
  if (typeof error === "number")
    return Number.isInteger(error) && error > 0 && error <= U32_MAX ? error : undefined;
  if (Object.hasOwn(HCN_ERRORS, error)) return HCN_ERRORS[error as keyof typeof HCN_ERRORS].hresult;
  return HRESULT.test(error) && Number(error) > 0 ? Number(error) : undefined;
}

type Reader<S extends FieldShape["type"]> = (
  value: JsonValue,
  where: string,
  shape: Extract<FieldShape, { type: S }>,
) => JsonValue;

const READERS: { readonly [S in FieldShape["type"]]: Reader<S> } = {
  number: (value, where, { min, max, isWhole }) => {
    const isIn = typeof value === "number" && value >= min && value <= max;
    if (isIn && (!isWhole || Number.isInteger(value))) return value;
    throw wrong(where, value, `a ${isWhole ? "whole " : ""}number from ${min} to ${max}`);
  },
  boolean: (value, where) => {
    if (typeof value === "boolean") return value;
    throw wrong(where, value, "true or false");
  },
  text: (value, where, { pattern, noun }) => {
    if (typeof value === "string" && pattern.test(value)) return value;
    throw wrong(where, value, noun);
  },
  "one-of": (value, where, { names }) => {
    if (typeof value === "string" && names.includes(value)) return value;
    throw wrong(where, value, `one of ${names.join(", ")}`);
  },
  numbers: (value, where) => {
    const isList = Array.isArray(value) && value.length > 0 && value.length <= FAULTS_MAX;
    if (isList && value.every((item) => typeof item === "number")) return value;
    throw wrong(where, value, "a list of numbers");
  },
  error: (value, where) => {
    const isKnown =
      (typeof value === "string" || typeof value === "number") && hresultOf(value) !== undefined;
    if (isKnown) return value;
    throw wrong(where, value, WORDS.hnsErrorSyntax);
  },
  calls: (value, where) => readFields(value, where, CALL_FIELDS, []),
};

function readField(value: JsonValue, where: string, shape: FieldShape): JsonValue {
  const read = READERS[shape.type] as (value: JsonValue, where: string, shape: FieldShape) => JsonValue;
  return read(value, where, shape);
}

/** The fields of an object, all known and all in range; `others` are allowed and left out. */
function readFields(
  value: JsonValue | undefined,
  where: string,
  fields: Fields,
  others: readonly string[],
): JsonObject {
  if (!isJsonObject(value)) throw wrong(where, value, "an object");
  const read: Record<string, JsonValue> = {};
  for (const [name, content] of Object.entries(value)) {
    if (content === undefined || others.includes(name)) continue;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      const known = [...others, ...Object.keys(fields)].join(", ");
      throw invalidFault(`${where} has no field ${JSON.stringify(name)}; it has ${known}`);
    }
    read[name] = readField(content, `${where}.${name}`, field.shape);
  }
  for (const [name, field] of Object.entries(fields))
    if (field.isRequired === true && read[name] === undefined)
      throw invalidFault(`${where} needs the field ${name}`);
  return read;
}

function effectOf(value: JsonObject, where: string): FaultEffectName {
  const effect = value["effect"];
  if (typeof effect === "string" && Object.hasOwn(EFFECT_FIELDS, effect)) return effect as FaultEffectName;
  throw wrong(`${where}.effect`, effect, `one of ${Object.keys(EFFECT_FIELDS).join(", ")}`);
}

function readId(value: JsonObject, where: string): { readonly id?: string } {
  const id = value["id"];
  if (id === undefined) return {};
  if (typeof id === "string" && FAULT_ID.test(id)) return { id };
  throw wrong(`${where}.id`, id, "a name of lower-case letters, digits and hyphens");
}

/** Reads one fault. @throws HcnError ERROR_INVALID_PARAMETER, with the field and what it has to be. */
export function readFault(value: JsonValue | undefined, where = "fault"): HnsFault {
  if (!isJsonObject(value)) throw wrong(where, value, "an object");
  const effect = effectOf(value, where);
  const fields = readFields(value, where, EFFECT_FIELDS[effect], ["effect", "id"]);
  const fault = Object.freeze({ effect, ...readId(value, where), ...fields }) as HnsFault;
  if (fault.effect === "stale-endpoint" && fault.address !== undefined && fault.network === undefined)
    throw invalidFault(`${where} has an address and needs the field network, too`);
  return fault;
}

const SEED_LENGTH_MAX = 128;

function readQuirkSetting(value: JsonValue | undefined, where: string): QuirkSetting {
  if (value === "on" || value === "off") return value;
  if (!isJsonObject(value))
    throw wrong(where, value, '"on", "off" or an object with rate and, perhaps, seed');
  const fields = readFields(value, where, RATE_FIELDS, []);
  return Object.freeze(fields) as unknown as QuirkSetting;
}

const RATE_FIELDS: Fields = {
  rate: {
    shape: { type: "number", min: 0, max: 1, isWhole: false },
    meaning: "How likely it strikes.",
    isRequired: true,
  },
  seed: {
    shape: { type: "text", pattern: /^[^\p{Cc}]{1,128}$/u, noun: "a text" },
    meaning: "Where chance comes from.",
  },
};

/** Reads one setting of a defect. @throws HcnError ERROR_INVALID_PARAMETER. */
export function readQuirk(
  name: JsonValue | undefined,
  setting: JsonValue | undefined,
  where = "quirk",
): { readonly name: QuirkName; readonly setting: QuirkSetting } {
  if (typeof name !== "string" || !isQuirkName(name))
    throw invalidFault(`${where}: there is no defect ${shown(name)}; there are ${QUIRK_NAMES.join(", ")}`);
  return { name, setting: readQuirkSetting(setting, `${where}.${name}`) };
}

function readQuirks(value: JsonValue | undefined): QuirkSettings | undefined {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) throw wrong("quirks", value, "an object");
  const read = Object.entries(value).map(([name, setting]) => readQuirk(name, setting, "quirks"));
  return Object.freeze(Object.fromEntries(read.map(({ name, setting }) => [name, setting])));
}

const PLAN_FIELDS: readonly string[] = ["apiVersion", "kind", "seed", "faults", "quirks"];

function checkPlanHead(value: JsonObject): void {
  for (const name of Object.keys(value))
    if (!PLAN_FIELDS.includes(name))
      throw invalidFault(`a plan has no field ${JSON.stringify(name)}; it has ${PLAN_FIELDS.join(", ")}`);
  if (value["apiVersion"] !== FAULT_PLAN_VERSION)
    throw wrong("apiVersion", value["apiVersion"], JSON.stringify(FAULT_PLAN_VERSION));
  if (value["kind"] !== FAULT_PLAN_KIND) throw wrong("kind", value["kind"], JSON.stringify(FAULT_PLAN_KIND));
}

function readSeed(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.length <= SEED_LENGTH_MAX) return value;
  if (typeof value === "number") return String(value);
  throw wrong("seed", value, `a number or a text of at most ${SEED_LENGTH_MAX} characters`);
}

/** Reads a plan of faults. @throws HcnError ERROR_INVALID_PARAMETER, with the field and what it has to be. */
export function readFaultPlan(value: JsonValue | undefined): HnsFaultPlan {
  if (!isJsonObject(value)) throw wrong("the plan", value, "an object");
  checkPlanHead(value);
  const items = value["faults"] ?? [];
  if (!Array.isArray(items)) throw wrong("faults", items, "a list");
  if (items.length > FAULTS_MAX)
    throw invalidFault(`faults has ${items.length} items; at most ${FAULTS_MAX}`);
  const faults = (items as readonly JsonValue[]).map((item, index) => readFault(item, `faults[${index}]`));
  const seed = readSeed(value["seed"]);
  const quirks = readQuirks(value["quirks"]);
  return Object.freeze({
    ...(seed !== undefined && { seed }),
    faults: Object.freeze(faults),
    ...(quirks !== undefined && { quirks }),
  });
}

/** True when a document says that it is a plan, and not one fault. */
export function isFaultPlan(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && (value["kind"] === FAULT_PLAN_KIND || "faults" in value);
}
