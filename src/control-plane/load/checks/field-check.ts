/**
 * Checks of fields, joined from small ones. A check looks at one value and tells its faults; a field that Mullion does
 * not read is not looked at. A field that is absent or null is good unless it is required, as in Kubernetes.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { WrongType } from "#contracts/kubernetes/object-fields.ts";
import { type FieldPath, below, formatPath } from "#contracts/kubernetes/text/field-path.ts";
import { type Fields, isFields, listOf, mappingOf } from "#core/base/json.ts";
import type { TextRule } from "./names.ts";

/** A fault of a field. */
export interface FieldFault {
  readonly code: KnowledgeCode;
  readonly path: FieldPath | undefined;
  readonly message: string;
  readonly advice: string;
  /** The value that is wrong, when it is a text. */
  readonly text: string | undefined;
}

/** Gathers the faults of one object. */
export class FieldFaults {
  readonly list: FieldFault[] = [];

  private add(
    code: KnowledgeCode,
    path: FieldPath | undefined,
    message: string,
    advice: string,
    value: unknown,
  ): void {
    this.list.push({ code, path, message, advice, text: typeof value === "string" ? value : undefined });
  }

  invalid(path: FieldPath | undefined, value: unknown, detail: string, advice: string): void {
    this.add("manifest-invalid-value", path, `Invalid value: ${showValue(value)}: ${detail}`, advice, value);
  }

  required(path: FieldPath | undefined, advice: string, detail = ""): void {
    const message = detail === "" ? "Required value" : `Required value: ${detail}`;
    this.add("manifest-missing-field", path, message, advice, undefined);
  }

  unsupported(path: FieldPath | undefined, value: unknown, words: readonly string[]): void {
    // An empty text stands for the default, and is no value to write.
    const shown = words.filter((word) => word !== "");
    const supported = shown.map((word) => `"${word}"`).join(", ");
    const message = `Unsupported value: ${showValue(value)}: supported values: ${supported}`;
    this.add("manifest-invalid-value", path, message, `Write one of: ${shown.join(", ")}.`, value);
  }

  notFound(path: FieldPath | undefined, value: unknown, advice: string): void {
    this.add("manifest-invalid-value", path, `Not found: ${showValue(value)}`, advice, value);
  }

  duplicate(path: FieldPath | undefined, value: unknown, advice: string): void {
    this.add("manifest-invalid-value", path, `Duplicate value: ${showValue(value)}`, advice, value);
  }

  forbidden(path: FieldPath | undefined, detail: string, advice: string): void {
    this.add("manifest-invalid-value", path, `Forbidden: ${detail}`, advice, undefined);
  }

  wrongType(path: FieldPath | undefined, value: unknown, wanted: string): void {
    const isBare = typeof value === "number" || typeof value === "boolean";
    const advice =
      wanted === "text" && isBare ? `Put it in quotes: "${JSON.stringify(value)}".` : `Write ${wanted}.`;
    this.add("manifest-invalid-value", path, `must be ${wanted}, but is ${nameValue(value)}`, advice, value);
  }

  /** Those of places of which nothing is said yet. */
  wrongTypes(found: readonly WrongType[]): void {
    if (found.length === 0) return;
    const known = new Set(this.list.map(({ path }) => formatPath(path)));
    for (const { path, value, wanted } of found)
      if (!known.has(formatPath(path))) this.wrongType(path, value, wanted);
  }
}

const SHOWN_MAX = 80;

/** A value as JSON, cut when it is long. */
export function showValue(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > SHOWN_MAX ? `${json.slice(0, SHOWN_MAX)}…` : json;
}

function nameValue(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  if (typeof value === "string") return `the text ${showValue(value)}`;
  return typeof value === "number" ? `the number ${value}` : `the truth value ${showValue(value)}`;
}

/** Looks at one value. */
export type Check = (value: unknown, path: FieldPath | undefined, faults: FieldFaults) => void;

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Values that stand further to the front already, with their places. For checks between fields. */
export function* repeated<T>(values: readonly T[]): Generator<readonly [index: number, value: T]> {
  const seen = new Set<T>();
  for (const [index, value] of values.entries())
    if (seen.has(value)) yield [index, value];
    else seen.add(value);
}

