/** Reads described objects out of JSON. */
import {
  type Field,
  type ObjectDescription,
  type ObjectOf,
  type Referred,
  type ScalarKind,
  type ScalarValues,
  fieldsOf,
  referredObject,
} from "./description.ts";
import type { JsonReader } from "./json-reader.ts";
import { readOnce } from "./json-value.ts";
import { readPolicies } from "../documents/policy-list.ts";
import { readSchemaVersion } from "../documents/schema-version.ts";

type ReadField = (reader: JsonReader, name: string) => unknown;

const PREFIX_LENGTH_MAX = 128;

/** How each kind of value is read. */
export const SCALAR_READERS: {
  readonly [K in ScalarKind]: (reader: JsonReader, name: string) => ScalarValues[K] | undefined;
} = {
  text: (reader, name) => reader.text(name),
  guid: (reader, name) => reader.guid(name),
  boolean: (reader, name) => reader.boolean(name),
  u16: (reader, name) => reader.u16(name),
  flags: (reader, name) => reader.u32(name),
  prefixLength: (reader, name) => reader.number(name, PREFIX_LENGTH_MAX),
  serviceVersion: (reader, name) => reader.number(name),
  schemaVersion: readSchemaVersion,
  texts: (reader, name) => reader.texts(name),
  json: (reader, name) => reader.raw(name),
  jsonObject: (reader, name) => reader.object(name)?.whole(),
};

/** Numbers that nobody checks may be larger: a newer service may have more bits. */
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
  if (field.is !== "enumeration") return SCALAR_READERS[field.is];
  const { names, code } = field;
  return (reader, name) => (code === undefined ? reader : reader.failingWith(code)).enumeration(name, names);
}

interface ReadableField {
  readonly name: string;
  readonly read: ReadField;
  readonly readLenient: ReadField;
}

/** A reader of a described object. Strict about types, tolerant where Windows is: unknown fields are passed by. */
export class ObjectReader<T extends object> {
  private readonly fields: readonly ReadableField[];

  constructor(description: ObjectDescription) {
    this.fields = fieldsOf(description).map(([name, field]) => {
      const read = fieldReader(field);
      return { name, read, readLenient: LENIENT_READERS[field.is] ?? read };
    });
  }

  /** All described fields, in their order; absent ones stay absent. @throws HcnError for a field of the wrong type. */
  read(reader: JsonReader): T {
    const values: Record<string, unknown> = {};
    for (const { name, read } of this.fields) {
      const value = read(reader, name);
      if (value !== undefined) values[name] = value;
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
