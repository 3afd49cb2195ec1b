/**
 * Texts that are longer than a string may be (V8: 512 Mi characters), as pieces. The bytes are read twice: what stands
 * behind the items of a list says what the list is, and comes first. No more than a few items are held at a time.
 */
import { withoutPrompts } from "#core/base/source-text.ts";
import { LIMITS } from "#core/base/limits.ts";
import { BracketDepth, findItemsOfJson, skipBlanks, skipScalar, splitJson } from "./json-pieces.ts";
import type { Piece } from "./piece.ts";
import { type TextChunks, piecesOfPlainList } from "./plain-list.ts";
import {
  ITEMS_OF_YAML,
  countLines,
  indentAt,
  isBlankOrComment,
  isHyphen,
  isSeparatorAt,
  isSeparatorAlone,
  nextSeparator,
  piecesOfDocument,
  skipDeeper,
} from "./yaml-pieces.ts";

/** What stands behind the items of a list, and how many lines they have; undefined: the list does not end. */
type Frame = { readonly tail: string; readonly lines: number } | undefined;

/** UTF-16 is what PowerShell writes with `>`. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** The text in pieces of whole lines, as far as it has lines; without what was typed at prompts. */
function* decoded(chunks: TextChunks): Generator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let rest = "";
  for (const chunk of chunks) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf("\n") + 1;
    const whole = `${rest}${text.slice(0, end === 0 ? text.length : end)}`;
    rest = end === 0 ? "" : text.slice(end);
    if (whole !== "") yield end === 0 ? whole : withoutPrompts(whole);
  }
  const last = `${rest}${decoder?.decode() ?? ""}`;
  if (last !== "") yield withoutPrompts(last);
}

/** Characters of a line that is read to its end. */
const LINE_MAX = 134_217_728;

/** A part of the text, which moves on. */
class Window {
  text = "";
  isEnd = false;
  /** Where `text` begins: the line, from 1, and the characters before it in that line. */
  line = 1;
  column = 0;
  readonly frames: Frame[];
  /** The first reading: lists are measured, and no piece is given. */
  readonly isFirst: boolean;
  /** A text of this length is no longer held as a whole. */
  readonly heldMax: number;
  private readonly source: Iterator<string>;

  constructor(chunks: TextChunks, frames: Frame[], isFirst: boolean, heldMax: number) {
    this.source = decoded(chunks);
    this.frames = frames;
    this.isFirst = isFirst;
    this.heldMax = heldMax;
  }

  /** More of the text behind what there is; false at the end. */
  fill(): boolean {
    // One line that is longer than all this is too long for any reader, which says so.
    const isTooLong = this.text.length > LINE_MAX + this.heldMax;
    const next = this.isEnd || isTooLong ? undefined : this.source.next();
    if (next === undefined || next.done === true) {
      this.isEnd = true;
      return false;
    }
    this.text += next.value;
    return true;
  }

  /** Leaves what stands before `at`. */
  leave(at: number): void {
    const last = at === 0 ? -1 : this.text.lastIndexOf("\n", at - 1);
    this.column = last < 0 ? this.column + at : at - last - 1;
    this.line += countLines(last < 0 ? "" : this.text.slice(0, at));
    this.text = this.text.slice(at);
  }

  get isFull(): boolean {
    return this.text.length >= this.heldMax;
  }

  /** Where the next line begins that could end an item of a list at `indent`, or the one where no more is held. */
  skipDeeper(start: number, indent: number): number {
    const { text, heldMax } = this;
    const found = skipDeeper(text, start, indent);
    return found <= heldMax ? found : Math.max(start, text.indexOf("\n", heldMax - 1) + 1);
  }

  /** The offset behind the line of `at`; undefined when more must be read first. */
  lineEnd(at: number): number | undefined {
    const found = this.text.indexOf("\n", at);
    if (found >= 0) return found + 1;
    return this.isEnd ? this.text.length : undefined;
  }
}

/** The offset at which the document ends whose text begins the window; undefined for one that is not held. */
function documentEnd(window: Window): number | undefined {
  let from = isSeparatorAt(window.text, 0) ? 3 : 0;
  for (;;) {
    const at = nextSeparator(window.text, from);
    if (at >= 0 && window.lineEnd(at) !== undefined) return at;
    if (at < 0 && window.isEnd) return window.text.length;
    if (at < 0 && window.isFull) return undefined;
    from = at < 0 ? Math.max(from, window.text.length - 4) : at - 1;
    window.fill();
  }
}

