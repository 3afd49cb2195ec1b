/**
 * JSON with positions, read past what strict readers stumble over: comments, no-break spaces, trailing commas, a value
 * left out, template expressions. What was read past is remembered as a trap, because the program that the file is for
 * does not read past it.
 */
import { LIMITS } from "#core/base/limits.ts";
import type { LintPath } from "./fields.ts";

export type JsonTrapKind =
  | "comment"
  | "no-break-space"
  | "trailing-comma"
  | "duplicate-key"
  | "placeholder"
  | "control-character"
  | "syntax";

/** Something that a strict reader refuses, or that hides a fault. */
export interface JsonTrap {
  readonly kind: JsonTrapKind;
  readonly offset: number;
  readonly end: number;
  /** One sentence without a full stop. */
  readonly message: string;
}

/** Offsets of a value, and of its key where it has one. */
export interface JsonRange {
  readonly key: number | undefined;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
  readonly fields?: ReadonlyMap<string, JsonRange>;
  readonly items?: readonly JsonRange[];
}

export interface JsonText {
  /** Undefined when nothing could be read. */
  readonly value: unknown;
  readonly range: JsonRange;
  readonly traps: readonly JsonTrap[];
  /** What stands behind the value, from its offset. */
  readonly end: number;
}

interface Read {
  readonly value: unknown;
  readonly range: JsonRange;
}

/** Ends the reading where nothing sensible can follow. */
class Stop extends Error {}

const TRAPS_MAX = 100;
const NUMBER = /-?(?:\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z_$<{%][^\s,\]}"]*/y;
const BLANK = /[\u00a0\u2000-\u200b\u202f\u3000\ufeff]/;

class Reader {
  readonly traps: JsonTrap[] = [];
  at: number;
  private readonly text: string;
  private depth = 0;

  constructor(text: string, start: number) {
    this.text = text;
    this.at = start;
  }

  private trap(kind: JsonTrapKind, offset: number, end: number, message: string): void {
    if (this.traps.length < TRAPS_MAX) this.traps.push({ kind, offset, end, message });
  }

  private fail(message: string): never {
    this.trap("syntax", Math.min(this.at, this.text.length), this.at + 1, message);
    throw new Stop();
  }

