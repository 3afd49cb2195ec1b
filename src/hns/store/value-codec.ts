/**
 * Values of records as JSON and back without loss, whatever the record holds: what JSON has no word for gets an object
 * of one field with a `$` in front. Records are frozen plain data, so there is nothing else in them.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import { assert } from "#core/base/assert.ts";
import type { JsonValue } from "#core/base/json.ts";

/** A whole number of any size: IPv6 addresses. */
const BIG = "$bigint";
/** Undefined, where something else would be expected. */
const NONE = "$none";
/** An object whose only field looks like one of these. */
const PLAIN = "$object";

const ABSENT: JsonValue = Object.freeze({ [NONE]: true });

function looksTagged(keys: readonly string[]): boolean {
  return keys.length === 1 && (keys[0] ?? "").startsWith("$");
}

export function encodeValue(value: unknown): JsonValue {
  if (value === undefined) return ABSENT;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    assert(Number.isFinite(value), "records hold finite numbers");
    return value;
  }
  if (typeof value === "bigint") return { [BIG]: String(value) };
  if (Array.isArray(value)) return value.map(encodeValue);
  assert(isFields(value), "records hold plain data");
  const encoded: Record<string, JsonValue> = {};
  for (const [field, each] of Object.entries(value))
    if (each !== undefined) encoded[field] = encodeValue(each);
  return looksTagged(Object.keys(encoded)) ? { [PLAIN]: encoded } : encoded;
}

function decodeFields(value: Fields): unknown {
  const decoded: Record<string, unknown> = {};
  for (const [field, each] of Object.entries(value)) decoded[field] = decodeValue(each as JsonValue);
  return Object.freeze(decoded);
}

/** The value that was encoded, frozen. */
export function decodeValue(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map((each) => decodeValue(each as JsonValue)));
  if (!isFields(value)) return value;
  const keys = Object.keys(value);
  if (!looksTagged(keys)) return decodeFields(value);
  if (value[NONE] === true) return undefined;
  const [big, plain] = [value[BIG], value[PLAIN]];
  if (typeof big === "string" && /^-?\d{1,60}$/.test(big)) return BigInt(big);
  return isFields(plain) ? decodeFields(plain) : decodeFields(value);
}

/** True when both hold the same; a field that is undefined counts as absent, and order does not matter. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalValues(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  const fields = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...fields].every((field) => equalValues(a[field], b[field]));
}
