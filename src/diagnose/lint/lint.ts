/** The engine: files to documents, documents to findings. Pure; never throws for what files hold. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { getEntry } from "../catalogue/catalogue.ts";
import { pageDifference } from "../catalogue/documentation-texts.ts";
import type { LintSeverity } from "../catalogue/entry.ts";
import { FROM_PODS } from "./causes.ts";
import { type NamedManifests, type ReadFile, filesByCluster, hasNodes, isClusterFile } from "./clusters.ts";
import { LintContext, type LintOptions } from "./context.ts";
import type { LintDocument, PassedBy, Range } from "./input/document.ts";
import { objectTypeOf, recognize } from "./input/recognize.ts";
import type { Assumptions, LintFinding, LintReport } from "./report/report.ts";
import { type LintPart, type PlacedFinding, concludeLint } from "./shard.ts";
import { type ShardNumber, WHOLE } from "#cluster/verify/report.ts";
import { LINT_RULES } from "./rules/all-rules.ts";
import type { LintRule, RuleFinding } from "./rule.ts";
import type { ManifestFile, Manifests } from "#control-plane/load/manifests.ts";
import { readInput } from "#cluster/input/read-input.ts";
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
  /** Reads manifests; default: from their texts. */
  readonly load?: (files: readonly ManifestFile[]) => Manifests;
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

interface Draft {
  readonly code: KnowledgeCode;
  readonly severity: LintSeverity;
  readonly found: Pick<RuleFinding, "at" | "message" | "fix" | "differs">;
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
  const { differs } = draft.found;
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
    ...(differs === undefined ? {} : { documentation: pageDifference(differs) }),
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
  private readonly numbers: ReadonlyMap<LintDocument, number>;
  readonly placed: PlacedFinding[] = [];

  /** @param first the number of its first document among those of all clusters. */
  constructor(
    context: LintContext,
    rules: readonly LintRule[],
    configuration: LintConfiguration,
    first: number,
  ) {
    this.context = context;
    this.numbers = new Map(context.documents.map((document, index) => [document, first + index]));
    this.index = new RuleIndex(rules);
    this.configuration = configuration;
  }

  private checkDocument(document: LintDocument): void {
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
      this.add(finding, document, byObject?.reason);
    }
  }

  add(finding: LintFinding, document?: LintDocument, reason?: string): void {
    const byFile = suppressedByFile(this.configuration, finding.code, finding.file);
    const why = reason ?? byFile?.reason;
    const number = document === undefined ? undefined : this.numbers.get(document);
    this.placed.push({
      finding,
      ...(number === undefined ? {} : { document: number }),
      ...(document === undefined || !FROM_PODS.has(finding.code) ? {} : { pods: this.podsBehind(document) }),
      ...(why === undefined ? {} : { reason: why }),
      isInSource: reason !== undefined,
    });
  }

  private podsBehind(service: LintDocument): readonly number[] {
    return this.context.podsBehind(service).flatMap(({ document }) => this.numbers.get(document) ?? []);
  }

  /** Checks the documents of a shard: by their numbers, in turn. */
  checkDocuments({ index, count }: ShardNumber): void {
    for (const [document, number] of this.numbers)
      if (number % count === index - 1) this.checkDocument(document);
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
  definition: "from the cluster's definition",
  pods: "by images and selectors of pods",
  assumed: "assumed",
} as const;

/** What the rules were asked about, cluster by cluster. */
function assumptionsOf(contexts: readonly LintContext[]): Assumptions {
  // A group without Nodes of its own says nothing beside clusters that do.
  const said = contexts.filter(({ windows: { origin } }) => origin !== "assumed" && origin !== "pods");
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

/** Of rules that find everything which has their code. */
const RULE_CODES: ReadonlySet<KnowledgeCode> = new Set(
  LINT_RULES.filter(({ isPartial }) => isPartial !== true).map(({ code }) => code),
);

/**
 * What the files of one cluster say against each other about its network, in the words of `verify`, which has each for a
 * finding. Files without Nodes are asked nothing: they may be of several clusters.
 */
function contradictionsIn(
  files: readonly ReadFile[],
  sources: ReadonlyMap<string, SourceText>,
  load: LintInput["load"],
): readonly LintFinding[] {
  if (!files.some(hasNodes) || files.some(isClusterFile)) return [];
  const texts = files.flatMap(({ file }) => {
    const source = sources.get(file);
    return source === undefined ? [] : [{ name: file, text: source.text }];
  });
  const read = readInput(texts, {}, load);
  // What cannot be read as a cluster is what the rules find.
  if (!("input" in read)) return [];
  return read.input.contradictions.flatMap(({ code, file, line, column, message, advice }) => {
    const source = sources.get(file);
    // What has a rule of its own is found by it.
    if (source === undefined || RULE_CODES.has(code)) return [];
    const start = source.offsetAt({ line: Math.max(line, 1), column: Math.max(column, 1) });
    const draft = {
      code,
      severity: severityOf(code),
      found: { at: { offset: start }, message, fix: advice },
    };
    return [place(draft, source, file, { start, end: start + 1 })];
  });
}

/** Checks files. */
export function lint(input: LintInput): LintReport {
  return concludeLint([examine(input, WHOLE)]);
}

/** What a shard finds: each reads all files, and asks the rules about its documents. The first one has what is of no document. */
export function examine(input: LintInput, shard: ShardNumber): LintPart {
  const { sources, options = {}, configuration = NO_LINT_CONFIGURATION, rules = LINT_RULES } = input;
  const passedBy: PassedBy[] = [...(input.passedBy ?? [])];
  const recognized = sources.map((source) => recognize(source));
  const documents = recognized.reduce((sum, found) => sum + found.documents.length, 0);
  const files = recognized.map((found, index) => ({
    file: sources[index]?.file ?? "",
    documents: found.documents,
  }));
  const byName = new Map(sources.map((source) => [source.file, source]));
  const isFirst = shard.index === 1;
  let numbered = 0;
  const clusters = filesByCluster(files, input.manifests).map((own) => {
    const ofOwn = own.flatMap((each) => each.documents);
    const cluster = new Linting(new LintContext(ofOwn, options), rules, configuration, numbered);
    numbered += ofOwn.length;
    if (isFirst && rules === LINT_RULES)
      for (const finding of contradictionsIn(own, byName, input.load)) cluster.add(finding);
    return cluster;
  });
  const [linting = new Linting(new LintContext([], options), rules, configuration, 0)] = clusters;
  if (isFirst) linting.checkConfiguration();
  for (const { faults, passedBy: left } of recognized) {
    passedBy.push(...left);
    for (const { source, code, offset, message, fix } of isFirst ? faults : []) {
      // Strict readers refuse a field that is given twice, others take the last one.
      const severity = message.endsWith("is given twice") ? "warning" : severityOf(code);
      const draft = { code, severity, found: { at: { offset }, message, fix } } as const;
      linting.add(place(draft, source, source.file, { start: offset, end: offset + 1 }));
    }
  }
  for (const cluster of clusters) cluster.checkDocuments(shard);
  return {
    shard,
    clusters: (clusters.length === 0 ? [linting] : clusters).map(({ placed }) => placed),
    passedBy,
    documents,
    files: sources.map(({ file }) => file),
    assumptions: assumptionsOf(clusters.map(({ context }) => context)),
  };
}
