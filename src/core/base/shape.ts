/**
 * Shapes of JSON documents: what a report, a request or an answer consists of, said once, as data. Its type
 * (`ValueOf<typeof STEP>`), its schema (`schemaOf`), the reading of requests and the tables of reference pages come from
 * the same object, so a new field is one line of it.
 *
 * A shape is `as const`. With isolated declarations such an object consists of literals; another shape stands in it as a
 * function of that type: `of: (): typeof STEP => STEP`.
 */

import { isFields } from "./json.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The version that all documents of Mullion's own carry. */
export const DOCUMENT_VERSION = "mullion/v1alpha1";

/** Values that consist of nothing else. */
interface ScalarValues {
  readonly text: string;
  /** A text that is not empty. */
  readonly words: string;
  readonly integer: number;
  /** From 0. */
  readonly count: number;
  /** From 1. */
  readonly position: number;
  readonly number: number;
  readonly boolean: boolean;
  /** Anything that is JSON. */
  readonly json: unknown;
  readonly object: Readonly<Record<string, unknown>>;
}

const SCALARS: Readonly<Record<keyof ScalarValues, JsonSchema>> = {
  text: { type: "string" },
  words: { type: "string", minLength: 1 },
  integer: { type: "integer" },
  count: { type: "integer", minimum: 0 },
  position: { type: "integer", minimum: 1 },
  number: { type: "number" },
  boolean: { type: "boolean" },
  json: {},
  object: { type: "object" },
};

/** A value with a type of its own, such as a code. */
export interface Leaf<T> {
  readonly schema: JsonSchema;
  /** Never there: it carries the type. */
  readonly type?: T;
}

/** What something is, in words; a long text is asked of `data/words/` when a schema or a page needs it. */
export type Description = string | (() => string);

export interface ListShape {
  readonly list: Shape;
  readonly text?: Description;
  /** How many items it has at least. */
  readonly min?: number;
}

/** What a value is. A list of literals: one of them. */
export type Shape =
  | keyof ScalarValues
  | readonly (string | number | boolean)[]
  | Leaf<unknown>
  | ListShape
  | { readonly oneOf: readonly Shape[] }
  | ObjectShape
  | (() => Shape);

interface MarkedField {
  readonly is: Shape;
  /** What it is, where its name does not say so. */
  readonly text?: Description;
  /** Of a number. */
  readonly min?: number;
  readonly max?: number;
}

export type Field = Shape | MarkedField;
export type Fields = Readonly<Record<string, Field>>;

export interface ObjectShape {
  /** One sentence. */
  readonly text: Description;
  /** The kind of a whole document, which has `apiVersion` and `kind` in front. */
  readonly document?: string;
  /** Fields that come before its own. */
  base?(): ObjectShape;
  /** What it always has. */
  readonly fields: Fields;
  readonly optional?: Fields;
  /** It may have fields that are not named here; `kept`: the type has them, too. */
  readonly others?: "kept" | "ignored";
}

type Simplify<T> = { readonly [K in keyof T]: T[K] } & {};
type HeadOf<S> = S extends { readonly document: infer K }
  ? { readonly apiVersion: typeof DOCUMENT_VERSION; readonly kind: K }
  : unknown;
type BaseOf<S> = S extends { base(): infer B } ? ValueOf<B> : unknown;
type OptionalOf<S> = S extends { readonly optional: infer O }
  ? { readonly [K in keyof O]?: ValueOf<O[K]> }
  : unknown;
type OpenOf<S> = S extends { readonly others: "kept" } ? { readonly [field: string]: unknown } : unknown;

/** The type of a shape. */
export type ValueOf<S> = S extends keyof ScalarValues
  ? ScalarValues[S]
  : S extends () => infer R
    ? ValueOf<R>
    : S extends { readonly is: infer I }
      ? ValueOf<I>
      : S extends { readonly list: infer I }
        ? readonly ValueOf<I>[]
        : S extends { readonly oneOf: readonly (infer I)[] }
          ? ValueOf<I>
          : S extends { readonly fields: infer F }
            ? Simplify<
                HeadOf<S> & BaseOf<S> & { readonly [K in keyof F]: ValueOf<F[K]> } & OptionalOf<S> & OpenOf<S>
              >
            : S extends Leaf<infer T>
              ? T
              : S extends readonly (infer N)[]
                ? N
                : never;

/** A shape with what functions around it lead to. */
export type ResolvedShape = Exclude<Shape, () => Shape>;

export function describe(text: Description): string {
  return typeof text === "function" ? text() : text;
}

export function resolveShape(shape: Shape): ResolvedShape {
  return typeof shape === "function" ? resolveShape(shape()) : shape;
}

export function isChoice(shape: ResolvedShape): shape is readonly (string | number | boolean)[] {
  return Array.isArray(shape);
}

/** What a field says of itself, its shape first. */
export function fieldOf(field: Field): MarkedField {
  return typeof field === "object" && "is" in field ? field : { is: field };
}

