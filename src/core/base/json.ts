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

/** The same for a value that is known to be JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isFields(value);
}