/** Leaves everything before the next document. */
function leaveDocument(window: Window): void {
  for (;;) {
    const end = documentEnd(window);
    window.leave(end ?? window.text.length - 4);
    if (end !== undefined) return;
  }
}

function* yamlPieces(window: Window): Generator<Piece> {
  for (;;) {
    while (window.lineEnd(0) === undefined) window.fill();
    if (window.text === "") return;
    if (isSeparatorAlone(window.text, 0)) {
      window.leave(window.lineEnd(0) ?? 0);
      continue;
    }
    const end = documentEnd(window);
    if (end === undefined) {
      yield* longYamlDocument(window);
      continue;
    }
    if (!window.isFirst) yield* piecesOfDocument({ text: window.text.slice(0, end), line: window.line });
    window.leave(end);
  }
}

function* longYamlDocument(window: Window): Generator<Piece> {
  const header = ITEMS_OF_YAML.exec(window.text);
  const begin = header === null ? 0 : header.index + header[0].length;
  const indent = header === null ? undefined : listIndent(window.text, begin);
  if (header === null || indent === undefined) {
    if (!window.isFirst) yield { format: "yaml", text: window.text, line: window.line, column: 0 };
    leaveDocument(window);
    return;
  }
  if (!window.isFirst) {
    const frame = window.frames.shift();
    const text = `${window.text.slice(0, header.index)}items: []\n`;
    const gap = { offset: text.length, lines: frame?.lines ?? 0 };
    const place = { format: "yaml", line: window.line, column: 0, isFrame: true } as const;
    yield { ...place, text: `${text}${frame?.tail ?? ""}`, gap };
  }
  window.leave(begin);
  const first = window.line;
  yield* yamlItems(window, indent);
  const lines = window.line - first;
  const end = isSeparatorAt(window.text, 0) ? 0 : documentEnd(window);
  if (window.isFirst) window.frames.push({ tail: window.text.slice(0, end), lines });
  if (end === undefined) leaveDocument(window);
  else window.leave(end);
}

/** The indentation of the list that begins in the line at `start`; undefined when there is none. */
function listIndent(text: string, start: number): number | undefined {
  let at = start;
  while (at < text.length) {
    const first = at + indentAt(text, at);
    if (!isBlankOrComment(text, first)) return isHyphen(text, first) ? first - at : undefined;
    const next = text.indexOf("\n", first);
    at = next < 0 ? text.length : next + 1;
  }
  return undefined;
}

/** The items of the list that begins the window; the window then begins behind them. */
function* yamlItems(window: Window, indent: number): Generator<Piece> {
  let item = -1;
  let at = 0;
  let isCut = false;
  const piece = (end: number): Piece => ({
    format: "yaml",
    text: window.text.slice(0, end),
    line: window.line,
    column: 0,
    item,
  });
  for (;;) {
    const next = window.lineEnd(at);
    if (next === undefined) {
      window.fill();
      continue;
    }
    const first = at + indentAt(window.text, at);
    const isOver = at === window.text.length || isSeparatorAt(window.text, at);
    const isFilled = !isOver && !isBlankOrComment(window.text, first);
    const isItem = isFilled && first - at === indent && isHyphen(window.text, first);
    const isEnd = isOver || (isFilled && !isItem && first - at <= indent);
    if ((isItem || isEnd || at >= window.heldMax) && at > 0) {
      // Of an item that is too long its beginning is given, which is too long, too.
      if (!window.isFirst && item >= 0 && !isCut) yield piece(at);
      isCut = !isItem && !isEnd;
      window.leave(at);
      at = 0;
      continue;
    }
    if (isEnd) return;
    if (isItem) {
      item++;
      isCut = false;
    }
    at = window.skipDeeper(next, indent);
  }
}

/** The offset behind the value that opens at `start`; undefined for one that is not held. */
function valueEnd(window: Window, start: number): number | undefined {
  const depth = new BracketDepth(start);
  for (;;) {
    const end = depth.endIn(window.text, window.isEnd);
    if (end !== undefined) return end;
    if (window.isEnd) return window.text.length;
    if (window.text.length - start >= window.heldMax) return undefined;
    window.fill();
  }
}

/** Goes to the next character that is no blank, comma or line end; undefined at the end. */
function nextValue(window: Window): string | undefined {
  for (;;) {
    const at = skipBlanks(window.text, 0);
    window.leave(at);
    if (window.text !== "") return window.text[0];
    if (!window.fill()) return undefined;
  }
}

function isOpening(unit: string): boolean {
  return unit === "{" || unit === "[";
}

