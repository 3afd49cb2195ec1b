/** The operations of a transaction (RFC 7047, 5.2). */
import {
  type OvsdbAtom,
  type OvsdbCondition,
  type OvsdbMutation,
  type OvsdbOperation,
  type OvsdbResult,
  type OvsdbRow,
  type OvsdbValue,
  membersOf,
} from "./client.ts";
import {
  type Draft,
  OperationError,
  columnOf,
  defaultOf,
  normal,
  rowOf,
  rowsIn,
  setRow,
  tableOf,
  textOf,
} from "./draft.ts";
import type { OvsdbColumn } from "./schema.ts";

/** UUIDs of the rows that a transaction inserts, by their place; and by their names, which stand for them anywhere in it. */
export interface NamedRows extends Readonly<Record<number, string>> {
  readonly names: ReadonlyMap<string, string>;
}

export function nameRows(operations: readonly OvsdbOperation[], draw: () => string): NamedRows {
  const names = new Map<string, string>();
  const ids: Record<number, string> = {};
  for (const [index, operation] of operations.entries()) {
    if (operation.op !== "insert") continue;
    const id = operation.uuid ?? draw();
    ids[index] = id;
    const name = operation["uuid-name"];
    if (name === undefined) continue;
    if (names.has(name))
      throw new OperationError(
        "duplicate uuid-name",
        `This "uuid-name" appeared on an earlier "insert" operation.`,
      );
    names.set(name, id);
  }
  return { ...ids, names };
}

type Names = NamedRows["names"];

function isKind(atom: OvsdbAtom, kind: OvsdbColumn["kind"]): boolean {
  if (kind === "uuid") return typeof atom === "object" && atom[0] === "uuid";
  if (kind === "integer") return typeof atom === "number" && Number.isInteger(atom);
  return typeof atom === (kind === "boolean" ? "boolean" : "string");
}

function checkAtom(atom: OvsdbAtom, name: string, { kind, allowed, least, most }: OvsdbColumn): void {
  if (!isKind(atom, kind)) throw new OperationError("syntax error", `column ${name}: expected ${kind}`);
  const isOut = typeof atom === "number" && (atom < (least ?? -Infinity) || atom > (most ?? Infinity));
  if (isOut)
    throw new OperationError("constraint violation", `${atom} is not in the valid range of column ${name}`);
  if (allowed !== undefined && !allowed.includes(String(atom)))
    throw new OperationError(
      "constraint violation",
      `${String(atom)} is not one of the allowed values (${allowed.join(", ")})`,
    );
}

/** A value with names in place of UUIDs resolved, checked against its column, in its one form. */
function toStored(value: OvsdbValue, name: string, column: OvsdbColumn, names: Names): OvsdbValue {
  const isMap = typeof value === "object" && value[0] === "map";
  if (isMap !== (column.kind === "map"))
    throw new OperationError("syntax error", `column ${name}: expected ${column.kind}`);
  if (isMap) return normal(value, column);
  const members = membersOf(value).map((atom): OvsdbAtom => {
    if (typeof atom !== "object" || atom[0] !== "named-uuid") return atom;
    const id = names.get(atom[1]);
    if (id === undefined)
      throw new OperationError("syntax error", `No row inserted in this transaction is named ${atom[1]}.`);
    return ["uuid", id];
  });
  for (const atom of members) checkAtom(atom, name, column);
  if (column.min === 1 && column.max === 1 && members.length !== 1)
    throw new OperationError("syntax error", `column ${name}: expected one value, not ${members.length}`);
  return normal(["set", members], column);
}

function toColumns(draft: Draft, table: string, row: OvsdbRow, names: Names): OvsdbRow {
  const of = tableOf(draft, table);
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      toStored(value, name, columnOf(of, name, table), names),
    ]),
  );
}

function keysOf(value: OvsdbValue): ReadonlySet<string> {
  if (typeof value === "object" && value[0] === "map")
    return new Set(value[1].map((pair) => JSON.stringify(pair)));
  return new Set(membersOf(value).map((atom) => JSON.stringify(atom)));
}

