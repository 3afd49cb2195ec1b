/** Tables of a database as an agent sees them: a copy that its monitor keeps up to date. */
import type { OvsdbClient, OvsdbMonitor, OvsdbRow, OvsdbUpdates } from "#contracts/ovsdb/client.ts";
import type { OvsdbSchema } from "#contracts/ovsdb/schema.ts";

const NO_ROWS: ReadonlyMap<string, OvsdbRow> = new Map();

export class Replica {
  private readonly tables = new Map<string, Map<string, OvsdbRow>>();
  private monitor: OvsdbMonitor | undefined;
  /** Counts up with each change that was heard. */
  revision = 0;

  private readonly changed: () => void;

  private constructor(changed: () => void) {
    this.changed = changed;
  }

  /** Follows these tables of a schema, with all their columns. `changed` is called after each change. */
  static async follow(
    client: OvsdbClient,
    schema: OvsdbSchema,
    tables: readonly string[],
    changed: () => void = () => undefined,
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
    this.changed();
  }
}
