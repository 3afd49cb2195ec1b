/** The databases of OVN in a cluster, as documents. */
import type { ValueOf } from "#core/base/shape.ts";
import {
  type OvsdbColumn,
  type OvsdbSchema,
  OVN_NORTHBOUND,
  OVN_SOUTHBOUND,
} from "#contracts/ovsdb/schema.ts";
import type { OvsdbTables, Row } from "#dataplane/ovs/ovsdb-tables.ts";
import type { Cluster } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import { clusterLife, reports } from "#data/words.js";

const WORDS = clusterLife();
const FIELDS = reports();

/** Names of the two, as commands have them. */
export const OVN_DATABASES = ["nb", "sb"] as const;
export type OvnDatabaseName = (typeof OVN_DATABASES)[number];

const SCHEMAS: Readonly<Record<OvnDatabaseName, OvsdbSchema>> = { nb: OVN_NORTHBOUND, sb: OVN_SOUTHBOUND };

export function schemaOfOvn(name: OvnDatabaseName): OvsdbSchema {
  return SCHEMAS[name];
}

export const OVN_DATABASE = {
  text: "A database of OVN.",
  fields: {
    name: ["OVN_Northbound", "OVN_Southbound"],
    tables: { is: "object", text: (): string => FIELDS.ovnDatabaseTables },
  },
} as const;
type OvnDatabase = ValueOf<typeof OVN_DATABASE>;

/** A row with a plain value for each column. */
export type OvnRow = Readonly<Record<string, unknown>>;
/** Rows by table. */
export type OvnRows = Readonly<Record<string, readonly OvnRow[]>>;

const ABSENT: Readonly<Record<OvsdbColumn["kind"], unknown>> = {
  string: "",
  integer: 0,
  boolean: false,
  uuid: null,
  map: {},
};

function isPair(value: unknown): value is readonly [unknown, unknown] {
  return Array.isArray(value) && value.length === 2;
}

/** Maps are objects, sets of any size lists, a value that may be absent is null then. */
function toJson(value: unknown, { kind, min, max }: OvsdbColumn): unknown {
  const list: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (kind === "map")
    return Object.fromEntries(list.filter(isPair).map(([key, text]) => [String(key), text]));
  if (max > 1) return list;
  return list[0] ?? (min === 0 ? null : ABSENT[kind]);
}

function toRow(row: Row, columns: Readonly<Record<string, OvsdbColumn>>): OvnRow {
  return {
    _uuid: row.get("_uuid"),
    ...Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [name, toJson(row.get(name), column)]),
    ),
  };
}

/** All rows of a database, with every column of its schema. */
export function rowsOfOvn(tables: OvsdbTables, name: OvnDatabaseName): OvnRows {
  return Object.fromEntries(
    Object.entries(schemaOfOvn(name).tables).map(([table, { columns }]) => [
      table,
      (tables.get(table) ?? []).map((row) => toRow(row, columns)),
    ]),
  );
}

/** Rows as {@link rowsOfOvn} gives them, in the form that saved databases are read to. */
export function tablesOfOvn(rows: OvnRows): OvsdbTables {
  const toValue = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : value;
  const toTableRow = (row: OvnRow): Row =>
    new Map(
      Object.entries(row)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([column, value]) => [column, toValue(value)]),
    );
  return new Map(Object.entries(rows).map(([table, list]) => [table, list.map(toTableRow)]));
}

/** @throws RequestError for a cluster without OVN */
export function viewOvnDatabase({ ovn }: Cluster, name: OvnDatabaseName): OvnDatabase {
  if (ovn === undefined) throw new RequestError("unknown-object", WORDS.noOvn, WORDS.adviceOvn);
  const tables = name === "nb" ? ovn.northbound : ovn.southbound;
  return { name: name === "nb" ? "OVN_Northbound" : "OVN_Southbound", tables: rowsOfOvn(tables, name) };
}
