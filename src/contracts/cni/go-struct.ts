/**
 * Structs of Go as JSON has them, described once: the type (`StructOf<typeof ROUTE>`) and the reading come from the same
 * object, a line for each field. What is absent is what Go's decoder leaves there: an empty text, 0, false, no items.
 */
import type { InterfaceAddress } from "#core/net/ip.ts";
import type { JsonValue } from "#core/base/json.ts";
import { readGoAddress } from "./go-json.ts";
import { StructReader } from "./json.ts";

/** Values of fields, by the word that a description says. */
interface GoValues {
  readonly text: string;
  readonly boolean: boolean;
  readonly integer: number;
  readonly texts: readonly string[];
  /** Of `net.IPNet`. */
  readonly addresses: readonly InterfaceAddress[];
  /** As it stands; null when it is absent. */
  readonly json: JsonValue;
}

const READERS: {
  readonly [K in keyof GoValues]: (reader: StructReader, field: string) => GoValues[K];
} = {
  text: (reader, field) => reader.text(field),
  boolean: (reader, field) => reader.boolean(field),
  integer: (reader, field) => reader.integer(field) ?? 0,
  texts: (reader, field) => reader.texts(field),
  addresses: (reader, field) => reader.structs(field).map(readGoAddress),
  json: (reader, field) => reader.raw(field) ?? null,
};

/** A value by its word, a struct, or a list of them. */
type GoField = keyof GoValues | (() => GoStruct) | { readonly list: () => GoStruct };
type GoStruct = Readonly<Record<string, GoField>>;

type FieldOf<F> = F extends keyof GoValues
  ? GoValues[F]
  : F extends () => infer D
    ? StructOf<D>
    : F extends { readonly list: () => infer D }
      ? readonly StructOf<D>[]
      : never;

/** The type of a described struct. */
export type StructOf<D> = { readonly [K in keyof D]: FieldOf<D[K]> };

function readField(reader: StructReader, name: string, field: GoField): unknown {
  if (typeof field === "string") return READERS[field](reader, name);
  if (typeof field === "function") return readGoStruct(reader.struct(name), field());
  return reader.structs(name).map((each) => readGoStruct(each, field.list()));
}

/** Reads a described struct; of one that is absent all fields are. @throws DecodeError */
export function readGoStruct<const D extends GoStruct>(
  given: StructReader | undefined,
  struct: D,
): StructOf<D> {
  const reader = given ?? new StructReader({});
  const fields = Object.entries(struct).map(([name, field]) => [name, readField(reader, name, field)]);
  return Object.fromEntries(fields) as StructOf<D>;
}
