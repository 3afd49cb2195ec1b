/**
 * Rows of an OVSDB database, from what `ovsdb-client dump --format=json` prints, or from a database file as ovsdb-server
 * keeps it, alone or in a cluster (ovsdb(5), "File Format"; RFC 7047, section 5.1).
 */
import { LIMITS } from "#core/base/limits.ts";
import { messageOf } from "#core/base/thrown.ts";

/** What is no OVSDB database, or none that can be read. */
export class OvsdbError extends Error {
  override readonly name = "OvsdbError";
}

/** A row: column to value; sets as lists, maps as lists of pairs, references as texts. */
export type Row = ReadonlyMap<string, unknown>;
export type OvsdbTables = ReadonlyMap<string, readonly Row[]>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value of OVSDB without its wrapping. */
function plain(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2) return value;
  const [kind, content] = value as [unknown, unknown];
  if (kind === "uuid" || kind === "named-uuid") return content;
  if ((kind === "set" || kind === "map") && Array.isArray(content)) {
    return kind === "set" ? content.map((item) => plain(item)) : content.map((pair) => pairOf(pair));
  }
  throw new OvsdbError("a value is not as OVSDB writes it");
}

function pairOf(pair: unknown): readonly unknown[] {
  if (!Array.isArray(pair) || pair.length !== 2) throw new OvsdbError("a map holds pairs");
  return pair.map((item: unknown) => plain(item));
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new OvsdbError(`${what} is not JSON: ${messageOf(thrown)}`);
  }
}

function readTable(line: string, tables: Map<string, Row[]>): void {
  const document = parseJson(line, "a line of the dump");
  if (!isObject(document)) throw new OvsdbError("a table is an object");
  const { caption, headings, data } = document;
  if (typeof caption !== "string" || !Array.isArray(headings) || !Array.isArray(data)) {
    throw new OvsdbError("a table has caption, headings and data");
  }
  const rows = data.map((cells: unknown) => {
    if (!Array.isArray(cells) || cells.length !== headings.length)
      throw new OvsdbError(`${caption}: a row has other columns`);
    return new Map(headings.map((heading, column) => [String(heading), plain(cells[column])]));
  });
  tables.set(caption.replace(/ table$/, ""), rows);
}

/** Tables of what `ovsdb-client dump --format=json` printed: a document for each. @throws OvsdbError */
export function readDump(dump: string): OvsdbTables {
  if (dump.length > LIMITS.manifestFileCharactersMax) throw new OvsdbError("the dump is too long");
  const tables = new Map<string, Row[]>();
  for (const line of dump.split("\n")) if (line.trim() !== "") readTable(line, tables);
  return tables;
}

const HEADER = /^OVSDB (JSON|CLUSTER) (\d{1,10}) [0-9a-f]{40}$/;
const HEADER_BYTES_MAX = 80;

/** A row as the wire has it. */
export function toRow(id: string, row: Readonly<Record<string, unknown>>): Row {
  return new Map([
    ["_uuid", id],
    ...Object.entries(row).map(([column, value]) => [column, plain(value)] as const),
  ]);
}

/** Tables of a database that is in the same process. */
export function rowsOfTables(database: {
  readonly schema: { readonly tables: Readonly<Record<string, unknown>> };
  rowsOf(table: string): ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}): OvsdbTables {
  return new Map(
    Object.keys(database.schema.tables).map((name) => [
      name,
      [...database.rowsOf(name)].map(([id, row]) => toRow(id, row)),
    ]),
  );
}

const LINE_FEED = 10;

type Stored = Map<string, Map<string, Map<string, unknown>>>;

/** The texts of the records of a database file, each with what kind of file it is of. */
function* recordsOf(bytes: Uint8Array): Generator<{ readonly kind: string; readonly text: string }> {
  const decoder = new TextDecoder();
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(LINE_FEED, at);
    if (end < 0 || end - at > HEADER_BYTES_MAX) throw new OvsdbError("a record has no header");
    const [, kind = "", length = ""] = HEADER.exec(decoder.decode(bytes.subarray(at, end))) ?? [];
    if (kind === "") throw new OvsdbError("a record has no header");
    const start = end + 1;
    at = start + Number(length);
    // A server that ended while it wrote leaves half a record, which no server takes up again either.
    if (at > bytes.length) return;
    yield { kind, text: decoder.decode(bytes.subarray(start, at)) };
  }
}