function compares(have: OvsdbValue, comparison: OvsdbCondition[1], want: OvsdbValue): boolean {
  const [a, b] = [keysOf(have), keysOf(want)];
  if (comparison === "includes") return [...b].every((key) => a.has(key));
  if (comparison === "excludes") return [...b].every((key) => !a.has(key));
  const isEqual = a.size === b.size && [...a].every((key) => b.has(key));
  if (comparison === "==") return isEqual;
  if (comparison === "!=") return !isEqual;
  const [left, right] = [Number(membersOf(have)[0]), Number(membersOf(want)[0])];
  if (comparison === "<") return left < right;
  if (comparison === "<=") return left <= right;
  return comparison === ">" ? left > right : left >= right;
}

/** Rows of a table for which all conditions hold. */
function matching(
  draft: Draft,
  table: string,
  where: readonly OvsdbCondition[],
  names: Names,
): readonly (readonly [string, OvsdbRow])[] {
  const of = tableOf(draft, table);
  const wanted = where.map(([name, comparison, value]) => {
    const column: OvsdbColumn =
      name === "_uuid" ? { kind: "uuid", min: 1, max: 1 } : columnOf(of, name, table);
    const isPart = comparison === "includes" || comparison === "excludes";
    const shape = isPart && column.kind !== "map" ? { ...column, min: 0, max: Infinity } : column;
    return [name, comparison, toStored(value, name, shape, names)] as const;
  });
  const byId = wanted.find(([name, comparison]) => name === "_uuid" && comparison === "==")?.[2];
  const holds = (id: string, row: OvsdbRow): boolean =>
    wanted.every(([name, comparison, value]) =>
      compares(name === "_uuid" ? ["uuid", id] : (row[name] ?? ""), comparison, value),
    );
  if (typeof byId === "object" && byId[0] === "uuid") {
    const row = rowOf(draft, table, byId[1]);
    return row !== undefined && holds(byId[1], row) ? [[byId[1], row]] : [];
  }
  return rowsIn(draft, table).filter(([id, row]) => holds(id, row));
}

function arithmetic(have: OvsdbValue, mutator: OvsdbMutation[1], by: OvsdbValue): OvsdbValue {
  const [left, right] = [Number(membersOf(have)[0]), Number(membersOf(by)[0])];
  if (mutator === "+=") return left + right;
  if (mutator === "-=") return left - right;
  if (mutator === "*=") return left * right;
  if (right === 0) throw new OperationError("domain error", "Division by zero.");
  return mutator === "/=" ? Math.trunc(left / right) : left % right;
}

/** Keys that are there keep their values; deleting goes by pair, or by key where the operand is a set (RFC 7047, 5.1). */
function mutateMap(have: OvsdbValue, mutator: OvsdbMutation[1], by: OvsdbValue): OvsdbValue {
  const pairs = typeof have === "object" && have[0] === "map" ? have[1] : [];
  const isMap = typeof by === "object" && by[0] === "map";
  if (mutator === "insert") {
    const known = new Set(pairs.map(([key]) => textOf(key)));
    const added = isMap ? by[1].filter(([key]) => !known.has(textOf(key))) : [];
    return ["map", [...pairs, ...added]];
  }
  if (isMap) {
    const gone = keysOf(by);
    return ["map", pairs.filter((pair) => !gone.has(JSON.stringify(pair)))];
  }
  const gone = new Set(membersOf(by).map(textOf));
  return ["map", pairs.filter(([key]) => !gone.has(textOf(key)))];
}

function mutateSet(have: OvsdbValue, mutator: OvsdbMutation[1], by: OvsdbValue): OvsdbValue {
  const [members, others] = [membersOf(have), keysOf(by)];
  if (mutator === "insert") return ["set", [...members, ...membersOf(by)]];
  return ["set", members.filter((atom) => !others.has(JSON.stringify(atom)))];
}

