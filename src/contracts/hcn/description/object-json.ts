/**
 * Described objects out of JSON, and as results print them: fields in order, defaults left out (hcn.md §1.6).
 */
import {
  type Field,
  type ObjectDescription,
  type ObjectOf,
  type Referred,
  type ScalarKind,
  type ScalarValues,
  type SchemaVersion,
  fieldsOf,
  referredObject,
  type ValueOf,
} from "./description.ts";
import { HcnError } from "../error.ts";
import type { HcnErrorCode } from "../error-codes.ts";
import type { Guid } from "../guid.ts";
import { type JsonReader, present, readOnce } from "./json.ts";
import {
  BASE,
  type BaseDocument,
  DNS,
  type Dns,
  type PolicyDocument,
  ROUTE,
  type Route,
  SCHEMA_V2_0,
} from "../documents/base-document.ts";
import { PREFIX_WORDS, readAddressOrPrefix, readOptionalIp } from "../documents/address-list.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";

/** A document that a service has given out or keeps: it has an id. */
export type Stored<T extends { readonly ID?: Guid }> = T & { readonly ID: Guid };

export function isStored<T extends { readonly ID?: Guid }>(document: T): document is Stored<T> {
  return document.ID !== undefined;
}

/** What a service has answered. @throws HcnError HCN_E_INVALID_JSON for an object without an id. */
export function storedOf<T extends { readonly ID?: Guid }>(document: T, what: string): Stored<T> {
  if (isStored(document)) return document;
  throw new HcnError("HCN_E_INVALID_JSON", { detail: `${what} without ID` });
}

/** `v1`: `Subnets`, `VirtualNetwork`, `IPAddress` …; `v2`: the `HostCompute…` documents. */
export type Dialect = "v1" | "v2";

/**
 * A document or query without a schema version, or with a major below 2, is v1 (hcn.md §1.6). Minors above the
 * service's own have not been seen to fail, so every minor is taken.
 */
export function dialectOf(version: SchemaVersion | undefined): Dialect {
  return version !== undefined && version.Major >= 2 ? "v2" : "v1";
}

export function readSchemaVersion(reader: JsonReader): SchemaVersion | undefined {
  const given: unknown = reader.raw("SchemaVersion");
  if (given === SCHEMA_V2_0) return SCHEMA_V2_0;
  const version = reader.object("SchemaVersion");
  if (version === undefined) return undefined;
  return Object.freeze({ Major: version.u32("Major") ?? 0, Minor: version.u32("Minor") ?? 0 });
}

type ReadField = (reader: JsonReader, name: string) => unknown;

const PREFIX_LENGTH_MAX = 128;

/** How each kind of value is read. */
export const SCALAR_READERS: {
  readonly [K in ScalarKind]: (reader: JsonReader, name: string) => ScalarValues[K] | undefined;
} = {
  text: (reader, name) => reader.text(name),
  address: readOptionalIp,
  prefix: readAddressOrPrefix,
  guid: (reader, name) => reader.guid(name),
  boolean: (reader, name) => reader.boolean(name),
  u16: (reader, name) => reader.u16(name),
  u32: (reader, name) => reader.u32(name),
  protocol: (reader, name) => reader.protocol(name),
  flags: (reader, name) => reader.u32(name),
  prefixLength: (reader, name) => reader.number(name, PREFIX_LENGTH_MAX),
  serviceVersion: (reader, name) => reader.number(name),
  schemaVersion: readSchemaVersion,
  texts: (reader, name) => reader.texts(name),
  json: (reader, name) => reader.raw(name),
  jsonObject: (reader, name) => reader.object(name)?.whole(),
};

/** Numbers that are not checked may be larger: a newer service may have more bits. */
const LENIENT_READERS: Readonly<Partial<Record<Field["is"], ReadField>>> = {
  u16: (reader, name) => reader.number(name),
  flags: (reader, name) => reader.number(name),
};

