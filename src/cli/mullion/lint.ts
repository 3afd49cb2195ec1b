/** `mullion lint`: files and folders checked against what Windows can and cannot do. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, dirname, extname, join, normalize, relative, resolve } from "node:path";
import { LIMITS } from "#core/base/limits.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";
import { LINT_SEVERITIES, type LintSeverity } from "#diagnose/catalogue/entry.ts";
import { PROFILE_NAMES, parseProfile } from "#core/catalogue/profiles.ts";
import { type LintOptions, parseKubernetes } from "#diagnose/lint/context.ts";
import type { PassedBy } from "#diagnose/lint/input/document.ts";
import { formatText } from "#diagnose/lint/report/format-text.ts";
import { type LintInput, examine, lint as lintSources } from "#diagnose/lint/lint.ts";
import { concludeLint } from "#diagnose/lint/shard.ts";
import { WHOLE } from "#cluster/verify/report.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { type LintReport, causeGroups } from "#diagnose/lint/report/report.ts";
import { LINT_RULES } from "#diagnose/lint/rules/all-rules.ts";
import { type SourceText, decodeSource } from "#core/base/source-text.ts";
import {
  CONFIGURATION_FILE,
  type LintConfiguration,
  NO_LINT_CONFIGURATION,
  readConfiguration,
} from "#diagnose/lint/suppressions.ts";
import { isClusterFile } from "#cluster/input/split-text.ts";
import { manifestsOf } from "./cluster/read-cluster-inputs.ts";
import { Failure, describeSystemError } from "./failure.ts";
import { usage } from "./options.ts";
import { STANDARD_INPUT } from "./read-inputs.ts";
import { packageVersion } from "../installation.ts";
import { formatDocument, isDocumentFormat } from "./print-document.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { LintFormat, LintRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Files that a folder is searched for; a file that is named is read whatever it is called. */
const ENDINGS: ReadonlySet<string> = new Set([
  ".yaml",
  ".yml",
  ".json",
  ".conf",
  ".conflist",
  ".env",
  ".template",
  ".txt",
  ".ps1",
  ".psm1",
  ".cmd",
  ".bat",
  ".sh",
]);
/** Folders that hold other people's files. */
const NOT_SEARCHED = /(?:^|[\\/])(?:node_modules|\.git|\.hg|\.svn)[\\/]/;

interface Found {
  readonly path: string;
  /** Named by the user, not found in a folder. */
  readonly isNamed: boolean;
}

async function findFiles(paths: readonly string[], terminal: Terminal): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, true);
    if (inside === undefined) found.set(path, { path, isNamed: true });
    for (const file of inside ?? []) {
      const isConfiguration = basename(file) === CONFIGURATION_FILE;
      const isSearched = ENDINGS.has(extname(file).toLowerCase()) && !NOT_SEARCHED.test(file);
      if ((isSearched || isConfiguration) && !found.has(file))
        found.set(file, { path: file, isNamed: false });
    }
  }
  if (found.size <= LIMITS.inputFilesMax) return [...found.values()];
  throw new Failure(
    "manifest-too-large",
    `there are ${found.size} files, more than ${LIMITS.inputFilesMax}`,
    "Name the folders that hold manifests and node configuration.",
  );
}

interface Reading {
  readonly sources: SourceText[];
  readonly passedBy: PassedBy[];
  configuration: LintConfiguration;
}

