/**
 * Objects as PowerShell shows them on a screen. `Get-HnsNetwork`, perhaps through `Format-List`: one field per line, long
 * values wrapped below themselves, an empty line between objects. `Format-Table`: titles, a line of dashes, one row each.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Restored, joinPath, listOfTexts, splitOutside, valueOfText } from "./power-shell.ts";
import type { TextLine } from "./json-extent.ts";

export interface ListedObject {
  readonly document: JsonObject;
  readonly cut: readonly string[];
  readonly lines: readonly TextLine[];
  /** Field → the line in which its value ends, which is where a value is cut off. */
  readonly fieldLines: ReadonlyMap<string, number>;
}

/** `Name            : value`; the colon stands in the same column for all fields of an object. */
const FIELD = /^([A-Za-z]\w*)(\s*): ?(.*)$/;

interface OpenObject {
  readonly fields: Map<string, { text: string; lastLength: number; line: number }>;
  readonly lines: TextLine[];
  /** The column of the colon. */
  readonly colon: number;
  last: string;
}

/** True when PowerShell had to break inside a word: the line before is full, and letters meet. */
function isInsideWord(before: string, after: string, isFull: boolean): boolean {
  return isFull && /[\w.:-]$/.test(before) && /^[\w.:-]/.test(after);
}

function continueField(open: OpenObject, line: TextLine, width: number): void {
  const field = open.fields.get(open.last);
  if (field === undefined) return;
  const text = line.text.trim();
  const separator = isInsideWord(field.text, text, field.lastLength >= width) ? "" : " ";
  field.text += separator + text;
  field.lastLength = line.text.length;
  field.line = line.line;
  open.lines.push(line);
}

/** How PowerShell and people end what is too long: `...}`, `…}`. */
const ELLIPSIS = /(?:\.\.\.|…)$/;

function isClosed(piece: string): boolean {
  return !piece.startsWith("@{") || piece.endsWith("}");
}

/** The items of a list; behind them what stands in the place of those that are not shown. */
function shortenedList(pieces: readonly string[], name: string): Restored {
  const last = pieces.at(-1) ?? "";
  const mark = ELLIPSIS.exec(last)?.[0] ?? "";
  const item = last.slice(0, last.length - mark.length).trim();
  const isWhole = item !== "" && isClosed(item);
  const whole = isWhole ? [...pieces.slice(0, -1), item] : pieces.slice(0, -1);
  const { value, cut } = listOfTexts(whole, name);
  const left = isWhole ? mark : last;
  return { value: [...(value as readonly JsonValue[]), left], cut: [...cut, `[${whole.length}]`] };
}

