/** Values of rows of OVN's databases, as what shows them reads them. */
import type { OvnRow, OvnRows } from "#cluster/views/ovn-view.ts";

/** A text or a number; empty for what is absent. */
export function textOf(row: OvnRow, column: string): string {
  const value = row[column];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function listOf(row: OvnRow, column: string): readonly string[] {
  const value = row[column];
  return Array.isArray(value) ? value.map(String) : [];
}

export function mapOf(row: OvnRow, column: string): Readonly<Record<string, string>> {
  const value = row[column];
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Rows of a table, sorted by name. */
export function sorted(rows: OvnRows, table: string, column = "name"): readonly OvnRow[] {
  return (rows[table] ?? []).toSorted((a, b) => compareTexts(textOf(a, column), textOf(b, column)));
}

/** Those of a table that a column names, sorted by name. */
export function referred(
  rows: OvnRows,
  row: OvnRow,
  column: string,
  table: string,
  by?: string,
): readonly OvnRow[] {
  const ids = new Set(listOf(row, column));
  return sorted(rows, table, by).filter((each) => ids.has(textOf(each, "_uuid")));
}
