/**
 * Reads the fields of one JSON object into checked values. Strict about types, tolerant where Windows is: unknown
 * fields are ignored, enumerations come as names in any letter case or as numbers, and numbers may come as text
 * (hcn.md §1.6, §3.3).
 */
import type { HcnErrorCode } from "../error-codes.ts";
import { HcnError } from "../error.ts";
import { parseGuid } from "../guid.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";

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
const U32_MAX = 0xffff_ffff;

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