  /** Blanks, and what people take for blanks. */
  skip(): void {
    for (; this.at < this.text.length; ) {
      const letter = this.text[this.at] ?? "";
      if (letter === " " || letter === "\n" || letter === "\r" || letter === "\t") this.at++;
      else if (BLANK.test(letter)) this.skipOddBlanks();
      else if (letter === "/" && /[/*]/.test(this.text[this.at + 1] ?? "")) this.skipComment();
      else if (letter === "#") this.skipLine("#");
      else return;
    }
  }

  private skipOddBlanks(): void {
    const start = this.at;
    while (BLANK.test(this.text[this.at] ?? "")) this.at++;
    const code = this.text.charCodeAt(start).toString(16).toUpperCase().padStart(4, "0");
    const isFirst = !this.traps.some(({ kind }) => kind === "no-break-space");
    // One per file is enough: who pasted one has pasted hundreds.
    if (isFirst) this.trap("no-break-space", start, this.at, `a no-break space (U+${code})`);
  }

  private skipComment(): void {
    if (this.text.startsWith("//", this.at)) {
      this.skipLine("//");
      return;
    }
    const end = this.text.indexOf("*/", this.at);
    const behind = end < 0 ? this.text.length : end + 2;
    this.trap("comment", this.at, behind, "a comment");
    this.at = behind;
  }

  private skipLine(mark: string): void {
    const end = this.text.indexOf("\n", this.at);
    const behind = end < 0 ? this.text.length : end;
    this.trap("comment", this.at, behind, `a comment (${mark})`);
    this.at = behind;
  }

  value(): Read {
    this.skip();
    const start = this.at;
    const letter = this.text[start];
    if (letter === undefined) this.fail("the text ends where a value is expected");
    if (letter === "{" && this.text[start + 1] === "{") return this.placeholder(start);
    if (letter === "{") return this.object(start);
    if (letter === "[") return this.list(start);
    if (letter === '"') return this.plain(this.string(), start);
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.text);
    if (number !== null) {
      this.at = NUMBER.lastIndex;
      return this.plain(Number(number[0]), start);
    }
    return this.word(start);
  }

  private plain(value: unknown, start: number): Read {
    return { value, range: { key: undefined, keyEnd: start, start, end: this.at } };
  }

  /** `true`, `false`, `null`, or what a template leaves unquoted: `__MTU__`, `<mtu>`, `${MTU}`. */
  private word(start: number): Read {
    WORD.lastIndex = start;
    const found = WORD.exec(this.text)?.[0];
    if (found === undefined) this.fail(`${JSON.stringify(this.text[start])} begins no value`);
    this.at = start + found.length;
    if (found === "true" || found === "false") return this.plain(found === "true", start);
    if (found === "null") return this.plain(null, start);
    this.trap("placeholder", start, this.at, `${found} is not a value of JSON`);
    return this.plain(found, start);
  }

  /** `{{ .Values.mtu }}` in place of a value. */
  private placeholder(start: number): Read {
    const end = this.text.indexOf("}}", start);
    this.at = end < 0 ? this.text.length : end + 2;
    this.trap("placeholder", start, this.at, "a template expression that is not filled in");
    return this.plain(this.text.slice(start, this.at), start);
  }

  private string(): string {
    const start = this.at;
    for (let at = start + 1; at < this.text.length; at++) {
      const letter = this.text[at];
      if (letter === "\\") at++;
      else if (letter === "\n") break;
      else if (letter === '"') {
        this.at = at + 1;
        const source = this.text.slice(start, this.at);
        try {
          return JSON.parse(source) as string;
        } catch {
          this.trap(
            "control-character",
            start,
            this.at,
            "a text with a control character or an unknown escape",
          );
          return source.slice(1, -1);
        }
      }
    }
    return this.fail("the text in quotes is not closed in this line");
  }

  private enter(): void {
    if (++this.depth > LIMITS.documentDepthMax)
      this.fail(`values are nested more than ${LIMITS.documentDepthMax} levels deep`);
  }

  /** Behind a comma; true when the bracket closes, and the comma was one too many. */
  private closesAfterComma(bracket: string): boolean {
    const comma = this.at - 1;
    this.skip();
    if (this.text[this.at] !== bracket) return false;
    this.trap("trailing-comma", comma, comma + 1, "a comma behind the last value");
    return true;
  }

  private object(start: number): Read {
    this.enter();
    this.at++;
    const value: Record<string, unknown> = {};
    const fields = new Map<string, JsonRange>();
    this.skip();
    for (let isOpen = this.text[this.at] !== "}"; isOpen; ) {
      this.member(value, fields);
      this.skip();
      const letter = this.text[this.at];
      if (letter === ",") {
        this.at++;
        isOpen = !this.closesAfterComma("}");
      } else if (letter === "}") isOpen = false;
      else this.fail('"," or "}" is expected here');
    }
    this.at++;
    this.depth--;
    return { value, range: { key: undefined, keyEnd: start, start, end: this.at, fields } };
  }

  private member(value: Record<string, unknown>, fields: Map<string, JsonRange>): void {
    const keyStart = this.at;
    if (this.text[keyStart] !== '"') this.fail("a field's name in quotes is expected here");
    const name = this.string();
    const keyEnd = this.at;
    this.skip();
    if (this.text[this.at] !== ":") this.fail('":" is expected behind the field\'s name');
    this.at++;
    const read = this.value();
    if (fields.has(name))
      this.trap(
        "duplicate-key",
        keyStart,
        keyEnd,
        `the field ${JSON.stringify(name)} is given twice; the last one counts`,
      );
    Object.defineProperty(value, name, {
      value: read.value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    fields.set(name, { ...read.range, key: keyStart, keyEnd });
  }

  private list(start: number): Read {
    this.enter();
    this.at++;
    const value: unknown[] = [];
    const items: JsonRange[] = [];
    this.skip();
    for (let isOpen = this.text[this.at] !== "]"; isOpen; ) {
      const read = this.value();
      value.push(read.value);
      items.push(read.range);
      this.skip();
      const letter = this.text[this.at];
      if (letter === ",") {
        this.at++;
        isOpen = !this.closesAfterComma("]");
      } else if (letter === "]") isOpen = false;
      else this.fail('"," or "]" is expected here');
    }
    this.at++;
    this.depth--;
    return { value, range: { key: undefined, keyEnd: start, start, end: this.at, items } };
  }
}

/** Reads one value from `start` on. Never throws. */
export function readJsonText(text: string, start = 0): JsonText {
  const reader = new Reader(text, start);
  try {
    const { value, range } = reader.value();
    reader.skip();
    return { value, range, traps: reader.traps, end: reader.at };
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    const at = Math.min(reader.at, text.length);
    const range = { key: undefined, keyEnd: start, start, end: at };
    return { value: undefined, range, traps: reader.traps, end: at };
  }
}

/** The range of a field; of the nearest value around it, when it is not there itself. */
export function rangeIn(range: JsonRange, path: LintPath): JsonRange {
  let found = range;
  for (const step of path) {
    const next: JsonRange | undefined =
      typeof step === "number" ? found.items?.[step] : found.fields?.get(step);
    if (next === undefined) return found;
    found = next;
  }
  return found;
}
