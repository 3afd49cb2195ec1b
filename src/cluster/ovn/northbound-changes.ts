/** Writes to the northbound database what a cluster file has for it, behind the controller's back (ovn-nbctl(8), `set`). */
import type { JsonObject } from "#core/base/json.ts";
import { type OvsdbRow, type OvsdbValue, errorOf, mapOf, setOf, textsOf } from "#contracts/ovsdb/client.ts";
import type { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import type { NorthboundChange } from "../file/cluster-file.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

type Json = JsonObject[string];

function isAtom(value: Json | undefined): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** A value as the column has it; of a map with the keys that it has already. */
function valueOf(value: Json | undefined, known: OvsdbValue | undefined): OvsdbValue {
  if (isAtom(value)) return value;
  if (Array.isArray(value)) return setOf(value.filter(isAtom));
  if (value === null || value === undefined) return setOf([]);
  const merged = new Map(textsOf(known));
  for (const [key, each] of Object.entries(value))
    if (isAtom(each)) merged.set(key, String(each));
    else merged.delete(key);
  return mapOf(Object.fromEntries([...merged].toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

/** UUIDs of the rows that a record stands for. */
function found(rows: ReadonlyMap<string, OvsdbRow>, record: string): readonly string[] {
  return [...rows].filter(([, row]) => record === "." || row["name"] === record).map(([id]) => id);
}

function refusedBy(database: MemoryDatabase, { table, record, set }: NorthboundChange): string | undefined {
  const isTable = Object.hasOwn(database.schema.tables, table);
  const rows: ReadonlyMap<string, OvsdbRow> = isTable ? database.rowsOf(table) : new Map();
  // A table that the schema does not have is refused by the database, in its words.
  const ids = isTable ? found(rows, record) : [""];
  const [id] = ids;
  if (id === undefined) return WORDS.northboundNoRow({ table, record });
  if (ids.length > 1) return WORDS.northboundManyRows({ table, record });
  const row = Object.fromEntries(
    Object.entries(set).map(([column, value]) => [column, valueOf(value, rows.get(id)?.[column])]),
  );
  const failed = errorOf(
    database.transact([{ op: "update", table, where: [["_uuid", "==", ["uuid", id]]], row }]),
  );
  return failed && `${table} ${record}: ${failed.error ?? ""}: ${failed.details ?? ""}`;
}

/** @returns why changes were not carried out, a sentence for each */
export function writeNorthbound(
  database: MemoryDatabase,
  changes: readonly NorthboundChange[],
): readonly string[] {
  return changes.flatMap((change) => refusedBy(database, change) ?? []);
}
