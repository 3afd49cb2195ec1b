/**
 * What `monitor_cond_since` tells of rows (ovsdb-server(7), "Monitor_Cond" and "Update3"): of a new row the columns that are not
 * what they are by default, of a changed one differences. They become the updates of RFC 7047, 4.1.6, which agents hear.
 */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";
import type { OvsdbAtom, OvsdbRow, OvsdbUpdates, OvsdbValue } from "./client.ts";

/** What a difference of a column means: the new value, members that come or go, or pairs that come, go or change. */
interface ColumnShape {
  readonly kind: "plain" | "set" | "map";
  readonly byDefault: OvsdbValue;
}

/** By table and column. */
export type SchemaShapes = ReadonlyMap<string, ReadonlyMap<string, ColumnShape>>;

/** Rows by table and UUID. */
export type KnownRows = Map<string, Map<string, OvsdbRow>>;

/** Differences that do not fit what is known: some of them were missed. */
export class MissedUpdate extends Error {
  override readonly name = "MissedUpdate";
}

const NO_UUID = "00000000-0000-0000-0000-000000000000";
const EMPTY_ATOMS: Readonly<Record<string, OvsdbAtom>> = {
  integer: 0,
  real: 0,
  boolean: false,
  uuid: ["uuid", NO_UUID],
};

function shapeOf(type: unknown): ColumnShape {
  if (!isFields(type)) return { kind: "plain", byDefault: EMPTY_ATOMS[String(type)] ?? "" };
  if (type["value"] !== undefined) return { kind: "map", byDefault: ["map", []] };
  const { key, min = 1, max = 1 } = type;
  const kind = max === 1 ? "plain" : "set";
  if (min === 0) return { kind, byDefault: ["set", []] };
  const atom = isFields(key) ? key["type"] : key;
  return { kind, byDefault: EMPTY_ATOMS[String(atom)] ?? "" };
}

function fieldsIn(value: unknown, name: string): Fields {
  return mappingOf(mappingOf(value)[name]);
}

/** The columns of a schema as `get_schema` answers it. */
export function shapesOf(schema: unknown): SchemaShapes {
  return new Map(
    Object.entries(fieldsIn(schema, "tables")).map(([table, shape]) => [
      table,
      new Map(
        Object.entries(fieldsIn(shape, "columns")).map(([name, column]) => [
          name,
          shapeOf(mappingOf(column)["type"]),
        ]),
      ),
    ]),
  );
}

function compareAtoms(one: OvsdbAtom, other: OvsdbAtom): number {
  const [a, b] = [one, other].map((atom) => (typeof atom === "object" ? atom[1] : atom));
  if (a === undefined || b === undefined || a === b) return 0;
  return a < b ? -1 : 1;
}

function members(value: OvsdbValue): readonly OvsdbAtom[] {
  return typeof value === "object" && value[0] === "set" ? value[1] : [value as OvsdbAtom];
}

/** Members of one or the other and not of both, in the server's order. */
function turnMembers(before: OvsdbValue, difference: OvsdbValue): OvsdbValue {
  const found = new Map(members(before).map((atom) => [JSON.stringify(atom), atom]));
  for (const atom of members(difference)) {
    const text = JSON.stringify(atom);
    if (!found.delete(text)) found.set(text, atom);
  }
  const all = [...found.values()].toSorted(compareAtoms);
  const [first] = all;
  return all.length === 1 && first !== undefined ? first : ["set", all];
}

/** A pair as it was goes, another value or key is what the pair is from now on. */
function turnPairs(before: OvsdbValue, difference: OvsdbValue): OvsdbValue {
  const pairs = (value: OvsdbValue): readonly (readonly [OvsdbAtom, OvsdbAtom])[] =>
    typeof value === "object" && value[0] === "map" ? value[1] : [];
  const found = new Map(pairs(before).map((pair) => [JSON.stringify(pair[0]), pair]));
  for (const pair of pairs(difference)) {
    const key = JSON.stringify(pair[0]);
    if (JSON.stringify(found.get(key)?.[1]) === JSON.stringify(pair[1])) found.delete(key);
    else found.set(key, pair);
  }
  return ["map", [...found.values()].toSorted(([one], [other]) => compareAtoms(one, other))];
}

const TURNS: Readonly<
  Record<ColumnShape["kind"], (before: OvsdbValue, difference: OvsdbValue) => OvsdbValue>
> = {
  plain: (_before, difference) => difference,
  set: turnMembers,
  map: turnPairs,
};

/** Reads differences of the rows of some tables, each with the columns that are followed. */
export class RowDifferences {
  private readonly shapes: SchemaShapes;
  private readonly tables: Readonly<Record<string, readonly string[]>>;

  constructor(shapes: SchemaShapes, tables: Readonly<Record<string, readonly string[]>>) {
    this.shapes = shapes;
    this.tables = tables;
  }

  /** @throws MissedUpdate */
  read(rows: KnownRows, differences: unknown): OvsdbUpdates {
    const updates: Record<string, Record<string, { old?: OvsdbRow; new?: OvsdbRow }>> = {};
    for (const [table, changes] of Object.entries(mappingOf(differences)))
      for (const [id, change] of Object.entries(mappingOf(changes)))
        (updates[table] ??= {})[id] = this.readRow(table, rows.get(table)?.get(id), change);
    return updates;
  }

  private readRow(
    table: string,
    known: OvsdbRow | undefined,
    change: unknown,
  ): { old?: OvsdbRow; new?: OvsdbRow } {
    const of = mappingOf(change);
    const given = of["initial"] ?? of["insert"];
    if (isFields(given)) return { new: { ...this.defaults(table), ...(given as OvsdbRow) } };
    if (known === undefined) throw new MissedUpdate(`a row of ${table} changes that nobody has told of`);
    const modified = of["modify"];
    if (!isFields(modified)) return { old: known };
    const columns = this.shapes.get(table);
    const row = { ...known };
    const old: Record<string, OvsdbValue> = {};
    for (const [name, difference] of Object.entries(modified as OvsdbRow)) {
      const { kind = "plain", byDefault = "" } = columns?.get(name) ?? {};
      old[name] = known[name] ?? byDefault;
      row[name] = TURNS[kind](known[name] ?? byDefault, difference);
    }
    return { old, new: row };
  }

  private defaults(table: string): OvsdbRow {
    const columns = this.shapes.get(table);
    return Object.fromEntries(
      (this.tables[table] ?? []).map((name) => [name, columns?.get(name)?.byDefault ?? ""]),
    );
  }
}
