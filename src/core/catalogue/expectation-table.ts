/** The table of what should come of flows (`data/facts/expectations.yaml`): its rows in order, and the one that decides. */
import { type Table, expectations } from "#data/facts.js";
import { defined } from "../base/assert.ts";
import { CheckedFields } from "./checked-fields.ts";
import {
  type Condition,
  type Conditions,
  type Expectation,
  type ExpectationRow,
  FACTS,
  FLOWS,
  type FlowFacts,
  type FlowName,
  PROOFS,
  SEEN_SOURCES,
} from "./expectations.ts";
import { WINDOWS_PROFILES } from "./profiles.ts";

/** Flows that conditions name together, by the name that they have there. */
type FlowGroups = ReadonlyMap<string, readonly FlowName[]>;

function readGroups(fields: CheckedFields): FlowGroups {
  const groups = new Map<string, readonly FlowName[]>();
  for (const name of fields.names()) {
    const members = fields.texts(name).flatMap((member) => {
      const flow = FLOWS.find((each) => each === member);
      return (
        flow ?? groups.get(member) ?? fields.fail(`${name}: ${member} is no flow and no group above`, name)
      );
    });
    groups.set(name, Object.freeze(members));
  }
  return groups;
}

/** What a fact is said to be, as it is compared; undefined for what it cannot be. */
type FactReader = (value: unknown) => string | number | boolean | readonly FlowName[] | undefined;

const READERS: Readonly<Record<"boolean" | "count" | "build" | "revision", FactReader>> = {
  boolean: (value) => (typeof value === "boolean" ? value : undefined),
  count: (value) => (typeof value === "number" ? value : undefined),
  build: (value) => WINDOWS_PROFILES.find(({ name }) => name === value)?.build,
  revision: (value) =>
    WINDOWS_PROFILES.flatMap(({ updates }) => updates).find(({ kb }) => kb === value)?.revision,
};

function readerOf(fact: keyof FlowFacts, groups: FlowGroups): FactReader {
  const kind: (typeof FACTS)[keyof FlowFacts] = FACTS[fact];
  if (typeof kind === "string") return READERS[kind];
  const words: readonly string[] = kind;
  return (value) => {
    if (typeof value !== "string") return undefined;
    return words.includes(value) ? value : fact === "flow" ? groups.get(value) : undefined;
  };
}

function isFact(name: string): name is keyof FlowFacts {
  return Object.hasOwn(FACTS, name);
}

function readCondition(fields: CheckedFields, name: string, groups: FlowGroups): unknown {
  if (!isFact(name)) return fields.fail(`${name} is no fact of a flow`, name);
  const read = readerOf(name, groups);
  const wrong = (value: unknown): never => fields.fail(`${name} is never ${JSON.stringify(value)}`, name);
  const value = fields.take(name);
  if (Array.isArray(value)) return value.flatMap((each: unknown) => read(each) ?? wrong(each));
  if (typeof value !== "object") return read(value) ?? wrong(value);
  const range = fields.within(name);
  const [bound = "", ...others] = range.names();
  const limit = read(range.take(bound));
  if (!["below", "atLeast"].includes(bound) || others.length > 0 || typeof limit !== "number")
    return wrong(value);
  return { [bound]: limit };
}

function conditionsIn(fields: CheckedFields, groups: FlowGroups): Conditions {
  const conditions = fields.names().map((name) => [name, readCondition(fields, name, groups)] as const);
  return Object.freeze(Object.fromEntries(conditions));
}

function readExpected(row: CheckedFields): Expectation {
  const sees = row.optionalWord("works", SEEN_SOURCES);
  if (sees !== undefined) return { outcome: "works", sees };
  const denied = row.optionalCode("denied");
  if (denied !== undefined) {
    const dropCodes = row.codes("dropCodes");
    const proof = row.word("proof", PROOFS);
    return { outcome: "denied", code: denied, proof, ...(dropCodes.length > 0 && { dropCodes }) };
  }
  // Why is for people to read (diagnose/verify-text/explain-verification.ts).
  row.text("notApplicable");
  const code = row.optionalCode("code");
  return { outcome: "not-applicable", ...(code !== undefined && { code }) };
}

