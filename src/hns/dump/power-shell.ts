/**
 * What PowerShell makes of values on their way to a file (users.md §4): `ConvertTo-Json` stops at a depth (2 unless
 * `-Depth` says more) and writes texts in place of what lies below; Format-List writes such texts always; remoting adds
 * fields of its own. What the text still says is taken back; what it does not say is told as cut off.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

/** A value, and the paths below it whose values the dump does not hold. */
export interface Restored {
  readonly value: JsonValue;
  readonly cut: readonly string[];
}

/** Fields that remoting adds to every object. */
const OF_REMOTING: readonly string[] = [
  "PSComputerName",
  "RunspaceId",
  "PSShowComputerName",
  "PSSourceJobInstanceId",
];

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Fields that hold lists, in either dialect: a list of one may have become its item, or a text. */
const LISTS: ReadonlySet<string> = words(`\n  ${WORDS.listFields}\n`);

/** Fields that hold objects: an empty one is printed as nothing. */
const OBJECTS: ReadonlySet<string> = words(`
  AdditionalParams Health Namespace SchemaVersion Data Extra InterfaceConstraint MacPool Dns Settings
`);

/** Texts, whatever they look like: a network may be called 1, and a port list is text (hcn.md §1.6). */
const TEXTS: ReadonlySet<string> = words(`\n  ${WORDS.textFields}\n`);

/** The name of a .NET type stands where a value was. */
const TYPE_NAME = /^System\.[\w.]+(?:\[[\w.,`]*\])*$/;
/** `@{Type=VSID; VSID=4096}`: the text of an object. */
const OBJECT_TEXT = /^@\{([\s\S]*)\}$/;
const INTEGER = /^-?(?:0|[1-9]\d{0,19})$/;

/** A word as Format-List prints values. */
function scalarOf(field: string, text: string): JsonValue {
  if (TEXTS.has(field)) return text;
  if (text === "True" || text === "False") return text === "True";
  return INTEGER.test(text) ? Number(text) : text;
}

/** Pieces between separators that stand outside of braces. */
export function splitOutside(text: string, separator: string): readonly string[] {
  const pieces: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "{") depth++;
    else if (letter === "}") depth--;
    else if (depth === 0 && text.startsWith(separator, at)) {
      pieces.push(text.slice(from, at));
      from = at + separator.length;
      at = from - 1;
    }
  }
  pieces.push(text.slice(from));
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

function objectOfText(body: string): Restored {
  const value: Record<string, JsonValue> = {};
  const cut: string[] = [];
  for (const piece of splitOutside(body, ";")) {
    const equals = piece.indexOf("=");
    if (equals <= 0) continue;
    const field = piece.slice(0, equals).trim();
    const text = piece.slice(equals + 1);
    const restored = valueOfText(field, text);
    if (field !== "__proto__") value[field] = restored.value;
    cut.push(...restored.cut.map((path) => joinPath(field, path)));
  }
  return { value, cut };
}

/** Items that stand as texts. */
export function listOfTexts(pieces: readonly string[], field: string): Restored {
  const items = pieces.map((piece) => valueOfText(field, piece, true));
  const cut = items.flatMap((item, index) => item.cut.map((path) => joinPath(`[${index}]`, path)));
  return { value: items.map(({ value }) => value), cut };
}

/** `@{…} @{…}`, or words with blanks between them: a list that was printed as one text. */
function listOfText(field: string, text: string): Restored {
  const objects = splitOutside(text.replaceAll("} @{", "},@{"), ",");
  if (text.startsWith("@{")) return listOfTexts(objects, field);
  return listOfTexts(
    text.split(/[\s,]+/).filter((word) => word !== ""),
    field,
  );
}

/** The value that a text stands for. `isItem`: it is one of a list's, and no list. */
export function valueOfText(field: string, text: string, isItem = false): Restored {
  if (TYPE_NAME.test(text)) return { value: text, cut: [""] };
  const body = OBJECT_TEXT.exec(text)?.[1];
  if (LISTS.has(field) && !isItem) return listOfText(field, text);
  if (body !== undefined) return objectOfText(body);
  if (text === "" && OBJECTS.has(field)) return { value: {}, cut: [] };
  return { value: scalarOf(field, text), cut: [] };
}

export function joinPath(field: string, path: string): string {
  if (path === "") return field;
  return path.startsWith("[") ? `${field}${path}` : `${field}.${path}`;
}

/** A text inside JSON: JSON has its own numbers, so it stays a text unless it stands for something else. */
function restoreText(field: string, text: string, isItem: boolean): Restored {
  if (TYPE_NAME.test(text)) return { value: text, cut: [""] };
  if (LISTS.has(field) && !isItem) return listOfText(field, text);
  const body = OBJECT_TEXT.exec(text)?.[1];
  if (body !== undefined) return objectOfText(body);
  return { value: text === "" && OBJECTS.has(field) ? {} : text, cut: [] };
}

function restore(field: string, value: JsonValue, isItem: boolean): Restored {
  if (typeof value === "string") return restoreText(field, value, isItem);
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map((item) => restore(field, item, true));
    const cut = items.flatMap((item, index) => item.cut.map((path) => joinPath(`[${index}]`, path)));
    return { value: items.map((item) => item.value), cut };
  }
  if (!isJsonObject(value)) return { value, cut: [] };
  const restored = restoreFields(value);
  if (!LISTS.has(field) || isItem) return restored;
  return { value: [restored.value], cut: restored.cut.map((path) => joinPath("[0]", path)) };
}

function restoreFields(object: JsonObject): { readonly value: JsonObject; readonly cut: readonly string[] } {
  const value: Record<string, JsonValue> = {};
  const cut: string[] = [];
  for (const [field, old] of Object.entries(object)) {
    if (old === undefined) continue;
    const restored = restore(field, old, false);
    value[field] = restored.value;
    cut.push(...restored.cut.map((path) => joinPath(field, path)));
  }
  return { value, cut };
}

/** The field of a document that tells what was cut off: path → the text that stood there. */
export const CUT_FIELD = "CutOff";

/** The field of a document that names what a view added to what the dump says: a list of paths. */
export const ADDED_FIELD = "Added";

/** The field that a view adds where nothing else tells the kind of an object. */
export const KIND_FIELD = "Kind";

function withoutPath(object: JsonObject, steps: readonly string[]): JsonObject {
  const [step = "", ...below] = steps;
  const { [step]: inner, ...rest } = object;
  if (below.length === 0) return rest;
  return isJsonObject(inner) ? { ...rest, [step]: withoutPath(inner, below) } : object;
}

/** A document that was printed by a view, without what the view had added. */
function withoutAdded(object: JsonObject): JsonObject {
  const { [ADDED_FIELD]: added, ...rest } = object;
  if (!Array.isArray(added)) return object;
  return (added as readonly JsonValue[])
    .filter((path) => typeof path === "string")
    .reduce<JsonObject>((document, path) => withoutPath(document, path.split(".")), rest);
}

/** An object of a dump as HNS returned it, as far as PowerShell left it whole. */
export function undoPowerShell(object: JsonObject): {
  readonly document: JsonObject;
  readonly cut: readonly string[];
} {
  const isOwn = (field: string): boolean => field !== CUT_FIELD && !OF_REMOTING.includes(field);
  const { value, cut } = restoreFields(
    Object.fromEntries(Object.entries(withoutAdded(object)).filter(([field]) => isOwn(field))),
  );
  const reported = object[CUT_FIELD];
  return { document: reported === undefined ? value : { ...value, [CUT_FIELD]: reported }, cut };
}
