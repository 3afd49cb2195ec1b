/** The table of what should come of flows, as a whole: its rows in order, and the one that decides about a flow. */
import { OUTSIDE_ROWS } from "./expectation-rows/outside.ts";
import { NETWORK_ROWS } from "./expectation-rows/networks.ts";
import { GENERAL_ROWS, POD_ROWS } from "./expectation-rows/pods.ts";
import { SERVICE_ROWS } from "./expectation-rows/services.ts";
import type { FlowFacts, Condition, ExpectationRow } from "./expectations.ts";

/** From special to general: the first row whose conditions hold decides. */
export const EXPECTATION_ROWS: readonly ExpectationRow[] = Object.freeze([
  ...GENERAL_ROWS,
  ...NETWORK_ROWS,
  ...POD_ROWS,
  ...SERVICE_ROWS,
  ...OUTSIDE_ROWS,
  {
    id: "PROMISED",
    when: {},
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3",
  },
]);

function holds(condition: Condition<string | number | boolean>, value: string | number | boolean): boolean {
  if (typeof condition !== "object") return condition === value;
  if ("below" in condition) return typeof value === "number" && value < condition.below;
  if ("atLeast" in condition) return typeof value === "number" && value >= condition.atLeast;
  return condition.includes(value);
}

type AnyCondition = Condition<string | number | boolean>;

/** The conditions of each row, taken apart once: the table is asked for every cell of a matrix. */
const CONDITIONS: ReadonlyMap<ExpectationRow, readonly (readonly [string, AnyCondition])[]> = new Map(
  EXPECTATION_ROWS.map((row) => [row, Object.entries(row.when)]),
);

/** True when every condition of the row holds. */
export function matchesRow(row: ExpectationRow, facts: FlowFacts): boolean {
  const values = facts as unknown as Readonly<Record<string, string | number | boolean>>;
  return (CONDITIONS.get(row) ?? Object.entries(row.when)).every(([fact, condition]) => {
    const value = values[fact];
    return value !== undefined && holds(condition, value);
  });
}

/** The row that decides about a flow. */
export function findExpectation(facts: FlowFacts): ExpectationRow {
  const row = EXPECTATION_ROWS.find((candidate) => matchesRow(candidate, facts));
  if (row === undefined) throw new RangeError("the last row of the table has no conditions");
  return row;
}
