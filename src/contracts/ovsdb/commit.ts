/** What a database sees to when a transaction is to be kept: references, rows that nothing needs, and what stands once. */
import { type OvsdbRow, membersOf, referencesOf } from "./client.ts";
import { type Draft, OperationError, normal, rowOf, rowsIn, setRow, tableOf } from "./draft.ts";
import type { OvsdbColumn } from "./schema.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

interface Reference {
  readonly table: string;
  readonly name: string;
  readonly column: OvsdbColumn;
}

/** Columns of any table that refer to a table. */
function referring(draft: Draft, to: string, isWeak: boolean): readonly Reference[] {
  return Object.entries(draft.schema.tables).flatMap(([table, { columns }]) =>
    Object.entries(columns).flatMap(([name, column]) =>
      column.refersTo === to && column.isWeak === isWeak ? [{ table, name, column }] : [],
    ),
  );
}

/** UUIDs of a table's rows that something refers to strongly. */
function keptIn(draft: Draft, to: string): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const { table, name } of referring(draft, to, false))
    for (const [, row] of rowsIn(draft, table)) for (const id of referencesOf(row[name])) kept.add(id);
  return kept;
}

function changedRows({
  changed,
}: Draft): readonly (readonly [table: string, id: string, row: OvsdbRow | undefined])[] {
  return [...changed].flatMap(([table, rows]) => [...rows].map(([id, row]) => [table, id, row] as const));
}

/** Tables of rows that go when nothing refers to them, of which a transaction may have let some go. */
function tablesToSweep(draft: Draft): ReadonlySet<string> {
  const tables = new Set<string>();
  for (const [table] of draft.changed) {
    if (!tableOf(draft, table).isRoot) tables.add(table);
    for (const { refersTo, isWeak } of Object.values(tableOf(draft, table).columns))
      if (refersTo !== undefined && isWeak !== true && !tableOf(draft, refersTo).isRoot) tables.add(refersTo);
  }
  return tables;
}

/** Rows go that nothing refers to, and what they alone referred to. */
function sweep(draft: Draft): void {
  for (let isDone = false; !isDone; ) {
    isDone = true;
    for (const table of tablesToSweep(draft)) {
      const kept = keptIn(draft, table);
      for (const [id] of rowsIn(draft, table)) {
        if (kept.has(id)) continue;
        setRow(draft, table, id, undefined);
        isDone = false;
      }
    }
  }
}

function checkStrong(draft: Draft): void {
  const gone = new Set<string>();
  for (const [table, id, row] of changedRows(draft)) {
    if (row === undefined && draft.stored.get(table)?.has(id) === true) gone.add(table);
    for (const [name, { refersTo, isWeak }] of Object.entries(tableOf(draft, table).columns)) {
      if (row === undefined || refersTo === undefined || isWeak === true) continue;
      for (const to of referencesOf(row[name]))
        if (rowOf(draft, refersTo, to) === undefined)
          throw new OperationError(
            "referential integrity violation",
            WORDS.ovsdbRowNonexistent({ table, name, id, to, refersTo }),
          );
    }
  }
  for (const table of gone) {
    const kept = keptIn(draft, table);
    for (const [id, row] of draft.changed.get(table) ?? [])
      if (row === undefined && kept.has(id))
        throw new OperationError(
          "referential integrity violation",
          `cannot delete ${table} row ${id} because of remaining reference(s)`,
        );
  }
}

/** Weak references to rows that are not there are taken out. */
function clearWeak(draft: Draft): void {
  const goneTables = new Set(
    changedRows(draft).flatMap(([table, , row]) => (row === undefined ? [table] : [])),
  );
  const clear = ({ name, column, table }: Reference, id: string, row: OvsdbRow): void => {
    const to = column.refersTo ?? "";
    const left = membersOf(row[name]).filter(
      (atom) => typeof atom === "object" && rowOf(draft, to, atom[1]) !== undefined,
    );
    if (left.length === membersOf(row[name]).length) return;
    if (left.length < column.min)
      throw new OperationError(
        "constraint violation",
        `column ${name} of ${table} needs ${column.min} value`,
      );
    setRow(draft, table, id, Object.freeze({ ...row, [name]: normal(["set", left], column) }));
  };
  for (const gone of goneTables)
    for (const reference of referring(draft, gone, true))
      for (const [id, row] of rowsIn(draft, reference.table)) clear(reference, id, row);
  for (const [table, id, row] of changedRows(draft))
    for (const [name, column] of Object.entries(tableOf(draft, table).columns))
      if (row !== undefined && column.isWeak === true)
        clear({ table, name, column }, id, rowOf(draft, table, id) ?? row);
}

function checkNumbers(draft: Draft): void {
  for (const [table, , row] of changedRows(draft)) {
    if (row === undefined) continue;
    for (const [name, { kind, min, max, refersTo }] of Object.entries(tableOf(draft, table).columns)) {
      if (kind === "map") continue;
      const { length } = membersOf(row[name]);
      if (length >= min && length <= max) continue;
      // A set of strong references that needs one fails as a reference (ovn-controller(8)).
      const error = refersTo === undefined ? "constraint violation" : "referential integrity violation";
      throw new OperationError(error, `Table ${table} column ${name} has ${length} values.`);
    }
  }
}

function checkIndexes(draft: Draft): void {
  for (const [table, rows] of draft.changed) {
    for (const columns of tableOf(draft, table).indexes) {
      const keyOf = (row: OvsdbRow): string => JSON.stringify(columns.map((name) => row[name]));
      const mine = new Set([...rows.values()].flatMap((row) => (row === undefined ? [] : [keyOf(row)])));
      const seen = new Set<string>();
      for (const [, row] of rowsIn(draft, table)) {
        const key = keyOf(row);
        if (mine.has(key) && seen.has(key))
          throw new OperationError(
            "constraint violation",
            WORDS.ovsdbRowsIdentical({
              table,
              values: key.slice(1, -1),
              columns: columns.map((name) => `"${name}"`).join(", "),
            }),
          );
        seen.add(key);
      }
    }
  }
}

/** Completes a draft, or refuses it. @throws OperationError */
export function commit(draft: Draft): void {
  checkNumbers(draft);
  sweep(draft);
  checkStrong(draft);
  clearWeak(draft);
  checkIndexes(draft);
}
