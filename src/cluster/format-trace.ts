/** A trace as text for people: at most 100 columns, grouped by the part of the machine that acts. */
import type { Provenance } from "../base/recorder.ts";
import { wrap } from "../knowledge/prose.ts";
import type { FieldChange } from "../wire/fields.ts";
import type { TraceLeg, TraceParty, TraceReport, TraceStep } from "./trace-report.ts";

const WIDTH = 100;
const LAYER_WIDTH = 26;
const DETAIL_INDENT = " ".repeat(6);

/** How parts of the text are marked on a terminal. The plain style marks nothing. */
export interface TraceStyle {
  readonly heading: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly faint: (text: string) => string;
}

function identity(text: string): string {
  return text;
}

/** No marks: for files, pipes and tests. */
export const PLAIN_STYLE: TraceStyle = Object.freeze({
  heading: identity,
  good: identity,
  bad: identity,
  faint: identity,
});

function nameParty(party: TraceParty): string {
  const place = party.node === undefined ? party.address : `${party.address} on ${party.node}`;
  return party.reference === party.address ? place : `${party.reference} (${place})`;
}

/** `HostComputeEndpoint "client", policy OutBoundNAT 1`. */
function nameProvenance(provenance: Provenance): string {
  const policy = provenance.policy;
  const object = `${provenance.object} "${provenance.name}"`;
  return policy === undefined ? object : `${object}, policy ${policy.type} [${policy.index}]`;
}

/** Checksums follow from the other fields; the JSON has them. */
function isTelling(change: FieldChange): boolean {
  return !change.field.endsWith("checksum");
}

function nameChange(change: FieldChange): string {
  if (change.before === undefined) return `+ ${change.field} ${change.after ?? ""}`;
  if (change.after === undefined) return `- ${change.field} ${change.before}`;
  return `${change.field}  ${change.before} → ${change.after}`;
}

function block(text: string, indent: string): string[] {
  return wrap(text, WIDTH - indent.length).map((line) => indent + line);
}

/** What stands under a step: its rule, its changes, what explains it. */
function detailLines(step: TraceStep, indent: string, style: TraceStyle): string[] {
  const lines: string[] = [];
  if (step.rule !== undefined && step.kind === "layer") {
    const { rule } = step;
    lines.push(...block(`${rule.action} ${rule.name}`, indent));
    lines.push(...block(`group ${step.group ?? ""}, priority ${rule.priority}`, `${indent}  `));
    lines.push(...block(`from ${nameProvenance(rule.provenance)}`, `${indent}  `));
  }
  for (const change of step.changes.filter(isTelling))
    lines.push(...block(nameChange(change), `${indent}  `));
  if (step.code !== undefined && step.kind !== "drop") {
    lines.push(...block(`see: mullion explain ${step.code}`, `${indent}  `));
  }
  if (step.inferred !== undefined) {
    lines.push(...block(`inferred (${step.inferred})`, `${indent}  `).map((line) => style.faint(line)));
  }
  return lines;
}

function layerLines(step: TraceStep, style: TraceStyle): string[] {
  const name = (step.layer ?? "unified flow").padEnd(LAYER_WIDTH);
  return [`${DETAIL_INDENT}${name}${step.text}`, ...detailLines(step, `${DETAIL_INDENT}  `, style)];
}

function dropLines(step: TraceStep, style: TraceStyle): string[] {
  const where = step.layer === undefined ? "" : `in ${step.layer}: `;
  const lines = block(`DROPPED ${where}${step.text}`, DETAIL_INDENT).map((line) => style.bad(line));
  if (step.rule !== undefined)
    lines.push(...block(`from ${nameProvenance(step.rule.provenance)}`, `${DETAIL_INDENT}  `));
  if (step.code !== undefined)
    lines.push(...block(`see: mullion explain ${step.code}`, `${DETAIL_INDENT}  `));
  return lines;
}

function placeOf(step: TraceStep): string {
  const direction = step.direction === undefined ? "" : ` ${step.direction.toUpperCase()}`;
  return `${step.place}${direction}`;
}

function stepLines(step: TraceStep, isNewPlace: boolean, number: number, style: TraceStyle): string[] {
  const isInside = step.kind === "layer" || step.kind === "unified-flow" || step.kind === "drop";
  const lines: string[] = [];
  if (isNewPlace) {
    const heading = `${String(number).padStart(3)}  ${step.node}  ${placeOf(step)}`;
    lines.push(style.heading(heading.length > WIDTH ? `${heading.slice(0, WIDTH - 1)}…` : heading));
  }
  if (step.kind === "drop") lines.push(...dropLines(step, style));
  else if (isInside) lines.push(...layerLines(step, style));
  else {
    lines.push(...block(`${VERBS[step.kind]}: ${step.text}`, DETAIL_INDENT));
    lines.push(...detailLines(step, DETAIL_INDENT, style));
  }
  return lines;
}

const VERBS = {
  send: "sends",
  forward: "routes",
  deliver: "delivers",
  switch: "switch",
  wire: "wire",
} as const satisfies Partial<Record<TraceStep["kind"], string>>;

function legLines(title: string, leg: TraceLeg, style: TraceStyle): string[] {
  const first = leg.steps[0];
  const lines = [style.heading(`${title}  ${first?.frame ?? ""}`)];
  let place = "";
  let number = 0;
  for (const step of leg.steps) {
    const next = `${step.node}|${placeOf(step)}`;
    const isNewPlace = next !== place;
    if (isNewPlace) number++;
    place = next;
    lines.push(...stepLines(step, isNewPlace, number, style));
  }
  const last = leg.steps.at(-1);
  if (last !== undefined && last.frame !== first?.frame)
    lines.push(...block(`as ${last.frame}`, DETAIL_INDENT));
  return lines;
}

/** Formats a report; every line has at most 100 columns, marks not counted. */
export function formatTrace(report: TraceReport, style: TraceStyle = PLAIN_STYLE): string {
  const port = report.port === undefined ? "" : ` port ${report.port}`;
  const mark = report.verdict === "answered" ? style.good : style.bad;
  const lines = [
    ...block(`${nameParty(report.from)} → ${nameParty(report.to)}`, "").map((line) => style.heading(line)),
    style.faint(`${report.protocol.toUpperCase()}${port}, compat ${report.compat}`),
    "",
    ...legLines("Forward", report.forward, style),
    "",
  ];
  if (report.reply !== undefined) lines.push(...legLines("Reply", report.reply, style), "");
  lines.push(...block(report.summary, "").map((line) => mark(line)));
  if (report.code !== undefined) lines.push(`Why, and what to do: mullion explain ${report.code}`);
  return `${lines.join("\n")}\n`;
}
