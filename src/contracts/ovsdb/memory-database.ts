/**
 * A database in memory that answers as ovsdb-server does (RFC 7047, 4 and 5; ovsdb-server(7)): rows that nothing refers
 * to go, weak references go with their rows, a failure at the commit is one result more.
 */
import { assert } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import type {
  OvsdbClient,
  OvsdbMonitor,
  OvsdbOperation,
  OvsdbResult,
  OvsdbRow,
  OvsdbUpdates,
} from "./client.ts";
import { type Draft, OperationError } from "./draft.ts";
import { commit } from "./commit.ts";
import { carryOut, nameRows } from "./operations.ts";
import type { OvsdbSchema } from "./schema.ts";
import { StoredIndex } from "./stored-index.ts";

interface Watch {
  readonly tables: Readonly<Record<string, readonly string[]>>;
  readonly listener: (updates: OvsdbUpdates) => void;
}

type Change = readonly [before: OvsdbRow | undefined, after: OvsdbRow | undefined];

function cut(row: OvsdbRow, columns: readonly string[]): OvsdbRow {
  return Object.fromEntries(columns.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What a monitor of these columns hears of a change; undefined for nothing. */
function heard(
  [before, after]: Change,
  columns: readonly string[],
): { readonly old?: OvsdbRow; readonly new?: OvsdbRow } | undefined {
  if (after === undefined) return before && { old: cut(before, columns) };
  if (before === undefined) return { new: cut(after, columns) };
  const differing = columns.filter((column) => !isSame(before[column], after[column]));
  return differing.length === 0 ? undefined : { old: cut(before, differing), new: cut(after, columns) };
}

export class MemoryDatabase {
  readonly schema: OvsdbSchema;
  private readonly rows = new Map<string, Map<string, OvsdbRow>>();
  private readonly index: StoredIndex;
  private readonly uuids: Prng;
  private readonly watches = new Set<Watch>();
  /** Counts up with each transaction that wrote something. */
  revision = 0;

  constructor(schema: OvsdbSchema, seed: string) {
    this.schema = schema;
    this.index = new StoredIndex(schema);
    this.uuids = new Prng(`${seed} ${schema.name}`);
    for (const name of Object.keys(schema.tables)) this.rows.set(name, new Map());
  }

  /** The rows of a table by UUID, for who prints them. */
  rowsOf(table: string): ReadonlyMap<string, OvsdbRow> {
    const rows = this.rows.get(table);
    assert(rows !== undefined, `${this.schema.name} has a table ${table}`);
    return rows;
  }

  /** Carries a transaction out. Nobody else works meanwhile, so a `wait` holds now or never. */
  transact(operations: readonly OvsdbOperation[]): readonly (OvsdbResult | null)[] {
    const draft: Draft = { schema: this.schema, stored: this.rows, index: this.index, changed: new Map() };
    const results: (OvsdbResult | null)[] = [];
    try {
      const named = nameRows(operations, () => this.uuids.guid());
      for (const [index, operation] of operations.entries())
        results.push(carryOut(draft, operation, named[index] ?? "", named.names));
    } catch (thrown) {
      if (!(thrown instanceof OperationError)) throw thrown;
      results.push({ error: thrown.message, details: thrown.details });
      return [...results, ...operations.slice(results.length).map(() => null)];
    }
    try {
      commit(draft);
    } catch (thrown) {
      if (!(thrown instanceof OperationError)) throw thrown;
      return [...results, { error: thrown.message, details: thrown.details }];
    }
    this.take(draft);
    return results;
  }

  private take({ changed }: Draft): void {
    const changes = new Map<string, Map<string, Change>>();
    for (const [table, rows] of changed) {
      const stored = this.rows.get(table);
      if (stored === undefined) continue;
      const of = new Map<string, Change>();
      for (const [id, row] of rows) {
        const before = stored.get(id);
        if (before === row) continue;
        of.set(id, [before, row]);
        if (before !== undefined) this.index.remove(table, id, before);
        if (row !== undefined) this.index.add(table, id, row);
        if (row === undefined) stored.delete(id);
        else stored.set(id, row);
      }
      if (of.size > 0) changes.set(table, of);
    }
    if (changes.size > 0) this.revision += 1;
    for (const watch of this.watches) this.tell(watch, changes);
  }

  private tell({ tables, listener }: Watch, changes: ReadonlyMap<string, ReadonlyMap<string, Change>>): void {
    const updates: Record<string, Record<string, { readonly old?: OvsdbRow; readonly new?: OvsdbRow }>> = {};
    for (const [table, columns] of Object.entries(tables)) {
      for (const [id, change] of changes.get(table) ?? []) {
        const update = heard(change, columns);
        if (update !== undefined) (updates[table] ??= {})[id] = update;
      }
    }
    if (Object.keys(updates).length > 0) listener(updates);
  }

  private watch(tables: Watch["tables"], listener: Watch["listener"]): OvsdbMonitor {
    const watch: Watch = { tables, listener };
    const all = Object.keys(tables).map(
      (table) =>
        [
          table,
          new Map([...this.rowsOf(table)].map(([id, row]) => [id, [undefined, row] as const])),
        ] as const,
    );
    this.tell(watch, new Map(all));
    this.watches.add(watch);
    return { cancel: () => void this.watches.delete(watch) };
  }

  /** A client in the same process. */
  client(): OvsdbClient {
    return {
      transact: (operations) => Promise.resolve(this.transact(operations)),
      monitor: (tables, listener) => Promise.resolve(this.watch(tables, listener)),
    };
  }
}