function listReader(of: Referred): ReadField {
  const entry = new ObjectReader<object>(referredObject(of));
  // Of lists that come in many documents.
  return (reader, name) =>
    readOnce(reader.raw(name), entry, () => {
      const entries = reader.list(name, (each) => entry.read(each));
      return entries && Object.freeze(entries);
    });
}

function objectReader(of: Referred): ReadField {
  const inner = new ObjectReader<object>(referredObject(of));
  return (reader, name) => {
    const object = reader.object(name);
    return object && inner.read(object);
  };
}

function fieldReader(field: Field): ReadField {
  if (field.is === "object") return objectReader(field.of);
  if (field.is === "list") return listReader(field.of);
  if (field.is === "policies") {
    const types = field.types();
    return (reader) => readPolicies(reader, types);
  }
  if (field.is !== "enumeration" && field.is !== "numbered") return SCALAR_READERS[field.is];
  const { names, code } = field;
  const readName = (reader: JsonReader, name: string): string | undefined =>
    (code === undefined ? reader : reader.failingWith(code)).enumeration(name, names);
  if (field.is === "enumeration") return readName;
  return (reader, name) => {
    const value = readName(reader, name);
    return value === undefined ? undefined : names.indexOf(value);
  };
}

/** What a field that an object cannot be without has to be, in words. */
function wantedOf(field: Field | undefined): string {
  if (field?.is === "prefix") return PREFIX_WORDS;
  if (field?.is === "enumeration") return field.names.filter((name) => name !== undefined).join(" or ");
  if (field?.is !== "object") return "there";
  const [needed = ""] = referredObject(field.of).needs ?? [];
  return needed === "" ? "an object" : `an object with the field "${needed}"`;
}

interface ReadableField {
  readonly name: string;
  /** Of a field that the object needs: what it has to be. */
  readonly wanted: string | undefined;
  readonly read: ReadField;
  readonly readLenient: ReadField;
}

/** A reader of a described object. Strict about types, tolerant where Windows is: unknown fields are passed by. */
export class ObjectReader<T extends object> {
  private readonly fields: readonly ReadableField[];
  private readonly code: HcnErrorCode | undefined;

  constructor(description: ObjectDescription) {
    this.code = description.code;
    this.fields = fieldsOf(description).map(([name, field]) => {
      const read = fieldReader(field);
      const wanted = description.needs?.includes(name) === true ? wantedOf(field) : undefined;
      return { name, wanted, read, readLenient: LENIENT_READERS[field.is] ?? read };
    });
  }

  /** All described fields, in their order; absent ones stay absent. @throws HcnError for a field of the wrong type. */
  read(given: JsonReader): T {
    const reader = this.code === undefined ? given : given.failingWith(this.code);
    const values: Record<string, unknown> = {};
    for (const { name, read, wanted } of this.fields) {
      // Most fields of most documents are absent.
      const value = reader.raw(name) === undefined ? undefined : read(reader, name);
      if (value !== undefined) values[name] = value;
      else if (wanted !== undefined) throw reader.fail(name, wanted);
    }
    return Object.freeze(values) as T;
  }

  /** One field of a document that no request brought. @throws HcnError when it has the wrong type. */
  readStored<K extends keyof T & string>(reader: JsonReader, name: K): T[K] | undefined {
    const field = this.fields.find((each) => each.name === name);
    return field?.readLenient(reader, name) as T[K] | undefined;
  }
}

/** The reader of objects that `description` describes. */
export function readerOf<const D extends ObjectDescription>(
  description: D,
): ObjectReader<ObjectOf<D> & object> {
  return new ObjectReader<ObjectOf<D> & object>(description);
}

/**
 * The policies of a document. An empty object is no policy: `Policies: [{}]` clears a list (hcn.md §5.3).
 * Types come as names or as numbers of `numbers`; a name is kept as it was written, because only the reader of the
 * policy knows which names exist.
 */
