/**
 * `ConvertTo-Json` of Windows PowerShell 5.1, as `hns-network` and other dumps of nodes have it: two blanks behind a colon, what
 * stands in a list below its bracket.
 */
import { type PsObject, type Value, isEnumerated, isTextList } from "./objects.ts";

/** Signs of HTML are escaped, and what JSON wants escaped. */
function quote(text: string): string {
  const escaped = JSON.stringify(text).replace(
    /[<>&']/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return escaped;
}

/** `column` is where the value begins. */
function valueLines(value: Value, column: number): readonly string[] {
  if (value === undefined) return ["null"];
  if (typeof value === "string") return [quote(value)];
  if (isEnumerated(value)) return [String(value.number)];
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
        isEnumerated(value) ? value.number : (value ?? null),
      ]),
    ),
  );
  return JSON.stringify(plain.length === 1 ? plain[0] : plain);
}

/** Of one object that object; of several a list. */
export function jsonLines(objects: readonly PsObject[], isCompact: boolean): readonly string[] {
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
