/**
 * The one description of a file's fields: the same object reads a value, writes its part of the JSON schema, and
 * says what it is on the reference page. So the three cannot disagree.
 */
import type { ParsedNode } from "yaml";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Located, ValuePlace, Reading } from "./reading.ts";

/** What a value may be. */
export interface ValueShape<T> {
  /** In words, with an article: "a port", "an IPv4 address". */
  readonly noun: string;
  /** The value at `place`; undefined after a problem was reported. `node` is never empty and never an alias. */
  read(node: ParsedNode, place: ValuePlace, reading: Reading): T | undefined;
  /** JSON schema, draft 7. */
  schema(): JsonObject;
  /** Mappings that this value consists of, for the reference page: path suffix and fields. */
  parts(path: string): readonly ShapePart[];
}

/** A value that holds no described mapping. */
export function plainShape<T>(shape: Omit<ValueShape<T>, "parts">): ValueShape<T> {
  return Object.freeze({ ...shape, parts: () => [] });
}

/** One mapping of the description. */
export interface ShapePart {
  /** `nodes[]`, `network`; empty for the whole file. */
  readonly path: string;
  readonly fields: readonly FieldDescription[];
}

/** One field as the reference page shows it. */
export interface FieldDescription {
  readonly name: string;
  readonly noun: string;
  /** What holds when the field is absent, in words; undefined when it must be there. */
  readonly absent: string | undefined;
  readonly text: string;
}

/** One field of a mapping. */
export interface MappingField<T> {
  readonly shape: ValueShape<unknown>;
  readonly text: string;
  /** What holds when the field is absent, in words; undefined when it must be there. */
  readonly absent: string | undefined;
  /** The default as JSON, for the schema, where it is a constant. */
  readonly constant: JsonValue | undefined;
  /** Reads the field; `node` is undefined when the field is absent or empty. */
  readField(node: ParsedNode | undefined, place: ValuePlace, reading: Reading): Located<T> | undefined;
}

/** Reads a field, or an item of a list. */
export function readShape<T>(
  shape: ValueShape<T>,
  node: ParsedNode,
  place: ValuePlace,
  reading: Reading,
): Located<T> | undefined {
  const value = reading.withValue(node, place, (target) => shape.read(target, place, reading));
  return value === undefined ? undefined : { value, place };
}

/** A field that must be there. */
export function required<T>(shape: ValueShape<T>, text: string): MappingField<T> {
  return {
    shape,
    text,
    absent: undefined,
    constant: undefined,
    readField: (node, place, reading) =>
      node === undefined ? undefined : readShape(shape, node, place, reading),
  };
}

/** A field that may be absent; `absent` says what holds then. */
export function optional<T>(shape: ValueShape<T>, text: string, absent: string): MappingField<T | undefined> {
  return {
    shape,
    text,
    absent,
    constant: undefined,
    readField: (node, place, reading) =>
      node === undefined ? { value: undefined, place } : readShape(shape, node, place, reading),
  };
}

/** A field with a constant default, which is written in the file as it is. */
export function withDefault<T extends string | number | boolean>(
  shape: ValueShape<T>,
  value: T,
  text: string,
): MappingField<T> {
  return withDefaultAs(shape, value, value, text);
}

/** A field with a constant default. `constant` is the default as it would be written in the file. */
export function withDefaultAs<T>(
  shape: ValueShape<T>,
  value: T,
  constant: JsonValue,
  text: string,
): MappingField<T> {
  return {
    shape,
    text,
    absent: Array.isArray(constant) && constant.length === 0 ? "none" : `\`${JSON.stringify(constant)}\``,
    constant,
    readField: (node, place, reading) =>
      node === undefined ? { value, place } : readShape(shape, node, place, reading),
  };
}