export function readPolicies(
  reader: JsonReader,
  numbers: readonly (string | undefined)[],
): readonly PolicyDocument[] | undefined {
  const policies = reader.list("Policies", (policy) => {
    const type = policy.raw("Type");
    if (type === undefined && policy.raw("Settings") === undefined) return undefined;
    const name = typeof type === "number" ? (numbers[type] ?? String(type)) : policy.text("Type");
    return present<PolicyDocument>({ Type: name ?? "", Settings: policySettings(policy) });
  });
  return policies && Object.freeze(policies.filter((policy) => policy !== undefined));
}

/** Old samples write the fields of a policy beside its type (hcn.md §3): those fields are its settings then. */
function policySettings(policy: JsonReader): JsonObject | undefined {
  const settings = policy.raw("Settings");
  if (settings !== undefined) return policy.object("Settings")?.whole();
  const { Type: _type, ...rest } = policy.whole();
  return Object.keys(rest).length === 0 ? undefined : Object.freeze(rest);
}

export const BASE_READER: ObjectReader<BaseDocument> = readerOf(BASE);
const DNS_READER = readerOf(DNS);
const ROUTE_READER = readerOf(ROUTE);

export function readDns(reader: JsonReader): Dns | undefined {
  const dns = reader.object("Dns");
  return dns && DNS_READER.read(dns);
}

export function readRoutes(reader: JsonReader): readonly Route[] | undefined {
  return reader.list("Routes", (route) => ROUTE_READER.read(route));
}

/** True for what results leave out: undefined, empty text, zero, and an empty list. */
export function isDefault(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0) return true;
  return Array.isArray(value) && value.length === 0;
}

/** Undefined: the value stands as it is. */
type PrintField = ((value: object) => JsonValue | undefined) | undefined;

interface PrintableField {
  readonly name: string;
  readonly print: PrintField;
}

function fieldPrinter(field: Field): PrintField {
  if (field.is === "object") {
    const inner = new ObjectPrinter<unknown>(referredObject(field.of));
    return (value) => {
      const printed = inner.print(value);
      return Object.keys(printed).length === 0 ? undefined : printed;
    };
  }
  if (field.is !== "list") return undefined;
  const entry = new ObjectPrinter<unknown>(referredObject(field.of));
  return (value) => (value as readonly object[]).map((each) => entry.print(each));
}

/** A printer of a described object. */
export class ObjectPrinter<T> {
  private readonly fields: readonly PrintableField[];

  constructor(description: ObjectDescription) {
    this.fields = fieldsOf(description).map(([name, field]) => ({ name, print: fieldPrinter(field) }));
  }

  print(values: T): JsonObject {
    const given = values as Readonly<Record<string, JsonValue | undefined>>;
    const printed: Record<string, JsonValue> = {};
    for (const { name, print } of this.fields) {
      const value = given[name];
      if (value === undefined || isDefault(value)) continue;
      const shown = print === undefined ? value : print(value as object);
      if (shown !== undefined) printed[name] = shown;
    }
    return printed;
  }
}

type PrintableValue<F> = F extends { readonly is: "object"; readonly of: infer O }
  ? PrintableOf<O>
  : F extends { readonly is: "list" | "policies"; readonly of: infer O }
    ? readonly PrintableOf<O>[]
    : ValueOf<F>;
type PrintableBase<D> = D extends { base(): infer B } ? PrintableOf<B> : unknown;

/** Values of all or some fields, to be printed. An undefined one counts as absent. */
export type PrintableOf<D> = D extends () => infer R
  ? PrintableOf<R>
  : D extends { readonly fields: infer F }
    ? PrintableBase<D> & { readonly [K in keyof F]?: PrintableValue<F[K]> | undefined }
    : never;

/** The printer of objects that `description` describes. */
export function printerOf<const D extends ObjectDescription>(description: D): ObjectPrinter<PrintableOf<D>> {
  return new ObjectPrinter<PrintableOf<D>>(description);
}
