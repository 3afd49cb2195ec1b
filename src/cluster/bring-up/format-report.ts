/** A bring-up as text: one line for each step, then what was found; with `isWide` what each step said and changed. */
import { formatSpan } from "#core/base/duration.ts";
import { wrap } from "#core/base/text-layout.ts";
import type { TraceStyle } from "../trace/format-trace.ts";
import type { BringUpReport, Change, StepOutcome, StepReport } from "./report.ts";

const GAP = "  ";
/** Kept free at the right of a line. */
const MARGIN = 4;
/** Of kinds whose plural is no s. */
const PLURALS: Readonly<Record<string, string>> = {
  process: "processes",
  "policy-list": "policy lists",
  "firewall-rule": "firewall rules",
  "node-field": "fields of the Node",
};
const SINGULARS: Readonly<Record<string, string>> = {
  "policy-list": "policy list",
  "firewall-rule": "firewall rule",
  "node-field": "field of the Node",
};

function wordOf(outcome: StepOutcome): string {
  return outcome === "went-on" ? "warning" : outcome;
}

function spanOf(ms: number): string {
  return formatSpan(ms, "s");
}

/** `2 files, 1 network`; what does not fit into so many columns is left out. */
function summarize(changes: readonly Change[], columns: number): string {
  const counts = new Map<string, number>();
  for (const { kind } of changes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const parts = [...counts].map(([kind, count]) => {
    const name = count === 1 ? (SINGULARS[kind] ?? kind) : (PLURALS[kind] ?? `${kind}s`);
    return `${count} ${name}`;
  });
  const all = parts.join(", ");
  if (all.length <= columns) return all;
  let text = "";
  for (const part of parts) {
    if (`${text}${part}, …`.length > columns) break;
    text += `${part}, `;
  }
  return `${text}…`;
}

function paint(outcome: StepOutcome, text: string, style: TraceStyle): string {
  if (outcome === "done") return style.good(text);
  return outcome === "skipped" ? style.faint(text) : style.bad(text);
}

/** The cells of all steps under their titles; `paints` colours a finished cell. */
function formatTable({ steps }: BringUpReport, style: TraceStyle): readonly string[] {
  const beganMs = steps[0]?.beganMs ?? 0;
  const titles = ["STEP", "SCRIPT", "NAME", "OUTCOME", "AT", "TOOK"];
  const rows = steps.map((step) => [
    `${step.number}`,
    step.script,
    step.name,
    wordOf(step.outcome),
    spanOf(step.beganMs - beganMs),
    spanOf(step.tookMs),
  ]);
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], outcome?: StepOutcome): string =>
    cells
      .map((cell, column) => {
        const isNumber = NUMBER_COLUMNS.has(column);
        const text = isNumber ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
        return column === OUTCOME_COLUMN && outcome !== undefined ? paint(outcome, text, style) : text;
      })
      .join(GAP);
  const rest = style.columns - MARGIN - widths.reduce((sum, width) => sum + width + GAP.length, 0);
  return [
    style.heading(`${line(titles)}${GAP}CHANGED`),
    ...steps.map((step, index) =>
      `${line(rows[index] ?? [], step.outcome)}${GAP}${summarize(step.changes, rest)}`.trimEnd(),
    ),
  ];
}

const NUMBER_COLUMNS: ReadonlySet<number> = new Set([0, 4, 5]);
const OUTCOME_COLUMN = 3;

function formatFindings(step: StepReport, style: TraceStyle): readonly string[] {
  const place = `Step ${step.number}, ${step.name}`;
  return step.findings.flatMap(({ code, message }) => [
    ...wrap(`${place}: ${message}`, style.columns - MARGIN).map((line, index) =>
      index === 0 ? line.replace(place, style.bad(place)) : `    ${line}`,
    ),
    `    More: mullion explain ${code}`,
  ]);
}

const SIGNS = { created: "+", changed: "~", deleted: "-" } as const;

function formatChange({ kind, name, change, detail }: Change): string {
  const text = detail === "" ? "" : `: ${detail}`;
  return `    ${SIGNS[change]} ${SINGULARS[kind] ?? kind} ${name}${text}`;
}

function formatDetails(step: StepReport, style: TraceStyle): readonly string[] {
  const outcome = paint(step.outcome, wordOf(step.outcome), style);
  const heading = style.heading(`${step.number}  ${step.script}: ${step.name}`);
  return [
    `${heading}  ${outcome}, ${spanOf(step.tookMs)}`,
    `    ${style.faint(step.command)}`,
    ...step.output.map((line) => `    | ${line}`),
    ...step.changes.map(formatChange),
    ...formatFindings(step, style).map((line) => `    ${line}`),
    "",
  ];
}

function formatVerdict({ node, outcome, tookMs, steps }: BringUpReport): string {
  const span = `after ${spanOf(tookMs)} of virtual time`;
  const last = steps.findLast((step) => step.outcome === "waits");
  if (outcome === "up") return `${node} is up ${span}.`;
  if (outcome === "up-with-findings") return `${node} is up ${span}, with findings.`;
  return last === undefined
    ? `${node} is not up ${span}.`
    : `${node} is not up: step ${last.number}, ${last.name}, waits forever.`;
}

/** Ends with a line feed. */
export function formatBringUp(report: BringUpReport, isWide: boolean, style: TraceStyle): string {
  const { steps } = report;
  const findings = steps.flatMap((step) => formatFindings(step, style));
  const body = isWide
    ? steps.flatMap((step) => formatDetails(step, style))
    : [...formatTable(report, style), "", ...findings, ...(findings.length === 0 ? [] : [""])];
  return `${[...body, formatVerdict(report)].join("\n")}\n`;
}
