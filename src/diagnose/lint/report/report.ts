/** What linting gives: findings with exact places, what was passed by, and what was taken for granted. */
import type { ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { LINT_SEVERITIES, type LintSeverity } from "../../catalogue/entry.ts";
import type { PassedBy } from "../input/document.ts";
import { PAGE_DIFFERENCE, type PageDifferenceReport } from "#cluster/verify/report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Where a finding is, and which one of the place. */
export const FINDING_PLACE = {
  text: "Where a finding is.",
  fields: {
    code: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
    file: "text",
    line: "position",
    column: { is: "position", text: "In UTF-16 units, from 1." },
  },
} as const;
export type FindingPlace = ValueOf<typeof FINDING_PLACE>;

/** What every finding says, as text and as data. */
export const LINT_FINDING = {
  text: "A finding.",
  base: (): typeof FINDING_PLACE => FINDING_PLACE,
  fields: {
    severity: (): typeof LINT_SEVERITIES => LINT_SEVERITIES,
    endLine: "position",
    endColumn: "position",
    title: { is: "text", text: "What it is about: `Deployment shop/web`." },
    message: { is: "text", text: "One sentence without a full stop." },
    lineText: { is: "text", text: "The line in the file." },
  },
  optional: {
    documentation: {
      is: (): typeof PAGE_DIFFERENCE => PAGE_DIFFERENCE,
      text: (): string => WORDS.lintFindingDocumentation,
    },
    causedBy: {
      is: (): typeof FINDING_PLACE => FINDING_PLACE,
      text: (): string => WORDS.lintFindingCausedBy,
    },
  },
} as const;

export interface LintFinding extends ValueOf<typeof LINT_FINDING> {
  /** What to write instead; empty: see the entry's remedy. */
  readonly fix: string;
  readonly documentation?: Required<PageDifferenceReport>;
}

/** A finding that the user does not want to hear. */
export interface SuppressedFinding {
  readonly finding: LintFinding;
  readonly reason: string;
  /** By an annotation of the object itself; else by `.mullion-lint.yaml`. */
  readonly isInSource: boolean;
}

/** What the rules were asked about. */
export const ASSUMPTIONS = {
  text: "What the rules were asked about.",
  fields: {
    windows: { list: "text" },
    windowsFrom: "text",
    kubernetes: "text",
    kubernetesFrom: "text",
    clusters: {
      is: "count",
      text: (): string => WORDS.assumptionsClusters,
    },
  },
} as const;
export type Assumptions = ValueOf<typeof ASSUMPTIONS>;

export const LINT_COUNTS = {
  text: "How much was read and found.",
  fields: {
    files: "count",
    documents: { is: "count", text: "Those that were checked." },
    error: "count",
    warning: "count",
    info: "count",
    causes: { is: "count", text: "Findings without those that another one causes." },
  },
} as const;

export interface LintReport {
  /** In the order of files, lines and columns. */
  readonly findings: readonly LintFinding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly passedBy: readonly PassedBy[];
  /** All files that were read. */
  readonly files: readonly string[];
  readonly assumptions: Assumptions;
  readonly counts: ValueOf<typeof LINT_COUNTS>;
  /** True when nothing could be read at all. */
  readonly isUnreadable: boolean;
}

/** A cause: the finding that stands for it, and those that have it, too. */
export interface CauseGroup {
  readonly finding: LintFinding;
  /** The weight of the heaviest of them. */
  readonly severity: LintSeverity;
  /** In the order of the report. */
  readonly others: readonly LintFinding[];
}

function placeKey({ code, file, line, column }: FindingPlace): string {
  return `${file}\n${line}:${column} ${code}`;
}

/** Findings by cause, in their order. One whose cause is not among them stands for itself. */
export function causeGroups(findings: readonly LintFinding[]): readonly CauseGroup[] {
  const others = new Map<string, LintFinding[]>();
  for (const finding of findings) if (finding.causedBy === undefined) others.set(placeKey(finding), []);
  const roots = findings.filter(({ causedBy }) => {
    return causedBy === undefined || !others.has(placeKey(causedBy));
  });
  for (const finding of findings)
    if (finding.causedBy !== undefined) others.get(placeKey(finding.causedBy))?.push(finding);
  return roots.map((finding) => {
    const key = placeKey(finding);
    const own = finding.causedBy === undefined ? (others.get(key) ?? []) : [];
    // A second finding of this code at this place is another cause.
    others.delete(key);
    const weights = [finding, ...own].map(({ severity }) => LINT_SEVERITIES.indexOf(severity));
    return { finding, others: own, severity: LINT_SEVERITIES[Math.max(...weights)] ?? finding.severity };
  });
}