function readRow(id: string, row: CheckedFields, groups: FlowGroups): ExpectationRow {
  const expected = Object.freeze(readExpected(row));
  const read = { id, when: conditionsIn(row.within("when"), groups), expected, source: row.text("source") };
  row.end();
  return Object.freeze(read);
}

interface ExpectationTable {
  readonly groups: FlowGroups;
  /** From special to general: the first row whose conditions hold decides. */
  readonly rows: readonly ExpectationRow[];
}

/** @throws Error that names file and line of what is wrong. */
export function readExpectations(table: Table): ExpectationTable {
  const fields = CheckedFields.ofTable(table);
  const groups = readGroups(fields.within("groups"));
  const rows = fields
    .within("rows")
    .rows()
    .map(([id, row]) => readRow(id, row, groups));
  fields.end();
  return { groups, rows: Object.freeze(rows) };
}

const TABLE: ExpectationTable = readExpectations(expectations());

export const EXPECTATION_ROWS: readonly ExpectationRow[] = TABLE.rows;

function groupOf(name: string): readonly FlowName[] {
  return defined(TABLE.groups.get(name), `${name} is a group`);
}

/** The flows that begin by asking the name service. */
export const NAME_FLOWS: readonly FlowName[] = groupOf("NAME_FLOWS");
/** Every flow that begins at an address of a Service, or by its name. */
export const ALL_SERVICE_FLOWS: readonly FlowName[] = groupOf("ALL_SERVICE_FLOWS");

/** Conditions of another table, with the groups of this one. @throws Error where one is none. */
export function readConditions(fields: CheckedFields): Conditions {
  return conditionsIn(fields, TABLE.groups);
}

function holds(condition: Condition<string | number | boolean>, value: string | number | boolean): boolean {
  if (typeof condition !== "object") return condition === value;
  if ("below" in condition) return typeof value === "number" && value < condition.below;
  if ("atLeast" in condition) return typeof value === "number" && value >= condition.atLeast;
  return condition.includes(value);
}

type AnyCondition = Condition<string | number | boolean>;

/** Whether conditions hold. */
export type ConditionCheck = (facts: FlowFacts) => boolean;

/** Takes conditions apart once: tables are asked for every cell of a matrix. */
export function checkOf(conditions: Conditions): ConditionCheck {
  const entries: readonly (readonly [string, AnyCondition])[] = Object.entries(conditions);
  return (facts) => {
    const values = facts as unknown as Readonly<Record<string, string | number | boolean>>;
    return entries.every(([fact, condition]) => {
      const value = values[fact];
      return value !== undefined && holds(condition, value);
    });
  };
}

const CHECKS: ReadonlyMap<ExpectationRow, ConditionCheck> = new Map(
  EXPECTATION_ROWS.map((row) => [row, checkOf(row.when)]),
);

/** True when every condition of the row holds. */
export function matchesRow(row: ExpectationRow, facts: FlowFacts): boolean {
  return (CHECKS.get(row) ?? checkOf(row.when))(facts);
}

/** The rows that may hold for each flow, in their order: most are about a few. */
const ROWS_BY_FLOW: ReadonlyMap<FlowName, readonly ExpectationRow[]> = new Map(
  FLOWS.map((flow) => [flow, EXPECTATION_ROWS.filter((row) => mayBeAbout(row, flow))]),
);

function mayBeAbout({ when }: ExpectationRow, flow: FlowName): boolean {
  return when.flow === undefined || holds(when.flow, flow);
}

/** The row that decides about a flow. */
export function findExpectation(facts: FlowFacts): ExpectationRow {
  const row = ROWS_BY_FLOW.get(facts.flow)?.find((candidate) => matchesRow(candidate, facts));
  if (row === undefined) throw new RangeError("the last row of the table has no conditions");
  return row;
}
