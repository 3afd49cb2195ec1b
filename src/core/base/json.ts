/** What JSON can hold, and objects whose fields are not checked yet. */

/** A JSON document as it stands on the wire. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: JsonValue | undefined;
}

/** A mapping from outside: what its fields hold has to be checked. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for an object, false for lists and scalars. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The mapping that a field holds; an empty one for anything else. */
export function mappingOf(value: JsonValue | undefined): JsonObject;
export function mappingOf(value: unknown): Fields;
export function mappingOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The list that a field holds; an empty one for anything else. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[];
export function listOf(value: unknown): readonly unknown[];
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text that a field holds; an empty one for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The mappings among the items of a list; none for anything else. */
export function mappingsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** `isFields` for a value that is known to be JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isFields(value);
}

function ownField(object: Fields, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** Whether two JSON values are equal; the order of fields does not matter, and absent and undefined fields are the same. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  for (const field of Object.keys(a)) if (!equalJson(a[field], ownField(b, field))) return false;
  return Object.keys(b).every((field) => Object.hasOwn(a, field) || b[field] === undefined);
}

/** The same fields in the same order: a text by which equal JSON values are known. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isFields(value)) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}
