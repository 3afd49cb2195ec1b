/** What a database knows of its rows besides the rows: who refers to whom, and who has which values that stand once. */
import { type OvsdbRow, referencesOf } from "./client.ts";
import type { OvsdbSchema, OvsdbTable } from "./schema.ts";

/** A row that refers to another one. */
export interface Referrer {
  readonly table: string;
  readonly id: string;
}

/** The values of a row that stand once in its table, one text for each index. */
export function uniqueKeys({ indexes }: OvsdbTable, row: OvsdbRow): readonly string[] {
  return indexes.map((columns) => JSON.stringify(columns.map((name) => row[name])));
}

/** What a row refers to, by strength: table and UUID. */
export function targetsOf({ columns }: OvsdbTable, row: OvsdbRow, isWeak: boolean): readonly Referrer[] {
  return Object.entries(columns).flatMap(([name, column]) => {
    const { refersTo } = column;
    if (refersTo === undefined || (column.isWeak === true) !== isWeak) return [];
    return referencesOf(row[name]).map((id) => ({ table: refersTo, id }));
  });
}

export class StoredIndex {
  private readonly schema: OvsdbSchema;
  /** How many strong references lead to a row. */
  private readonly strong = new Map<string, number>();
  /** Who refers weakly to a row. */
  private readonly weak = new Map<string, Map<string, Referrer>>();
  /** Who has the values of an index. */
  private readonly holders = new Map<string, string>();

  constructor(schema: OvsdbSchema) {
    this.schema = schema;
  }

  strongCount({ table, id }: Referrer): number {
    return this.strong.get(`${table} ${id}`) ?? 0;
  }

  weakReferrers({ table, id }: Referrer): Iterable<Referrer> {
    return this.weak.get(`${table} ${id}`)?.values() ?? [];
  }

  /** UUID of the row with these values of an index, by its place among those of the table. */
  holder(table: string, index: number, values: string): string | undefined {
    return this.holders.get(`${table} ${index} ${values}`);
  }

  /** A row goes. */
  remove(table: string, id: string, row: OvsdbRow): void {
    const of = this.schema.tables[table];
    if (of === undefined) return;
    for (const to of targetsOf(of, row, false)) {
      const count = this.strongCount(to) - 1;
      if (count > 0) this.strong.set(`${to.table} ${to.id}`, count);
      else this.strong.delete(`${to.table} ${to.id}`);
    }
    for (const to of targetsOf(of, row, true)) {
      const key = `${to.table} ${to.id}`;
      this.weak.get(key)?.delete(`${table} ${id}`);
      if (this.weak.get(key)?.size === 0) this.weak.delete(key);
    }
    for (const [index, values] of uniqueKeys(of, row).entries()) {
      const key = `${table} ${index} ${values}`;
      if (this.holders.get(key) === id) this.holders.delete(key);
    }
  }

  /** A row comes. */
  add(table: string, id: string, row: OvsdbRow): void {
    const of = this.schema.tables[table];
    if (of === undefined) return;
    for (const to of targetsOf(of, row, false))
      this.strong.set(`${to.table} ${to.id}`, this.strongCount(to) + 1);
    for (const to of targetsOf(of, row, true)) {
      const key = `${to.table} ${to.id}`;
      const referrers = this.weak.get(key) ?? new Map<string, Referrer>();
      this.weak.set(key, referrers.set(`${table} ${id}`, { table, id }));
    }
    for (const [index, values] of uniqueKeys(of, row).entries())
      this.holders.set(`${table} ${index} ${values}`, id);
  }
}
