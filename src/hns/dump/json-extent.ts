/**
 * Where JSON values begin and end in a text. Dumps hold several values one after the other, and tables between them;
 * each object is cut out and given to the parser alone, so that it keeps its place and a broken one breaks no other.
 */
import { LIMITS } from "#core/base/limits.ts";
import { hnsFiles } from "#data/words.js";
import type { SourceText } from "#core/base/source-text.ts";

const WORDS = hnsFiles();

/** A piece of a text: from `start` to before `end`. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** A field of an object: its value's piece of the text, and where its name begins. */
export interface Member extends Extent {
  readonly key: string;
  readonly keyStart: number;
}

/** The text is no JSON from here on. */
export class BrokenJson extends Error {
  override readonly name = "BrokenJson";
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const BLANKS = /[ \t\r\n\u00a0\ufeff]*/y;
const SCALAR = /[^\s,\]}]+/y;

/** The first offset from `at` on that is no blank. */
export function skipBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.exec(text);
  return BLANKS.lastIndex;
}

/** Behind the string that begins at `start`. @throws BrokenJson when it is not closed. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === BACKSLASH) at++;
    else if (unit === QUOTE) return at + 1;
  }
  throw new BrokenJson("a text in quotes is not closed", start);
}

/** Behind the brackets that open at `start`. @throws BrokenJson when they are not closed, or nest too deeply. */
function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at) - 1;
    else if (OPEN.has(unit)) {
      if (++depth > LIMITS.documentDepthMax)
        throw new BrokenJson(`values are nested more than ${LIMITS.documentDepthMax} levels deep`, at);
    } else if (CLOSE.has(unit) && --depth === 0) return at + 1;
  }
  throw new BrokenJson(WORDS.jsonTruncated, start);
}

/** Behind the value that begins at `start`. @throws BrokenJson when none does. */
export function endOfValue(text: string, start: number): number {
  const unit = text.charCodeAt(start);
  if (unit === QUOTE) return endOfString(text, start);
  if (OPEN.has(unit)) return endOfBrackets(text, start);
  SCALAR.lastIndex = start;
  if (SCALAR.exec(text) === null) throw new BrokenJson("a value is missing", start);
  return SCALAR.lastIndex;
}

/** Behind the comma at `at`, or undefined at the bracket that closes. @throws BrokenJson for anything else. */
function afterSeparator(text: string, at: number, bracket: string): number | undefined {
  if (text[at] === bracket) return undefined;
  if (text[at] !== ",") throw new BrokenJson(`a comma or ${bracket} is missing`, at);
  return skipBlanks(text, at + 1);
}

/**
 * Shows the items of the list that begins at `start`, and returns the offset behind it.
 * @throws BrokenJson where it is broken, after the items before have been shown.
 */
export function visitItems(text: string, start: number, visit: (item: Extent) => void): number {
  let at = skipBlanks(text, start + 1);
  if (text[at] === "]") return at + 1;
  for (;;) {
    const end = endOfValue(text, at);
    visit({ start: at, end });
    const behind = skipBlanks(text, end);
    const next = afterSeparator(text, behind, "]");
    if (next === undefined) return behind + 1;
    at = next;
  }
}

/** The fields of the object that begins at `start`. @throws BrokenJson where it is broken. */
export function membersOf(text: string, start: number): { readonly members: readonly Member[]; end: number } {
  const members: Member[] = [];
  let at = skipBlanks(text, start + 1);
  if (text[at] === "}") return { members, end: at + 1 };
  for (;;) {
    if (text[at] !== '"') throw new BrokenJson("the name of a field must be in quotes", at);
    const keyEnd = endOfString(text, at);
    const key = parseKey(text.slice(at, keyEnd), at);
    const colon = skipBlanks(text, keyEnd);
    if (text[colon] !== ":") throw new BrokenJson(`a colon is missing behind ${JSON.stringify(key)}`, colon);
    const valueStart = skipBlanks(text, colon + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ key, keyStart: at, start: valueStart, end: valueEnd });
    const behind = skipBlanks(text, valueEnd);
    const next = afterSeparator(text, behind, "}");
    if (next === undefined) return { members, end: behind + 1 };
    at = next;
  }
}

function parseKey(source: string, offset: number): string {
  try {
    return JSON.parse(source) as string;
  } catch {
    throw new BrokenJson(WORDS.jsonFieldNameInvalid, offset);
  }
}

/** How far the parser came, where it says so. */
const POSITION = /at position (\d+)/;

/** Parses one value. @throws BrokenJson with its place. */
export function parseValue(text: string, { start, end }: Extent): unknown {
  if (end - start > LIMITS.jsonBytesMax)
    throw new BrokenJson(`one object is longer than ${LIMITS.jsonBytesMax} characters`, start);
  try {
    return JSON.parse(text.slice(start, end)) as unknown;
  } catch (error) {
    const position = error instanceof Error ? POSITION.exec(error.message)?.[1] : undefined;
    throw new BrokenJson("this is not JSON", start + Number(position ?? 0));
  }
}

// The lines of a dump that hold no JSON.

export interface TextLine {
  /** From 1. */
  readonly line: number;
  /** Without its end. */
  readonly text: string;
}

/** The lines of a piece of a file. A first or last line that JSON shares is cut where the JSON is. */
export function linesOf(source: SourceText, { start, end }: Extent): readonly TextLine[] {
  const first = source.positionOf(start).line;
  return source.text
    .slice(start, end)
    .split("\n")
    .map((text, index) => ({ line: first + index, text: text.replace(/\r$/, "") }));
}
