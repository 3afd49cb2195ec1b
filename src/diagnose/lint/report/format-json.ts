/** A report as data (schemas/lint.v1alpha1.json), and the schema itself. */
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { type JsonSchema, closedObject } from "#core/base/json-schema.ts";
import { pageOf, remedyOf } from "./format-text.ts";
import type { LintFinding, LintReport } from "./report.ts";

function findingJson(finding: LintFinding): Readonly<Record<string, unknown>> {
  const { fix, ...rest } = finding;
  return { ...rest, remedy: fix === "" ? remedyOf(finding.code) : fix, page: pageOf(finding.code) };
}

/** What `-o json` and `-o yaml` print. */
export function lintDocument(report: LintReport): Readonly<Record<string, unknown>> {
  const { findings, suppressed, passedBy, assumptions, counts } = report;
  return {
    apiVersion: "mullion/v1alpha1",
    kind: "LintReport",
    counts,
    assumptions,
    findings: findings.map(findingJson),
    suppressed: suppressed.map(({ finding, reason }) => ({ ...findingJson(finding), reason })),
    passedBy,
  };
}

const TEXT = { type: "string" } as const;
const COUNT = { type: "integer", minimum: 0 } as const;
const PLACE = { type: "integer", minimum: 1 } as const;

const FINDING = {
  code: { enum: [...KNOWLEDGE_CODES] },
  severity: { enum: ["error", "warning", "info"] },
  file: TEXT,
  line: PLACE,
  column: { ...PLACE, description: "In UTF-16 units, from 1." },
  endLine: PLACE,
  endColumn: PLACE,
  title: { ...TEXT, description: "What it is about: `Deployment shop/web`." },
  message: { ...TEXT, description: "One sentence without a full stop." },
  remedy: { ...TEXT, description: "What to write instead." },
  lineText: TEXT,
  page: { ...TEXT, description: "The entry of the code in the documentation." },
} as const;

/** JSON schema, draft 7, of `mullion lint --format json`. */
export function lintSchema(): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Mullion lint report",
    ...closedObject("What `mullion lint --format json` prints.", {
      apiVersion: { const: "mullion/v1alpha1" },
      kind: { const: "LintReport" },
      counts: closedObject("How much was read and found.", {
        files: COUNT,
        documents: COUNT,
        error: COUNT,
        warning: COUNT,
        info: COUNT,
      }),
      assumptions: closedObject("What the rules were asked about.", {
        windows: { type: "array", items: TEXT },
        windowsFrom: TEXT,
        kubernetes: TEXT,
        kubernetesFrom: TEXT,
        clusters: COUNT,
      }),
      findings: { type: "array", items: closedObject("A finding.", FINDING) },
      suppressed: {
        type: "array",
        items: closedObject("A finding that is suppressed, and why.", { ...FINDING, reason: TEXT }),
      },
      passedBy: {
        type: "array",
        items: closedObject("What was not checked, and why.", { file: TEXT, line: PLACE, reason: TEXT }),
      },
    }),
  };
}
