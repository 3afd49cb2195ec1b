/**
 * JSON text to pieces: the values of a stream, and the items of a list one by one, without parsing them. Knows
 * nothing of JSON but strings and brackets; what is wrong inside a piece, its parser says.
 */
import type { Piece } from "./piece.ts";

const QUOTE = 34;
const BACKSLASH = 92;

/** Whether `unit` opens (1) or closes (-1) a bracket. */
function bracket(unit: number): -1 | 0 | 1 {
  if (unit === 123 || unit === 91) return 1;
  return unit === 125 || unit === 93 ? -1 : 0;
}

/** The offset behind the string that begins at `start`. */
function skipString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
  return text.length;
}

/** Finds strings and brackets; what lies between them is of no interest. */
class Structure {
  private readonly pattern = /["[\]{}]/g;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The offset of the next quote or bracket at or behind `at`; the end of the text without one. */
  next(at: number): number {
    this.pattern.lastIndex = at;
    return this.pattern.test(this.text) ? this.pattern.lastIndex - 1 : this.text.length;
  }
}

/** The offset behind the value that opens at `start`. */
function skipValue(text: string, start: number): number {
  const structure = new Structure(text);
  let depth = 0;
  for (let at = structure.next(start); at < text.length; at = structure.next(at)) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = skipString(text, at);
      continue;
    }
    depth += bracket(unit);
    at++;
    if (depth === 0) return at;
  }
  return text.length;
}

/** Counts the brackets of a text that grows at its end, until they are closed. */
export class BracketDepth {
  private at: number;
  private depth: number;
  private quote = -1;

  /** From `start`, with `depth` brackets open before it. */
  constructor(start: number, depth = 0) {
    this.at = start;
    this.depth = depth;
  }

  /** The offset behind the bracket that closes the first; undefined when it is not in the text. */
  endIn(text: string, isWhole: boolean): number | undefined {
    const structure = new Structure(text);
    while (this.at < text.length) {
      if (this.quote < 0) this.at = structure.next(this.at);
      if (this.at >= text.length) return undefined;
      if (text.charCodeAt(this.at) === QUOTE || this.quote >= 0) {
        const start = this.quote >= 0 ? this.quote : this.at;
        const end = skipString(text, start);
        const isClosed = end < text.length || isWhole || isStringEnd(text, start);
        this.quote = isClosed ? -1 : start;
        this.at = end;
        if (!isClosed) return undefined;
        continue;
      }
      this.depth += bracket(text.charCodeAt(this.at));
      this.at++;
      if (this.depth === 0) return this.at;
    }
    return undefined;
  }

  /** How much before the place that is reached is no longer needed; the text is to begin there. */
  moveBack(): number {
    const kept = this.quote >= 0 ? this.quote : this.at;
    this.at -= kept;
    if (this.quote >= 0) this.quote = 0;
    return kept;
  }
}

/** Whether the string that begins at `start` ends with the text. */
function isStringEnd(text: string, start: number): boolean {
  if (text.length - 1 <= start || !text.endsWith('"')) return false;
  let backslashes = 0;
  while (text.charCodeAt(text.length - 2 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 0;
}

/** Whether brackets are nested deeper than `depthMax`. */
export function isNestedDeeper(text: string, depthMax: number): boolean {
  const structure = new Structure(text);
  let depth = 0;
  for (let at = structure.next(0); at < text.length; at = structure.next(at)) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = skipString(text, at);
    else {
      depth += bracket(unit);
      if (depth > depthMax) return true;
      at++;
    }
  }
  return false;
}

/** The offset of the list that is the value of the outermost field `items`; undefined without one. */
export function findItemsOfJson(text: string, start: number, end: number): number | undefined {
  const structure = new Structure(text);
  let depth = 0;
  for (let at = structure.next(start); at < end; at = structure.next(at)) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const behind = skipString(text, at);
      if (depth === 1 && text.slice(at, behind) === '"items"') {
        const list = /^\s*:\s*\[/.exec(text.slice(behind, behind + 200));
        if (list !== null) return behind + list[0].length - 1;
      }
      at = behind;
      continue;
    }
    depth += bracket(unit);
    at++;
  }
  return undefined;
}

/** Lines and columns of offsets that only grow: each line end is looked for once, however many offsets its line has. */
class Places {
  private line = 1;
  private lineStart = 0;
  private lineEnd: number;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.lineEnd = this.endOfLine();
  }

  /** The line of `offset`, from 1, and its column, from 0. */
  at(offset: number): { readonly line: number; readonly column: number } {
    while (this.lineEnd < offset) {
      this.line++;
      this.lineStart = this.lineEnd + 1;
      this.lineEnd = this.endOfLine();
    }
    return { line: this.line, column: offset - this.lineStart };
  }

  private endOfLine(): number {
    const end = this.text.indexOf("\n", this.lineStart);
    return end < 0 ? this.text.length : end;
  }
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The offset of the next character that is no blank, comma or line end. */
export function skipBlanks(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== 32 && unit !== 44 && (unit < 9 || unit > 13)) break;
  }
  return at;
}

/** The items between the brackets of a list; none reaches beyond `end`, the place of the closing one. */
function* listPieces(text: string, list: number, end: number, places: Places): Generator<Piece> {
  let index = 0;
  for (let at = skipBlanks(text, list + 1); at < end; at = skipBlanks(text, at)) {
    const behind = Math.min(skipJsonValue(text, at), end);
    yield {
      format: "json",
      text: text.slice(at, behind),
      ...places.at(at),
      item: index++,
    };
    at = behind;
  }
}

/** The offset behind a value that is no object and no list. */
export function skipScalar(text: string, start: number): number {
  if (text.charCodeAt(start) === QUOTE) return skipString(text, start);
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 44 || unit === 93 || unit === 125 || unit <= 32) return Math.max(at, start + 1);
  }
  return text.length;
}

/** The offset behind the value that begins at `start`. */
export function skipJsonValue(text: string, start: number): number {
  return bracket(text.charCodeAt(start)) === 1 ? skipValue(text, start) : skipScalar(text, start);
}

/** The pieces of a JSON text: what stands around the items of a list comes before its items. */
export function* splitJson(text: string): Generator<Piece> {
  const places = new Places(text);
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const isOpening = bracket(text.charCodeAt(at)) === 1;
    const end = isOpening ? skipValue(text, at) : text.length;
    const list = findItemsOfJson(text, at, end);
    const place = { format: "json", ...places.at(at) } as const;
    const listEnd = list === undefined ? end : skipValue(text, list);
    // Brackets that do not fit together are for the parser to report.
    if (list === undefined || listEnd >= end) yield { ...place, text: text.slice(at, end) };
    else {
      const gap = { offset: list - at + 2, lines: countLines(text.slice(list, listEnd)) };
      const frame = `${text.slice(at, list)}[]${text.slice(listEnd, end)}`;
      yield { ...place, text: frame, isFrame: true, gap };
      yield* listPieces(text, list, listEnd - 1, places);
    }
    at = end;
  }
}
