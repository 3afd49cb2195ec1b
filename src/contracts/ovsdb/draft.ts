/** A transaction under way: what is stored, and what it has changed so far. */
import type { OvsdbAtom, OvsdbRow, OvsdbValue } from "./client.ts";
import { membersOf } from "./client.ts";
import type { OvsdbColumn, OvsdbSchema, OvsdbTable } from "./schema.ts";
import type { StoredIndex } from "./stored-index.ts";

type TableRows = ReadonlyMap<string, ReadonlyMap<string, OvsdbRow>>;

export interface Draft {
  readonly schema: OvsdbSchema;
  readonly stored: TableRows;
  readonly index: StoredIndex;
  /** Rows by table and UUID; undefined for a row that is deleted. */
  readonly changed: Map<string, Map<string, OvsdbRow | undefined>>;
}

/** What ovsdb-server answers in place of a result: its message is the error's name. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly details: string;

  constructor(error: string, details: string) {
    super(error);
    this.details = details;
  }
}

export function tableOf({ schema }: Draft, name: string): OvsdbTable {
  const table = schema.tables[name];
  if (table === undefined) throw new OperationError("unknown table", `No table named ${name}.`);
  return table;
}

export function columnOf(table: OvsdbTable, name: string, of: string): OvsdbColumn {
  const column = table.columns[name];
  if (column === undefined) throw new OperationError("unknown column", `No column ${name} in table ${of}.`);
  return column;
}

export function rowOf({ stored, changed }: Draft, table: string, id: string): OvsdbRow | undefined {
  const rows = changed.get(table);
  return rows?.has(id) === true ? rows.get(id) : stored.get(table)?.get(id);
}

export function setRow({ changed }: Draft, table: string, id: string, row: OvsdbRow | undefined): void {
  const rows = changed.get(table) ?? new Map<string, OvsdbRow | undefined>();
  changed.set(table, rows);
  rows.set(id, row);
}

/** All rows of a table, as the transaction sees them now. */
export function rowsIn(draft: Draft, table: string): readonly (readonly [string, OvsdbRow])[] {
  const changed = draft.changed.get(table);
  const rows: (readonly [string, OvsdbRow])[] = [];
  for (const entry of draft.stored.get(table) ?? []) if (changed?.has(entry[0]) !== true) rows.push(entry);
  for (const [id, row] of changed ?? []) if (row !== undefined) rows.push([id, row]);
  return rows;
}

export function textOf(atom: OvsdbAtom): string {
  return typeof atom === "object" ? atom[1] : String(atom);
}

function inOrder<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const unique = new Map(items.map((item) => [keyOf(item), item]));
  return [...unique].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, item]) => item);
}

/** A value in the one form that it is stored in. */
export function normal(value: OvsdbValue, { kind, min, max }: OvsdbColumn): OvsdbValue {
  if (kind === "map") {
    const pairs = typeof value === "object" && value[0] === "map" ? value[1] : [];
    return ["map", inOrder(pairs, ([key]) => textOf(key))];
  }
  if (min === 1 && max === 1) return membersOf(value)[0] ?? value;
  const members = inOrder(membersOf(value), textOf);
  const [first] = members;
  return members.length === 1 && first !== undefined ? first : ["set", members];
}

/** What a column holds that nobody wrote. */
export function defaultOf({ kind, min, max, allowed, least }: OvsdbColumn): OvsdbValue {
  if (kind === "map") return ["map", []];
  if (min === 0 || max > 1) return ["set", []];
  if (kind === "integer") return Math.max(0, least ?? 0);
  if (kind === "boolean") return false;
  return kind === "uuid" ? ["uuid", "00000000-0000-0000-0000-000000000000"] : (allowed?.[0] ?? "");
}
