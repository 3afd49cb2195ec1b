/** Mappings with described fields, lists, and mappings from free keys to text. */
import { type ParsedNode, isMap, isScalar, isSeq } from "yaml";
import { adviseName } from "#core/base/nearest-name.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Located, type ValuePlace, type Reading, isEmpty, nameOf, quote } from "./reading.ts";
import {
  type MappingField,
  type FieldDescription,
  type ValueShape,
  type ShapePart,
  plainShape,
  readShape,
  withDefaultAs,
} from "./shape.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** The fields of a mapping, each with its place. */
export type LocatedFields<T> = { readonly [K in keyof T]: Located<T[K]> };
/** The description of a mapping with the fields of `T`. */
export type MappingFields<T> = { readonly [K in keyof T]: MappingField<T[K]> };

/** What fields hold, without their places. */
export function valuesIn<T>(fields: LocatedFields<T>): T {
  const values = Object.entries<Located<unknown>>(fields).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(values) as T;
}

/** What the mappings of a list hold. */
export function recordsOf<T>({ value }: Located<readonly Located<LocatedFields<T>>[]>): readonly T[] {
  return value.map((each) => valuesIn(each.value));
}

/** A value of a mapping. */
export interface Entry {
  readonly node: ParsedNode | undefined;
  readonly keyOffset: number;
}