function unreadable(path: string, error: unknown): Failure {
  return new Failure(
    "cluster-file-unreadable",
    `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
    "The path is relative to the folder you are in.",
  );
}

async function readFiles(paths: readonly string[], terminal: Terminal): Promise<Reading> {
  const reading: Reading = { sources: [], passedBy: [], configuration: NO_LINT_CONFIGURATION };
  let left: number = LIMITS.inputBytesMax;
  for (const { path, isNamed } of await findFiles(paths, terminal)) {
    const name = path === "-" ? STANDARD_INPUT : path;
    let bytes: Uint8Array;
    try {
      bytes = await terminal.readBytes(path, left);
    } catch (error) {
      if (isNamed) throw unreadable(path, error);
      reading.passedBy.push({ file: name, line: 1, reason: describeSystemError(error) });
      continue;
    }
    left -= bytes.length;
    const source = decodeSource(name, bytes);
    if (source === undefined)
      reading.passedBy.push({ file: name, line: 1, reason: "the file holds no text" });
    else if (basename(path) === CONFIGURATION_FILE) reading.configuration = readConfiguration(source);
    else reading.sources.push(source);
  }
  return reading;
}

/** What a cluster file takes from a folder among its `manifests`, as verify does. */
const MANIFEST_ENDINGS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** Reads what cluster files name as their `manifests`, unless it was read already. */
async function readManifests(reading: Reading, terminal: Terminal): Promise<Map<string, readonly string[]>> {
  const known = new Map(reading.sources.map(({ file }) => [normalize(file), file]));
  const named = new Map<string, readonly string[]>();
  for (const { file, text } of reading.sources.filter((source) => isClusterFile(source.text))) {
    const files: string[] = [];
    for (const path of manifestsOf({ name: file, text })) {
      const inside = await terminal.listFolder(path, false);
      files.push(...(inside?.filter((each) => MANIFEST_ENDINGS.has(extname(each).toLowerCase())) ?? [path]));
    }
    for (const path of files) {
      if (known.has(normalize(path))) continue;
      const source = await readManifest(path, file, reading, terminal);
      if (source !== undefined) known.set(normalize(path), source.file);
    }
    named.set(
      file,
      files.flatMap((path) => known.get(normalize(path)) ?? []),
    );
  }
  return named;
}

async function readManifest(
  path: string,
  clusterFile: string,
  { sources, passedBy }: Reading,
  terminal: Terminal,
): Promise<SourceText | undefined> {
  try {
    const source = decodeSource(path, await terminal.readBytes(path, LIMITS.inputBytesMax));
    if (source === undefined) passedBy.push({ file: path, line: 1, reason: "the file holds no text" });
    else sources.push(source);
    return source;
  } catch (error) {
    const reason = `${clusterFile} names it, and it cannot be read: ${describeSystemError(error)}`;
    passedBy.push({ file: path, line: 1, reason });
    return undefined;
  }
}

/** The configuration of the folder that the command runs in, unless one stands in a folder that is searched. */
async function ownConfiguration(terminal: Terminal): Promise<LintConfiguration> {
  try {
    const source = decodeSource(CONFIGURATION_FILE, await terminal.readBytes(CONFIGURATION_FILE));
    return source === undefined ? NO_LINT_CONFIGURATION : readConfiguration(source);
  } catch {
    // No such file: nothing is suppressed.
    return NO_LINT_CONFIGURATION;
  }
}

function optionsOf({ profile, kubernetes, isWindows }: LintRequest): LintOptions {
  const build = profile === undefined ? undefined : parseProfile(profile);
  if (profile !== undefined && build === undefined)
    throw usage(
      `${JSON.stringify(profile)} is not a build of Windows`,
      WORDS.adviceLintProfile({ profileNames: PROFILE_NAMES.join(", ") }),
    );
  const version = kubernetes === undefined ? undefined : parseKubernetes(kubernetes);
  if (kubernetes !== undefined && version === undefined)
    throw usage(
      `${JSON.stringify(kubernetes)} is not a version of Kubernetes`,
      "Write it as 1.34 or v1.34.2.",
    );
  return {
    ...(build === undefined ? {} : { profile: build }),
    ...(version === undefined ? {} : { kubernetes: version }),
    ...(isWindows ? { isWindows } : {}),
  };
}

function weighs(severity: LintSeverity, least: LintSeverity): boolean {
  return LINT_SEVERITIES.indexOf(severity) >= LINT_SEVERITIES.indexOf(least);
}

/** The findings that weigh at least so much, with causes of such. */
function atLeast(report: LintReport, severity: LintSeverity): LintReport {
  const kept = new Set(
    causeGroups(report.findings)
      .filter((group) => weighs(group.severity, severity))
      .flatMap(({ finding, others }) => [
        finding,
        ...others.filter((each) => weighs(each.severity, severity)),
      ]),
  );
  const findings = report.findings.filter((finding) => kept.has(finding));
  const count = (wanted: LintSeverity): number =>
    findings.filter((found) => found.severity === wanted).length;
  const counts = {
    ...report.counts,
    error: count("error"),
    warning: count("warning"),
    info: count("info"),
    causes: causeGroups(findings).length,
  };
  return { ...report, findings, counts };
}

/** The folder of the repository that this one is in: the nearest one with `.git`; undefined outside of any. */
function repositoryRoot(): string | undefined {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** The report with paths as code scanning looks for them: from the root of the repository. Others stay as they are. */
function inRepository(report: LintReport): LintReport {
  const root = repositoryRoot();
  if (root === undefined) return report;
  const place = (file: string): string => {
    const path = relative(root, resolve(file));
    return file === "-" || path.startsWith("..") ? file : path;
  };
  return {
    ...report,
    findings: report.findings.map(({ causedBy, ...finding }) => ({
      ...finding,
      file: place(finding.file),
      ...(causedBy === undefined ? {} : { causedBy: { ...causedBy, file: place(causedBy.file) } }),
    })),
    suppressed: report.suppressed.map((each) => ({
      ...each,
      finding: { ...each.finding, file: place(each.finding.file) },
    })),
    passedBy: report.passedBy.map((each) => ({ ...each, file: place(each.file) })),
  };
}

/** Formats are loaded when they are asked for: the XML writer alone takes longer to load than everything else. */
async function format(
  report: LintReport,
  { format: wanted, isLong }: Pick<LintRequest, "format" | "isLong">,
  terminal: Terminal,
): Promise<string> {
  switch (wanted) {
    case "json":
    case "yaml":
      return formatDocument(
        (await import("#diagnose/lint/report/format-json.ts")).lintDocument(report),
        wanted,
      );
    case "sarif":
      return (await import("#diagnose/lint/report/format-sarif.ts")).formatSarif(
        inRepository(report),
        packageVersion(),
      );
    case "junit":
      return (await import("#diagnose/lint/report/format-junit.ts")).formatJunit(report);
    case "text":
      return formatText(report, terminal, isLong);
  }
}

function listRules(wanted: LintFormat, terminal: Terminal): ExitCode {
  const codes = [...new Set(LINT_RULES.map(({ code }) => code))].toSorted();
  const rows = codes.map((code) => {
    const { severity = "warning", title } = getEntry(code);
    const applies = [
      ...new Set(LINT_RULES.filter((rule) => rule.code === code).flatMap((rule) => rule.applies)),
    ];
    return { code, severity, applies, title };
  });
  if (isDocumentFormat(wanted)) {
    terminal.stdout(formatDocument(rows, wanted));
    return 0;
  }
  if (wanted !== "text")
    throw usage("--list is printed as text, json or yaml", "Leave out -o, or write json or yaml.");
  const width = Math.max(...codes.map((code) => code.length));
  for (const { code, severity, title } of rows)
    terminal.stdout(`${code.padEnd(width)}  ${severity.padEnd(7)}  ${title}\n`);
  terminal.stdout(`\n${rows.length} rules. More about one: mullion explain CODE\n`);
  return 0;
}

function nothingToRead({ passedBy }: LintReport): Failure {
  const [first] = passedBy;
  const others = passedBy.length > 1 ? `, and ${passedBy.length - 1} more` : "";
  const why = first === undefined ? "" : `: ${first.file}: ${first.reason}${others}`;
  return new Failure(
    "input-without-documents",
    `there is nothing here that lint reads${why}`,
    WORDS.adviceLintInput,
  );
}

/** Checks what the paths name. */
export async function lint(request: LintRequest, terminal: Terminal): Promise<ExitCode> {
  if (request.isList) return listRules(request.format, terminal);
  if (request.paths.length === 0)
    throw usage("no file is given", 'Name files or folders, or "-" for standard input.');
  const options = optionsOf(request);
  const reading = await readFiles(request.paths, terminal);
  const isOwn = reading.configuration !== NO_LINT_CONFIGURATION;
  const configuration = isOwn ? reading.configuration : await ownConfiguration(terminal);
  const manifests = await readManifests(reading, terminal);
  const { sources, passedBy } = reading;
  const input = { sources, manifests, passedBy, options, configuration };
  if (request.shard === undefined) return printLint(lintSources(input), request, terminal);
  const { severity, failOn } = request;
  const subject = { version: packageVersion(), input: digestOf(input), severity, failOn };
  const part = examine(input, request.shard);
  const own = concludeLint([{ ...part, shard: WHOLE }]);
  if (own.isUnreadable && part.documents === 0) throw nothingToRead(own);
  const document = { apiVersion: DOCUMENT_VERSION, kind: "LintShard", subject, ...part };
  terminal.stdout(formatDocument(document, "json"));
  return failsOn(atLeast(own, severity), failOn) ? 1 : 0;
}

/** Of what is checked: the same on every machine that reads the same texts with the same flags, wherever they lie. */
function digestOf({ sources, options, configuration = NO_LINT_CONFIGURATION }: LintInput): string {
  const hash = createHash("sha256").update(JSON.stringify(options ?? {}));
  const own = configuration.source === undefined ? [] : [configuration.source];
  for (const { text } of [...sources, ...own]) hash.update(`\n${text.length}\n`).update(text);
  return hash.digest("hex");
}

function failsOn({ findings }: LintReport, least: LintSeverity): boolean {
  return findings.some(({ severity }) => weighs(severity, least));
}

/** Prints a report in the form that is asked for. */
export async function printLint(
  report: LintReport,
  request: Pick<LintRequest, "severity" | "failOn" | "format" | "isLong">,
  terminal: Terminal,
): Promise<ExitCode> {
  const shown = atLeast(report, request.severity);
  if (!report.isUnreadable || request.format !== "text")
    terminal.stdout(await format(shown, request, terminal));
  if (report.isUnreadable) throw nothingToRead(report);
  return failsOn(shown, request.failOn) ? 1 : 0;
}
