/**
 * Tables and lists of Windows PowerShell 5.1, with the blank lines around them. Forms: Antrea's #3636 and SDN#219 (cut names,
 * numbers to the right), kubernetes-sigs/sig-windows-tools#214, the printed outputs that Azure's documentation of file shares
 * has of `Resolve-DnsName` (a name that goes on below; objects of another kind behind a table).
 *
 * Inferred: lines are as long as they must be, since nothing says how wide the terminal is; blanks at their ends are left out.
 */
import { type Column, type PsObject, type Value, formatValue } from "./objects.ts";

const CUT = "...";

/** What of a longer text fits into `width`. */
function cut(text: string, width: number, isNumberKept: boolean): string {
  if (text.length <= width) return text;
  const number = isNumberKept ? lastNumber(text) : "";
  return text.slice(0, Math.max(0, width - CUT.length - number.length)) + CUT + number;
}

/** `#3` of `Hyper-V Virtual Ethernet Adapter #3`, `16` of `vEthernet (Default Switch) 16`; empty of others. */
function lastNumber(text: string): string {
  const word = text.slice(text.lastIndexOf(" ") + 1);
  const digits = word.startsWith("#") ? word.slice(1) : word;
  return /^\d{1,5}$/.test(digits) ? word : "";
}

function linesOf(text: string, column: Column): readonly string[] {
  const { width, fit = "cut" } = column;
  if (width === undefined || text.length <= width) return [text];
  if (fit !== "wrap") return [cut(text, width, fit === "keep-number")];
  return Array.from({ length: Math.ceil(text.length / width) }, (_, index) =>
    text.slice(index * width, (index + 1) * width),
  );
}

/** Cells of one row side by side, on as many lines as the highest has. */
function rowLines(
  cells: readonly (readonly string[])[],
  widths: readonly number[],
  columns: readonly Column[],
) {
  const height = Math.max(...cells.map((each) => each.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((cell, index) => {
        const text = cell[line] ?? "";
        const width = widths[index] ?? 0;
        return columns[index]?.isRight === true ? text.padStart(width) : text.padEnd(width);
      })
      .join(" ")
      .trimEnd(),
  );
}

/** Columns of what no kind describes: all properties; numbers stand to the right. */
function columnsOf(objects: readonly PsObject[]): readonly Column[] {
  const [first] = objects;
  return Object.entries(first?.values ?? {}).map(([name, value]) => ({
    name,
    isRight: typeof value === "number",
  }));
}

export function tableLines(
  objects: readonly PsObject[],
  wanted: readonly Column[] | undefined,
): readonly string[] {
  const columns = wanted ?? columnsOf(objects);
  const titles = columns.map(({ name, title = [name] }) => {
    const width = Math.max(...title.map((each) => each.length));
    return title.map((each) => each.padEnd(width));
  });
  const rows = objects.map((object) =>
    columns.map((column) => linesOf(formatValue(object.values[column.name]), column)),
  );
  const widths = columns.map(
    ({ width }, index) =>
      width ?? Math.max(...[titles, ...rows].flatMap((row) => (row[index] ?? []).map((each) => each.length))),
  );
  const rules = titles.map((title) => ["-".repeat(title[0]?.trimEnd().length ?? 0)]);
  return [
    "",
    ...rowLines(titles, widths, columns),
    ...rowLines(rules, widths, columns),
    ...rows.flatMap((row) => rowLines(row, widths, columns)),
  ];
}

/** One object; a value of several lines goes on below its first. */
function objectLines(values: Readonly<Record<string, Value>>, labelWidth: number): readonly string[] {
  const shown = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(labelWidth, ...shown.map(([name]) => name.length));
  return shown.flatMap(([name, value]) =>
    formatValue(value)
      .split("\n")
      .map((line, index) =>
        (index === 0 ? `${name.padEnd(width)} : ${line}` : " ".repeat(width + 3) + line).trimEnd(),
      ),
  );
}

export function listLines(lists: readonly Readonly<Record<string, Value>>[]): readonly string[] {
  return ["", ...lists.flatMap((values) => ["", ...objectLines(values, 0)])];
}

/** Behind each table and list. */
export const END: readonly string[] = ["", ""];

/** Objects as the end of a pipeline shows them: those of the first's form as a table, others below it as lists. */
export function showObjects(objects: readonly PsObject[]): readonly string[] {
  const [first] = objects;
  if (first === undefined) return [];
  if (first.isList) return [...listLines(objects.map(({ list }) => list)), ...END];
  const same = objects.filter(({ table }) => table === first.table);
  const others = objects.filter((each) => !same.includes(each));
  const below = others.flatMap(({ list }, index) => [
    ...(index === 0 ? [""] : ["", ""]),
    ...objectLines(list, 0),
  ]);
  return [...tableLines(same, first.table), ...below, ...END];
}