function mutated(
  draft: Draft,
  table: string,
  row: OvsdbRow,
  mutations: readonly OvsdbMutation[],
  names: Names,
): OvsdbRow {
  const result: Record<string, OvsdbValue> = { ...row };
  for (const [name, mutator, operand] of mutations) {
    const column = columnOf(tableOf(draft, table), name, table);
    const have = result[name] ?? defaultOf(column);
    if (column.kind === "map") {
      result[name] = normal(mutateMap(have, mutator, operand), column);
      continue;
    }
    const several = { ...column, min: 0, max: Infinity };
    const by = toStored(operand, name, several, names);
    const isOfSet = mutator === "insert" || mutator === "delete";
    const value = isOfSet ? mutateSet(have, mutator, by) : arithmetic(have, mutator, by);
    result[name] = toStored(value, name, column, names);
  }
  return result;
}

function isSameRow(row: OvsdbRow, wanted: OvsdbRow, columns: readonly string[]): boolean {
  return columns.every((name) => {
    const [a, b] = [row[name], wanted[name]];
    return a === undefined || b === undefined ? a === b : compares(a, "==", b);
  });
}

type OperationOf<Kind extends OvsdbOperation["op"]> = Extract<OvsdbOperation, { readonly op: Kind }>;

function wait(
  draft: Draft,
  { table, where, columns, until, rows }: OperationOf<"wait">,
  names: Names,
): OvsdbResult {
  const found = matching(draft, table, where, names);
  const wanted = rows.map((row) => toColumns(draft, table, row, names));
  const isEqual =
    found.length === wanted.length &&
    wanted.every((row) => found.some(([, have]) => isSameRow(have, row, columns)));
  if (isEqual === (until === "==")) return {};
  throw new OperationError("timed out", '"wait" timed out');
}

function insert(draft: Draft, { table, row }: OperationOf<"insert">, id: string, names: Names): OvsdbResult {
  const { columns } = tableOf(draft, table);
  if (rowOf(draft, table, id) !== undefined)
    throw new OperationError("duplicate uuid", "This UUID would duplicate a UUID already present.");
  const defaults = Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [name, defaultOf(column)]),
  );
  setRow(draft, table, id, Object.freeze({ ...defaults, ...toColumns(draft, table, row, names) }));
  return { uuid: ["uuid", id] };
}

function select(draft: Draft, { table, where, columns }: OperationOf<"select">, names: Names): OvsdbResult {
  const rows = matching(draft, table, where, names).map(([id, row]): OvsdbRow => {
    const whole: OvsdbRow = { _uuid: ["uuid", id], ...row };
    if (columns === undefined) return whole;
    return Object.fromEntries(
      columns.flatMap((name) => (whole[name] === undefined ? [] : [[name, whole[name]]])),
    );
  });
  return { rows };
}

function change(
  draft: Draft,
  operation: OperationOf<"update" | "mutate" | "delete">,
  names: Names,
): OvsdbResult {
  const { table } = operation;
  const found = matching(draft, table, operation.where, names);
  for (const [id, row] of found) {
    if (operation.op === "delete") setRow(draft, table, id, undefined);
    else if (operation.op === "update")
      setRow(draft, table, id, Object.freeze({ ...row, ...toColumns(draft, table, operation.row, names) }));
    else setRow(draft, table, id, Object.freeze(mutated(draft, table, row, operation.mutations, names)));
  }
  return { count: found.length };
}

/** Carries one operation out in a draft. @throws OperationError */
export function carryOut(draft: Draft, operation: OvsdbOperation, id: string, names: Names): OvsdbResult {
  switch (operation.op) {
    case "insert":
      return insert(draft, operation, id, names);
    case "select":
      return select(draft, operation, names);
    case "wait":
      return wait(draft, operation, names);
    case "comment":
      return {};
    case "abort":
      throw new OperationError("aborted", "aborted by request");
    case "update":
    case "mutate":
    case "delete":
      return change(draft, operation, names);
  }
}
