/** Tables of a database as an agent sees them: a copy that its monitor keeps up to date. */
import type { OvsdbClient, OvsdbMonitor, OvsdbRow, OvsdbUpdates } from "#contracts/ovsdb/client.ts";
import type { OvsdbSchema } from "#contracts/ovsdb/schema.ts";

const NO_ROWS: ReadonlyMap<string, OvsdbRow> = new Map();

/** Rows that something has happened to, by table and UUID. */
export class TouchedRows {
  private tables = new Map<string, Set<string>>();

  touch(table: string, id: string): void {
    const ids = this.tables.get(table) ?? new Set<string>();
    this.tables.set(table, ids);
    ids.add(id);
  }

  add(updates: OvsdbUpdates): void {
    for (const [table, rows] of Object.entries(updates))
      for (const id of Object.keys(rows)) this.touch(table, id);
  }

  /** All of them; from now on they are forgotten here. */
  take(): ReadonlyMap<string, ReadonlySet<string>> {
    const { tables } = this;
    this.tables = new Map();
    return tables;
  }
}

export class Replica {
  private readonly tables = new Map<string, Map<string, OvsdbRow>>();
  private monitor: OvsdbMonitor | undefined;
  /** Counts up with each change that was heard. */
  revision = 0;

  private readonly changed: (updates: OvsdbUpdates) => void;

  private constructor(changed: (updates: OvsdbUpdates) => void) {
    this.changed = changed;
  }

  /** Follows these tables of a schema, with all their columns. `changed` is called after each change, and of what is there at first. */
  static async follow(
    client: OvsdbClient,
    schema: OvsdbSchema,
    tables: readonly string[],
    changed: (updates: OvsdbUpdates) => void = () => undefined,
  ): Promise<Replica> {
    const replica = new Replica(changed);
    const columns = tables.map((name) => [name, Object.keys(schema.tables[name]?.columns ?? {})] as const);
    replica.monitor = await client.monitor(Object.fromEntries(columns), (updates) => replica.take(updates));
    return replica;
  }

  rows(table: string): ReadonlyMap<string, OvsdbRow> {
    return this.tables.get(table) ?? NO_ROWS;
  }

  close(): void {
    this.monitor?.cancel();
  }

  private take(updates: OvsdbUpdates): void {
    this.revision += 1;
    for (const [table, rows] of Object.entries(updates)) {
      const known = this.tables.get(table) ?? new Map<string, OvsdbRow>();
      this.tables.set(table, known);
      for (const [id, { new: row }] of Object.entries(rows)) {
        if (row === undefined) known.delete(id);
        else known.set(id, row);
      }
    }
    this.changed(updates);
  }
}
