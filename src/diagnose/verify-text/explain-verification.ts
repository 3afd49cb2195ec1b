/** Adds to a report what the catalogue has to say: verify itself knows rows of expectations and codes alone. */
import { getEntry } from "../catalogue/catalogue.ts";
import { differsBecause, pageSays } from "../catalogue/documentation-texts.ts";
import { VERBATIM_INDENT } from "../catalogue/prose.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type {
  NotJudged,
  PageDifferenceReport,
  VerifyCell,
  VerifyFinding,
  VerifyReport,
} from "#cluster/verify/report.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { expectations } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

// Why a row of the table of expectations does not apply, in words.

const ROWS = CheckedFields.ofTable(expectations()).within("rows").rows();
const TEXTS: ReadonlyMap<string, string | undefined> = new Map(
  ROWS.map(([id, row]) => [id, row.optionalText("notApplicable")]),
);

/** Why the row `id` does not apply; undefined for rows that do. */
export function whyNotApplicable(id: string): string | undefined {
  return TEXTS.get(id);
}

/** The first paragraph of the entry's remedy, with the commands that it announces. */
export function remedyOf(code: KnowledgeCode): string {
  const [first = "", second = ""] = getEntry(code).remedy.split("\n\n");
  return second.startsWith(VERBATIM_INDENT) ? `${first}\n${second}` : first;
}

function explainPage(difference: PageDifferenceReport): PageDifferenceReport {
  const { evidence, source, ...ids } = difference;
  return {
    ...ids,
    says: pageSays(ids.sentence),
    differsBecause: differsBecause(ids.difference),
    evidence,
    source,
  };
}

/** The report of a trace with what the page says, where it states another outcome. */
export function explainTrace(report: TraceReport): TraceReport {
  const { documentation } = report;
  return documentation === undefined ? report : { ...report, documentation: explainPage(documentation) };
}

/** The order of the fields is that of the published JSON. */
function explainCell(cell: VerifyCell): VerifyCell {
  const why = cell.expected === "not-applicable" ? whyNotApplicable(cell.row) : undefined;
  const {
    row,
    documentedIn,
    documentation,
    verdict,
    notJudged,
    observed,
    attempts,
    backEnds,
    standsFor,
    ...question
  } = cell;
  return {
    ...question,
    ...(why === undefined ? {} : { why }),
    row,
    documentedIn,
    ...(documentation === undefined ? {} : { documentation: explainPage(documentation) }),
    verdict,
    ...(notJudged === undefined ? {} : { notJudged }),
    ...(observed === undefined ? {} : { observed }),
    attempts,
    ...(backEnds === undefined ? {} : { backEnds }),
    standsFor,
  };
}

function explainFinding(finding: VerifyFinding): VerifyFinding {
  const { code, trace, cause, ...seen } = finding;
  if (code === undefined) return finding;
  return {
    ...seen,
    code,
    remedy: remedyOf(code),
    ...(trace === undefined ? {} : { trace }),
    ...(cause === undefined ? {} : { cause }),
  };
}

function explainLimit(limit: NotJudged): NotJudged {
  return { ...limit, advice: remedyOf(limit.code) };
}

/** The report with the reason of every cell that does not apply, and the remedy of every finding that has a code. */
export function explainVerification(report: VerifyReport): VerifyReport {
  return {
    ...report,
    basis: { ...report.basis, notJudged: report.basis.notJudged.map(explainLimit) },
    cells: report.cells.map(explainCell),
    findings: report.findings.map(explainFinding),
  };
}
