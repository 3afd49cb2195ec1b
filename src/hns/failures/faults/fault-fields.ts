/** The fields of each fault, as they are read and published: what the words of their descriptions come to. */
import { describe } from "#core/base/shape.ts";
import {
  CALL_MATCH,
  EFFECTS,
  type EffectDescription,
  type FaultEffectName,
  type FaultField,
  SCHEDULE,
} from "./fault.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** What a field may hold. */
export type FieldShape =
  | { readonly type: "number"; readonly min: number; readonly max: number; readonly isWhole: boolean }
  | { readonly type: "boolean" }
  | { readonly type: "text"; readonly pattern: RegExp; readonly noun: string }
  | { readonly type: "one-of"; readonly names: readonly string[] }
  | { readonly type: "numbers" }
  | { readonly type: "error" }
  | { readonly type: "calls" };

export interface Field {
  readonly shape: FieldShape;
  /** One sentence for the schema and the documentation. */
  readonly meaning: string;
  readonly isRequired?: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

const COUNT_MAX = 1_000_000_000;
const DAY_MS = 86_400_000;
const FACTOR_MAX = 1_000;

const GUID = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
const ANY_TEXT = /^[^\p{Cc}]{1,1024}$/u;
/** The name of a fault, which stands in paths. */
export const FAULT_ID: RegExp = /^[a-z0-9][a-z0-9-]{0,62}$/;

const SHAPES: Readonly<Record<Extract<FaultField, { readonly is: unknown }>["is"], FieldShape>> = {
  position: { type: "number", min: 1, max: COUNT_MAX, isWhole: true },
  count: { type: "number", min: 0, max: COUNT_MAX, isWhole: true },
  milliseconds: { type: "number", min: 0, max: DAY_MS, isWhole: false },
  factor: { type: "number", min: 0, max: FACTOR_MAX, isWhole: false },
  rate: { type: "number", min: 0, max: 1, isWhole: false },
  boolean: { type: "boolean" },
  text: { type: "text", pattern: ANY_TEXT, noun: "a text" },
  address: { type: "text", pattern: ANY_TEXT, noun: "an IP address" },
  guid: { type: "text", pattern: GUID, noun: "a GUID" },
  method: { type: "text", pattern: /^(?:GET|POST|DELETE)$/i, noun: "GET, POST or DELETE" },
  path: { type: "text", pattern: ANY_TEXT, noun: "a path" },
  numbers: { type: "numbers" },
  error: { type: "error" },
};

function shapeOf(field: FaultField): FieldShape {
  if ("is" in field) return SHAPES[field.is];
  return { type: "one-of", names: typeof field.oneOf === "function" ? field.oneOf() : field.oneOf };
}

function fieldsOf(described: Readonly<Record<string, FaultField>> = {}, isRequired = false): Fields {
  const fields = Object.entries(described).map(([name, field]): [string, Field] => [
    name,
    { shape: shapeOf(field), meaning: describe(field.text), ...(isRequired && { isRequired }) },
  ]);
  return Object.fromEntries(fields);
}

export const CALL_FIELDS: Fields = fieldsOf(CALL_MATCH);

function effectFields({ needs, fields, takes }: EffectDescription): Fields {
  return {
    ...fieldsOf(needs, true),
    ...fieldsOf(fields),
    ...(takes === "calls" && { calls: { shape: { type: "calls" }, meaning: WORDS.faultCalls } }),
    ...(takes !== undefined && fieldsOf(SCHEDULE)),
  };
}

function byEffect<T>(make: (effect: EffectDescription) => T): Readonly<Record<FaultEffectName, T>> {
  const made = Object.entries(EFFECTS).map(([name, effect]) => [name, make(effect)] as const);
  return Object.fromEntries(made) as Record<FaultEffectName, T>;
}

/** What each effect has beside `effect` and `id`. */
export const EFFECT_FIELDS: Readonly<Record<FaultEffectName, Fields>> = byEffect(effectFields);

/** One sentence per effect, for the schema and the documentation. */
export const EFFECT_MEANINGS: Readonly<Record<FaultEffectName, string>> = byEffect(({ text }) =>
  describe(text),
);
