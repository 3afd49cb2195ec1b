/**
 * Compares verifications: which flows came out otherwise, for whom. The sides are runs of one input on several builds of
 * Windows, or an earlier run and the present one. What is compared is what was observed, not what was expected.
 */
import { isFields } from "#core/base/json.ts";
import {
  DOCUMENT_VERSION,
  type Field,
  type JsonSchema,
  type ObjectShape,
  type ValueOf,
  documentSchema,
  fieldOf,
  fieldsOf,
} from "#core/base/shape.ts";
import { COMPARED_CELL, COMPARED_FINDING, FLOW_QUESTION, VERIFY_KEPT } from "./report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** What a comparison reads of a cell; reports of other versions may say more. */
export type ComparedCell = Omit<ValueOf<typeof COMPARED_CELL>, "expected" | "verdict"> & {
  readonly expected: string;
  readonly verdict: string;
};

/** What a comparison reads of a report. */
export interface ComparedReport {
  readonly cluster: string;
  readonly cells: readonly ComparedCell[];
  readonly findings: readonly ValueOf<typeof COMPARED_FINDING>[];
  readonly kept?: ValueOf<typeof VERIFY_KEPT>;
}

/** One run, by what it is called: `ws2019`, `before`. */
export interface ComparedSide {
  readonly label: string;
  readonly report: ComparedReport;
  /** Why it keeps no results of the side before it, where somebody might expect so. */
  readonly nothingKept?: string | undefined;
}

/** What came of a flow on one side. */
export const SIDE_OUTCOME = {
  text: "What came of the flow on one side.",
  fields: {
    side: { is: "text", text: "The label of the side." },
    outcome: {
      is: ["works", "denied", "not-applicable", "not-judged", "differs", "absent"],
      text: (): string => WORDS.sideOutcomeOutcome,
    },
  },
  optional: {
    code: { is: "text", text: (): string => WORDS.sideOutcomeCode },
    observed: { is: "text", text: "With differs: what was observed." },
    row: { is: "text", text: "The row of the table of expectations." },
  },
} as const;
export type SideOutcome = ValueOf<typeof SIDE_OUTCOME>;

/** A flow that did not come out the same on all sides. It stands for the equal cells of the newest side. */
export const CHANGED_FLOW = {
  text: (): string => WORDS.changedFlow,
  base: (): typeof FLOW_QUESTION => FLOW_QUESTION,
  fields: { outcomes: { list: (): typeof SIDE_OUTCOME => SIDE_OUTCOME, text: "In the order of the sides." } },
} as const;
export type ChangedFlow = ValueOf<typeof CHANGED_FLOW>;

/** A finding about the input that not all sides have. */
export const CHANGED_INPUT = {
  text: "A finding about the input that not all sides have.",
  fields: {
    about: { is: "text", text: "What it is about." },
    observed: "text",
    sides: { list: "text", text: "The sides that have it." },
  },
  optional: { code: { is: "text", text: "What explains it: mullion explain CODE." } },
} as const;
export type ChangedInput = ValueOf<typeof CHANGED_INPUT>;

export const VERIFY_COMPARISON = {
  text: "Which flows came out otherwise, for whom.",
  document: "VerificationComparison",
  fields: {
    cluster: { is: "text", text: "Its name on the last side." },
    sides: {
      list: {
        text: "One run.",
        fields: {
          label: { is: "text", text: "The build of Windows; before or now." },
          flows: { is: "integer", text: "Cells of its report." },
          findings: { is: "integer", text: "Findings of its report." },
        },
        optional: {
          kept: {
            is: (): typeof VERIFY_KEPT => VERIFY_KEPT,
            text: (): string => WORDS.verifyComparisonSidesKept,
          },
        },
      },
      text: "At least two, in the order of the columns.",
    },
    counts: {
      text: "Numbers of flows.",
      fields: {
        flows: { is: "integer", text: "Flows that some side has tried or knows not to apply." },
        changed: "integer",
        unchanged: "integer",
      },
    },
    changes: { list: (): typeof CHANGED_FLOW => CHANGED_FLOW },
    input: { list: (): typeof CHANGED_INPUT => CHANGED_INPUT },
  },
  optional: { nothingKept: { is: "text", text: (): string => WORDS.verifyComparisonNothingKept } },
} as const;
export type VerifyComparison = ValueOf<typeof VERIFY_COMPARISON>;

export const COMPARISON_SCHEMA: JsonSchema = documentSchema(
  "Mullion comparison of verifications",
  VERIFY_COMPARISON,
);