/** All fields: those of the document, of the base, its own. */
export function fieldsOf(shape: ObjectShape): { readonly required: Fields; readonly optional: Fields } {
  const base = shape.base === undefined ? undefined : fieldsOf(shape.base());
  const { document } = shape;
  const head: Fields = document === undefined ? {} : { apiVersion: [DOCUMENT_VERSION], kind: [document] };
  return {
    required: { ...head, ...base?.required, ...shape.fields },
    optional: { ...base?.optional, ...shape.optional },
  };
}

/** Where shapes are published: the reference that stands for each. */
export type SchemaNames = ReadonlyMap<Shape, string>;
const NO_NAMES: SchemaNames = new Map();

function fieldSchema(field: Field, names: SchemaNames): JsonSchema {
  const { is, text, min, max } = fieldOf(field);
  return {
    ...schemaOf(is, names),
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    ...(text !== undefined && { description: describe(text) }),
  };
}

function propertiesOf(fields: Fields, names: SchemaNames): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field, names)]));
}

function objectSchema(shape: ObjectShape, names: SchemaNames): JsonSchema {
  const { required, optional } = fieldsOf(shape);
  return {
    type: "object",
    description: describe(shape.text),
    ...(shape.others === undefined && { additionalProperties: false }),
    ...(Object.keys(required).length > 0 && { required: Object.keys(required) }),
    properties: { ...propertiesOf(required, names), ...propertiesOf(optional, names) },
  };
}

/** What a shape is, or where it is published. */
export function schemaOf(given: Shape, names: SchemaNames = NO_NAMES): JsonSchema {
  const shape = resolveShape(given);
  const $ref = names.get(shape);
  return $ref === undefined ? definitionOf(shape, names) : { $ref };
}

/** What a shape is; parts of it may be published elsewhere. */
export function definitionOf(given: Shape, names: SchemaNames = NO_NAMES): JsonSchema {
  const shape = resolveShape(given);
  if (typeof shape === "string") return SCALARS[shape];
  if (isChoice(shape)) return shape.length === 1 ? { const: shape[0] } : { enum: [...shape] };
  if ("schema" in shape) return shape.schema;
  if ("oneOf" in shape) {
    const choices = shape.oneOf.map(resolveShape);
    // Literals stay one list.
    if (choices.every(isChoice)) return { enum: choices.flat() };
    return { oneOf: choices.map((each) => schemaOf(each, names)) };
  }
  if (!("list" in shape)) return objectSchema(shape, names);
  return {
    type: "array",
    items: schemaOf(shape.list, names),
    ...(shape.min !== undefined && { minItems: shape.min }),
    ...(shape.text !== undefined && { description: describe(shape.text) }),
  };
}

function badScalar(shape: keyof ScalarValues, value: unknown): boolean {
  switch (shape) {
    case "text":
      return typeof value !== "string";
    case "words":
      return typeof value !== "string" || value === "";
    case "integer":
      return !Number.isInteger(value);
    case "count":
      return !Number.isInteger(value) || Number(value) < 0;
    case "position":
      return !Number.isInteger(value) || Number(value) < 1;
    case "number":
      return typeof value !== "number";
    case "boolean":
      return typeof value !== "boolean";
    case "object":
      return !isFields(value);
    case "json":
      return false;
  }
}

function inside(where: string, name: string): string {
  return where === "" ? name : `${where}.${name}`;
}

/**
 * The first field of a value that is not as the shape has it, as its path; undefined for a value of the shape. Fields that
 * the shape does not have are left alone.
 */
export function badField(given: Shape, value: unknown, where = ""): string | undefined {
  const shape = resolveShape(given);
  const own = where === "" ? "the document" : where;
  if (typeof shape === "string") return badScalar(shape, value) ? own : undefined;
  if (isChoice(shape)) return shape.some((each) => each === value) ? undefined : own;
  // Values with a schema of their own are texts, most of them; whoever uses one checks it.
  if ("schema" in shape) return undefined;
  if ("oneOf" in shape)
    return shape.oneOf.some((each) => badField(each, value, where) === undefined) ? undefined : own;
  if ("list" in shape) {
    if (!Array.isArray(value)) return own;
    for (const [index, item] of value.entries()) {
      const bad = badField(shape.list, item, `${where}[${index}]`);
      if (bad !== undefined) return bad;
    }
    return undefined;
  }
  if (!isFields(value)) return own;
  const { required, optional } = fieldsOf(shape);
  for (const [name, field] of Object.entries({ ...required, ...optional })) {
    if (value[name] === undefined && name in optional) continue;
    const bad = badField(fieldOf(field).is, value[name], inside(where, name));
    if (bad !== undefined) return bad;
  }
  return undefined;
}

/** A file of `schemas/`: the schema of one document. */
export function documentSchema(
  title: string,
  shape: Shape,
  draft: "draft-07" | "2020-12" = "2020-12",
): JsonSchema {
  const $schema =
    draft === "draft-07"
      ? "http://json-schema.org/draft-07/schema#"
      : "https://json-schema.org/draft/2020-12/schema";
  return { $schema, title, ...schemaOf(shape) };
}
