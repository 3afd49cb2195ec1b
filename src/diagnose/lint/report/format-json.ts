/** A report as data (schemas/lint.v1alpha1.json), and the schema itself. */
import { DOCUMENT_VERSION, type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { pageOf, remedyOf } from "./format-text.ts";
import { ASSUMPTIONS, LINT_COUNTS, LINT_FINDING, type LintFinding, type LintReport } from "./report.ts";
import { PASSED_BY } from "../input/document.ts";

/** A finding as documents have it. */
export const LINT_FINDING_DOCUMENT = {
  text: "A finding.",
  base: (): typeof LINT_FINDING => LINT_FINDING,
  fields: {
    remedy: { is: "text", text: "What to write instead." },
    page: { is: "text", text: "The entry of the code in the documentation." },
  },
} as const;
type FindingDocument = ValueOf<typeof LINT_FINDING_DOCUMENT>;

export const LINT_DOCUMENT = {
  text: "What `mullion lint --format json` prints.",
  document: "LintReport",
  fields: {
    counts: (): typeof LINT_COUNTS => LINT_COUNTS,
    assumptions: (): typeof ASSUMPTIONS => ASSUMPTIONS,
    findings: { list: (): typeof LINT_FINDING_DOCUMENT => LINT_FINDING_DOCUMENT },
    suppressed: {
      list: {
        text: "A finding that is suppressed, and why.",
        base: (): typeof LINT_FINDING_DOCUMENT => LINT_FINDING_DOCUMENT,
        fields: { reason: "text" },
      },
    },
    passedBy: { list: (): typeof PASSED_BY => PASSED_BY },
  },
} as const;
export type LintDocument = ValueOf<typeof LINT_DOCUMENT>;

function findingJson(finding: LintFinding): FindingDocument {
  const { fix, ...rest } = finding;
  return { ...rest, remedy: fix === "" ? remedyOf(finding.code) : fix, page: pageOf(finding.code) };
}

/** What `-o json` and `-o yaml` print. */
export function lintDocument(report: LintReport): LintDocument {
  const { findings, suppressed, passedBy, assumptions, counts } = report;
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "LintReport",
    counts,
    assumptions,
    findings: findings.map(findingJson),
    suppressed: suppressed.map(({ finding, reason }) => ({ ...findingJson(finding), reason })),
    passedBy,
  };
}

/** JSON schema, draft 7, of `mullion lint --format json`. */
export function lintSchema(): JsonSchema {
  return documentSchema("Mullion lint report", LINT_DOCUMENT, "draft-07");
}
