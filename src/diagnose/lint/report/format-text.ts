/** A report for people: each finding with its line and a caret, what to do about it, and a summary. */
import { getEntry } from "../../catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { LintSeverity } from "../../catalogue/entry.ts";
import { blocksOf } from "../../catalogue/prose.ts";
import { wrap } from "#core/base/text-layout.ts";
import type { LintFinding, LintReport } from "./report.ts";

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
  return `docs/reference/codes.md#${code}`;
}

/** The beginning of an entry's remedy: its first paragraph. */
export function remedyOf(code: KnowledgeCode): string {
  const [first] = blocksOf(getEntry(code).remedy).filter((block) => block.kind === "paragraph");
  return first?.kind === "paragraph" ? first.text.replace(/:$/, ".") : "";
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

function formatFinding(finding: LintFinding, isFirst: boolean, style: TextStyle): string {
  const { file, line, column, code, severity, message, fix, title } = finding;
  const number = String(line);
  const excerpt = excerptOf(finding, style.columns - number.length - 8);
  const margin = GUTTER + " ".repeat(number.length);
  const lines = [
    `${style.bold(`${file}:${line}:${column}`)}: ${severityWord(severity, style)}: ${code}${title === file ? "" : style.dim(` (${title})`)}`,
    ...wrap(`${message}.`, style.columns - 2).map((text) => GUTTER + text),
    `${GUTTER}${style.dim(`${number} |`)} ${excerpt.text}`,
    `${margin} ${style.dim("|")} ${style.red(caretsOf(finding, excerpt))}`,
  ];
  const advice = [fix, isFirst && fix === "" ? remedyOf(code) : ""].find((text) => text !== "") ?? "";
  if (advice !== "") lines.push(...wrap(`→ ${advice}`, style.columns - 2).map((text) => GUTTER + text));
  lines.push(`${GUTTER}${style.dim(pageOf(code))}`);
  return `${lines.join("\n")}\n`;
}

function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** Lines about what was passed by; files of one reason are told together. */
const PASSED_MAX = 10;

function formatPassedBy({ passedBy }: LintReport): readonly string[] {
  const reasons = new Map<string, string[]>();
  for (const { file, line, reason } of passedBy) {
    const place = line > 1 ? `${file}:${line}` : file;
    const known = reasons.get(reason);
    if (known === undefined) reasons.set(reason, [place]);
    else known.push(place);
  }
  const lines = [...reasons].map(([reason, places]) => {
    const [first = ""] = places;
    const more = places.length > 1 ? ` and ${plural(places.length - 1, "other")}` : "";
    return `skipped: ${first}${more}: ${reason}`;
  });
  const hidden = lines.length - PASSED_MAX;
  return hidden > 0 ? [...lines.slice(0, PASSED_MAX), `skipped: ${hidden} more reasons`] : lines;
}

function formatCounts({ counts, suppressed }: LintReport, style: TextStyle): string {
  const { error, warning, info, files, documents } = counts;
  const checked = `${plural(documents, "document")} in ${plural(files, "file")} checked`;
  const parts = [
    ...(error > 0 ? [style.red(plural(error, "error"))] : []),
    ...(warning > 0 ? [style.yellow(plural(warning, "warning"))] : []),
    ...(info > 0 ? [plural(info, "note")] : []),
  ];
  const found = parts.length === 0 ? style.green("nothing found") : parts.join(", ");
  return `${checked}: ${found}${suppressed.length > 0 ? `; ${suppressed.length} suppressed` : ""}`;
}

function formatAssumptions({ assumptions }: LintReport): string {
  const { windows, windowsFrom, kubernetes, kubernetesFrom, clusters } = assumptions;
  if (clusters > 1) {
    const titles = [...new Set(windows.map((name) => name.replace(/ \(.*\)$/, "")))].toSorted();
    const minors = kubernetes.split(", ").map((version) => version.replace(/^(\d+\.\d+)\..*/, "$1"));
    return `${clusters} clusters, each by itself: for ${titles.join(", ")} and Kubernetes ${[...new Set(minors)].toSorted().join(", ")}`;
  }
  return `for ${windows.join(", ")} (${windowsFrom}) and Kubernetes ${kubernetes} (${kubernetesFrom})`;
}

/** The whole report as text. */
export function formatText(report: LintReport, style: TextStyle): string {
  const seen = new Set<KnowledgeCode>();
  const parts = report.findings.map((finding) => {
    const isFirst = !seen.has(finding.code);
    seen.add(finding.code);
    return formatFinding(finding, isFirst, style);
  });
  const codes = [...seen];
  const [first] = codes;
  const summary = [
    formatCounts(report, style),
    style.dim(formatAssumptions(report)),
    ...formatPassedBy(report).map((line) => style.dim(line)),
    ...(first === undefined ? [] : [style.dim(`more about a code: mullion explain ${first}`)]),
  ];
  return [...parts, `${summary.join("\n")}\n`].join("\n");
}
