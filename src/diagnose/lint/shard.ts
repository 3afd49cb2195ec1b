/**
 * Findings of one machine or of several, put together: order, what is said twice, causes, counts. One machine alone goes the
 * same way, with one part (schemas/lint-shard.v1alpha1.json).
 */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { SHARD_NUMBER } from "#cluster/verify/report.ts";
import { LINT_SEVERITIES } from "../catalogue/entry.ts";
import { causesOf } from "./causes.ts";
import { PASSED_BY } from "./input/document.ts";
import {
  ASSUMPTIONS,
  LINT_FINDING,
  type LintFinding,
  type LintReport,
  type SuppressedFinding,
  causeGroups,
} from "./report/report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const PLACED_FINDING = {
  text: "A finding before findings are compared with each other.",
  fields: {
    finding: {
      is: {
        text: "A finding.",
        base: (): typeof LINT_FINDING => LINT_FINDING,
        fields: { fix: { is: "text", text: "What to write instead; empty: see the entry's remedy." } },
      },
    },
    isInSource: { is: "boolean", text: "An annotation of the object suppresses it." },
  },
  optional: {
    document: { is: "count", text: "The document that it is about; absent for a file." },
    pods: { list: "count", text: "Of a Service: the documents of its pods." },
    reason: { is: "text", text: "Why it is suppressed." },
  },
} as const;
export interface PlacedFinding extends Omit<ValueOf<typeof PLACED_FINDING>, "finding"> {
  readonly finding: LintFinding;
}

export const LINT_SUBJECT = {
  text: (): string => WORDS.lintSubject,
  fields: {
    version: { is: "text", text: "Of Mullion." },
    input: { is: "text", text: (): string => WORDS.lintSubjectInput },
    severity: (): typeof LINT_SEVERITIES => LINT_SEVERITIES,
    failOn: (): typeof LINT_SEVERITIES => LINT_SEVERITIES,
  },
} as const;

export const LINT_SHARD = {
  text: (): string => WORDS.lintShard,
  document: "LintShard",
  fields: {
    subject: (): typeof LINT_SUBJECT => LINT_SUBJECT,
    shard: (): typeof SHARD_NUMBER => SHARD_NUMBER,
    clusters: {
      list: { list: (): typeof PLACED_FINDING => PLACED_FINDING },
      text: "The findings of each cluster that the files are about.",
    },
    passedBy: { list: (): typeof PASSED_BY => PASSED_BY },
    documents: { is: "count", text: "Those of all shards." },
    files: { list: "text" },
    assumptions: (): typeof ASSUMPTIONS => ASSUMPTIONS,
  },
} as const;
export type LintShard = Omit<ValueOf<typeof LINT_SHARD>, "clusters"> & LintPart;

/** What a machine has found. */
export interface LintPart
  extends Pick<ValueOf<typeof LINT_SHARD>, "shard" | "passedBy" | "documents" | "files" | "assumptions"> {
  readonly clusters: readonly (readonly PlacedFinding[])[];
}

export const LINT_SHARD_SCHEMA: JsonSchema = documentSchema("Mullion shard of lint", LINT_SHARD);

type Compare = (a: PlacedFinding, b: PlacedFinding) => number;

function compareFindings(files: readonly string[]): Compare {
  const order = new Map(files.map((file, index) => [file, index]));
  return (a, b) =>
    (order.get(a.finding.file) ?? 0) - (order.get(b.finding.file) ?? 0) ||
    a.finding.line - b.finding.line ||
    a.finding.column - b.finding.column ||
    (a.finding.code < b.finding.code ? -1 : a.finding.code > b.finding.code ? 1 : 0);
}

/** The same thing said twice of one place is said once. */
function withoutRepetition(placed: readonly PlacedFinding[]): readonly PlacedFinding[] {
  const seen = new Set<string>();
  return placed.filter(({ finding: { file, line, column, code, message } }) => {
    const key = `${file}\n${line}:${column} ${code} ${message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** What was found in a cluster, in order; what follows from something else that is shown says so. */
function withCauses(found: readonly PlacedFinding[], compare: Compare): readonly PlacedFinding[] {
  // As one machine finds them: what is of no document first, then the documents.
  const inTurn = found.toSorted((a, b) => (a.document ?? -1) - (b.document ?? -1));
  const sorted = withoutRepetition(inTurn.toSorted(compare));
  const causes = causesOf(sorted.filter(({ reason }) => reason === undefined));
  return sorted.map((placed) => {
    const cause = causes.get(placed.finding);
    if (cause === undefined) return placed;
    const { code, file, line, column } = cause;
    return { ...placed, finding: { ...placed.finding, causedBy: { code, file, line, column } } };
  });
}

/** A shard that gave no report, as a finding: what it would have said is not known. */
function missingFinding(index: number, count: number): PlacedFinding {
  const code = "lint-shard-missing";
  const file = `shard ${index} of ${count}`;
  const message = WORDS.lintShardMissing;
  const place = { file, line: 1, column: 1, endLine: 1, endColumn: 1, lineText: "" };
  return { finding: { code, severity: "error", ...place, title: file, message, fix: "" }, isInSource: false };
}

/** The report of all parts, at least one; a part that is missing is a finding. */
export function concludeLint(parts: readonly [LintPart, ...LintPart[]]): LintReport {
  const [first] = parts;
  const { shard, passedBy, documents, files, assumptions } = first;
  const compare = compareFindings(files);
  const clusters = first.clusters.map((_, cluster) =>
    withCauses(
      parts.flatMap((part) => part.clusters[cluster] ?? []),
      compare,
    ),
  );
  const known = new Set(parts.map((part) => part.shard.index));
  const missing = Array.from({ length: shard.count }, (_, index) => index + 1).filter(
    (index) => !known.has(index),
  );
  const placed = [
    ...missing.map((index) => missingFinding(index, shard.count)),
    ...withoutRepetition(clusters.flat().toSorted(compare)),
  ];
  const findings = placed.flatMap(({ finding, reason }) => (reason === undefined ? [finding] : []));
  const suppressed: SuppressedFinding[] = placed.flatMap(({ finding, reason, isInSource }) =>
    reason === undefined ? [] : [{ finding, reason, isInSource }],
  );
  const count = (severity: LintFinding["severity"]): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const counts = {
    files: files.length,
    documents,
    error: count("error"),
    warning: count("warning"),
    info: count("info"),
    causes: causeGroups(findings).length,
  };
  const isUnreadable = documents === 0 && findings.length === 0;
  return { findings, suppressed, passedBy, files, assumptions, counts, isUnreadable };
}