type Outcome = Omit<SideOutcome, "side">;

const CAME_UP: Outcome = Object.freeze({ outcome: "works" });
const ABSENT: Outcome = Object.freeze({ outcome: "absent" });

/** What is asked, by whom, of whom. */
function questionOf({ flow, protocol, family, from, to, port = 0, name = "" }: ComparedCell): string {
  return [flow, protocol, family ?? "", from, to, port, name].join(" ");
}

function systemOf(system: string): string {
  return ["linux", "outside", "service"].includes(system) ? system : "windows";
}

/**
 * Equal questions: equal cells are tried once, and who stands for them may be another one on another side. A Service is
 * itself; pods and nodes count by their system.
 */
function kindOf(cell: ComparedCell): string {
  const { flow, protocol, family, relation, fromSystem, to, toSystem } = cell;
  const receiver = to.startsWith("service/") ? `${to}:${cell.port ?? 0}` : systemOf(toSystem);
  return [flow, protocol, family ?? "", relation, systemOf(fromSystem), receiver].join(" ");
}

class Side {
  readonly label: string;
  readonly report: ComparedReport;
  private readonly byQuestion: ReadonlyMap<string, Outcome>;
  private readonly byKind: ReadonlyMap<string, readonly Outcome[]>;

  constructor({ label, report }: ComparedSide) {
    this.label = label;
    this.report = report;
    const found = new Map(
      report.findings.flatMap((each) => (each.cell === undefined ? [] : [[each.cell, each]])),
    );
    const outcomes = report.cells.map((cell, index): readonly [ComparedCell, Outcome] => [
      cell,
      outcomeOf(cell, found.get(index)),
    ]);
    this.byQuestion = new Map(outcomes.map(([cell, outcome]) => [questionOf(cell), outcome]));
    const kinds = Map.groupBy(outcomes, ([cell]) => kindOf(cell));
    this.byKind = new Map([...kinds].map(([kind, each]) => [kind, each.map(([, outcome]) => outcome)]));
  }

  /** What came of the question here: of itself, or of the equal ones if these agree. */
  outcomeOf(cell: ComparedCell): { readonly outcome: Outcome; readonly isOwn: boolean } {
    const own = this.byQuestion.get(questionOf(cell));
    if (own !== undefined) return { outcome: own, isOwn: true };
    // What comes up has no cell.
    if (cell.flow === "bring-up") return { outcome: CAME_UP, isOwn: true };
    const equal = this.byKind.get(kindOf(cell)) ?? [];
    const [first] = equal;
    const isOne = first !== undefined && equal.every((each) => isSame(each, first));
    return { outcome: isOne ? first : ABSENT, isOwn: false };
  }
}

function outcomeOf(cell: ComparedCell, finding: ComparedReport["findings"][number] | undefined): Outcome {
  const { expected, verdict, row } = cell;
  if (verdict === "finding") {
    const code = finding?.code;
    const observed = finding?.observed ?? "";
    return { outcome: "differs", ...(code === undefined ? {} : { code }), observed, row };
  }
  const code = cell.code === undefined ? {} : { code: cell.code };
  if (verdict === "not-judged") return { outcome: "not-judged", ...code, row };
  if (verdict === "not-tried") return { outcome: "not-applicable", ...code, row };
  return { outcome: expected === "denied" ? "denied" : "works", ...code, row };
}

/** The row may be another one, and the words of what was observed, as long as the outcome is the same. */
function isSame(a: Outcome, b: Outcome): boolean {
  return a.outcome === b.outcome && a.code === b.code;
}

function changeOf(
  cell: ComparedCell,
  sides: readonly Side[],
): (ChangedFlow & { readonly isOwn: boolean }) | undefined {
  const seen = sides.map((side) => ({ side: side.label, ...side.outcomeOf(cell) }));
  const [first] = seen;
  if (first === undefined || seen.every(({ outcome }) => isSame(outcome, first.outcome))) return undefined;
  const { flow, protocol, family, relation, from, to, port, name, standsFor } = cell;
  return {
    flow,
    protocol,
    ...(family === undefined ? {} : { family }),
    relation,
    from,
    to,
    ...(port === undefined ? {} : { port }),
    ...(name === undefined ? {} : { name }),
    standsFor,
    outcomes: seen.map(({ side, outcome }) => ({ side, ...outcome })),
    isOwn: seen.every(({ isOwn }) => isOwn),
  };
}

