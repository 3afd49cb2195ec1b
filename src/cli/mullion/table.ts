/** Lists of objects as people and programs want them: table, wide table, JSON, YAML, names. */
import { formatDocument } from "./print-document.ts";

export const LIST_FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export interface Column<T> {
  /** In capitals, as kubectl writes them. */
  readonly title: string;
  /** Shown by `-o wide` only. */
  readonly isWide?: boolean;
  /** Numbers stand under each other. */
  readonly isRightAligned?: boolean;
  readonly text: (row: T) => string;
}

export interface Listing<T> {
  /** One of them: `pod`, `endpoint`. */
  readonly singular: string;
  readonly plural: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  /** The name that other verbs take: `default/web`. */
  readonly name: (row: T) => string;
  /** The object as data, whose JSON is part of the interface; absent: the row itself. */
  readonly data?: (row: T) => unknown;
}

/** Between columns, as kubectl. */
const GAP = "   ";
const ABSENT = "<none>";

/** Cells in columns. */
export function formatCells(lines: readonly (readonly string[])[], rightAligned: readonly boolean[]): string {
  const widths = rightAligned.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return rightAligned[column] === true ? cell.padStart(width) : cell.padEnd(width);
        })
        .join(GAP)
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function formatTable<T>(listing: Listing<T>, isWide: boolean): string {
  if (listing.rows.length === 0) return `There are no ${listing.plural}.\n`;
  const columns = listing.columns.filter((column) => isWide || column.isWide !== true);
  const titles = columns.map((column) => column.title);
  const rows = listing.rows.map((row) => columns.map((column) => column.text(row) || ABSENT));
  return formatCells(
    [titles, ...rows],
    columns.map((column) => column.isRightAligned === true),
  );
}

/** The objects of a list as data. */
export function dataOf<T>({ rows, data = (row): unknown => row }: Listing<T>): readonly unknown[] {
  return rows.map((row) => data(row));
}

/** A list in one of the formats; ends with a line feed unless it is empty. */
export function formatListing<T>(listing: Listing<T>, format: ListFormat): string {
  const list = { items: dataOf(listing) };
  switch (format) {
    case "table":
      return formatTable(listing, false);
    case "wide":
      return formatTable(listing, true);
    case "json":
    case "yaml":
      return formatDocument(list, format);
    case "name":
      return listing.rows.map((row) => `${listing.singular}/${listing.name(row)}\n`).join("");
  }
}
