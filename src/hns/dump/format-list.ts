/**
 * Objects as PowerShell shows them on a screen: `Get-HnsNetwork`, perhaps through `Format-List`. One field per line, long
 * values wrapped below themselves, an empty line between objects.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Restored, joinPath, listOfTexts, splitOutside, valueOfText } from "./power-shell.ts";
import type { TextLine } from "./text-lines.ts";

export interface ListedObject {
  readonly document: JsonObject;
  readonly cut: readonly string[];
  readonly lines: readonly TextLine[];
}

/** `Name            : value`; the colon stands in the same column for all fields of an object. */
const FIELD = /^([A-Za-z]\w*)(\s*): ?(.*)$/;

interface OpenObject {
  readonly fields: Map<string, { text: string; lastLength: number }>;
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
  open.lines.push(line);
}

function valueOfField(name: string, text: string): Restored {
  // On a screen nothing is shown of an empty object.
  if (text === "" && name === "Resources") return { value: {}, cut: [] };
  const list = /^\{([\s\S]*)\}$/.exec(text)?.[1];
  return list === undefined ? valueOfText(name, text, true) : listOfTexts(splitOutside(list, ","), name);
}

/** How Format-List ends a list that is too long for the screen. */
const ELLIPSIS = /^(?:\.\.\.|…)$/;

function close(open: OpenObject): ListedObject {
  const document: Record<string, JsonValue> = {};
  const cut: string[] = [];
  for (const [name, { text }] of open.fields) {
    const { value, cut: below } = valueOfField(name, text);
    const isShortened =
      Array.isArray(value) && value.some((item) => typeof item === "string" && ELLIPSIS.test(item));
    document[name] = value;
    if (isShortened) cut.push(name);
    cut.push(...below.map((path) => joinPath(name, path)));
  }
  return { document, cut, lines: open.lines };
}

/** Fewer fields are a line of somebody's notes. */
const FIELDS_MIN = 3;

/** The objects among some lines, and the lines that belong to none. */
export function readFormatList(lines: readonly TextLine[]): {
  readonly objects: readonly ListedObject[];
  readonly rest: readonly TextLine[];
} {
  const objects: ListedObject[] = [];
  const rest: TextLine[] = [];
  let width = 0;
  for (const { text } of lines) width = Math.max(width, text.length);
  let open: OpenObject | undefined;
  const finish = (): void => {
    if (open === undefined) return;
    if (open.fields.size >= FIELDS_MIN && open.fields.has("ID")) objects.push(close(open));
    else rest.push(...open.lines);
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
      open.fields.set(name, { text: text.trim(), lastLength: line.text.length });
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
  return { objects, rest: rest.toSorted((a, b) => a.line - b.line) };
}
