/** What a database holds: tables, their columns, and what refers to what (RFC 7047, 3.2). */

/** A column whose values are atoms, sets of them, or maps of texts. */
export interface OvsdbColumn {
  readonly kind: "string" | "integer" | "boolean" | "uuid" | "map";
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

export const STRING: OvsdbColumn = Object.freeze({ kind: "string", min: 1, max: 1 });
export const INTEGER: OvsdbColumn = Object.freeze({ kind: "integer", min: 1, max: 1 });
export const BOOLEAN: OvsdbColumn = Object.freeze({ kind: "boolean", min: 1, max: 1 });
/** Any number of texts. */
export const TEXTS: OvsdbColumn = Object.freeze({ kind: "string", min: 0, max: Infinity });
export const MAP: OvsdbColumn = Object.freeze({ kind: "map", min: 0, max: Infinity });

export function integer(least: number, most: number): OvsdbColumn {
  return Object.freeze({ ...INTEGER, least, most });
}

export function oneOf(...allowed: readonly string[]): OvsdbColumn {
  return Object.freeze({ ...STRING, allowed });
}

export function optional(column: OvsdbColumn, max = 1): OvsdbColumn {
  return Object.freeze({ ...column, min: 0, max });
}

/** References that keep what they refer to. */
export function strong(refersTo: string, min: number, max: number): OvsdbColumn {
  return Object.freeze({ kind: "uuid", min, max, refersTo, isWeak: false });
}

/** References that go with what they refer to. */
export function weak(refersTo: string, min: number, max: number): OvsdbColumn {
  return Object.freeze({ kind: "uuid", min, max, refersTo, isWeak: true });
}

export function table(
  { isRoot, indexes }: Pick<OvsdbTable, "isRoot" | "indexes">,
  columns: OvsdbTable["columns"],
): OvsdbTable {
  return Object.freeze({ isRoot, indexes, columns: Object.freeze(columns) });
}
