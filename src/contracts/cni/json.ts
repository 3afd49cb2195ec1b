/**
 * JSON at the edge of CNI: reading what a runtime or a person wrote, and printing as the Go plugins print.
 *
 * A configuration that a text editor, PowerShell or a wiki has damaged is refused as upstream refuses it
 * (cni.md §1.3, §9), but the fault is named with its line and column: byte order marks, no-break spaces,
 * comments, typographic quotes, trailing commas and placeholders that were not replaced.
 *
 * Struct-like objects are read as Go's decoder does (cni.md, "the ten facts", 1): field names match without regard to
 * case, `null` means absent, of two spellings of one field the later wins, a wrong type is an error. Objects whose keys
 * are data (policy bodies, capability maps) are not read so: their keys keep their case.
 */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { LIMITS } from "#core/base/limits.ts";

/** A text that is no JSON. `line` and `column` count from 1; columns are UTF-16 units. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly line: number;
  readonly column: number;

  constructor(message: string, position: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = position.line;
    this.column = position.column;
  }
}

interface Fault {
  readonly offset: number;
  readonly reason: string;
  /** What to do about it; empty when the reason says it. */
  readonly advice: string;
}

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** What may stand in a string unescaped, as much as there is. */
const PLAIN = /[ !#-[\]-\uffff]+/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const LITERALS = new Set(["true", "false", "null"]);

const CHARACTER_ADVICE: ReadonlyMap<string, readonly [name: string, advice: string]> = new Map([
  ["\ufeff", ["byte order mark", "save the file as UTF-8 without a byte order mark"]],
  ["\u00a0", ["no-break space", "replace it with a plain space"]],
  ["\u201c", ["typographic quote", 'use the plain quote "']],
  ["\u201d", ["typographic quote", 'use the plain quote "']],
  ["\u201e", ["typographic quote", 'use the plain quote "']],
  ["\u2018", ["typographic quote", 'use the plain quote "']],
  ["\u2019", ["typographic quote", 'use the plain quote "']],
  ["'", ["single quote", 'JSON strings are in double quotes "']],
  ["\ufffd", ["replacement character", "save the file as UTF-8"]],
  ["\u0000", ["null byte", "the file looks like UTF-16; save it as UTF-8"]],
]);

/** Walks a text by the grammar of RFC 8259 and stops at the first fault. */
class Scanner {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  findFault(): Fault | undefined {
    const fault = this.scanValue(0);
    if (fault !== undefined) return fault;
    this.skip(BLANK);
    return this.at === this.text.length ? undefined : this.unexpected("after the document");
  }

  /** Moves over what `pattern` matches here. @returns whether it matched. */
  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private take(character: string): boolean {
    this.skip(BLANK);
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private scanValue(depth: number): Fault | undefined {
    if (depth > LIMITS.documentDepthMax) {
      return this.fault(`nested deeper than ${LIMITS.documentDepthMax} levels`, "");
    }
    this.skip(BLANK);
    const first = this.text[this.at];
    if (first === "{") return this.scanMembers(depth);
    if (first === "[") return this.scanElements(depth);
    if (first === '"') return this.scanString();
    if (first === "-" || (first !== undefined && first >= "0" && first <= "9")) {
      return this.skip(NUMBER) ? undefined : this.unexpected("in a number");
    }
    WORD.lastIndex = this.at;
    const word = WORD.exec(this.text)?.[0];
    if (word === undefined || !LITERALS.has(word)) return this.unexpected("looking for a value", word);
    this.at += word.length;
    return undefined;
  }

  private scanString(): Fault | undefined {
    const start = this.at;
    this.at += 1;
    while (this.skip(PLAIN) || this.skip(ESCAPE)) continue;
    const end = this.text[this.at];
    if (end === '"') {
      this.at += 1;
      return undefined;
    }
    if (end === "\\") return this.fault("invalid escape in a string", "write a backslash as \\\\");
    if (end !== undefined) return this.unexpected("in a string");
    this.at = start;
    return this.fault("unexpected end of JSON input: a string is not closed", 'add the closing quote "');
  }

  private scanMembers(depth: number): Fault | undefined {
    this.at += 1;
    if (this.take("}")) return undefined;
    for (;;) {
      this.skip(BLANK);
      if (this.text[this.at] !== '"') return this.unexpected("looking for a field name in quotes");
      const fault = this.scanString();
      if (fault !== undefined) return fault;
      if (!this.take(":")) return this.unexpected("looking for a colon after a field name");
      const inner = this.scanValue(depth + 1) ?? this.scanSeparator("}");
      if (inner !== "next") return inner === "end" ? undefined : inner;
    }
  }

  private scanElements(depth: number): Fault | undefined {
    this.at += 1;
    if (this.take("]")) return undefined;
    for (;;) {
      const inner = this.scanValue(depth + 1) ?? this.scanSeparator("]");
      if (inner !== "next") return inner === "end" ? undefined : inner;
    }
  }

  private scanSeparator(close: "}" | "]"): Fault | "next" | "end" {
    if (this.take(close)) return "end";
    const comma = this.at;
    if (!this.take(",")) return this.unexpected(`looking for "," or "${close}"`);
    this.skip(BLANK);
    if (this.text[this.at] !== "}" && this.text[this.at] !== "]") return "next";
    this.at = comma;
    return this.fault(`a comma before "${close}"`, "remove it: JSON allows no trailing comma");
  }

  private fault(reason: string, advice: string): Fault {
    return { offset: this.at, reason, advice };
  }

  private unexpected(where: string, word?: string): Fault {
    const character = this.text.codePointAt(this.at);
    if (character === undefined) return this.fault("unexpected end of JSON input", "");
    const shown = String.fromCodePoint(character);
    if (/^(?:\/\/|\/\*|#)/.test(this.text.slice(this.at, this.at + 2))) {
      return this.fault(
        `invalid character "${shown}" ${where}: a comment`,
        "remove it: JSON has no comments",
      );
    }
    if (word !== undefined) {
      return /^__\w+__$/.test(word)
        ? this.fault(`"${word}" ${where}: a placeholder`, "fill the template in before it is used")
        : this.fault(`unexpected word "${word}" ${where}`, "");
    }
    const code = `U+${character.toString(16).toUpperCase().padStart(4, "0")}`;
    const known = CHARACTER_ADVICE.get(shown);
    if (known !== undefined) return this.fault(`invalid character ${code} (${known[0]}) ${where}`, known[1]);
    if (/\s/.test(shown)) {
      return this.fault(`invalid character ${code} (white space) ${where}`, "replace it with a plain space");
    }
    const printable = character >= 0x20 && character !== 0x7f ? `"${shown}"` : code;
    return this.fault(`invalid character ${printable} ${where}`, "");
  }
}

function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/**
 * Parses a JSON text of at most `LIMITS.jsonBytesMax` characters and `LIMITS.documentDepthMax` levels.
 * @throws JsonError that names the fault, its place and the remedy.
 */
export function parseJson(text: string): JsonValue {
  if (text.length > LIMITS.jsonBytesMax) {
    throw new JsonError(`longer than ${LIMITS.jsonBytesMax} characters`, { line: 1, column: 1 });
  }
  const fault = new Scanner(text).findFault();
  if (fault === undefined) return JSON.parse(text) as JsonValue;
  const position = positionOf(text, fault.offset);
  const advice = fault.advice === "" ? "" : `; ${fault.advice}`;
  throw new JsonError(
    `${fault.reason} at line ${position.line}, column ${position.column}${advice}`,
    position,
  );
}

const HTML_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["<", "\\u003c"],
  [">", "\\u003e"],
  ["&", "\\u0026"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
]);

/**
 * Prints JSON as Go's encoder does, which escapes `<`, `>` and `&` inside strings.
 * `indent` is the number of spaces per level, 0 for one line.
 */
export function formatJson(value: JsonValue, indent: 0 | 4): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(/[<>&\u2028\u2029]/g, (character) => HTML_ESCAPES.get(character) ?? character);
}

function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The same value with the keys of every object in alphabetical order, as Go prints maps. */
export function sortKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(sortKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => compareNames(a, b));
  return Object.fromEntries(
    entries.map(([key, inner]) => [key, inner === undefined ? undefined : sortKeys(inner)]),
  );
}

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
