/** A trace as text for people: at most 100 columns, grouped by the part of the machine that acts. */
import {
  type Provenance,
  type RuleReference,
  type TranspositionWords,
  nameOfPolicy,
} from "#core/base/recorder.ts";
import { wrap } from "#core/base/text-layout.ts";
import type { FieldChange } from "#core/wire/text/fields.ts";
import { type LimitReason, formatReason } from "../session/flow-limit.ts";
import type { PageDifferenceReport } from "../verify/report.ts";
import type {
  TraceEndDescription,
  TraceLeg,
  TraceReport,
  TraceResolution,
  TraceStep,
} from "./trace-report.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const LAYER_WIDTH = 27;
export const INDENT: string = " ".repeat(5);
const DETAIL = `${INDENT}${" ".repeat(4)}`;
const FLOW_DETAIL = `${DETAIL}${" ".repeat(4)}`;

const TRANSPOSITION_PARTS: readonly (readonly [keyof TranspositionWords, string])[] = [
  ["encap", "Encap"],
  ["macHeader", "MacHeader"],
  ["ipHeader", "IpHeader"],
  ["transportHeader", "TransportHeader"],
  ["tni", "Tni"],
  ["vlanId", "VlanId"],
  ["mssDelta", "MssDelta"],
];

/** How parts of the text are marked on a terminal. The plain style marks nothing. */
export interface TraceStyle {
  readonly heading: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly faint: (text: string) => string;
  /** What lines should keep to, at least 60; a word that is longer gets a line of its own. */
  readonly columns: number;
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
  columns: 100,
});

/** A paragraph in lines with `indent` before each. */
export function block(text: string, indent: string, { columns }: TraceStyle): string[] {
  return wrap(text, columns - indent.length).map((line) => indent + line);
}

export function nameTraceEnd(traceEnd: TraceEndDescription): string {
  if (traceEnd.address === "") return traceEnd.reference;
  const place = traceEnd.node === undefined ? traceEnd.address : `${traceEnd.address} on ${traceEnd.node}`;
  return traceEnd.reference === traceEnd.address ? place : `${traceEnd.reference} (${place})`;
}

export function nameProvenance(provenance: Provenance): string {
  if (provenance.object === "default") return `${provenance.name}'s defaults`;
  const policy = provenance.policy;
  const object = `${provenance.object} "${provenance.name}"`;
  return policy === undefined ? object : `${object}, policy ${nameOfPolicy(policy)}`;
}

/** Checksums follow from the other fields; the JSON has them. */
function isTelling(change: FieldChange): boolean {
  return !change.field.endsWith("checksum");
}

export function nameChange(change: FieldChange): string {
  if (change.before === undefined) return `+ ${change.field} ${change.after ?? ""}`;
  if (change.after === undefined) return `- ${change.field} ${change.before}`;
  return `${change.field} ${change.before} → ${change.after}`;
}

function ruleLines(rule: RuleReference, group: string | undefined, style: TraceStyle): string[] {
  const place = group === undefined ? "" : ` in ${group}`;
  return [
    ...block(`${rule.action} ${rule.name}`, DETAIL, style),
    ...block(`priority ${rule.priority}${place}, from ${nameProvenance(rule.provenance)}`, DETAIL, style),
  ];
}

/** What stands under any step: its changes, what explains it, whether it is inferred. */
function detailLines(step: TraceStep, style: TraceStyle): string[] {
  const lines = step.changes.filter(isTelling).flatMap((change) => block(nameChange(change), DETAIL, style));
  if (step.provenance !== undefined)
    lines.push(...block(`from ${nameProvenance(step.provenance)}`, DETAIL, style));
  if (step.networkPolicy !== undefined) lines.push(...block(step.networkPolicy, DETAIL, style));
  if (step.code !== undefined) lines.push(...block(`why: mullion explain ${step.code}`, DETAIL, style));
  if (step.inferred !== undefined) {
    lines.push(...block(`inferred, ${step.inferred}`, DETAIL, style).map((line) => style.faint(line)));
  }
  return lines;
}

function layerLines(step: TraceStep, style: TraceStyle): string[] {
  const name = (step.layer ?? "unified flow").padEnd(LAYER_WIDTH);
  const lines = block(`${name}${step.text}`, INDENT, style);
  if (step.rule !== undefined) lines.push(...ruleLines(step.rule, step.group, style));
  return [...lines, ...detailLines(step, style)];
}

/** Parts of what is kept that change a packet. */
function changedParts(step: TraceStep): readonly string[] {
  const { transposition } = step;
  if (transposition === undefined) return [];
  return TRANSPOSITION_PARTS.filter(([part]) => transposition[part] !== "Ignore").map(
    ([part, label]) => `${label} ${transposition[part]}`,
  );
}

