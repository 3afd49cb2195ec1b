/** The engine: files to documents, documents to findings. Pure; never throws for what files hold. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { getEntry } from "../catalogue/catalogue.ts";
import type { LintSeverity } from "../catalogue/entry.ts";
import { type NamedManifests, filesByCluster } from "./clusters.ts";
import { LintContext, type LintOptions } from "./context.ts";
import type { LintDocument, PassedBy, Range } from "./input/document.ts";
import { objectTypeOf, recognize } from "./input/recognize.ts";
import type { Assumptions, LintFinding, LintReport, SuppressedFinding } from "./report/report.ts";
import { LINT_RULES } from "./rules/all-rules.ts";
import type { LintRule, RuleFinding } from "./rule.ts";
import type { SourceText } from "#core/base/source-text.ts";
import {
  type LintConfiguration,
  NO_LINT_CONFIGURATION,
  suppressedByFile,
  suppressionsOf,
} from "./suppressions.ts";

export interface LintInput {
  readonly sources: readonly SourceText[];
  readonly options?: LintOptions;
  readonly configuration?: LintConfiguration;
  /** The files that each cluster file names as its `manifests`; they are among the sources. */
  readonly manifests?: NamedManifests;
  /** Files that could not be decoded, for the report. */
  readonly passedBy?: readonly PassedBy[];
  /** Default: all. */
  readonly rules?: readonly LintRule[];
}

/** Rules by kind of document, and for Kubernetes by type of object. */
class RuleIndex {
  private readonly byKey = new Map<string, readonly LintRule[]>();
  private readonly rules: readonly LintRule[];

  constructor(rules: readonly LintRule[]) {
    this.rules = rules;
  }

  for(document: LintDocument): readonly LintRule[] {
    const type = document.kind === "kubernetes" ? objectTypeOf(document.value) : "";
    const key = `${document.kind} ${type}`;
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const found = this.rules.filter(
      ({ applies, objects }) =>
        applies.includes(document.kind) && (type === "" || objects === undefined || objects.includes(type)),
    );
    this.byKey.set(key, found);
    return found;
  }
}

interface Placed {
  readonly finding: LintFinding;
  readonly reason: string | undefined;
  readonly isInSource: boolean;
}

interface Draft {
  readonly code: KnowledgeCode;
  readonly severity: LintSeverity;
  readonly found: Pick<RuleFinding, "at" | "message" | "fix">;
}

function severityOf(code: KnowledgeCode): LintSeverity {
  return getEntry(code).severity ?? "warning";
}

function draftOf(rule: LintRule, found: RuleFinding): Draft {
  const code = found.code ?? rule.code;
  return { code, severity: found.severity ?? severityOf(code), found };
}

function place(draft: Draft, source: SourceText, title: string, range: Range): LintFinding {
  const { line, column } = source.positionOf(range.start);
  const end = source.positionOf(Math.max(range.end, range.start + 1));
  return {
    code: draft.code,
    severity: draft.severity,
    file: source.file,
    line,
    column,
    endLine: end.line,
    endColumn: end.column,
    title,
    message: draft.found.message,
    fix: draft.found.fix ?? "",
    lineText: source.lineText(line),
  };
}

/** The object in whose annotations suppressions stand. */
function objectOf(document: LintDocument): LintDocument {
  return document.host ?? document;
}

class Linting {
  readonly context: LintContext;
  private readonly index: RuleIndex;
  private readonly configuration: LintConfiguration;
  readonly placed: Placed[] = [];

  constructor(context: LintContext, rules: readonly LintRule[], configuration: LintConfiguration) {
    this.context = context;
    this.index = new RuleIndex(rules);
    this.configuration = configuration;
  }

  checkDocument(document: LintDocument): void {
    if (this.context.isMadeHere(objectOf(document))) return;
    const drafts: Draft[] = [];
    for (const rule of this.index.for(document))
      for (const found of rule.check(document, this.context)) drafts.push(draftOf(rule, found));
    const { suppressions, faults } = suppressionsOf(objectOf(document));
    if (document.host === undefined)
      for (const fault of faults)
        drafts.push({
          code: "lint-suppression-invalid",
          severity: severityOf("lint-suppression-invalid"),
          found: fault,
        });
    if (drafts.length === 0) return;
    const ranges = document.locate(drafts.map(({ found }) => found.at));
    for (const [position, draft] of drafts.entries()) {
      const finding = place(draft, document.source, document.title, ranges[position] ?? { start: 0, end: 1 });
      const byObject = suppressions.find(({ code }) => code === "*" || code === draft.code);
      this.add(finding, byObject?.reason);
    }
  }

  add(finding: LintFinding, reason?: string): void {
    const byFile = suppressedByFile(this.configuration, finding.code, finding.file);
    this.placed.push({ finding, reason: reason ?? byFile?.reason, isInSource: reason !== undefined });
  }