/** Changes of which one stands for the other: a side asked another pod of the same kind. */
function withoutStandIns(
  changes: readonly (ChangedFlow & { readonly isOwn: boolean; readonly kind: string })[],
): readonly ChangedFlow[] {
  const told = new Set<string>();
  return changes.flatMap(({ isOwn, kind, ...change }) => {
    const key = `${kind} ${JSON.stringify(change.outcomes)}`;
    if (!isOwn && told.has(key)) return [];
    told.add(key);
    return [change];
  });
}

function changedInput(sides: readonly Side[]): readonly ChangedInput[] {
  const said = sides.flatMap(({ label, report }) =>
    report.findings.flatMap(({ cell, about = "", observed, code }) =>
      cell === undefined ? [{ label, about, observed, code }] : [],
    ),
  );
  // Line numbers change when a file does: what is said counts, not where.
  return [...Map.groupBy(said, ({ observed, code = "" }) => `${code} ${observed}`).values()].flatMap(
    (each) => {
      const labels = [...new Set(each.map(({ label }) => label))];
      const [first] = each;
      if (first === undefined || labels.length === sides.length) return [];
      const { about, observed, code } = first;
      return [{ about, observed, ...(code === undefined ? {} : { code }), sides: labels }];
    },
  );
}

/** Compares at least two sides; the flows stand in the order of the last one, then of those before it. */
export function compareVerifications(compared: readonly ComparedSide[]): VerifyComparison {
  const nothingKept = compared.at(-1)?.nothingKept;
  const sides = compared.map((each) => new Side(each));
  const questions = new Map(
    sides.toReversed().flatMap(({ report }) => report.cells.map((cell) => [questionOf(cell), cell] as const)),
  );
  // A later entry of a map keeps its first place and takes the last value: the newest side's cell is wanted.
  for (const cell of sides.at(-1)?.report.cells ?? []) questions.set(questionOf(cell), cell);
  const changes = [...questions.values()].flatMap((cell) => {
    const change = changeOf(cell, sides);
    return change === undefined ? [] : [{ ...change, kind: kindOf(cell) }];
  });
  const told = withoutStandIns(changes);
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "VerificationComparison",
    cluster: sides.at(-1)?.report.cluster ?? "",
    sides: sides.map(({ label, report }) => ({
      label,
      flows: report.cells.length,
      findings: report.findings.length,
      ...(report.kept === undefined ? {} : { kept: report.kept }),
    })),
    counts: { flows: questions.size, changed: told.length, unchanged: questions.size - changes.length },
    changes: told,
    input: changedInput(sides),
    ...(nothingKept === undefined ? {} : { nothingKept }),
  };
}

// A report of an earlier run is a file like any other: what comes out of here has the shape that its type says.

/** True for JSON that `mullion verify -o json` could have written, whole or not. */
export function isVerification(value: unknown): boolean {
  return isFields(value) && value["kind"] === "Verification";
}

/** Whether all fields of the shape hold texts and numbers where it has them; other versions may know other words. */
function holds(value: unknown, shape: ObjectShape): boolean {
  if (!isFields(value)) return false;
  const { required, optional } = fieldsOf(shape);
  const isOfKind = (name: string, field: Field): boolean =>
    typeof value[name] === (fieldOf(field).is === "integer" ? "number" : "string");
  return (
    Object.entries(required).every(([name, field]) => isOfKind(name, field)) &&
    Object.entries(optional).every(([name, field]) => value[name] === undefined || isOfKind(name, field))
  );
}

function isCell(value: unknown): value is ComparedCell {
  return holds(value, COMPARED_CELL);
}

function isFinding(value: unknown): value is ComparedReport["findings"][number] {
  return holds(value, COMPARED_FINDING);
}

/** The report; or the first field of the JSON that is not as the schema has it. */
export function readVerification(value: unknown): ComparedReport | { readonly field: string } {
  if (!isFields(value) || typeof value["cluster"] !== "string") return { field: "cluster" };
  const { cluster, cells, findings } = value;
  if (!Array.isArray(cells)) return { field: "cells" };
  if (!Array.isArray(findings)) return { field: "findings" };
  const badCell = cells.findIndex((cell) => !isCell(cell));
  if (badCell >= 0) return { field: `cells[${badCell}]` };
  const badFinding = findings.findIndex((finding) => !isFinding(finding));
  if (badFinding >= 0) return { field: `findings[${badFinding}]` };
  return { cluster, cells: cells.filter(isCell), findings: findings.filter(isFinding) };
}
