/**
 * Reading struct-like JSON objects as Go's decoder does (cni.md, "the ten facts", 1): field names match without
 * regard to case, `null` means absent, of two spellings of one field the later wins, a wrong type is an error.
 * Objects whose keys are data (policy bodies, capability maps) are not read with this: their keys keep their case.
 */
import { type JsonObject, type JsonValue, isJsonObject } from "./json.ts";

/** A field holds a value of the wrong kind. `field` is its path, such as `ipam.ranges[0][1].subnet`. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  readonly field: string;

  constructor(field: string, expectation: string, value: JsonValue) {
    super(`field "${field}" must be ${expectation}, not ${describeValue(value)}`);
    this.field = field;
  }
}

function describeValue(value: JsonValue): string {
  if (typeof value === "string") {
    return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  }
  if (Array.isArray(value)) return "a list";
  return isJsonObject(value) ? "an object" : JSON.stringify(value);
}

/** Two names that Go takes for the same field. */
export function equalFold(a: string, b: string): boolean {
  return foldCase(a) === foldCase(b);
}

function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}

/** One object of a configuration with the path that leads to it. */
export class StructReader {
  private readonly fields = new Map<string, JsonValue>();
  private readonly path: string;

  constructor(object: JsonObject, path = "") {
    this.path = path;
    for (const [key, value] of Object.entries(object)) {
      if (value !== null && value !== undefined) this.fields.set(foldCase(key), value);
    }
  }

  /** The path of a field of this object. */
  pathOf(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  /** The value as it stands; undefined when absent or null. */
  raw(name: string): JsonValue | undefined {
    return this.fields.get(foldCase(name));
  }

  /** Empty when absent. */
  text(name: string): string {
    const value = this.raw(name) ?? "";
    if (typeof value !== "string") throw new DecodeError(this.pathOf(name), "a text", value);
    return value;
  }

  /** False when absent. */
  boolean(name: string): boolean {
    const value = this.raw(name) ?? false;
    if (typeof value !== "boolean") throw new DecodeError(this.pathOf(name), "true or false", value);
    return value;
  }

  /** Undefined when absent. */
  integer(name: string): number | undefined {
    const value = this.raw(name);
    if (value !== undefined && !Number.isSafeInteger(value)) {
      throw new DecodeError(this.pathOf(name), "a whole number", value);
    }
    return value as number | undefined;
  }

  /** Empty when absent; a null inside is an empty text, as in Go. */
  texts(name: string): readonly string[] {
    return this.list(name).map((value, index) => {
      const text = value ?? "";
      if (typeof text !== "string") throw new DecodeError(`${this.pathOf(name)}[${index}]`, "a text", text);
      return text;
    });
  }

  /** Empty when absent. */
  list(name: string): readonly JsonValue[] {
    const value = this.raw(name) ?? [];
    if (!Array.isArray(value)) throw new DecodeError(this.pathOf(name), "a list", value);
    return value as readonly JsonValue[];
  }

  /** Undefined when absent. */
  struct(name: string): StructReader | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : readStruct(value, this.pathOf(name));
  }

  /** Empty when absent. */
  structs(name: string): readonly StructReader[] {
    return this.list(name).map((value, index) => readStruct(value ?? {}, `${this.pathOf(name)}[${index}]`));
  }

  /** The object as it stands, keys untouched; undefined when absent. */
  object(name: string): JsonObject | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) throw new DecodeError(this.pathOf(name), "an object", value);
    return value;
  }
}

/** @throws DecodeError when `value` is no object. */
export function readStruct(value: JsonValue, path: string): StructReader {
  if (!isJsonObject(value)) throw new DecodeError(path, "an object", value);
  return new StructReader(value, path);
}
