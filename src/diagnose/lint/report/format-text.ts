/** A report for people: each cause with its line and a caret, what to do about it, and a summary. */
import { addToList } from "#core/base/keyed-lists.ts";
import { getEntry, pathOfEntry } from "../../catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { LINT_SEVERITIES, type LintSeverity } from "../../catalogue/entry.ts";
import { blocksOf } from "../../catalogue/prose.ts";
import { formatPageDifference } from "#cluster/trace/format-trace.ts";
import { andMore, plural, wrap } from "#core/base/text-layout.ts";
import { type CauseGroup, type LintFinding, type LintReport, causeGroups } from "./report.ts";

/** How words are emphasised; without colours each function gives its text back. */
export interface TextStyle {
  readonly columns: number;
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  green(text: string): string;
}

/** Where the entry of a code stands in the documentation. */
export function pageOf(code: KnowledgeCode): string {
  return pathOfEntry(code);
}

/** The beginning of an entry's remedy: its first paragraph. */
export function remedyOf(code: KnowledgeCode): string {
  const [first] = blocksOf(getEntry(code).remedy).filter((block) => block.kind === "paragraph");
  return first?.kind === "paragraph" ? first.text.replace(/:$/, ".") : "";
}

/** What the Kubernetes page states instead of what the finding rests on; empty where it states nothing else. */
export function pageLines({ documentation }: LintFinding): readonly string[] {
  return documentation === undefined ? [] : [`* ${formatPageDifference(documentation)}`];
}

const GUTTER = "  ";
/** A line longer than the screen is cut around the caret. */
const CONTEXT_BEFORE = 20;

function severityWord(severity: LintSeverity, style: TextStyle): string {
  if (severity === "error") return style.red("error");
  return severity === "warning" ? style.yellow("warning") : style.dim("info");
}

interface Excerpt {
  readonly text: string;
  readonly column: number;
}

/** The part of a line that fits the screen. Control characters and odd blanks take one column each. */
function excerptOf(finding: LintFinding, width: number): Excerpt {
  const line = finding.lineText.replace(/[\p{Cc}\u00a0\u200b\ufeff]/gu, " ");
  const start = line.length <= width || finding.column <= width / 2 ? 0 : finding.column - 1 - CONTEXT_BEFORE;
  const cut = line.slice(start, start + width);
  const text = `${start > 0 ? "…" : ""}${cut}${start + width < line.length ? "…" : ""}`;
  return { text, column: finding.column - start + (start > 0 ? 1 : 0) };
}

function caretsOf(finding: LintFinding, { text, column }: Excerpt): string {
  const isOneLine = finding.endLine === finding.line;
  const wanted = isOneLine ? finding.endColumn - finding.column : text.trimEnd().length - column + 1;
  const room = Math.max(text.length - column + 1, 1);
  return `${" ".repeat(column - 1)}${"^".repeat(Math.max(1, Math.min(wanted, room)))}`;
}

/** Places of one code that are shown below its cause. */
const PLACES_MAX = 3;

function placeFrom(cause: LintFinding, other: LintFinding): string {
  const isSameFile = other.file === cause.file;
  if (isSameFile && other.line === cause.line && other.column === cause.column) return other.message;
  const place = isSameFile ? `line ${other.line}` : `${other.file}:${other.line}:${other.column}`;
  return other.title === cause.title ? place : `${other.title} (${place})`;
}

/** What else has a cause: a sentence per code. */
export function alsoOf({ finding, others }: CauseGroup): readonly string[] {
  return [...Map.groupBy(others, ({ code }) => code)].map(([code, found]) => {
    const shown = found.slice(0, PLACES_MAX).map((each) => placeFrom(finding, each));
    const count = code === finding.code ? "" : `${code}${found.length > 1 ? ` ×${found.length}` : ""}: `;
    return `also: ${count}${shown.join(", ")}${andMore(found.length - shown.length)}`;
  });
}

/** What is told of a finding beyond its paragraph: what has the same cause, and the page of its code. */
function restOf(group: CauseGroup, style: TextStyle, isLong: boolean): readonly string[] {
  const width = style.columns - 2;
  if (isLong) {
    const also = alsoOf(group).flatMap((text) => wrap(text, width));
    return [...also, style.dim(pageOf(group.finding.code))];
  }
  const count = group.others.length;
  if (count === 0) return [];
  return wrap(`and ${plural(count, "more finding")} of this cause (--long)`, width);
}

