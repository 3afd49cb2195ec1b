/** JSON from outside: bounded, copied, frozen. */
import { LIMITS } from "#core/base/limits.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { HcnError } from "../error.ts";

function invalidJson(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_JSON", { detail });
}

/** Marks what `keepJson` has checked; behind it stands what was read of the value, by reader. */
const KEPT: unique symbol = Symbol("kept");

interface Kept {
  readonly [KEPT]?: Map<object, unknown>;
}

function keptOf(value: object): Map<object, unknown> | undefined {
  return (value as Kept)[KEPT];
}

/**
 * Checks and freezes a value that goes into many documents: it is known again there, and neither copied nor looked
 * through.
 */
export function keepJson<T extends object>(value: T): T {
  const checked = checkJsonValue(value) as T & JsonValue;
  const kept = Object.assign(Array.isArray(checked) ? [] : {}, checked) as T;
  // Not enumerable: no document shows it.
  Object.defineProperty(kept, KEPT, { value: new Map<object, unknown>() });
  return Object.freeze(kept);
}

/**
 * What `read` makes of a value. Of one that `keepJson` returned, which never changes, it is made once and kept with the
 * value; it has to be frozen.
 */
export function readOnce<T>(value: JsonValue | undefined, reader: object, read: () => T): T {
  const kept = typeof value === "object" && value !== null ? keptOf(value) : undefined;
  if (kept === undefined) return read();
  if (!kept.has(reader)) kept.set(reader, read());
  return kept.get(reader) as T;
}

/**
 * Copies a value that should be JSON and freezes the copy, so that nobody who holds the original can change what is
 * stored. Fields that are undefined are left out.
 * @throws HcnError HCN_E_INVALID_JSON when it holds anything else than JSON or nests too deeply.
 */
export function checkJsonValue(value: unknown, depth = 0): JsonValue {
  if (depth > LIMITS.documentDepthMax)
    throw invalidJson(`The document nests deeper than ${LIMITS.documentDepthMax} levels`);
  if (typeof value === "string") {
    // Windows takes UTF-16, and what stores and sends text here is UTF-8: half a character has no place in it.
    if (!value.isWellFormed()) throw invalidJson("The document holds half of a surrogate pair");
    return value;
  }
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalidJson("A number of the document is not finite");
    return value;
  }
  if (typeof value === "object" && keptOf(value) !== undefined) return value as JsonValue;
  if (Array.isArray(value)) return Object.freeze(value.map((item) => checkJsonValue(item, depth + 1)));
  if (typeof value !== "object") throw invalidJson(`The document holds a ${typeof value}`);
  const copy: Record<string, JsonValue> = {};
  for (const field of Object.keys(value)) {
    const item: unknown = (value as Record<string, unknown>)[field];
    // A field of this name would set the prototype of a plain object, and no document has one.
    if (item === undefined || field === "__proto__") continue;
    if (!field.isWellFormed()) throw invalidJson("The document holds half of a surrogate pair");
    copy[field] = checkJsonValue(item, depth + 1);
  }
  return Object.freeze(copy);
}

/** @throws HcnError HCN_E_INVALID_JSON when `value` is no JSON object. */
export function checkJsonObject(value: unknown): JsonObject {
  const checked = checkJsonValue(value);
  if (!isJsonObject(checked)) throw invalidJson("The document must be a JSON object");
  return checked;
}

/**
 * Parses JSON text. Inferred: of a field that stands twice in an object the last one counts, as in most parsers.
 * @throws HcnError HCN_E_INVALID_JSON when it is too long, too deep or no JSON.
 */
export function parseJsonText(text: string): JsonValue {
  if (text.length > LIMITS.jsonBytesMax)
    throw invalidJson(`The document is longer than ${LIMITS.jsonBytesMax} characters`);
  return parseAnswerText(text);
}

/** Parses the JSON of an answer, whose length was bounded while it came in. @throws HcnError HCN_E_INVALID_JSON. */
export function parseAnswerText(text: string): JsonValue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new HcnError("HCN_E_INVALID_JSON", { detail: "The document does not parse as JSON", cause });
  }
  return checkJsonValue(value);
}

/** True when both are the same JSON; the order of fields does not matter. */
export function equalJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item: JsonValue, index) => equalJson(item, b[index] as JsonValue));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const fields = Object.keys(a);
  return fields.length === Object.keys(b).length && fields.every((field) => equalJson(a[field], b[field]));
}
