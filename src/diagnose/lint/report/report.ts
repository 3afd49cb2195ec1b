/** What linting gives: findings with exact places, what was passed by, and what was taken for granted. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { LintSeverity } from "../../catalogue/entry.ts";
import type { PassedBy } from "../input/document.ts";

export interface LintFinding {
  readonly code: KnowledgeCode;
  readonly severity: LintSeverity;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  /** What it is about: `Deployment shop/web`. */
  readonly title: string;
  /** One sentence without a full stop. */
  readonly message: string;
  /** What to write instead; empty: see the entry's remedy. */
  readonly fix: string;
  /** The line in the file, for people. */
  readonly lineText: string;
}

/** A finding that the user does not want to hear. */
export interface SuppressedFinding {
  readonly finding: LintFinding;
  readonly reason: string;
  /** By an annotation of the object itself; else by `.mullion-lint.yaml`. */
  readonly isInSource: boolean;
}

/** What the rules were asked about. */
export interface Assumptions {
  readonly windows: readonly string[];
  readonly windowsFrom: string;
  readonly kubernetes: string;
  readonly kubernetesFrom: string;
  /** How many clusters the files are about; each is checked by itself. */
  readonly clusters: number;
}

export interface LintReport {
  /** In the order of files, lines and columns. */
  readonly findings: readonly LintFinding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly passedBy: readonly PassedBy[];
  /** All files that were read. */
  readonly files: readonly string[];
  readonly assumptions: Assumptions;
  readonly counts: {
    readonly files: number;
    /** That were checked. */
    readonly documents: number;
    readonly error: number;
    readonly warning: number;
    readonly info: number;
  };
  /** True when nothing could be read at all. */
  readonly isUnreadable: boolean;
}
