/** Described documents as JSON schemas. */
import { type JsonValue, isFields } from "#core/base/json.ts";
import type { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { describe } from "#core/base/shape.ts";
import {
  type Field,
  type ObjectDescription,
  type Referred,
  type ScalarKind,
  fieldsOf,
  referredObject,
} from "./description.ts";

export type Schema = Readonly<Record<string, JsonValue>>;

/** A schema, or schemas by name, in a table of facts. */
export function readSchema(fields: CheckedFields, name: string): Schema {
  const value = fields.take(name);
  return isFields(value) ? (value as Schema) : fields.fail(`${name} is no schema`, name);
}

/** A reference to a published schema. */
export function component(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const TEXT: Schema = { type: "string" };
/** Upper ends are left out: a newer service may have more bits. */
const NUMBER: Schema = { type: "integer", minimum: 0 };
const U16: Schema = { type: "integer", minimum: 0, maximum: 65_535 };

const SCALAR_SCHEMAS: Readonly<Record<ScalarKind, Schema>> = {
  text: TEXT,
  address: TEXT,
  prefix: TEXT,
  guid: component("Guid"),
  boolean: { type: "boolean" },
  u16: U16,
  u32: NUMBER,
  protocol: { ...NUMBER, description: "6 TCP, 17 UDP, 132 SCTP." },
  flags: NUMBER,
  prefixLength: { type: "integer", minimum: 0, maximum: 128 },
  serviceVersion: { ...NUMBER, description: "The service that wrote it: major × 2^32 + minor." },
  schemaVersion: component("SchemaVersion"),
  texts: { type: "array", items: TEXT },
  json: {},
  jsonObject: { type: "object" },
};

function referenceTo(of: Referred): Schema {
  const description = referredObject(of);
  return description.name === undefined ? schemaOf(description) : component(description.name);
}

function fieldSchema(field: Field): Schema {
  if (field.is === "numbered") return { enum: field.names.map((_name, number) => number) };
  if (field.is === "enumeration") return { enum: field.names.filter((name) => name !== undefined) };
  if (field.is === "object") return referenceTo(field.of);
  if (field.is === "list" || field.is === "policies") return { type: "array", items: referenceTo(field.of) };
  return SCALAR_SCHEMAS[field.is];
}

/** The fields of a described object, in order. */
export function propertiesOf(description: ObjectDescription): Readonly<Record<string, Schema>> {
  return Object.fromEntries(fieldsOf(description).map(([name, field]) => [name, fieldSchema(field)]));
}

/** The schema of a described object as answers have it. Unknown fields are allowed. */
export function schemaOf(description: ObjectDescription): Schema {
  const required = [...(description.needs ?? []), ...(description.always ?? [])];
  return {
    type: "object",
    description: describe(description.text),
    properties: propertiesOf(description),
    ...(required.length > 0 && { required }),
  };
}