/** The items of a list that are mappings; none for anything else. For checks between fields. */
export function mappingsOf(value: unknown): readonly Fields[] {
  return listOf(value).map(mappingOf);
}

/** A text, or what stands for it when it is absent. For checks between fields. */
export function textOr(value: unknown, absent: string): string {
  return typeof value === "string" && value !== "" ? value : absent;
}

export const anyText: Check = (value, path, faults) => {
  if (typeof value !== "string") faults.wrongType(path, value, "text");
};

/** A text that follows a rule. An empty one counts as absent where `mayBeEmpty`. */
export function text(rule: TextRule, mayBeEmpty = false): Check {
  return (value, path, faults) => {
    if (typeof value !== "string") faults.wrongType(path, value, "text");
    else if (value !== "" || !mayBeEmpty) {
      const fault = rule.fault(value);
      if (fault !== undefined) faults.invalid(path, value, fault, rule.advice);
    }
  };
}

export const flag: Check = (value, path, faults) => {
  if (typeof value !== "boolean") faults.wrongType(path, value, "true or false");
};

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number, detail?: string): Check {
  return (value, path, faults) => {
    if (typeof value !== "number" || !Number.isInteger(value))
      faults.wrongType(path, value, "a whole number");
    else if (value < min || value > max) {
      const sentence = detail ?? `must be between ${min} and ${max}, inclusive`;
      faults.invalid(path, value, sentence, `Write a number from ${min} to ${max}.`);
    }
  };
}

export const PORT: Check = integer(1, 65_535);
export const COUNT: Check = integer(0, 2_147_483_647, "must be greater than or equal to 0");

export function oneOf(...words: readonly string[]): Check {
  return (value, path, faults) => {
    if (typeof value !== "string") faults.wrongType(path, value, "text");
    else if (!words.includes(value)) faults.unsupported(path, value, words);
  };
}

/** A field that must be there and not empty. */
export interface RequiredCheck {
  readonly required: Check;
  readonly advice: string;
}

export function required(check: Check, advice: string): RequiredCheck {
  return { required: check, advice };
}

function isEmptyValue(value: unknown): boolean {
  return isAbsent(value) || value === "" || (Array.isArray(value) && value.length === 0);
}

/** A mapping with known fields; others are not looked at. */
export function object(fields: Readonly<Record<string, Check | RequiredCheck>>): Check {
  const entries = Object.entries(fields);
  return (value, path, faults) => {
    if (!isFields(value)) {
      faults.wrongType(path, value, "a mapping");
      return;
    }
    for (const [name, check] of entries) {
      const field = value[name];
      if (typeof check === "function") {
        if (!isAbsent(field)) check(field, below(path, name), faults);
      } else if (isEmptyValue(field)) faults.required(below(path, name), check.advice);
      else check.required(field, below(path, name), faults);
    }
  };
}

export function list(check: Check): Check {
  return (value, path, faults) => {
    if (!Array.isArray(value)) {
      faults.wrongType(path, value, "a list");
      return;
    }
    for (const [index, item] of value.entries()) check(item, below(path, index), faults);
  };
}

/** A mapping from keys that follow a rule to checked values. */
export function mapOf(keys: TextRule, values: Check): Check {
  return (value, path, faults) => {
    if (!isFields(value)) {
      faults.wrongType(path, value, "a mapping");
      return;
    }
    for (const [key, item] of Object.entries(value)) {
      const fault = keys.fault(key);
      if (fault !== undefined) faults.invalid(below(path, key), key, fault, keys.advice);
      // `node-role.kubernetes.io/control-plane:` has an empty value.
      if (item !== null) values(item, below(path, key), faults);
    }
  };
}

/** Several checks of one value. Checks between fields come after the check of the fields themselves. */
export function all(...checks: readonly Check[]): Check {
  return (value, path, faults) => {
    for (const check of checks) check(value, path, faults);
  };
}