function valueOfField(name: string, text: string): Restored {
  // On a screen nothing is shown of an empty object.
  if (text === "" && name === "Resources") return { value: {}, cut: [] };
  const list = /^\{([\s\S]*)\}$/.exec(text)?.[1];
  if (list !== undefined) {
    const pieces = splitOutside(list, ",");
    return ELLIPSIS.test(list) ? shortenedList(pieces, name) : listOfTexts(pieces, name);
  }
  // Half a paste: the brace that ends the list is missing.
  const open = /^\{([\s\S]*)$/.exec(text)?.[1];
  if (open !== undefined) return shortenedList(splitOutside(open, ","), name);
  const isCut = name !== "ID" && (ELLIPSIS.test(text) || !isClosed(text));
  return isCut ? { value: text, cut: [""] } : valueOfText(name, text);
}

function close(open: OpenObject): ListedObject {
  const document: Record<string, JsonValue> = {};
  const cut: string[] = [];
  const fieldLines = new Map<string, number>();
  for (const [name, { text, line }] of open.fields) {
    const { value, cut: below } = valueOfField(name, text);
    document[name] = value;
    fieldLines.set(name, line);
    cut.push(...below.map((path) => joinPath(name, path)));
  }
  return { document, cut, lines: open.lines, fieldLines };
}

/** Fewer fields are a line of somebody's notes. */
const FIELDS_MIN = 3;
/** Fields that other cmdlets of Windows do not print. */
const OF_HNS = ["ActivityId", "AdditionalParams", "MacPools", "SharedContainers", "VirtualNetworkName"];

/** The objects among some lines, what looks like one and has no id, and the lines that belong to none. */
export function readFormatList(lines: readonly TextLine[]): {
  readonly objects: readonly ListedObject[];
  readonly withoutId: readonly ListedObject[];
  readonly rest: readonly TextLine[];
} {
  const objects: ListedObject[] = [];
  const withoutId: ListedObject[] = [];
  const rest: TextLine[] = [];
  let width = 0;
  for (const { text } of lines) width = Math.max(width, text.length);
  let open: OpenObject | undefined;
  const finish = (): void => {
    if (open === undefined) return;
    const isObject = open.fields.size >= FIELDS_MIN;
    if (isObject && open.fields.has("ID")) objects.push(close(open));
    else rest.push(...open.lines);
    if (isObject && !open.fields.has("ID") && OF_HNS.some((name) => open?.fields.has(name)))
      withoutId.push(close(open));
    open = undefined;
  };
  for (const line of lines) {
    const match = FIELD.exec(line.text);
    if (line.text.trim() === "") finish();
    else if (match !== null) {
      const [, name = "", blanks = "", text = ""] = match;
      const colon = name.length + blanks.length;
      // Objects without an empty line between them begin with another column, or with a field that is there already.
      if (open !== undefined && (open.colon !== colon || open.fields.has(name))) finish();
      open ??= { fields: new Map(), lines: [], colon, last: name };
      open.fields.set(name, { text: text.trim(), lastLength: line.text.length, line: line.line });
      open.last = name;
      open.lines.push(line);
    } else if (open !== undefined && line.text.startsWith(" ".repeat(Math.min(open.colon, 1))))
      continueField(open, line, width);
    else {
      finish();
      rest.push(line);
    }
  }
  finish();
  return { objects, withoutId, rest };
}

const DASHES = /^ *-+(?: +-+)* *$/;

/** The words below which dashes stand, with the column that each begins in. */
function columnsOf(
  titles: string,
  dashes: string,
): readonly { readonly title: string; readonly from: number }[] {
  const starts = Array.from(dashes.matchAll(/-+/g), ({ index }) => index);
  return starts.map((from, at) => ({ title: titles.slice(from, starts[at + 1]).trim(), from }));
}

function rowOf(
  line: TextLine,
  columns: readonly { readonly title: string; readonly from: number }[],
): ListedObject {
  const document: Record<string, JsonValue> = {};
  const cut: string[] = [];
  for (const [at, { title, from }] of columns.entries()) {
    const text = line.text.slice(from, columns[at + 1]?.from).trim();
    // An empty cell is an empty value, or none.
    if (text === "" || ELLIPSIS.test(title)) continue;
    const { value, cut: below } = valueOfField(title, text);
    document[title] = value;
    cut.push(...below.map((path) => joinPath(title, path)));
  }
  const fieldLines = new Map(Object.keys(document).map((name) => [name, line.line]));
  return { document, cut, lines: [line], fieldLines };
}

/** The rows of tables that have a column of ids, and the lines that belong to none. */
export function readFormatTable(lines: readonly TextLine[]): {
  readonly objects: readonly ListedObject[];
  readonly rest: readonly TextLine[];
} {
  const objects: ListedObject[] = [];
  const rest: TextLine[] = [];
  let columns: ReturnType<typeof columnsOf> | undefined;
  for (const [at, line] of lines.entries()) {
    const isDashes = DASHES.test(line.text);
    if (isDashes) {
      const found = columnsOf(lines[at - 1]?.text ?? "", line.text);
      columns = found.some(({ title }) => /^id$/i.test(title)) ? found : undefined;
    } else if (line.text.trim() === "") columns = undefined;
    else if (columns !== undefined) objects.push(rowOf(line, columns));
    if (columns === undefined || isDashes) rest.push(line);
  }
  return { objects, rest };
}

/** What stands below the names of a table's columns. */
const RULE_OF_TABLE = /^ *-+(?: +-+)+ *\r?$/;

/** True for a text with a table of `Format-Table` that has a column of ids. */
export function showsTableOfIds(text: string): boolean {
  const lines = text.split("\n");
  return lines.some((line, index) => RULE_OF_TABLE.test(line) && /\bID\b/i.test(lines[index - 1] ?? ""));
}
