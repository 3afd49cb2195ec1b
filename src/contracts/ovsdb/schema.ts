/** What a database holds: tables, their columns, and what refers to what (RFC 7047, 3.2). */
import { type Table, ovnNorthbound, ovnSouthbound } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

const KINDS = ["string", "integer", "boolean", "uuid", "map"] as const;

/** A column whose values are atoms, sets of them, or maps of texts. */
export interface OvsdbColumn {
  readonly kind: (typeof KINDS)[number];
  /** Of a set: how many members it has. Both are 1 for a plain value. */
  readonly min: number;
  readonly max: number;
  /** Of references: the table, and whether the row there is kept because of it. */
  readonly refersTo?: string;
  readonly isWeak?: boolean;
  readonly allowed?: readonly string[];
  readonly least?: number;
  readonly most?: number;
}

export interface OvsdbTable {
  /** Rows of other tables go when nothing refers to them strongly. */
  readonly isRoot: boolean;
  /** Columns whose values together stand in one row only. */
  readonly indexes: readonly (readonly string[])[];
  readonly columns: Readonly<Record<string, OvsdbColumn>>;
}

export interface OvsdbSchema {
  readonly name: string;
  readonly version: string;
  readonly tables: Readonly<Record<string, OvsdbTable>>;
}

/** Columns that a table of facts names by one word; the other kinds hold one value then. */
const TEXTS: OvsdbColumn = Object.freeze({ kind: "string", min: 0, max: Infinity });
const MAP: OvsdbColumn = Object.freeze({ kind: "map", min: 0, max: Infinity });

function columnOfWord(table: CheckedFields, name: string, word: string): OvsdbColumn {
  if (word === "texts") return TEXTS;
  if (word === "map") return MAP;
  return Object.freeze({ kind: table.toWord(name, word, KINDS), min: 1, max: 1 });
}

function readColumn(fields: CheckedFields): OvsdbColumn {
  const [strong, weak] = [fields.optionalText("strong"), fields.optionalText("weak")];
  const refersTo = strong ?? weak;
  const max = fields.take("max") === "unlimited" ? Infinity : (fields.optionalNumber("max") ?? 1);
  const allowed = fields.texts("allowed");
  const [least, most] = [fields.optionalNumber("least"), fields.optionalNumber("most")];
  const column: OvsdbColumn = {
    kind: refersTo === undefined ? fields.word("kind", KINDS) : "uuid",
    min: fields.optionalNumber("min") ?? 1,
    max,
    ...(refersTo !== undefined && { refersTo, isWeak: strong === undefined }),
    ...(allowed.length > 0 && { allowed }),
    ...(least !== undefined && { least }),
    ...(most !== undefined && { most }),
  };
  fields.end();
  return Object.freeze(column);
}

function readTable(fields: CheckedFields): OvsdbTable {
  const columns = fields.within("columns");
  const read = columns.names().map((name) => {
    const given = columns.take(name);
    const column =
      typeof given === "string" ? columnOfWord(columns, name, given) : readColumn(columns.within(name));
    return [name, column] as const;
  });
  const table: OvsdbTable = {
    isRoot: fields.isSet("isRoot"),
    indexes: fields.lists("indexes"),
    columns: Object.freeze(Object.fromEntries(read)),
  };
  fields.end();
  return Object.freeze(table);
}

function readSchema(facts: Table): OvsdbSchema {
  const fields = CheckedFields.ofTable(facts);
  const tables = fields
    .within("tables")
    .rows()
    .map(([name, row]) => [name, readTable(row)] as const);
  const schema = { name: fields.text("name"), version: fields.text("version") };
  return Object.freeze({ ...schema, tables: Object.freeze(Object.fromEntries(tables)) });
}

/** The databases of OVN 23.03: `data/facts/ovn-northbound.yaml`, `ovn-southbound.yaml`. */
export const OVN_NORTHBOUND: OvsdbSchema = readSchema(ovnNorthbound());
export const OVN_SOUTHBOUND: OvsdbSchema = readSchema(ovnSouthbound());