/** A flow that changes nothing says nothing that its layers have not said; the JSON has it. */
function isReported(step: TraceStep): boolean {
  return step.transposition === undefined || changedParts(step).length > 0;
}

/** What is kept of the walk, one part to a line. */
function unifiedFlowLines(step: TraceStep, style: TraceStyle): string[] {
  if (step.transposition === undefined) return layerLines(step, style);
  const lines = [`${INDENT}${"unified flow".padEnd(LAYER_WIDTH)}cached for later packets`];
  for (const part of changedParts(step)) lines.push(...block(part, DETAIL, style));
  return lines.map((line) => style.faint(line));
}

/** Neighbouring layers that let pass silently share a line. */
function quietLines(steps: readonly TraceStep[], style: TraceStyle): string[] {
  const names = steps.map((step) => step.layer).join(", ");
  return block(`${names}: ${steps[0]?.text ?? ""}`, INDENT, style).map((line) => style.faint(line));
}

function isQuiet(step: TraceStep): boolean {
  return step.kind === "layer" && step.outcome === "miss" && step.rule === undefined;
}

function dropLines(step: TraceStep, style: TraceStyle): string[] {
  const where = step.layer === undefined ? "" : `in ${step.layer}: `;
  const lines = block(`DROPPED ${where}${step.text}`, INDENT, style).map((line) => style.bad(line));
  if (step.rule !== undefined) lines.push(...ruleLines(step.rule, step.group, style));
  return [...lines, ...detailLines(step, style)];
}

/** What the pipeline was given, and then each flow that decided something, as readers of ovn-trace know them. */
function pipelineLines(step: TraceStep, style: TraceStyle): string[] {
  const flows = (step.logical ?? []).flatMap(({ text, actions = [], object }) => [
    ...block(text, DETAIL, style),
    ...(object === undefined ? [] : block(`# ${object}`, FLOW_DETAIL, style)),
    ...actions.flatMap((line) => block(line, FLOW_DETAIL, style)),
  ]);
  return [...block(step.text, INDENT, style), ...detailLines(step, style), ...flows];
}

function plainStepLines(step: TraceStep, style: TraceStyle): string[] {
  switch (step.kind) {
    case "drop":
      return dropLines(step, style);
    case "layer":
      return layerLines(step, style);
    case "unified-flow":
      return unifiedFlowLines(step, style);
    case "pipeline":
      return pipelineLines(step, style);
    case "switch":
      return [...block(`→ ${step.place}, ${step.text}`, INDENT, style), ...detailLines(step, style)];
    case "forward":
      return [...block(`routed ${step.text}`, INDENT, style), ...detailLines(step, style)];
    case "translate":
      return [...block(`${step.hook ?? ""}: ${step.text}`, INDENT, style), ...detailLines(step, style)];
    case "send":
    case "deliver":
    case "wire":
      return [...block(step.text, INDENT, style), ...detailLines(step, style)];
  }
}

/** Whether a step stands under the heading of the one before: a switch's choice closes what led to it. */
function placeOf(step: TraceStep, current: string): string {
  if (step.kind === "switch") return current;
  const direction = step.direction === undefined ? "" : ` ${step.direction.toUpperCase()}`;
  return `${step.node}  ${step.place}${direction}`;
}

function legLines(title: string, leg: TraceLeg, style: TraceStyle): string[] {
  const [first] = leg.steps;
  const lines = block(`${title}: ${first?.frame ?? ""}`, "", style).map((line) => style.heading(line));
  let place = "";
  let number = 0;
  let quiet: TraceStep[] = [];
  const flush = (): void => {
    if (quiet.length > 0) lines.push(...quietLines(quiet, style));
    quiet = [];
  };
  for (const step of leg.steps.filter(isReported)) {
    const next = placeOf(step, place);
    if (next !== place || !isQuiet(step) || step.text !== quiet.at(-1)?.text) flush();
    if (next !== place) {
      number++;
      lines.push(style.heading(`${String(number).padStart(3)}  ${next}`.slice(0, style.columns)));
    }
    place = next;
    if (isQuiet(step)) quiet.push(step);
    else lines.push(...plainStepLines(step, style));
  }
  flush();
  const last = leg.steps.at(-1);
  if (last !== undefined && last.frame !== first?.frame)
    lines.push(...block(`as ${last.frame}`, INDENT, style));
  return lines;
}

/** The walks of packets that a command sent. */
export function formatWalks(
  walks: readonly { readonly forward: TraceLeg; readonly reply?: TraceLeg | undefined }[],
  style: TraceStyle = PLAIN_STYLE,
): string {
  const lines = walks.flatMap(({ forward, reply }, index) => [
    ...legLines(`Packet ${index + 1}`, forward, style),
    "",
    ...(reply === undefined ? [] : [...legLines(`Answer ${index + 1}`, reply, style), ""]),
  ]);
  return lines.map((line) => `${line}\n`).join("");
}

