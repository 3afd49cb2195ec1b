/** The findings of a log as text for a terminal. */
import { plural } from "#core/base/text-layout.ts";
import { type Emphasis, formatCertainty, formatExplanation, nameOf } from "../errors/format-error.ts";
import { decodeHresult, formatNumber } from "../errors/windows/hresult.ts";
import type { Standing } from "../errors/known-error.ts";
import {
  type FileLog,
  type LogFinding,
  type UnknownNumber,
  byLikeliestFault,
  findingsOf,
  unknownNumbersOf,
} from "./findings.ts";
import { type ReadLog, formatDescribed } from "./read-log.ts";

const INDENT = "   ";
const LINE_WIDTH_MAX = 220;

const STANDING_TITLES: Readonly<Record<Standing, string>> = {
  root: "Names the fault",
  refusal: "Calls that were refused",
  wrapper: "What follows from it",
};

/** `1 time, line 17`, `842 times, lines 17 to 1190`. */
function formatPlaces({ count, firstLine, lastLine }: Omit<LogFinding, "error" | "standing">): string {
  const times = count === 1 ? "once" : `${count} times`;
  return firstLine === lastLine
    ? `${times}, line ${firstLine}`
    : `${times}, lines ${firstLine} to ${lastLine}`;
}

function cut(text: string): string {
  return text.length <= LINE_WIDTH_MAX ? text : `${text.slice(0, LINE_WIDTH_MAX - 1)}…`;
}

function setIn(lines: readonly string[]): string {
  return lines.map((line) => (line === "" ? "" : INDENT + line)).join("\n");
}

function formatFinding(finding: LogFinding, number: number, columns: number, bold: Emphasis): string {
  const { error } = finding;
  const hresult = error.hresults[0];
  const title = hresult === undefined ? nameOf(error) : `${nameOf(error)} ${formatNumber(hresult)}`;
  const body = [
    formatPlaces(finding),
    `${finding.firstLine} | ${cut(finding.line)}`,
    `Cause: ${formatCertainty(error.certainty, error.standing)}`,
    "",
    ...formatExplanation(error, columns - INDENT.length),
  ];
  return `${bold(`${number}. ${title}`)}\n${setIn(body)}\n`;
}

function formatUnknown(numbers: readonly UnknownNumber[], bold: Emphasis): string {
  const lines = numbers.map((item) => {
    const { facilityName = "an unknown facility", code } = decodeHresult(item.hresult);
    const what = `${formatNumber(item.hresult)}: code ${code} of ${facilityName}, ${formatPlaces(item)}`;
    return `${INDENT}${what}\n${INDENT}${item.firstLine} | ${cut(item.line)}\n`;
  });
  return `${bold("Codes that are not known here")}\n\n${lines.join("\n")}`;
}

function formatSummary(file: string, log: ReadLog, findings: readonly LogFinding[]): string {
  const lines = plural(log.lines, "line");
  const errors = plural(findings.length, "known error");
  return `${file}: ${lines}, ${findings.length === 0 ? "no known error" : errors}\n`;
}

/** What was found, the likeliest fault first, for a terminal of `columns` columns. */
export function formatFindings(file: string, log: ReadLog, columns: number, bold: Emphasis): string {
  const findings = findingsOf(log);
  const unknown = unknownNumbersOf(log);
  const parts = [`${log.described.map(formatDescribed).join("")}${formatSummary(file, log, findings)}`];
  let standing: Standing | undefined;
  for (const [index, finding] of findings.entries()) {
    if (finding.standing !== standing) {
      standing = finding.standing;
      parts.push(`${bold(`== ${STANDING_TITLES[standing]}`)}\n`);
    }
    parts.push(formatFinding(finding, index + 1, columns, bold));
  }
  if (unknown.length > 0) parts.push(formatUnknown(unknown, bold));
  return parts.join("\n");
}

/** The findings of a folder's files, each file by itself, the likeliest fault first; then how many show nothing, and what was not read. */
export function formatFolder(
  logs: readonly FileLog[],
  skipped: readonly { readonly file: string; readonly reason: string }[],
  columns: number,
  bold: Emphasis,
): string {
  const telling = logs.filter(({ log }) => log.errors.length + log.unknown.size > 0);
  const silent = logs.length - telling.length;
  const files = plural(logs.length, "file");
  const summary = [
    `${files} read, ${telling.length} with a known error, ${silent} without`,
    ...skipped.map(({ file, reason }) => `skipped: ${file}: ${reason}`),
  ];
  return [
    ...byLikeliestFault(telling).map(({ file, log }) => formatFindings(file, log, columns, bold)),
    `${summary.join("\n")}\n`,
  ].join("\n");
}