function formatGroup(group: CauseGroup, isFirst: boolean, style: TextStyle, isLong: boolean): string {
  const { finding, severity } = group;
  const { file, line, column, code, message, fix, title } = finding;
  const number = String(line);
  const excerpt = excerptOf(finding, style.columns - number.length - 8);
  const margin = GUTTER + " ".repeat(number.length);
  const lines = [
    `${style.bold(`${file}:${line}:${column}`)}: ${severityWord(severity, style)}: ${code}${title === file ? "" : style.dim(` (${title})`)}`,
    ...wrap(`${message}.`, style.columns - 2).map((text) => GUTTER + text),
    `${GUTTER}${style.dim(`${number} |`)} ${excerpt.text}`,
    `${margin} ${style.dim("|")} ${style.red(caretsOf(finding, excerpt))}`,
  ];
  const advice = [fix, isFirst || isLong ? remedyOf(code) : ""].find((text) => text !== "") ?? "";
  if (advice !== "") lines.push(...wrap(`→ ${advice}`, style.columns - 2).map((text) => GUTTER + text));
  for (const page of pageLines(finding))
    lines.push(...wrap(page, style.columns - 2).map((text) => GUTTER + style.dim(text)));
  lines.push(...restOf(group, style, isLong).map((text) => GUTTER + text));
  return `${lines.join("\n")}\n`;
}

/** Lines about what was passed by; files of one reason are told together. */
const PASSED_MAX = 10;

function formatPassedBy({ passedBy }: LintReport): readonly string[] {
  const reasons = new Map<string, string[]>();
  for (const { file, line, reason } of passedBy) {
    const place = line > 1 ? `${file}:${line}` : file;
    addToList(reasons, reason, place);
  }
  const lines = [...reasons].map(([reason, places]) => {
    const [first = ""] = places;
    const more = places.length > 1 ? ` and ${plural(places.length - 1, "other")}` : "";
    return `skipped: ${first}${more}: ${reason}`;
  });
  const hidden = lines.length - PASSED_MAX;
  return hidden > 0 ? [...lines.slice(0, PASSED_MAX), `skipped: ${hidden} more reasons`] : lines;
}

function formatCounts(
  { counts, suppressed, findings }: LintReport,
  groups: readonly CauseGroup[],
  style: TextStyle,
): string {
  const { files, documents } = counts;
  const weighing = (wanted: LintSeverity): number =>
    groups.filter(({ severity }) => severity === wanted).length;
  const [error, warning, info] = [weighing("error"), weighing("warning"), weighing("info")];
  const following = findings.length - groups.length;
  const checked = `${plural(documents, "document")} in ${plural(files, "file")} checked`;
  const parts = [
    ...(error > 0 ? [style.red(plural(error, "error"))] : []),
    ...(warning > 0 ? [style.yellow(plural(warning, "warning"))] : []),
    ...(info > 0 ? [plural(info, "note")] : []),
  ];
  const found = parts.length === 0 ? style.green("nothing found") : parts.join(", ");
  return [
    `${checked}: ${found}`,
    ...(following === 0 ? [] : [`${following} more of the same causes`]),
    ...(suppressed.length > 0 ? [`${suppressed.length} suppressed`] : []),
  ].join("; ");
}

function formatAssumptions({ assumptions }: LintReport): string {
  const { windows, windowsFrom, kubernetes, kubernetesFrom, clusters } = assumptions;
  if (clusters > 1) {
    const titles = [...new Set(windows.map((name) => name.split(" (", 1).join("")))].toSorted();
    const minors = kubernetes.split(", ").map((version) => version.replace(/^(\d+\.\d+)\..*/, "$1"));
    return `${clusters} clusters, each by itself: for ${titles.join(", ")} and Kubernetes ${[...new Set(minors)].toSorted().join(", ")}`;
  }
  return `for ${windows.join(", ")} (${windowsFrom}) and Kubernetes ${kubernetes} (${kubernetesFrom})`;
}

/** What does the most harm first; of the same weight in the order of files and lines. */
function byHarm(groups: readonly CauseGroup[]): readonly CauseGroup[] {
  return groups.toSorted((a, b) => LINT_SEVERITIES.indexOf(b.severity) - LINT_SEVERITIES.indexOf(a.severity));
}

/** The whole report as text: what does the most harm first, a paragraph each; with `isLong` all that is known. */
export function formatText(report: LintReport, style: TextStyle, isLong: boolean): string {
  const seen = new Set<KnowledgeCode>();
  const groups = byHarm(causeGroups(report.findings));
  const parts = groups.map((group) => {
    const { code } = group.finding;
    const isFirst = !seen.has(code);
    seen.add(code);
    return formatGroup(group, isFirst, style, isLong);
  });
  const codes = [...seen];
  const [first] = codes;
  const summary = [
    formatCounts(report, groups, style),
    style.dim(formatAssumptions(report)),
    ...formatPassedBy(report).map((line) => style.dim(line)),
    ...(first === undefined ? [] : [style.dim(`more about a code: mullion explain ${first}`)]),
  ];
  return [...parts, `${summary.join("\n")}\n`].join("\n");
}