function notJudgedLines(reason: LimitReason, style: TraceStyle): readonly string[] {
  return [
    ...block(`Not judged: ${formatReason(reason)}.`, "", style).map((line) => style.bad(line)),
    `What that means: mullion explain ${reason.code}`,
  ];
}

/** The same of what is no trace, each line with its end. */
export function formatNotJudged(reasons: readonly LimitReason[], style: TraceStyle): string {
  return reasons.flatMap((reason) => notJudgedLines(reason, style).map((line) => `${line}\n`)).join("");
}

/** What the page states instead, and why it is otherwise here; ids where the texts are not known. */
export function formatPageDifference(documentation: PageDifferenceReport): string {
  const { edition, sentence, difference, evidence } = documentation;
  const { says = sentence, differsBecause = difference } = documentation;
  return `The Kubernetes page (${edition}): ${says}. Here: ${differsBecause} (${evidence}).`;
}

/** What the resolver was told; faint, because it is the same each time. */
export function resolverLines({ servers, search, ndots }: TraceResolution, style: TraceStyle): string[] {
  const told = [
    `servers ${servers.length === 0 ? "none" : servers.join(", ")}`,
    search.length === 0 ? "no search list" : `search ${search.join(", ")}`,
    ...(ndots === undefined ? [] : [`ndots ${ndots}`]),
  ].join("; ");
  return block(told, INDENT, style).map((line) => style.faint(line));
}

/** Each question and what is said to it, what is not tried, and why a name does not resolve. */
export function questionLines(resolution: TraceResolution, style: TraceStyle): string[] {
  const { name, questions, unusedSuffixes } = resolution;
  const asked = questions.flatMap((each) => {
    const said = each.outcome === "answered" ? each.addresses.join(", ") : each.detail;
    const who = each.server === undefined ? "" : `, says ${each.server}`;
    return block(`${each.type} ${each.name} ${said}${who}`, INDENT, style);
  });
  const unused =
    unusedSuffixes.length === 0
      ? []
      : block(
          name.includes(".")
            ? WORDS.unusedSearchSuffixes({ unusedSuffixes: unusedSuffixes.join(", ") })
            : `Windows tries the first suffix alone: ${unusedSuffixes.join(", ")} not tried`,
          INDENT,
          style,
        );
  const end =
    resolution.outcome === "failed"
      ? block(resolution.detail ?? "", INDENT, style).map((line) => style.bad(line))
      : [];
  return [
    ...(questions.length === 0 && resolution.outcome === "resolved"
      ? block(`${resolution.addresses.join(", ")}, without a question`, INDENT, style)
      : []),
    ...asked,
    ...unused.map((line) => style.faint(line)),
    ...end,
  ];
}

/** Who asks whom for which names, and what is said to each question. */
function resolutionLines(resolution: TraceResolution, style: TraceStyle): string[] {
  const system = resolution.resolver === "windows" ? "Windows" : "Linux";
  return [
    style.heading(`Name: ${resolution.name}, by the resolver of ${system}`),
    ...resolverLines(resolution, style),
    ...questionLines(resolution, style),
    "",
  ];
}

/** Formats a report; every line has at most 100 columns, marks not counted. */
export function formatTrace(report: TraceReport, style: TraceStyle = PLAIN_STYLE): string {
  const port = report.port === undefined ? "" : ` port ${report.port}`;
  const isAnswered = report.verdict === "answered";
  const lines = [
    ...block(`${nameTraceEnd(report.from)} → ${nameTraceEnd(report.to)}`, "", style).map((line) =>
      style.heading(line),
    ),
    style.faint(`${report.protocol.toUpperCase()}${port}, compat ${report.compat}`),
    "",
    ...(report.resolution === undefined ? [] : resolutionLines(report.resolution, style)),
    // A name that is known already needs no packet.
    ...(report.forward.steps.length === 0 ? [] : [...legLines("Forward", report.forward, style), ""]),
  ];
  if (report.reply !== undefined) lines.push(...legLines("Reply", report.reply, style), "");
  lines.push(
    ...block(report.summary, "", style).map((line) => (isAnswered ? style.good(line) : style.bad(line))),
  );
  if (report.code !== undefined) lines.push(`Why, and what to do: mullion explain ${report.code}`);
  if (report.documentation !== undefined) {
    const text = `* ${formatPageDifference(report.documentation)}`;
    lines.push(...block(text, "", style).map((line) => style.faint(line)));
  }
  for (const reason of report.notJudged ?? []) lines.push(...notJudgedLines(reason, style));
  return `${lines.join("\n")}\n`;
}
