/**
 * A report as text for people: one table per flow with a row for each kind of pair, so that a cluster of thousands of
 * pods takes no more lines than one of ten; then what is denied, what does not apply, and the findings with their next
 * step. At most 100 columns.
 */
import { getEntry } from "../catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FlowProtocol } from "#core/catalogue/expectations.ts";
import { wrap, plural } from "#core/base/text-layout.ts";
import { VERBATIM_INDENT } from "../catalogue/prose.ts";
import { PLAIN_STYLE, type TraceStyle, formatPageDifference } from "#cluster/trace/format-trace.ts";
import { type ClusterFact, type SessionProblem, formatFault } from "#cluster/session/session.ts";
import type { VerifyCell, VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Services that get a row each; more are shown together. */
const SERVICE_ROWS_MAX = 8;

const WITHOUT_BUILD: ReadonlySet<string> = new Set(["linux", "outside", "service", "windows"]);

/** How systems are called in one report: by their build only where there are several. */
export class SystemNames {
  private readonly builds: ReadonlySet<string>;

  constructor(report: VerifyReport) {
    const systems = report.cells.flatMap((cell) => [cell.fromSystem, cell.toSystem]);
    this.builds = new Set(systems.filter((system) => !WITHOUT_BUILD.has(system)));
  }

  label(system: string): string {
    if (system === "linux") return "Linux";
    if (system === "outside" || system === "service") return system;
    return this.builds.size > 1 ? system : "Windows";
  }
}

const RELATIONS: Readonly<Record<VerifyCell["relation"], string>> = {
  "same-node": ", same node",
  "other-node": ", other node",
  outside: "",
  service: "",
};

/** What the rows of one flow are called: kinds of pairs, and Services as long as there are few. */
export class RowLabels {
  private readonly names: SystemNames;
  /** Ports by what is asked on them. */
  private readonly ports = new Map<string, Set<number>>();

  constructor(cells: readonly VerifyCell[], names: SystemNames) {
    this.names = names;
    for (const { to, port } of cells) {
      const known = this.ports.get(to) ?? new Set();
      if (port !== undefined) known.add(port);
      this.ports.set(to, known);
    }
  }

  labelOf(cell: VerifyCell): string {
    const from = this.names.label(cell.fromSystem);
    if (cell.flow === "cluster-file") return `${cell.from} → ${this.receiver(cell)}`;
    if (cell.flow === "pod-in-host-network") return from;
    if (cell.flow === "bring-up") return cell.from;
    if (cell.flow === "service-state") return this.receiver(cell);
    if (cell.relation !== "service")
      return `${from} → ${this.names.label(cell.toSystem)}${RELATIONS[cell.relation]}`;
    if (this.ports.size <= SERVICE_ROWS_MAX) return `${from} → ${this.receiver(cell)}`;
    return `${from} → ${cell.to.startsWith("service/") ? "Services" : this.names.label(cell.toSystem)}`;
  }

  /** With its port where it has several. */
  private receiver({ to, port }: VerifyCell): string {
    const name = to.replace(/^service\//, "");
    const isOne = (this.ports.get(to)?.size ?? 0) <= 1;
    return isOne || port === undefined ? name : `${name}:${port}`;
  }
}

const LABEL_WIDTH_MAX = 40;
const VALUE_WIDTH = 12;
const FINDINGS_MAX = 20;
const PROTOCOLS: readonly FlowProtocol[] = ["tcp", "udp", "icmp"];

/** Flows as people call them. */
export const FLOW_TITLES: Readonly<Record<VerifyCell["flow"], string>> = {
  "bring-up": "programs and pods come up",
  "pod-to-pod-ip": "pod → pod (IP)",
  "pod-to-pod-name": "pod → pod (name)",
  "pod-to-cluster-ip": "pod → Service (ClusterIP)",
  "pod-to-service-short-name": "pod → Service (short name)",
  "pod-to-service-full-name": "pod → Service (full name)",
  "pod-to-external-ip": "pod → external (IP)",
  "pod-to-external-name": "pod → external (name)",
  "node-to-pod": "node → pod",
  "pod-to-node": "pod → node",
  "pod-to-own-service": "pod → itself through its Service",
  "pod-to-service-partial-name": "pod → Service (name.namespace[.svc])",
  "pod-to-cluster-dns": "pod → cluster DNS (a question)",
  "node-to-cluster-ip": "node → Service (ClusterIP)",
  "node-to-own-node-port": "node → its own NodePort",
  "node-to-node-port": "node → NodePort of another node",
  "outside-to-node-port": "outside → NodePort",
  "outside-to-ingress": "outside → load balancer",
  "outside-to-host-port": "outside → hostPort",
  "session-affinity": "session affinity",
  "session-affinity-timeout": "session affinity, its time",
  "pod-in-host-network": "pod in the node's network",
  "service-state": "Service as its object shows it",
  "cluster-file": "expectations of the cluster file",
};

/** What findings without a cell are called. */
export const INPUT_TITLE = "input";

/** The column of names: on a narrow terminal what the values leave. */
function labelWidth({ columns }: TraceStyle): number {
  return Math.min(LABEL_WIDTH_MAX, columns - PROTOCOLS.length * VALUE_WIDTH);
}

function block(text: string, indent: number, { columns }: TraceStyle): readonly string[] {
  const blanks = " ".repeat(indent);
  return wrap(text, columns - indent).map((line) => blanks + line);
}

const NOT_JUDGED = "not judged";

function countUnjudged(cells: readonly VerifyCell[]): number {
  return cells.filter(({ verdict }) => verdict === "not-judged").length;
}

export function valueOf(cells: readonly VerifyCell[]): string {
  const failed = cells.filter(({ verdict }) => verdict === "finding").length;
  if (failed > 0) return cells.length === 1 ? "DIFFERS" : `DIFFERS ${failed}/${cells.length}`;
  if (countUnjudged(cells) > 0) return NOT_JUDGED;
  const kinds = new Set(
    cells.filter(({ expected }) => expected !== "not-applicable").map(({ expected }) => expected),
  );
  if (kinds.size === 0) return cells.length === 0 ? "" : "n/a";
  return kinds.size === 2 ? "both" : ([...kinds][0] ?? "");
}

/** Behind a value that differs from what the Kubernetes page says. */
export const PAGE_MARK = "*";

/**
 * What the Kubernetes page says of a cell, and why it is otherwise here; undefined where they agree, and where neither came
 * of it. Of what did not come up it tells why that is so.
 */
export function differenceText({ documentation, flow, verdict }: VerifyCell): string | undefined {
  if (documentation === undefined || verdict === "not-judged") return undefined;
  if (verdict === "finding" && flow !== "bring-up") return undefined;
  return formatPageDifference(documentation);
}

function markedValueOf(cells: readonly VerifyCell[]): string {
  const differs = cells.some((cell) => differenceText(cell) !== undefined);
  return `${valueOf(cells)}${differs ? PAGE_MARK : ""}`;
}

/** One line for each sentence of the page from which the flow differs. */
function pageLines(cells: readonly VerifyCell[], style: TraceStyle): readonly string[] {
  const texts = new Set(cells.flatMap((cell) => differenceText(cell) ?? []));
  return [...texts].flatMap((text) =>
    block(`${PAGE_MARK} ${text}`, 2, style).map((line) => style.faint(line)),
  );
}

function paint(value: string, style: TraceStyle): string {
  if (value.startsWith("DIFFERS") || value === NOT_JUDGED) return style.bad(value);
  if (value === "works" || value === `works${PAGE_MARK}`) return style.good(value);
  return value === "n/a" ? style.faint(value) : value;
}

function padded(value: string, style: TraceStyle): string {
  return paint(value, style) + " ".repeat(Math.max(1, VALUE_WIDTH - value.length));
}

/** How many of a row's cells are not judged, where it is not all of them. */
function unjudgedShare(cells: readonly VerifyCell[]): readonly string[] {
  const applying = cells.filter(({ verdict }) => verdict !== "not-tried").length;
  const count = countUnjudged(cells);
  return count === 0 || count === applying ? [] : [`${count} of ${applying} not judged`];
}

/** Behind the values: back ends that answered, codes of what is denied. */
function noteOf(cells: readonly VerifyCell[]): string {
  const codes = new Set(
    cells.flatMap(({ code, expected, verdict }) =>
      code !== undefined && expected === "denied" && verdict !== "not-judged" ? [code] : [],
    ),
  );
  const backEnds = cells.flatMap(({ backEnds: count }) => (count === undefined ? [] : [count]));
  const most = Math.max(0, ...backEnds);
  const backEndsSeen = most > 0 ? [plural(most, "back end")] : [];
  return [...backEndsSeen, ...codes, ...unjudgedShare(cells)].join(", ");
}

function rowLines(label: string, cells: readonly VerifyCell[], style: TraceStyle): readonly string[] {
  const values = PROTOCOLS.map((protocol) =>
    markedValueOf(cells.filter((cell) => cell.protocol === protocol)),
  );
  const columns = values.map((value) => padded(value, style)).join("");
  const width = labelWidth(style);
  const note = noteOf(cells);
  const isNoteBelow = note.length > style.columns - width - 3 * VALUE_WIDTH - 2;
  const isLabelAbove = label.length > width - 3;
  const name = isLabelAbove ? "" : label;
  const line = `  ${name.padEnd(width - 2)}${columns}${isNoteBelow ? "" : style.faint(note)}`.trimEnd();
  return [
    ...(isLabelAbove ? block(label, 2, style) : []),
    line,
    ...(isNoteBelow ? block(note, 6, style).map((each) => style.faint(each)) : []),
  ];
}

function flowLines(
  flow: VerifyCell["flow"],
  cells: readonly VerifyCell[],
  names: SystemNames,
  style: TraceStyle,
): readonly string[] {
  const labels = new RowLabels(cells, names);
  const rows = Map.groupBy(cells, (cell) => labels.labelOf(cell));
  const family = cells[0]?.family === "ipv6" ? ", IPv6" : "";
  const title = style.heading(`${FLOW_TITLES[flow]}${family}`.padEnd(labelWidth(style)));
  const heads = PROTOCOLS.map((protocol) => protocol.toUpperCase().padEnd(VALUE_WIDTH)).join("");
  return [
    `${title}${style.faint(heads.trimEnd())}`,
    ...[...rows].flatMap(([label, each]) => rowLines(label, each, style)),
    ...pageLines(cells, style),
    "",
  ];
}

function deniedLines(report: VerifyReport, style: TraceStyle): readonly string[] {
  const denied = report.cells.filter(
    ({ expected, verdict }) => expected === "denied" && verdict === "as-expected",
  );
  const codes = new Set(denied.flatMap(({ code }) => (code === undefined ? [] : [code])));
  if (codes.size === 0) return [];
  const lines = [...codes].flatMap((code) => [
    `  ${code}`,
    ...block(getEntry(code).title, 6, style).map((line) => style.faint(line)),
  ]);
  return [style.heading("Denied, as documented"), ...lines, ""];
}

function notApplicableLines(report: VerifyReport, style: TraceStyle): readonly string[] {
  const skipped = report.cells.filter(({ expected }) => expected === "not-applicable");
  const reasons = Map.groupBy(skipped, ({ why = "" }) => why);
  if (reasons.size === 0) return [];
  const lines = [...reasons].map(([why, cells]) =>
    style.faint(`  ${String(cells.length).padStart(4)}  ${why}`),
  );
  return [style.heading("Does not apply"), ...lines, ""];
}

/** A labelled line of a finding; the text is wrapped under itself, its commands stand as they are. */
function labelled(label: string, text: string, { columns }: TraceStyle): readonly string[] {
  const lines = text
    .split("\n")
    .flatMap((line) => (line.startsWith(VERBATIM_INDENT) ? [line] : wrap(line, columns - 14)));
  return lines.map((line, index) => `    ${(index === 0 ? label : "").padEnd(10)}${line}`);
}

function titleOf(code: KnowledgeCode): string {
  return `${code}: ${getEntry(code).title}`;
}

/** Remarks of one kind that are shown in a list; the rest is counted. */
const REMARKS_MAX = 5;
const LABEL_OF_REMARKS = 10;

function remarkLines(
  label: string,
  remarks: readonly SessionProblem[],
  { columns }: TraceStyle,
): readonly string[] {
  const lines: string[] = [];
  for (const alike of Map.groupBy(remarks, ({ code }) => code).values()) {
    for (const remark of alike.slice(0, REMARKS_MAX)) {
      const wrapped = wrap(`${formatFault(remark)} [${remark.code}]`, columns - LABEL_OF_REMARKS - 2);
      lines.push(
        ...wrapped.map((line, index) => `  ${(index === 0 ? label : "").padEnd(LABEL_OF_REMARKS)}${line}`),
      );
    }
    const hidden = alike.length - REMARKS_MAX;
    if (hidden > 0)
      lines.push(`  ${"".padEnd(LABEL_OF_REMARKS)}… and ${hidden} more like these: -o json has them all`);
  }
  return lines;
}

const LABEL_OF_FACTS = 22;

/** Who says it: an object by its name, which is found again, a field of a file by its line. */
function sourceOf({ source, where }: ClusterFact): string {
  return where !== undefined && where.file === source ? `${source}:${where.line}` : source;
}

function factLines(fact: ClusterFact, style: TraceStyle): readonly string[] {
  const wrapped = wrap(`${fact.value} [${sourceOf(fact)}]`, style.columns - LABEL_OF_FACTS);
  return wrapped.map((line, index) => {
    const label = `  ${(index === 0 ? fact.name : "").padEnd(LABEL_OF_FACTS - 2)}`;
    return `${style.faint(label)}${line}`;
  });
}

/** What the answer rests on, before what was tried. */
function basisLines({ basis }: VerifyReport, style: TraceStyle): readonly string[] {
  const lines = [
    ...basis.facts.flatMap((fact) => factLines(fact, style)),
    ...remarkLines("against", basis.contradictions, style),
    ...remarkLines("assumed", basis.assumptions, style),
    ...remarkLines("left out", basis.refused, style),
    ...remarkLines("unjudged", basis.notJudged, style),
    ...remarkLines("note", basis.notes, style),
  ];
  return lines.length === 0 ? [] : [style.heading("What this rests on"), ...lines, ""];
}

/** The question of a cell, or what a finding about the input is about. */
function headOf({ about = "", limit, allowed }: VerifyFinding, cell: VerifyCell | undefined): string {
  const mark = allowed === true ? "allowed: " : "";
  if (cell === undefined) return `${mark}${limit === undefined ? INPUT_TITLE : NOT_JUDGED}: ${about}`;
  const port = cell.port === undefined ? "" : ` port ${cell.port}`;
  const name = cell.name === undefined ? "" : ` as ${cell.name}`;
  const family = cell.family === "ipv6" ? ", IPv6" : "";
  const traceEnds =
    cell.flow === "bring-up"
      ? cell.from
      : `${cell.from} → ${cell.to}${name}, ${cell.protocol.toUpperCase()}${port}`;
  return `${mark}${FLOW_TITLES[cell.flow]}${family}: ${traceEnds}`;
}

/** Findings of one cause that are named beside the one that stands for it; the rest is counted. */
const SAME_CAUSE_MAX = 3;

function sameCauseLines(
  others: readonly VerifyFinding[],
  { code }: VerifyFinding,
  cells: readonly VerifyCell[],
  style: TraceStyle,
): readonly string[] {
  if (others.length === 0) return [];
  // One of each code first: what ends otherwise is named.
  const byCode = [...Map.groupBy(others, (other) => other.code ?? "").values()];
  const ordered = [...byCode.flatMap(([first]) => first ?? []), ...byCode.flatMap(([, ...rest]) => rest)];
  const shown = ordered.slice(0, SAME_CAUSE_MAX).map((other) => {
    const reason = other.code === undefined || other.code === code ? "" : ` (${other.code})`;
    return `${headOf(other, cells[other.cell ?? -1])}${reason}`;
  });
  const hidden = others.length - shown.length;
  const more = hidden > 0 ? [`… and ${hidden} more: -o json has them all`] : [];
  return [...shown, ...more].flatMap((text, index) => labelled(index === 0 ? "also" : "", text, style));
}

function findingLines(
  finding: VerifyFinding,
  { cells, command, others }: FindingContext,
  style: TraceStyle,
): readonly string[] {
  const cell = cells[finding.cell ?? -1];
  const source = cell === undefined ? "" : ` (${cell.row}: ${cell.documentedIn})`;
  return [
    ...block(headOf(finding, cell), 2, style).map((line) =>
      finding.allowed === true ? style.faint(line) : style.bad(line),
    ),
    ...labelled("expected", `${finding.expected}${source}`, style),
    ...labelled("observed", finding.observed, style),
    ...(finding.code === undefined ? [] : labelled("why", titleOf(finding.code), style)),
    ...(finding.remedy === undefined ? [] : labelled("remedy", finding.remedy, style)),
    ...(finding.trace === undefined ? [] : [`    ${"see".padEnd(10)}${command} ${finding.trace}`]),
    ...sameCauseLines(others, finding, cells, style),
    "",
  ];
}

interface FindingContext {
  readonly cells: readonly VerifyCell[];
  readonly command: string;
  /** Findings of the same cause. */
  readonly others: readonly VerifyFinding[];
}

/** How many cells rest on another one; nothing where all were tried. */
export function restingLine({ counts }: Pick<VerifyReport, "counts">): readonly string[] {
  const { compared = 0, takenOver = 0, tried } = counts;
  return compared + takenOver === 0 ? [] : [WORDS.verifyResting({ tried, compared, takenOver })];
}

/** Which machines were compared; nothing where no two nodes are alike. */
export function machinesLine({ machines }: Pick<VerifyReport, "machines">): readonly string[] {
  if (machines === undefined) return [];
  const { classes, compared, equal } = machines;
  const differing = compared - equal;
  const outcome = differing === 0 ? "all are equal" : `${differing} not equal`;
  const of = `${plural(compared, "machine")} compared whole with another of the same class`;
  return [`${of}, ${classes === 1 ? "1 class" : `${classes} classes`} of nodes: ${outcome}.`];
}

function summaryLine({ counts }: VerifyReport): string {
  const tried = `${counts.cells} cells, ${counts.tried} of them tried for all with ${counts.attempts} attempts`;
  const outcome = `Works: ${counts.works}, denied as documented: ${counts.denied}, does not apply: ${counts.notApplicable}`;
  const unjudged = counts.notJudged === 0 ? "" : `, not judged: ${counts.notJudged}`;
  return `${tried}. ${outcome}${unjudged}.`;
}

/** How many cells are kept, and from when: the time of day in UTC. */
export function keptText({ kept }: VerifyReport): string | undefined {
  if (kept === undefined) return undefined;
  const time = /T(\d\d:\d\d:\d\d)/.exec(kept.since)?.[1];
  const from = time === undefined ? kept.since : `${time} UTC`;
  return `${kept.cells} of ${kept.of} cells from ${from}`;
}

function keptLines(report: VerifyReport): readonly string[] {
  const text = keptText(report);
  return text === undefined ? [] : [`Kept: ${text}; nothing has touched them since.`];
}

export function verdictLine(
  { findings, basis }: Pick<VerifyReport, "findings" | "basis">,
  style: TraceStyle,
): string {
  const counted = findings.filter(({ allowed }) => allowed !== true);
  const taken = findings.length - counted.length;
  const allowed = taken === 0 ? [] : [`${plural(taken, "finding")} allowed.`];
  if (counted.length === 0) return style.good(["Observed and expected agree.", ...allowed].join(" "));
  const limits = counted.flatMap(({ limit }) => (limit === undefined ? [] : [limit]));
  const ofInput = counted.filter(({ cell, limit }) => cell === undefined && limit === undefined).length;
  const ofCells = counted.length - ofInput - limits.length;
  const flows = limits.reduce((sum, limit) => sum + (basis.notJudged[limit]?.flows ?? 0), 0);
  const causes = limits.length > 1 ? `, for ${limits.length} causes` : "";
  const ofCauses = counted.filter(({ cell, cause }) => cell !== undefined && cause === undefined).length;
  const together = ofCauses < ofCells ? `, for ${plural(ofCauses, "cause")}` : "";
  const parts = [
    ...(ofInput > 0 ? [`${plural(ofInput, "finding")} about the input.`] : []),
    ...(limits.length > 0 ? [`${plural(flows, "flow")} not judged${causes}.`] : []),
    ...(ofCells > 0 ? [`${plural(ofCells, "cell")} did not match the expectation${together}.`] : []),
    ...allowed,
  ];
  return style.bad(parts.join(" "));
}

/** `command`: the words before the parties of a trace, `mullion trace -f cluster.yaml`. */
export function formatVerification(
  report: VerifyReport,
  command = "mullion trace",
  style: TraceStyle = PLAIN_STYLE,
): string {
  const names = new SystemNames(report);
  const flows = Map.groupBy(report.cells, ({ flow, family }) => `${flow} ${family ?? ""}`);
  const { findings, cells: all } = report;
  const followers = Map.groupBy(findings, ({ cause }) => String(cause));
  const causes = findings.flatMap((finding, position) =>
    finding.cause === undefined ? [{ finding, others: followers.get(String(position)) ?? [] }] : [],
  );
  const shown = causes
    .slice(0, FINDINGS_MAX)
    .flatMap(({ finding, others }) => findingLines(finding, { cells: all, command, others }, style));
  const hidden = causes.length - FINDINGS_MAX;
  const lines = [
    style.heading(`Cluster ${report.cluster}, compat ${report.compat.join(" and ")}`),
    "",
    ...basisLines(report, style),
    ...[...flows.values()].flatMap((cells) => {
      const [first] = cells;
      return first === undefined ? [] : flowLines(first.flow, cells, names, style);
    }),
    ...deniedLines(report, style),
    ...notApplicableLines(report, style),
    ...(findings.length === 0 ? [] : [style.heading("Findings")]),
    ...shown,
    ...(hidden > 0 ? [`  … and ${hidden} more: -o json has them all.`, ""] : []),
    ...block(summaryLine(report), 0, style),
    ...keptLines(report),
    ...[...restingLine(report), ...machinesLine(report)].flatMap((line) => block(line, 0, style)),
    verdictLine(report, style),
  ];
  return `${lines.join("\n")}\n`;
}
