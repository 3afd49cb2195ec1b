/**
 * YAML text to pieces: documents at lines of three dashes, and the items of a list one by one. A line of three
 * dashes ends a document wherever it stands (YAML 1.2.2 §9.1.2), also inside a block of text; list items at one
 * indentation cannot be continued by anything that is indented less.
 */
import type { Piece } from "./piece.ts";

/** True for directives, comments and empty lines alone: they belong to the document that follows. */
function isNothing(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const first = at + (/^[ \t\r]*/.exec(text.slice(at, at + 200))?.[0].length ?? 0);
    const unit = text.charCodeAt(first);
    const isDirective = unit === 37 && first === at;
    if (!isBlankOrComment(text, first) && !isDirective) return false;
    const next = text.indexOf("\n", first);
    at = next < 0 ? text.length : next + 1;
  }
  return true;
}

interface Document {
  readonly text: string;
  readonly line: number;
}

export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

export function isSeparatorAt(text: string, at: number): boolean {
  if (!text.startsWith("---", at)) return false;
  const next = text.charCodeAt(at + 3);
  return Number.isNaN(next) || next === 10 || next === 13 || next === 32 || next === 9;
}

/** Whether the line at `at` separates documents and holds nothing of the next one. */
export function isSeparatorAlone(text: string, at: number): boolean {
  if (!isSeparatorAt(text, at)) return false;
  const behind = text.indexOf("\n", at);
  return /^[ \t]*(?:#.*)?\r?$/.test(text.slice(at + 3, behind < 0 ? text.length : behind));
}

function* splitDocuments(text: string): Generator<Document> {
  let start = 0;
  let line = 1;
  for (let at = isSeparatorAt(text, 0) ? 0 : nextSeparator(text, 0); ; at = nextSeparator(text, at + 3)) {
    const document = text.slice(start, at < 0 ? text.length : at);
    if (document !== "") yield { text: document, line };
    if (at < 0) return;
    line += countLines(document);
    start = at;
    if (isSeparatorAlone(text, at)) {
      const behind = text.indexOf("\n", at);
      start = behind < 0 ? text.length : behind + 1;
      line++;
    }
  }
}

/** The offset of the next line of three dashes behind `from`; -1 without one. */
export function nextSeparator(text: string, from: number): number {
  for (let at = text.indexOf("\n---", from); at >= 0; at = text.indexOf("\n---", at + 1)) {
    if (isSeparatorAt(text, at + 1)) return at + 1;
  }
  return -1;
}

interface ItemLines {
  /** Offsets at which items begin, and the offset behind the last. */
  readonly starts: readonly number[];
  readonly end: number;
}

/** How many blanks a line begins with. */
export function indentAt(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) === 32) at++;
  return at - start;
}

export function isBlankOrComment(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return Number.isNaN(unit) || unit === 10 || unit === 13 || unit === 35;
}

export function isHyphen(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  return text.charCodeAt(at) === 45 && (Number.isNaN(next) || next === 32 || next === 10 || next === 13);
}

function isDeeper(text: string, start: number, indent: number): boolean {
  for (let at = start; at <= start + indent; at++) if (text.charCodeAt(at) !== 32) return false;
  return true;
}

/**
 * Where the next line begins that is indented by no more than `indent`, from the line that begins at `start` on; behind the
 * last line end where all are deeper. Nearly all lines of a dump are an item's own, and need no other look.
 */
export function skipDeeper(text: string, start: number, indent: number): number {
  let at = start;
  while (isDeeper(text, at, indent)) {
    const next = text.indexOf("\n", at);
    if (next < 0) return at;
    at = next + 1;
  }
  return at;
}

/** The items of a block list that begins in the line at `start`; undefined when there is none. */
function findItems(text: string, start: number): ItemLines | undefined {
  const starts: number[] = [];
  let indent = -1;
  let at = start;
  for (; at < text.length; ) {
    const lead = indentAt(text, at);
    const first = at + lead;
    if (!isBlankOrComment(text, first)) {
      if (indent < 0) {
        if (!isHyphen(text, first)) return undefined;
        indent = lead;
      }
      if (lead === indent && isHyphen(text, first)) starts.push(at);
      else if (lead <= indent) break;
    }
    const next = text.indexOf("\n", first);
    at = next < 0 ? text.length : next + 1;
    if (indent >= 0) at = skipDeeper(text, at, indent);
  }
  return starts.length === 0 ? undefined : { starts, end: Math.min(at, text.length) };
}

/** Items may refer to each other's anchors; a list of this size at most is then parsed in one piece. */
const LINKED_LENGTH_MAX = 1_048_576;

/** Where a value may begin: an anchor before it, and an alias in place of it. */
const ANCHOR = /(?:^|[:\-,[{] ) *&[\w-]+(?:\s|$)/m;
const ALIAS = /(?:^|[:\-,[{] ) *\*[\w-]+ *(?:$|[,\]}#])/m;

/** Whether a text may hold an anchor and an alias of it. */
function hasAliases(text: string): boolean {
  return ANCHOR.test(text) && ALIAS.test(text);
}

/** The name before the items of a list. */
export const ITEMS_OF_YAML: RegExp = /^items:[ \t]*(?:#[^\r\n\u2028\u2029]*)?\r?\n/m;

/** The pieces of one document. */
export function* piecesOfDocument({ text, line }: Document): Generator<Piece> {
  if (isNothing(text)) return;
  const place = { format: "yaml", line, column: 0 } as const;
  const header = ITEMS_OF_YAML.exec(text);
  const begin = header === null ? 0 : header.index + header[0].length;
  const items = header === null ? undefined : findItems(text, begin);
  const isLinked = items !== undefined && text.length <= LINKED_LENGTH_MAX && hasAliases(text);
  if (header === null || items === undefined || isLinked) {
    yield { ...place, text };
    return;
  }
  const head = text.slice(0, header.index);
  const start = `${head}items: []\n`;
  const gap = { offset: start.length, lines: countLines(text.slice(begin, items.end)) };
  yield { ...place, text: `${start}${text.slice(items.end)}`, isFrame: true, gap };
  let itemLine = line + countLines(text.slice(0, begin));
  let from = begin;
  for (const [index, first] of items.starts.entries()) {
    itemLine += countLines(text.slice(from, first));
    from = first;
    const end = items.starts[index + 1] ?? items.end;
    yield { ...place, text: text.slice(first, end), line: itemLine, item: index };
  }
}

/** The pieces of a YAML text: what stands around the items of a list comes before its items. */
export function* splitYaml(text: string): Generator<Piece> {
  for (const document of splitDocuments(text)) yield* piecesOfDocument(document);
}