  checkConfiguration(): void {
    const { source, faults, locate } = this.configuration;
    if (source === undefined) return;
    const ranges = locate(faults.map(({ at }) => at));
    for (const [index, found] of faults.entries()) {
      const code = "lint-suppression-invalid";
      const draft = { code, severity: severityOf(code), found } as const;
      this.add(place(draft, source, source.file, ranges[index] ?? { start: 0, end: 1 }));
    }
  }
}

const ORIGINS = {
  flag: "as the flag says",
  nodes: "from the Node objects",
  "cluster-file": "from the cluster file",
  assumed: "assumed",
} as const;

/** What the rules were asked about, cluster by cluster. */
function assumptionsOf(contexts: readonly LintContext[]): Assumptions {
  // A group without Nodes of its own says nothing beside clusters that do.
  const said = contexts.filter(({ windows }) => windows.origin !== "assumed");
  const all = (said.length === 0 ? contexts : said).map(assumptionOf);
  const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];
  return {
    windows: unique(all.flatMap(({ windows }) => windows)),
    windowsFrom: unique(all.map(({ windowsFrom }) => windowsFrom)).join(", "),
    kubernetes: unique(all.map(({ kubernetes }) => kubernetes)).join(", "),
    kubernetesFrom: unique(all.map(({ kubernetesFrom }) => kubernetesFrom)).join(", "),
    clusters: contexts.length,
  };
}

function assumptionOf({ windows, kubernetes }: LintContext): Omit<Assumptions, "clusters"> {
  const names = windows.builds.map(({ profile, revision }) =>
    revision === undefined ? profile.title : `${profile.title} (${profile.build}.${revision})`,
  );
  const { minor, patch, origin } = kubernetes;
  return {
    windows: [...new Set(names)],
    windowsFrom: ORIGINS[windows.origin],
    kubernetes: patch === undefined ? `1.${minor}` : `1.${minor}.${patch}`,
    kubernetesFrom: ORIGINS[origin],
  };
}

function compareFindings(order: ReadonlyMap<string, number>): (a: Placed, b: Placed) => number {
  return (a, b) =>
    (order.get(a.finding.file) ?? 0) - (order.get(b.finding.file) ?? 0) ||
    a.finding.line - b.finding.line ||
    a.finding.column - b.finding.column ||
    (a.finding.code < b.finding.code ? -1 : a.finding.code > b.finding.code ? 1 : 0);
}

/** The same thing said twice of one place is said once. */
function withoutRepetition(placed: readonly Placed[]): readonly Placed[] {
  const seen = new Set<string>();
  return placed.filter(({ finding: { file, line, column, code, message } }) => {
    const key = `${file}\n${line}:${column} ${code} ${message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Checks files. */
export function lint(input: LintInput): LintReport {
  const { sources, options = {}, configuration = NO_LINT_CONFIGURATION, rules = LINT_RULES } = input;
  const passedBy: PassedBy[] = [...(input.passedBy ?? [])];
  const recognized = sources.map((source) => recognize(source));
  const documents = recognized.flatMap((found) => found.documents);
  const files = recognized.map((found, index) => ({
    file: sources[index]?.file ?? "",
    documents: found.documents,
  }));
  const clusters = filesByCluster(files, input.manifests).map(
    (own) =>
      new Linting(
        new LintContext(
          own.flatMap((each) => each.documents),
          options,
        ),
        rules,
        configuration,
      ),
  );
  const [linting = new Linting(new LintContext([], options), rules, configuration)] = clusters;
  linting.checkConfiguration();
  for (const { faults, passedBy: left } of recognized) {
    passedBy.push(...left);
    for (const { source, code, offset, message, fix } of faults) {
      // Strict readers refuse a field that is given twice, others take the last one.
      const severity = message.endsWith("is given twice") ? "warning" : severityOf(code);
      const draft = { code, severity, found: { at: { offset }, message, fix } } as const;
      linting.add(place(draft, source, source.file, { start: offset, end: offset + 1 }));
    }
  }
  for (const cluster of clusters)
    for (const document of cluster.context.documents) cluster.checkDocument(document);
  const order = new Map(sources.map((source, index) => [source.file, index]));
  const placed = withoutRepetition(
    clusters.flatMap((cluster) => cluster.placed).toSorted(compareFindings(order)),
  );
  const assumptions = assumptionsOf(clusters.map(({ context }) => context));
  const names = sources.map(({ file }) => file);
  return reportOf(placed, passedBy, documents.length, names, assumptions);
}

function reportOf(
  placed: readonly Placed[],
  passedBy: readonly PassedBy[],
  documents: number,
  files: readonly string[],
  assumptions: Assumptions,
): LintReport {
  const findings = placed.flatMap(({ finding, reason }) => (reason === undefined ? [finding] : []));
  const suppressed: SuppressedFinding[] = placed.flatMap(({ finding, reason, isInSource }) =>
    reason === undefined ? [] : [{ finding, reason, isInSource }],
  );
  const count = (severity: LintSeverity): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const counts = {
    files: files.length,
    documents,
    error: count("error"),
    warning: count("warning"),
    info: count("info"),
  };
  const isUnreadable = documents === 0 && findings.length === 0;
  return { findings, suppressed, passedBy, files, assumptions, counts, isUnreadable };
}