/** The path of a field below `path`. */
export function childPath(path: string, name: string): string {
  const isPlain = /^[A-Za-z][A-Za-z0-9_-]*$/.test(name);
  if (!isPlain) return `${path}[${quote(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** The entries of a mapping by key. Keys that are no text, and keys given twice, are reported. */
function entriesOf(node: ParsedNode, place: ValuePlace, reading: Reading): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  if (!isMap(node)) return entries;
  for (const { key, value } of node.items) {
    const keyOffset = key?.range[0] ?? place.offset;
    if (!isScalar(key) || typeof key.value !== "string") {
      reading.reportValue(
        { offset: keyOffset, path: place.path },
        "a field name must be text",
        "Quote the name.",
      );
      continue;
    }
    const path = childPath(place.path, key.value);
    const known = entries.get(key.value);
    if (known !== undefined) {
      reading.report(
        "cluster-file-invalid-yaml",
        { offset: keyOffset, path },
        `the field is given twice, first in line ${reading.lineOf(known.keyOffset)}`,
        "Keep one of the two.",
      );
      continue;
    }
    entries.set(key.value, { node: value === null || isEmpty(value) ? undefined : value, keyOffset });
  }
  return entries;
}

function reportUnknown(name: string, place: ValuePlace, known: readonly string[], reading: Reading): void {
  if (name === "<<") {
    const advice = "Write the fields out; merge keys belong to YAML 1.1.";
    reading.report("cluster-file-unknown-field", place, "merge keys are not read", advice);
    return;
  }
  const advice = adviseName(name, known, `Fields here are: ${known.join(", ")}.`);
  reading.report("cluster-file-unknown-field", place, `there is no field ${quote(name)} here`, advice);
}

/** A mapping whose absence can mean the same as having no fields. */
export interface OptionalMapping<T> extends ValueShape<LocatedFields<T>> {
  /** The mapping as if it stood at `place` without any field. */
  readAbsent(place: ValuePlace, reading: Reading): LocatedFields<T> | undefined;
}

class MappingShape<T> implements OptionalMapping<T> {
  readonly noun: string;
  private readonly described: Readonly<Record<string, MappingField<unknown>>>;

  constructor(noun: string, fields: MappingFields<T>) {
    this.noun = noun;
    this.described = fields;
  }

  read(node: ParsedNode, place: ValuePlace, reading: Reading): LocatedFields<T> | undefined {
    if (!isMap(node)) {
      const names = this.known().join(", ");
      reading.reportValue(
        place,
        `must be ${this.noun}, but is ${nameOf(node)}`,
        `Write its fields below it: ${names}.`,
      );
      return undefined;
    }
    const entries = entriesOf(node, place, reading);
    this.refuseUnknown(entries, place, reading);
    return this.readFields(entries, place, reading);
  }

  readAbsent(place: ValuePlace, reading: Reading): LocatedFields<T> | undefined {
    return this.readFields(new Map(), place, reading);
  }

  schema(): JsonObject {
    const properties: Record<string, JsonValue> = {};
    for (const [name, field] of Object.entries(this.described)) {
      const shape = field.shape.schema();
      const constant = field.constant === undefined ? {} : { default: field.constant };
      properties[name] = { description: field.text, ...shape, ...constant };
    }
    const needed = Object.entries(this.described).filter(([, field]) => field.absent === undefined);
    return {
      type: "object",
      additionalProperties: false,
      ...(needed.length > 0 ? { required: needed.map(([name]) => name) } : {}),
      properties,
    };
  }

  parts(path: string): readonly ShapePart[] {
    const fields = Object.entries(this.described).map(
      ([name, field]): FieldDescription => ({
        name,
        noun: field.shape.noun,
        absent: field.absent,
        text: field.text,
      }),
    );
    const inner = Object.entries(this.described).flatMap(([name, field]) =>
      field.shape.parts(childPath(path, name)),
    );
    return [{ path, fields }, ...inner];
  }

  private readFields(
    entries: ReadonlyMap<string, Entry>,
    place: ValuePlace,
    reading: Reading,
  ): LocatedFields<T> | undefined {
    const values: Record<string, Located<unknown>> = {};
    let isComplete = true;
    for (const [name, field] of Object.entries(this.described)) {
      const entry = entries.get(name);
      const value = this.readOne(name, field, entry, { place, reading });
      if (value === undefined) isComplete = false;
      else values[name] = value;
    }
    return isComplete ? (values as unknown as LocatedFields<T>) : undefined;
  }

  private known(): string[] {
    return Object.keys(this.described);
  }

  private refuseUnknown(entries: ReadonlyMap<string, Entry>, place: ValuePlace, reading: Reading): void {
    for (const [name, entry] of entries) {
      const field = Object.hasOwn(this.described, name) ? this.described[name] : undefined;
      const at = { offset: entry.keyOffset, path: childPath(place.path, name) };
      if (field === undefined) reportUnknown(name, at, this.known(), reading);
    }
  }

  private readOne(
    name: string,
    field: MappingField<unknown>,
    entry: Entry | undefined,
    { place, reading }: { readonly place: ValuePlace; readonly reading: Reading },
  ): Located<unknown> | undefined {
    const path = childPath(place.path, name);
    const offset = entry?.node?.range[0] ?? entry?.keyOffset ?? place.offset;
    if (entry?.node === undefined && field.absent === undefined) {
      const message = entry === undefined ? "the field is missing" : "the field is empty";
      const advice = `Write ${field.shape.noun}: ${field.text}`;
      reading.report("cluster-file-missing-field", { offset, path }, message, advice);
      return undefined;
    }
    return field.readField(entry?.node, { offset, path }, reading);
  }
}

/** A mapping with described fields. `noun` says what it is: "a node". */
export function mapping<T>(noun: string, fields: MappingFields<T>): OptionalMapping<T> {
  return new MappingShape(noun, fields);
}

/** A field that holds a mapping all of whose fields have defaults: absent means all defaults. */
export function section<T>(shape: OptionalMapping<T>, text: string): MappingField<LocatedFields<T>> {
  return {
    shape,
    text,
    absent: "defaults of its fields",
    constant: undefined,
    readField(node, place, reading) {
      if (node !== undefined) return readShape(shape, node, place, reading);
      const value = shape.readAbsent(place, reading);
      return value === undefined ? undefined : { value, place };
    },
  };
}

function readItems<T>(
  item: ValueShape<T>,
  nodes: readonly (ParsedNode | null)[],
  place: ValuePlace,
  reading: Reading,
): readonly Located<T>[] | undefined {
  const items: Located<T>[] = [];
  for (const [index, node] of nodes.entries()) {
    const at = { offset: node?.range[0] ?? place.offset, path: `${place.path}[${index}]` };
    if (node === null || isEmpty(node)) {
      reading.report("cluster-file-missing-field", at, "the item is empty", `Write ${item.noun}.`);
      continue;
    }
    const value = readShape(item, node, at, reading);
    if (value !== undefined) items.push(value);
  }
  return items.length === nodes.length ? items : undefined;
}

/** A list of at most `countMax` items. */
export function list<T>(
  item: ValueShape<T>,
  { countMin = 0, countMax }: { readonly countMin?: number; readonly countMax: number },
): ValueShape<readonly Located<T>[]> {
  return {
    noun: `list: ${item.noun}`,
    read(node, place, reading) {
      if (!isSeq(node)) {
        const advice = WORDS.adviceListItems({ noun: item.noun });
        reading.reportValue(place, `must be a list, but is ${nameOf(node)}`, advice);
        return undefined;
      }
      const count = node.items.length;
      if (count < countMin) {
        reading.reportValue(place, "the list is empty", `Write at least one item: ${item.noun}.`);
        return undefined;
      }
      if (count <= countMax) return readItems(item, node.items, place, reading);
      const message = `the list has ${count} items, and ${countMax} are the most`;
      reading.report("cluster-file-too-large", place, message, "Leave out what the question does not need.");
      return undefined;
    },
    schema: () => ({
      type: "array",
      ...(countMin > 0 && { minItems: countMin }),
      maxItems: countMax,
      items: item.schema(),
    }),
    parts: (path) => item.parts(`${path}[]`),
  };
}

/** A field that holds a list of at most `countMax` items; absent means none. */
export function optionalList<T>(
  item: ValueShape<T>,
  countMax: number,
  text: string,
): MappingField<readonly Located<T>[]> {
  return withDefaultAs(list(item, { countMax }), [], [], text);
}

/** Reads a mapping from free keys. `example`: an entry; `readEntry` has reported what it does not read. */
export function readEntries<T>(
  node: ParsedNode,
  example: string,
  { place, reading }: { readonly place: ValuePlace; readonly reading: Reading },
  readEntry: (name: string, entry: Entry, at: ValuePlace) => T | undefined,
): Readonly<Record<string, T>> | undefined {
  if (!isMap(node)) {
    const message = `must be a mapping, but is ${nameOf(node)}`;
    reading.reportValue(place, message, `Write ${example}, one per line.`);
    return undefined;
  }
  const values = new Map<string, T>();
  let isComplete = true;
  for (const [name, entry] of entriesOf(node, place, reading)) {
    const at = { offset: entry.node?.range[0] ?? entry.keyOffset, path: childPath(place.path, name) };
    const value = readEntry(name, entry, at);
    if (value === undefined) isComplete = false;
    else values.set(name, value);
  }
  return isComplete ? Object.freeze(Object.fromEntries(values)) : undefined;
}

/** A mapping from free keys to text. */
interface TextsRule {
  readonly noun: string;
  /** What one entry is called. */
  readonly item: string;
  readonly countMax: number;
  /** An example of a text that YAML would not take for one. */
  readonly advice: string;
}

function textsOf({ noun, item, countMax, advice }: TextsRule): ValueShape<Readonly<Record<string, string>>> {
  return plainShape({
    noun,
    read(node, place, reading) {
      const isTooLong = isMap(node) && node.items.length > countMax;
      if (isTooLong) reading.reportValue(place, `more than ${countMax} ${item}s`, "Leave some out.");
      const texts = readEntries(node, "name: value", { place, reading }, (_name, entry, at) => {
        if (isScalar(entry.node) && typeof entry.node.value === "string") return entry.node.value;
        reading.reportValue(at, `the value of a ${item} must be text`, advice);
        return undefined;
      });
      return isTooLong ? undefined : texts;
    },
    schema: () => ({ type: "object", additionalProperties: { type: "string" } }),
  });
}

/** Labels: a mapping from names to text. */
export const LABEL_TEXTS: ValueShape<Readonly<Record<string, string>>> = textsOf({
  noun: "a mapping from names to text",
  item: "label",
  countMax: 256,
  advice: 'Put it in quotes: "1", "true", "".',
});

/** Files: a mapping from paths to what they hold. */
export const TEXTS_BY_PATH: ValueShape<Readonly<Record<string, string>>> = textsOf({
  noun: "a mapping from paths to text",
  item: "file",
  countMax: 64,
  advice: WORDS.adviceFilesAsText,
});
