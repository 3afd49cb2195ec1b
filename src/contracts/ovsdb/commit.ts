/** What a database sees to when a transaction is to be kept: references, rows that nothing needs, and what stands once. */
import { type OvsdbRow, membersOf, referencesOf } from "./client.ts";
import { type Draft, OperationError, normal, rowOf, setRow, tableOf } from "./draft.ts";
import type { OvsdbColumn } from "./schema.ts";
import { type Referrer, targetsOf, uniqueKeys } from "./stored-index.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

function changedRows({
  changed,
}: Draft): readonly (readonly [table: string, id: string, row: OvsdbRow | undefined])[] {
  return [...changed].flatMap(([table, rows]) => [...rows].map(([id, row]) => [table, id, row] as const));
}

/** How many strong references lead to rows, as the transaction leaves them. */
class StrongCounts {
  private readonly draft: Draft;
  private readonly differences = new Map<string, number>();
  /** Rows that may have lost their last reference, or never had one. */
  readonly doubtful: Referrer[] = [];

  constructor(draft: Draft) {
    this.draft = draft;
    for (const [table, id, row] of changedRows(draft)) {
      const before = draft.stored.get(table)?.get(id);
      if (before !== undefined) this.count(table, before, -1);
      if (row === undefined) continue;
      this.count(table, row, 1);
      this.doubtful.push({ table, id });
    }
  }

  count(table: string, row: OvsdbRow, more: 1 | -1): void {
    for (const to of targetsOf(tableOf(this.draft, table), row, false)) {
      const key = `${to.table} ${to.id}`;
      this.differences.set(key, (this.differences.get(key) ?? 0) + more);
      if (more < 0) this.doubtful.push(to);
    }
  }

  isKept(to: Referrer): boolean {
    const difference = this.differences.get(`${to.table} ${to.id}`) ?? 0;
    return this.draft.index.strongCount(to) + difference > 0;
  }
}

/** Rows go that nothing refers to, and what they alone referred to. */
function sweep(draft: Draft, counts: StrongCounts): void {
  for (let of = counts.doubtful.pop(); of !== undefined; of = counts.doubtful.pop()) {
    const { table, id } = of;
    const row = rowOf(draft, table, id);
    if (row === undefined || tableOf(draft, table).isRoot || counts.isKept(of)) continue;
    setRow(draft, table, id, undefined);
    counts.count(table, row, -1);
  }
}

function checkStrong(draft: Draft, counts: StrongCounts): void {
  for (const [table, id, row] of changedRows(draft))
    for (const [name, { refersTo, isWeak }] of Object.entries(tableOf(draft, table).columns)) {
      if (row === undefined || refersTo === undefined || isWeak === true) continue;
      for (const to of referencesOf(row[name]))
        if (rowOf(draft, refersTo, to) === undefined)
          throw new OperationError(
            "referential integrity violation",
            WORDS.ovsdbRowNonexistent({ table, name, id, to, refersTo }),
          );
    }
  for (const [table, id, row] of changedRows(draft))
    if (row === undefined && counts.isKept({ table, id }))
      throw new OperationError(
        "referential integrity violation",
        `cannot delete ${table} row ${id} because of remaining reference(s)`,
      );
}

/** Weak references to rows that are not there are taken out. */
function clearWeak(draft: Draft): void {
  const referrers = new Map<string, Referrer>();
  for (const [table, id, row] of changedRows(draft)) {
    if (row !== undefined) referrers.set(`${table} ${id}`, { table, id });
    else
      for (const from of draft.index.weakReferrers({ table, id }))
        referrers.set(`${from.table} ${from.id}`, from);
  }
  for (const { table, id } of referrers.values())
    for (const [name, column] of Object.entries(tableOf(draft, table).columns))
      if (column.isWeak === true) clearColumn(draft, { table, id }, name, column);
}

function clearColumn(draft: Draft, { table, id }: Referrer, name: string, column: OvsdbColumn): void {
  const row = rowOf(draft, table, id);
  if (row === undefined) return;
  const members = membersOf(row[name]);
  const to = column.refersTo ?? "";
  const left = members.filter((atom) => typeof atom === "object" && rowOf(draft, to, atom[1]) !== undefined);
  if (left.length === members.length) return;
  if (left.length < column.min)
    throw new OperationError("constraint violation", `column ${name} of ${table} needs ${column.min} value`);
  setRow(draft, table, id, Object.freeze({ ...row, [name]: normal(["set", left], column) }));
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
    const of = tableOf(draft, table);
    const seen = new Set<string>();
    for (const [id, row] of rows) {
      if (row === undefined) continue;
      for (const [index, values] of uniqueKeys(of, row).entries()) {
        const holder = draft.index.holder(table, index, values);
        const isHeld = holder !== undefined && holder !== id && !rows.has(holder);
        if (isHeld || seen.has(`${index} ${values}`))
          throw new OperationError(
            "constraint violation",
            WORDS.ovsdbRowsIdentical({
              table,
              values: values.slice(1, -1),
              columns: (of.indexes[index] ?? []).map((name) => `"${name}"`).join(", "),
            }),
          );
        seen.add(`${index} ${values}`);
      }
    }
  }
}

/** Completes a draft, or refuses it. @throws OperationError */
export function commit(draft: Draft): void {
  checkNumbers(draft);
  const counts = new StrongCounts(draft);
  sweep(draft, counts);
  checkStrong(draft, counts);
  clearWeak(draft);
  checkIndexes(draft);
}