/** Columns that hold several values: what is recorded of them may be what changed (ovsdb(5), `_is_diff`). */
function severalOf(schema: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const tables = isObject(schema) && isObject(schema["tables"]) ? schema["tables"] : {};
  for (const [table, description] of Object.entries(tables)) {
    const columns = isObject(description) && isObject(description["columns"]) ? description["columns"] : {};
    for (const [column, shape] of Object.entries(columns)) {
      const type = isObject(shape) ? shape["type"] : undefined;
      if (isObject(type) && type["max"] !== undefined && type["max"] !== 1) found.add(`${table}.${column}`);
    }
  }
  return found;
}

function asList(value: unknown): readonly unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}

/** A list with what changed: sets by their values, maps by their keys. */
function changed(before: unknown, difference: unknown): readonly unknown[] {
  const result = new Map<string, unknown>();
  const keyOf = (item: unknown): string => JSON.stringify(Array.isArray(item) ? item[0] : item);
  for (const item of asList(before)) result.set(keyOf(item), item);
  for (const item of asList(difference)) {
    const key = keyOf(item);
    if (JSON.stringify(result.get(key)) === JSON.stringify(item)) result.delete(key);
    else result.set(key, item);
  }
  return [...result.values()];
}

function applyRow(
  rows: Map<string, Map<string, unknown>>,
  id: string,
  columns: Record<string, unknown>,
  isSeveral: ((column: string) => boolean) | undefined,
): void {
  const row = rows.get(id) ?? new Map<string, unknown>([["_uuid", id]]);
  for (const [column, value] of Object.entries(columns)) {
    const now = plain(value);
    const isChange = isSeveral?.(column) === true && rows.has(id);
    row.set(column, isChange ? changed(row.get(column), now) : now);
  }
  rows.set(id, row);
}

function apply(transaction: unknown, stored: Stored, several: ReadonlySet<string>): void {
  if (!isObject(transaction)) return;
  const isDifference = transaction["_is_diff"] === true;
  for (const [table, rows] of Object.entries(transaction)) {
    if (table.startsWith("_") || !isObject(rows)) continue;
    const known = stored.get(table) ?? new Map<string, Map<string, unknown>>();
    stored.set(table, known);
    for (const [id, columns] of Object.entries(rows)) {
      const isSeveral = isDifference ? (column: string) => several.has(`${table}.${column}`) : undefined;
      if (isObject(columns)) applyRow(known, id, columns, isSeveral);
      else known.delete(id);
    }
  }
}

/** Whether bytes begin as a database file does. */
export function isDatabaseFile(bytes: Uint8Array): boolean {
  const [start] = new TextDecoder().decode(bytes.subarray(0, HEADER_BYTES_MAX)).split("\n");
  return HEADER.test(start ?? "");
}

/** Tables of a database file: its schema, then all that was written to it. @throws OvsdbError */
export function readDatabaseFile(bytes: Uint8Array): OvsdbTables {
  const stored: Stored = new Map();
  let several: ReadonlySet<string> | undefined;
  const take = (schema: unknown, transaction: unknown): void => {
    if (schema !== null && schema !== undefined) {
      several = severalOf(schema);
      stored.clear();
    }
    apply(transaction, stored, several ?? new Set());
  };
  for (const { kind, text } of recordsOf(bytes)) {
    const record = parseJson(text, "a record");
    if (kind === "JSON") {
      if (several === undefined) take(record, undefined);
      else take(undefined, record);
      continue;
    }
    const data = isObject(record) ? (record["prev_data"] ?? record["data"]) : undefined;
    if (Array.isArray(data)) take(data[0], data[1]);
  }
  if (several === undefined) throw new OvsdbError("the file has no schema");
  return new Map([...stored].map(([table, rows]) => [table, [...rows.values()]]));
}
