/** A database with a copy that its monitor keeps up to date, which says which rows have changed since it was asked last. */
import type { OvsdbClient, OvsdbRow } from "#contracts/ovsdb/client.ts";
import type { OvsdbSchema } from "#contracts/ovsdb/schema.ts";
import type { ChangedRows } from "#dataplane/ovs/followed-network.ts";
import { Replica, TouchedRows } from "#programs/ovn/replica.ts";

/** A database that agents work on. */
export interface OvnDatabase {
  readonly schema: OvsdbSchema;
  rowsOf(table: string): ReadonlyMap<string, OvsdbRow>;
  client(): OvsdbClient;
}

export class FollowedDatabase implements OvnDatabase {
  readonly schema: OvsdbSchema;
  private readonly own: OvsdbClient;
  private readonly replica: Replica;
  private readonly touched: TouchedRows;

  private constructor(schema: OvsdbSchema, own: OvsdbClient, replica: Replica, touched: TouchedRows) {
    this.schema = schema;
    this.own = own;
    this.replica = replica;
    this.touched = touched;
  }

  /** All tables of a schema. `changed` is called after each change, and of what is there at first. */
  static async follow(
    { schema, client }: { readonly schema: OvsdbSchema; readonly client: OvsdbClient },
    changed: () => void = () => undefined,
  ): Promise<FollowedDatabase> {
    const touched = new TouchedRows();
    const replica = await Replica.follow(client, schema, Object.keys(schema.tables), (updates) => {
      touched.add(updates);
      changed();
    });
    return new FollowedDatabase(schema, client, replica, touched);
  }

  rowsOf(table: string): ReadonlyMap<string, OvsdbRow> {
    return this.replica.rows(table);
  }

  client(): OvsdbClient {
    return this.own;
  }

  close(): void {
    this.replica.close();
  }

  /** Rows that have changed since this was asked last, as they are now. */
  takeChanges(): ChangedRows {
    return new Map(
      [...this.touched.take()].map(([table, ids]) => {
        const rows = this.rowsOf(table);
        return [table, new Map([...ids].map((id) => [id, rows.get(id)] as const))] as const;
      }),
    );
  }
}
