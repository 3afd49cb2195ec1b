/**
 * JSON from outside: bounded, copied, frozen; and the fields of one object read into checked values. Strict about types,
 * tolerant where Windows is: unknown fields are ignored, enumerations come as names in any letter case or as numbers, and
 * numbers may come as text (hcn.md §1.6, §3.3).
 */
import { LIMITS } from "#core/base/limits.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { HcnError } from "../error.ts";
import type { HcnErrorCode } from "../error-codes.ts";
import { parseGuid } from "../guid.ts";

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
  const known = kept.get(reader);
  if (known !== undefined || kept.has(reader)) return known as T;
  const made = read();
  kept.set(reader, made);
  return made;
}

/**
 * Copies a value that should be JSON and freezes the copy, so that a holder of the original cannot change what is
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

/** An enumeration of the schema: names at the index of their number; undefined where a number is not used. */
export type Enumeration<Name extends string> = readonly (Name | undefined)[];

/** The canonical name of an enumeration's value, given as name, number or number in text; undefined when it has none. */
export function enumerationName<Name extends string>(
  names: Enumeration<Name>,
  value: string | number,
): Name | undefined {
  if (typeof value === "number") return names[value];
  const wanted = value.toLowerCase();
  const name = names.find((candidate) => candidate?.toLowerCase() === wanted);
  return name ?? (/^\d{1,3}$/.test(wanted) ? names[Number(wanted)] : undefined);
}

/** Drops fields that are undefined, so that an absent field stays absent. */
export function present<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  const kept: Partial<Record<keyof T, T[keyof T]>> = {};
  for (const field of Object.keys(fields) as (keyof T)[]) {
    const value = fields[field];
    if (value !== undefined) kept[field] = value;
  }
  return Object.freeze(kept) as T;
}

const U16_MAX = 0xffff;
/** The header has 255; 256 is any protocol. */
const PROTOCOL_MAX = 256;
const U32_MAX = 0xffff_ffff;

/** Names of protocols that HNS documents write in place of numbers. */
const PROTOCOL_NUMBERS: Readonly<Record<string, number>> = {
  icmpv4: 1,
  igmp: 2,
  tcp: 6,
  udp: 17,
  icmpv6: 58,
  sctp: 132,
};

/** The number of a protocol that a document names. */
export function protocolNumber(name: string): number | undefined {
  return PROTOCOL_NUMBERS[name.toLowerCase()];
}

export class JsonReader {
  /** Where the object stands in its document, for messages: `Ipams[0].Subnets[1]`. */
  readonly where: string;
  private readonly value: JsonObject;
  private readonly code: HcnErrorCode;

  /** `code` is what a wrong field fails with: wrong types are bad JSON, wrong policy settings a bad policy. */
  constructor(value: JsonObject, where: string, code: HcnErrorCode) {
    this.value = value;
    this.where = where;
    this.code = code;
  }

  /** A reader of `value`, which has to be an object. */
  static of(value: JsonValue | undefined, where: string, code: HcnErrorCode): JsonReader {
    if (isJsonObject(value)) return new JsonReader(value, where, code);
    throw new HcnError(code, { detail: `${where} must be a JSON object` });
  }

  /** A reader of the same object whose wrong fields fail with `code`. */
  failingWith(code: HcnErrorCode): JsonReader {
    return new JsonReader(this.value, this.where, code);
  }

  /** The object itself. */
  whole(): JsonObject {
    return this.value;
  }

  at(field: string): string {
    return this.where === "" ? field : `${this.where}.${field}`;
  }

  fail(field: string, expected: string): HcnError {
    const value = JSON.stringify(this.value[field]) ?? "nothing";
    const shown = value.length > 80 ? `${value.slice(0, 77)}...` : value;
    return new HcnError(this.code, { detail: `${this.at(field)} is ${shown}; it must be ${expected}` });
  }

  /** What was read of a field that has to be there. */
  needed<T>(field: string, value: T | undefined, expected: string): T {
    if (value === undefined) throw this.fail(field, expected);
    return value;
  }

  /** The field as it stands; null counts as absent. */
  raw(field: string): JsonValue | undefined {
    return this.value[field] ?? undefined;
  }

  text(field: string): string | undefined {
    const value = this.raw(field);
    if (value === undefined || typeof value === "string") return value;
    throw this.fail(field, "a text");
  }

  /** Text that may also come as a number, such as ports and protocols in ACLs. */
  textOrNumber(field: string): string | undefined {
    const value = this.raw(field);
    return typeof value === "number" ? String(value) : this.text(field);
  }

  boolean(field: string): boolean | undefined {
    const value = this.raw(field);
    if (value === undefined || typeof value === "boolean") return value;
    if (typeof value === "string" && /^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
    throw this.fail(field, "true or false");
  }

  /** A whole number from 0 to `max`, also written as text. */
  number(field: string, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && Number.isInteger(number) && number >= 0 && number <= max) return number;
    throw this.fail(field, `a whole number from 0 to ${max}`);
  }

  u16(field: string): number | undefined {
    return this.number(field, U16_MAX);
  }

  u32(field: string): number | undefined {
    return this.number(field, U32_MAX);
  }

  /** An IP protocol, as number, as number in text, or as name. */
  protocol(field: string): number | undefined {
    const value = this.raw(field);
    const named = typeof value === "string" ? protocolNumber(value) : undefined;
    if (value === "") return undefined;
    return named ?? this.number(field, PROTOCOL_MAX);
  }

  /** A GUID in lower case. */
  guid(field: string): string | undefined {
    const text = this.text(field);
    if (text === undefined || text === "") return undefined;
    const guid = parseGuid(text);
    if (guid === undefined) {
      throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", {
        detail: `${this.at(field)} is ${JSON.stringify(text)}; it must be a GUID`,
      });
    }
    return guid;
  }

  /** The canonical name of an enumeration's value. */
  enumeration<Name extends string>(field: string, names: Enumeration<Name>): Name | undefined {
    const value = this.raw(field);
    if (value === undefined || value === "") return undefined;
    const name =
      typeof value === "string" || typeof value === "number" ? enumerationName(names, value) : undefined;
    if (name !== undefined) return name;
    throw this.fail(field, `one of ${names.filter((known) => known !== undefined).join(", ")}`);
  }

  object(field: string): JsonReader | undefined {
    const value = this.raw(field);
    return value === undefined ? undefined : JsonReader.of(value, this.at(field), this.code);
  }

  /** The items of a list, each read by `read`; null counts as absent. */
  list<T>(field: string, read: (item: JsonReader) => T): readonly T[] | undefined {
    return this.array(field)?.map((item, index) =>
      read(JsonReader.of(item, `${this.at(field)}[${index}]`, this.code)),
    );
  }

  /** A list of texts. A text alone counts as a list with one item, as older documents write it (hcn.md §2.6). */
  texts(field: string): readonly string[] | undefined {
    const value = this.raw(field);
    if (typeof value === "string") return value === "" ? [] : Object.freeze(value.split(","));
    const items = this.array(field);
    if (items === undefined) return undefined;
    return Object.freeze(
      items.map((item) => {
        if (typeof item === "string") return item;
        throw this.fail(field, "a list of texts");
      }),
    );
  }

  private array(field: string): readonly JsonValue[] | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (Array.isArray(value)) return value as readonly JsonValue[];
    throw this.fail(field, "a list");
  }
}
