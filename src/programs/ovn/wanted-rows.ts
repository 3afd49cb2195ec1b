/**
 * Rows that an agent wants in a database, whatever is in it: the operations that lead there follow from what is. A row's UUID
 * follows from what it is called, so that the same row is found again and nothing has to be remembered; a server takes UUIDs
 * that its client chose (ovsdb-server(7)).
 */
import { Prng } from "#core/base/prng.ts";
import {
  type OvsdbAtom,
  type OvsdbClient,
  type OvsdbOperation,
  type OvsdbResult,
  type OvsdbRow,
  type OvsdbUpdates,
  type OvsdbValue,
  errorOf,
} from "#contracts/ovsdb/client.ts";
import { type Replica, TouchedRows } from "./replica.ts";

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

type RowsByTable = ReadonlyMap<string, ReadonlyMap<string, OvsdbRow>>;

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

  /** All of them, by table and UUID. */
  get byTable(): RowsByTable {
    return this.rows;
  }
}

interface Wish {
  readonly row: OvsdbRow;
  /** Parts that want the row. */
  readonly parts: number;
}

const NO_ROWS: RowsByTable = new Map();

/**
 * The rows that a program wants, in parts which change one at a time. Only rows of parts that changed, and rows that the database
 * changed, are compared with it: what is written costs what has changed, however many rows there are.
 */
export class WantedParts {
  private readonly parts = new Map<string, RowsByTable>();
  private readonly wishes = new Map<string, Map<string, Wish>>();
  /** Rows that are still to be compared with the database. */
  private readonly open = new TouchedRows();

  /** A part wants these rows from now on, in place of those that it wanted; undefined: none. */
  set(part: string, wanted: WantedRows | undefined): void {
    const [before, after] = [this.parts.get(part) ?? NO_ROWS, wanted?.byTable ?? NO_ROWS];
    for (const [table, rows] of after)
      for (const [id, row] of rows) this.want(table, id, row, before.get(table)?.has(id) === true ? 0 : 1);
    for (const [table, rows] of before)
      for (const id of rows.keys()) if (after.get(table)?.has(id) !== true) this.drop(table, id);
    if (after.size === 0) this.parts.delete(part);
    else this.parts.set(part, after);
  }

  private want(table: string, id: string, row: OvsdbRow, more: 0 | 1): void {
    const wishes = this.wishes.get(table) ?? new Map<string, Wish>();
    this.wishes.set(table, wishes);
    wishes.set(id, { row, parts: (wishes.get(id)?.parts ?? 0) + more });
    this.open.touch(table, id);
  }

  private drop(table: string, id: string): void {
    const wishes = this.wishes.get(table);
    const wish = wishes?.get(id);
    if (wish === undefined) return;
    if (wish.parts > 1) wishes?.set(id, { ...wish, parts: wish.parts - 1 });
    else {
      wishes?.delete(id);
      this.open.touch(table, id);
    }
  }

  /** The database has changed there. */
  touched(updates: OvsdbUpdates): void {
    this.open.add(updates);
  }

  /**
   * What has to be done. Of `owned` tables rows that are not wanted go; in tables whose rows go with their last reference nothing
   * is deleted.
   */
  private operations(
    open: ReadonlyMap<string, ReadonlySet<string>>,
    replica: Replica,
    owned: ReadonlySet<string>,
  ): readonly OvsdbOperation[] {
    const [written, deleted]: [OvsdbOperation[], OvsdbOperation[]] = [[], []];
    for (const [table, ids] of open) {
      const [wishes, have] = [this.wishes.get(table), replica.rows(table)];
      for (const id of ids) {
        const [row, known] = [wishes?.get(id)?.row, have.get(id)];
        const where = [["_uuid", "==", ["uuid", id]]] as const;
        if (row === undefined) {
          if (known !== undefined && owned.has(table)) deleted.push({ op: "delete", table, where });
        } else if (known === undefined) written.push({ op: "insert", table, row, uuid: id });
        else {
          const changed = Object.entries(row).filter(
            ([name, value]) => textOf(known[name]) !== textOf(value),
          );
          if (changed.length > 0)
            written.push({ op: "update", table, where, row: Object.fromEntries(changed) });
        }
      }
    }
    return [...written, ...deleted];
  }

  /** Writes what is to be done, and returns what the database refused. That is still to be done afterwards. */
  async write(
    client: OvsdbClient,
    replica: Replica,
    owned: ReadonlySet<string>,
  ): Promise<OvsdbResult | undefined> {
    const open = this.open.take();
    let isDone = false;
    try {
      const operations = this.operations(open, replica, owned);
      const failed = operations.length === 0 ? undefined : errorOf(await client.transact(operations));
      isDone = failed === undefined;
      return failed;
    } finally {
      if (!isDone) for (const [table, ids] of open) for (const id of ids) this.open.touch(table, id);
    }
  }
}
