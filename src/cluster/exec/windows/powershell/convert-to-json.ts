/**
 * `ConvertTo-Json` of Windows PowerShell 5.1, as `hns-network` and other dumps of nodes have it: two blanks behind a colon, what
 * stands in a list below its bracket.
 */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type PsObject, type Value, formatValue, isEnumerated, isNested, isTextList } from "./objects.ts";

/** Signs of HTML are escaped, and what JSON wants escaped. */
function quote(text: string): string {
  const escaped = JSON.stringify(text).replace(
    /[<>&']/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return escaped;
}

/** `-Depth`, when nothing says how deep; a list is a step of its own (PowerShell, ConvertToJson of JsonObject.cs). */
const DEPTH = "2";

/** What is below the depth becomes text: `@{Name=web}`, lists with blanks between. */
function cutBelow(value: JsonValue, steps: number): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (steps < 0) return deepText(value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((each) => cutBelow(each, steps - 1));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, each]) => [name, cutBelow(each ?? null, steps - 1)]),
  );
}

function deepText(value: JsonValue): string {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(deepText).join(" ");
  if (isJsonObject(value)) return formatValue({ nested: value });
  return value === null || typeof value === "object" ? "" : formatValue(value);
}

function nestedLines(value: JsonValue, column: number): readonly string[] {
  if (typeof value !== "object" || value === null)
    return [typeof value === "string" ? quote(value) : String(value)];
  const inner = column + 4;
  const blanks = " ".repeat(inner);
  const isList = Array.isArray(value);
  const entries: readonly (readonly [string, JsonValue])[] = isList
    ? (value as readonly JsonValue[]).map((each) => ["", each])
    : Object.entries(value as JsonObject).map(([name, each]) => [`${quote(name)}:  `, each ?? null]);
  const lines = entries.flatMap(([name, each], index) => {
    const own = nestedLines(each, inner + name.length);
    const whole = [`${blanks}${name}${own[0] ?? ""}`, ...own.slice(1)];
    const comma = index < entries.length - 1 ? "," : "";
    return [...whole.slice(0, -1), `${whole.at(-1) ?? ""}${comma}`];
  });
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return [open, ...(lines.length === 0 ? [""] : lines), `${" ".repeat(column)}${close}`];
}

/** `column` is where the value begins. */
function valueLines(value: Value, column: number): readonly string[] {
  if (value === undefined) return ["null"];
  if (typeof value === "string") return [quote(value)];
  if (isEnumerated(value)) return [String(value.number)];
  if (isNested(value)) return nestedLines(value.nested, column);
  if (!isTextList(value)) return [String(value)];
  const inner = " ".repeat(column + 4);
  const items = value.map((each, index) => inner + quote(each) + (index < value.length - 1 ? "," : ""));
  return ["[", ...(items.length === 0 ? [""] : items), `${" ".repeat(column)}]`];
}

function objectLines({ values }: PsObject, indent: number): readonly string[] {
  const entries = Object.entries(values);
  const blanks = " ".repeat(indent);
  const body = entries.flatMap(([name, value], index) => {
    const head = `${blanks}    ${quote(name)}:  `;
    const lines = [...valueLines(value, head.length)];
    const comma = index < entries.length - 1 ? "," : "";
    return [...lines.slice(0, -1), (lines.at(-1) ?? "") + comma].map((line, at) =>
      at === 0 ? head + line : line,
    );
  });
  return [`${blanks}{`, ...body, `${blanks}}`];
}

function compact(objects: readonly PsObject[]): string {
  const plain = objects.map(({ values }) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        isNested(value) ? value.nested : isEnumerated(value) ? value.number : (value ?? null),
      ]),
    ),
  );
  return JSON.stringify(plain.length === 1 ? plain[0] : plain);
}

/** Of one object that object; of several a list. */
export function jsonLines(
  whole: readonly PsObject[],
  { isCompact, depth }: { readonly isCompact: boolean; readonly depth?: string | undefined },
): readonly string[] {
  // A list of objects is the first step.
  const steps = Number(depth ?? DEPTH) - (whole.length > 1 ? 2 : 1);
  const objects = whole.map((each) => ({
    ...each,
    values: Object.fromEntries(
      Object.entries(each.values).map(([name, value]) => [
        name,
        isNested(value) ? { nested: cutBelow(value.nested, steps) } : value,
      ]),
    ),
  }));
  const [first, ...others] = objects;
  if (first === undefined) return [];
  if (isCompact) return [compact(objects)];
  if (others.length === 0) return objectLines(first, 0);
  const items = objects.flatMap((each, index) => {
    const lines = objectLines(each, 4);
    return index < objects.length - 1 ? [...lines.slice(0, -1), `${lines.at(-1)},`] : lines;
  });
  return ["[", ...items, "]"];
}