function* jsonPieces(window: Window): Generator<Piece> {
  for (let unit = nextValue(window); unit !== undefined; unit = nextValue(window)) {
    while (!isOpening(unit) && !window.isFull && window.fill());
    const end = isOpening(unit) ? valueEnd(window, 0) : window.text.length;
    if (end === undefined) {
      yield* longJsonValue(window);
      continue;
    }
    const { line, column } = window;
    if (!window.isFirst)
      for (const piece of splitJson(window.text.slice(0, end)))
        yield {
          ...piece,
          line: piece.line + line - 1,
          column: piece.column + (piece.line === 1 ? column : 0),
        };
    window.leave(end);
  }
}

function* longJsonValue(window: Window): Generator<Piece> {
  const list = findItemsOfJson(window.text, 0, window.text.length);
  const frame = window.isFirst || list === undefined ? undefined : window.frames.shift();
  const place = { format: "json", line: window.line, column: window.column } as const;
  if (list === undefined || (frame === undefined && !window.isFirst)) {
    // No list, or one that is cut off: what does not fit together is for the parser to report.
    if (!window.isFirst) yield { ...place, text: window.text };
    leaveJson(window, new BracketDepth(0));
    return;
  }
  if (frame !== undefined) {
    const gap = { offset: list + 2, lines: frame.lines };
    yield { ...place, text: `${window.text.slice(0, list)}[]${frame.tail}`, isFrame: true, gap };
  }
  window.leave(list);
  const first = window.line;
  window.leave(1);
  const isWhole = yield* jsonItems(window);
  if (isWhole) window.leave(1);
  const lines = window.line - first;
  // The list is closed, the mapping around it is not: one bracket deep.
  const depth = new BracketDepth(0, 1);
  const end = isWhole ? endOfTail(window, depth) : undefined;
  if (window.isFirst)
    window.frames.push(end === undefined ? undefined : { tail: window.text.slice(0, end), lines });
  if (end === undefined) leaveJson(window, depth);
  else window.leave(end);
}

function endOfTail(window: Window, depth: BracketDepth): number | undefined {
  for (;;) {
    const end = depth.endIn(window.text, window.isEnd);
    if (end !== undefined) return end;
    if (window.isFull || !window.fill()) return undefined;
  }
}

/** Leaves everything up to the end of a value whose brackets are counted in `depth`. */
function leaveJson(window: Window, depth: BracketDepth): void {
  for (;;) {
    const end = depth.endIn(window.text, window.isEnd);
    if (end !== undefined || !window.fill()) {
      window.leave(end ?? window.text.length);
      return;
    }
    window.leave(depth.moveBack());
  }
}

/** The items of a list; the window then begins at its closing bracket. False for one that has none. */
function* jsonItems(window: Window): Generator<Piece, boolean> {
  for (let item = 0; ; item++) {
    const unit = nextValue(window);
    if (unit === undefined) return false;
    if (unit === "]" || unit === "}") return true;
    const depth = new BracketDepth(0);
    let end = isOpening(unit) ? valueEnd(window, 0) : scalarEnd(window);
    const { line, column } = window;
    const text = window.text.slice(0, end ?? window.text.length);
    if (!window.isFirst) yield { format: "json", text, line, column, item };
    if (end === undefined) {
      leaveJson(window, depth);
      end = 0;
    }
    window.leave(end);
  }
}

function scalarEnd(window: Window): number {
  for (;;) {
    const end = skipScalar(window.text, 0);
    if (end < window.text.length || window.isFull || !window.fill()) return end;
  }
}

/** The pieces of a text of any length. `heldMax`: characters of a document, and of an item, that are held as a whole. */
export function* splitLongText(
  chunks: TextChunks,
  heldMax: number = 2 * LIMITS.manifestDocumentCharactersMax,
): Generator<Piece> {
  const plain = piecesOfPlainList(chunks, heldMax);
  yield* plain ?? splitAnyLongText(chunks, heldMax);
}

/** The same for a text of any form. */
export function* splitAnyLongText(chunks: TextChunks, heldMax: number): Generator<Piece> {
  const frames: Frame[] = [];
  for (const isFirst of [true, false]) {
    const window = new Window(chunks, frames, isFirst, heldMax);
    while (/^\s*$/.test(window.text.slice(0, 4_096)) && window.fill());
    yield* /^\s*(?:\[|\{(?!\{))/.test(window.text.slice(0, 4_096)) ? jsonPieces(window) : yamlPieces(window);
  }
}
