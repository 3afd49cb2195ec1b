/**
 * Rows that an agent wants in a database, whatever is in it: the operations that lead there follow from what is. A row's UUID
 * follows from what it is called, so that the same row is found again and nothing has to be remembered; a server takes UUIDs
 * that its client chose (ovsdb-server(7)).
 */
import { Prng } from "#core/base/prng.ts";
import type { OvsdbAtom, OvsdbOperation, OvsdbRow, OvsdbValue } from "#contracts/ovsdb/client.ts";
import type { Replica } from "./replica.ts";

/** The UUID of the row that is called so. */
export function uuidOf(table: string, key: string): string {
  return new Prng(`${table}\n${key}`).guid();
}

export function reference(id: string): OvsdbAtom {
  return ["uuid", id];
}

/** Any two forms of one value have the same text. */
function textOf(value: OvsdbValue | undefined): string {
  if (typeof value !== "object") return JSON.stringify(value ?? null);
  if (value[0] === "map")
    return JSON.stringify(["map", value[1].map((pair) => JSON.stringify(pair)).toSorted()]);
  if (value[0] !== "set") return JSON.stringify(value);
  const members = value[1].map((atom) => JSON.stringify(atom)).toSorted();
  return members.length === 1 ? (members[0] ?? "") : JSON.stringify(["set", members]);
}

export class WantedRows {
  private readonly rows = new Map<string, Map<string, OvsdbRow>>();

  /** Wants a row. Columns that it does not name are left as they are. @returns its UUID */
  put(table: string, key: string, row: OvsdbRow): string {
    const id = uuidOf(table, key);
    const rows = this.rows.get(table) ?? new Map<string, OvsdbRow>();
    this.rows.set(table, rows);
    rows.set(id, row);
    return id;
  }

  /** A row that is wanted already; empty for none. */
  get(table: string, key: string): OvsdbRow {
    return this.rows.get(table)?.get(uuidOf(table, key)) ?? {};
  }

  /**
   * What has to be done. Of `owned` tables rows that are not wanted go; in tables whose rows go with their last reference nothing
   * is deleted.
   */
  operations(replica: Replica, owned: readonly string[]): readonly OvsdbOperation[] {
    const operations: OvsdbOperation[] = [];
    for (const [table, rows] of this.rows) {
      const have = replica.rows(table);
      for (const [id, row] of rows) {
        const known = have.get(id);
        if (known === undefined) operations.push({ op: "insert", table, row, uuid: id });
        else {
          const changed = Object.entries(row).filter(
            ([name, value]) => textOf(known[name]) !== textOf(value),
          );
          const where = [["_uuid", "==", ["uuid", id]]] as const;
          if (changed.length > 0)
            operations.push({ op: "update", table, where, row: Object.fromEntries(changed) });
        }
      }
    }
    for (const table of owned)
      for (const id of replica.rows(table).keys())
        if (this.rows.get(table)?.has(id) !== true)
          operations.push({ op: "delete", table, where: [["_uuid", "==", ["uuid", id]]] });
    return operations;
  }
}
