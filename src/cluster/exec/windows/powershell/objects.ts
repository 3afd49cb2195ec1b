/** The objects that go down a pipeline of PowerShell: each kind is described once, in the order in which Windows names its properties. */

import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";

/** A number that people read as a word: `IPv4`, which ConvertTo-Json writes as 2. */
export interface Enumerated {
  readonly text: string;
  readonly number: number;
}

/** An object in an object, or a list of them, as `ConvertFrom-Json` makes them. */
export interface Nested {
  readonly nested: JsonValue;
}

/** Undefined for what the object has not, which is left out of lists. */
export type Value = string | number | boolean | undefined | Enumerated | Nested | readonly string[];

export interface Property<Source> {
  readonly name: string;
  readonly read: (source: Source) => Value;
}

/** A column of the table that a kind is shown as. */
export interface Column {
  /** The property. */
  readonly name: string;
  /** What stands above it, line by line. Default: the name. */
  readonly title?: readonly string[];
  /** Default: as wide as it must be; the last column alone may do so. */
  readonly width?: number;
  readonly isRight?: boolean;
  /** What becomes of a longer value: cut at its end, before a number that ends it, or continued below. Default `cut`. */
  readonly fit?: "cut" | "keep-number" | "wrap";
}

export interface ObjectKind<Source> {
  readonly properties: readonly Property<Source>[];
  /** As it is shown when nothing says how; a kind without columns is shown as a list. */
  readonly table?: readonly Column[];
  /** Shown as a list when nothing says how, though it has columns for `Format-Table`. */
  readonly isList?: true;
  /** What `Format-List` shows when nothing says what. Default: all properties. */
  readonly list?: readonly Property<Source>[];
}

export interface PsObject {
  /** In their order. */
  readonly values: Readonly<Record<string, Value>>;
  /** Undefined for a selection, which has as many columns as it has properties. */
  readonly table: readonly Column[] | undefined;
  readonly list: Readonly<Record<string, Value>>;
  /** Of a kind that is shown as a list, and of selections of five properties or more. */
  readonly isList: boolean;
}

function readAll<Source>(
  properties: readonly Property<Source>[],
  source: Source,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(properties.map(({ name, read }) => [name, read(source)]));
}

export function makeObject<Source>(kind: ObjectKind<Source>, source: Source): PsObject {
  const values = readAll(kind.properties, source);
  const list = kind.list === undefined ? values : readAll(kind.list, source);
  return { values, table: kind.table, list, isList: kind.isList ?? kind.table === undefined };
}

/** Of so many properties PowerShell makes no table. */
const LIST_PROPERTIES_MIN = 5;

/** What `Select-Object` leaves of an object. */
export function makeSelection(values: Readonly<Record<string, Value>>): PsObject {
  const isList = Object.keys(values).length >= LIST_PROPERTIES_MIN;
  return { values, table: undefined, list: values, isList };
}

/** The property by a name in any spelling: its own name, and its value. */
export function findProperty(
  object: PsObject,
  name: string,
): { readonly name: string; readonly value: Value } | undefined {
  const wanted = name.toLowerCase();
  const found = Object.entries(object.values).find(([each]) => each.toLowerCase() === wanted);
  return found === undefined ? undefined : { name: found[0], value: found[1] };
}

/** Of a list more are not shown. */
const SHOWN_ELEMENTS = 4;

/** As it stands in tables and lists. */
export function formatValue(value: Value): string {
  if (value === undefined) return "";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return String(value);
  if (isEnumerated(value)) return value.text;
  if (isNested(value)) return formatNested(value.nested);
  const shown = value.slice(0, SHOWN_ELEMENTS).join(", ");
  return `{${shown}${value.length > SHOWN_ELEMENTS ? "..." : ""}}`;
}

/** Of what is in an object only values are shown: an object is blank, a list is its type. */
function formatInner(value: JsonValue): string {
  if (Array.isArray(value)) return "System.Object[]";
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function formatNested(value: JsonValue): string {
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map(formatNested);
    return `{${items.slice(0, SHOWN_ELEMENTS).join(", ")}${items.length > SHOWN_ELEMENTS ? "..." : ""}}`;
  }
  if (!isJsonObject(value)) return formatInner(value);
  const fields = Object.entries(value).map(([name, inner]) => `${name}=${formatInner(inner ?? null)}`);
  return fields.length === 0 ? "" : `@{${fields.join("; ")}}`;
}

export function isNested(value: Value): value is Nested {
  return typeof value === "object" && "nested" in value;
}

/** A document as `ConvertFrom-Json` makes an object of it, which has no table. */
export function objectOfJson(document: JsonObject): PsObject {
  const values = Object.fromEntries(
    Object.entries(document).map(([name, value]) => [name, valueOfJson(value ?? null)]),
  );
  return { values, table: undefined, list: values, isList: true };
}

function valueOfJson(value: JsonValue): Value {
  if (value === null) return "";
  if (typeof value !== "object") return value;
  const isTexts = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string");
  return isTexts ? value : { nested: value };
}

export function isEnumerated(value: Value): value is Enumerated {
  return typeof value === "object" && "number" in value;
}

export function isTextList(value: Value): value is readonly string[] {
  return Array.isArray(value);
}
