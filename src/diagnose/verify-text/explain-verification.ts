/** Adds to a report what the catalogue has to say: verify itself knows rows of expectations and codes alone. */
import { getEntry } from "../catalogue/catalogue.ts";
import { whyNotApplicable } from "../catalogue/expectation-texts.ts";
import { VERBATIM_INDENT } from "../catalogue/prose.ts";
import type { NotJudged, VerifyCell, VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** The first paragraph of the entry's remedy, with the commands that it announces. */
export function remedyOf(code: KnowledgeCode): string {
  const [first = "", second = ""] = getEntry(code).remedy.split("\n\n");
  return second.startsWith(VERBATIM_INDENT) ? `${first}\n${second}` : first;
}

/** The order of the fields is that of the published JSON. */
function explainCell(cell: VerifyCell): VerifyCell {
  const why = cell.expected === "not-applicable" ? whyNotApplicable(cell.row) : undefined;
  if (why === undefined) return cell;
  const { row, documentedIn, verdict, attempts, backEnds, standsFor, ...question } = cell;
  const answered = backEnds === undefined ? {} : { backEnds };
  return { ...question, why, row, documentedIn, verdict, attempts, ...answered, standsFor };
}

function explainFinding(finding: VerifyFinding): VerifyFinding {
  const { code, trace, ...seen } = finding;
  if (code === undefined) return finding;
  return { ...seen, code, remedy: remedyOf(code), ...(trace === undefined ? {} : { trace }) };
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
