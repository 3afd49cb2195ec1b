/**
 * A comparison of verifications as text: for each flow a table of those that came out otherwise, with a column for each
 * side, and below it why. As wide as the style says, as long as the sides are few.
 */
import { wrap, plural } from "#core/base/text-layout.ts";
import { PLAIN_STYLE, type TraceStyle } from "#cluster/trace/format-trace.ts";
import type { ChangedFlow, SideOutcome, VerifyComparison } from "#cluster/verify/compare.ts";
import { FLOW_TITLES } from "./format-verify.ts";
import { logAndErrors } from "#data/words.js";

const TEXTS = logAndErrors();

const VALUE_WIDTH = 12;
/** Rows of one flow; the JSON has them all. */
const ROWS_MAX = 12;

const WORDS: Readonly<Record<SideOutcome["outcome"], string>> = {
  works: "works",
  denied: "denied",
  "not-applicable": "n/a",
  "not-judged": "not judged",
  differs: "DIFFERS",
  absent: "-",
};

/** Two fifths of a line are for names. */
function labelWidthMin({ columns }: TraceStyle): number {
  return Math.min(40, Math.floor(columns * 0.4));
}

function valueOf({ outcome }: SideOutcome, style: TraceStyle): string {
  const word = WORDS[outcome];
  const blanks = " ".repeat(Math.max(1, VALUE_WIDTH - word.length));
  if (outcome === "works") return style.good(word) + blanks;
  return (outcome === "differs" ? style.bad(word) : word) + blanks;
}

/** `pod/default/a → service/default/web:80`. */
function partiesOf({ from, to, port, name, flow }: ChangedFlow): string {
  if (flow === "bring-up" || flow === "pod-in-host-network") return from;
  const asked = name === undefined ? to : name;
  return `${from} → ${asked}${port === undefined ? "" : `:${port}`}`;
}

/** Behind a flow's rows: each reason once, with the sides that have it. */
function reasonLines(changes: readonly ChangedFlow[], style: TraceStyle): readonly string[] {
  const said = changes.flatMap(({ outcomes }) =>
    outcomes.flatMap(({ side, code, observed }) => {
      const reason = code ?? observed;
      return reason === undefined ? [] : [{ side, reason }];
    }),
  );
  return [...Map.groupBy(said, ({ reason }) => reason)].flatMap(([reason, each]) => {
    const sides = [...new Set(each.map(({ side }) => side))].join(", ");
    return wrap(`${sides}: ${reason}`, style.columns - 6).map((line) => style.faint(`      ${line}`));
  });
}

/** Rows that differ in the protocol alone stand in one. */
function rowsOf(changes: readonly ChangedFlow[]): readonly (readonly ChangedFlow[])[] {
  const outcomes = (change: ChangedFlow): string => change.outcomes.map(({ outcome }) => outcome).join(" ");
  return [...Map.groupBy(changes, (change) => `${partiesOf(change)} ${outcomes(change)}`).values()];
}

function flowLines(
  changes: readonly ChangedFlow[],
  labels: readonly string[],
  style: TraceStyle,
): readonly string[] {
  const [first] = changes;
  if (first === undefined) return [];
  const family = first.family === "ipv6" ? ", IPv6" : "";
  const width = Math.max(labelWidthMin(style), style.columns - labels.length * VALUE_WIDTH);
  const heads = labels.map((label) => label.padEnd(VALUE_WIDTH - 1)).join(" ");
  const rows = rowsOf(changes);
  const lines = rows.slice(0, ROWS_MAX).flatMap((row) => {
    const [change] = row;
    if (change === undefined) return [];
    const protocols = [...new Set(row.map(({ protocol }) => protocol.toUpperCase()))].join(", ");
    const label = `${partiesOf(change)}, ${protocols}`;
    const values = change.outcomes.map((outcome) => valueOf(outcome, style)).join("");
    const isLong = label.length > width - 3;
    const line = `  ${(isLong ? "" : label).padEnd(width - 2)}${values}`.trimEnd();
    return isLong ? [...wrap(label, style.columns - 2).map((each) => `  ${each}`), line] : [line];
  });
  const hidden = rows.length - ROWS_MAX;
  return [
    `${style.heading(`${FLOW_TITLES[first.flow]}${family}`.padEnd(width))}${style.faint(heads.trimEnd())}`,
    ...lines,
    ...(hidden > 0 ? [`  … and ${hidden} more: -o json has them all.`] : []),
    ...reasonLines(changes, style),
    "",
  ];
}

function inputLines({ input }: VerifyComparison, style: TraceStyle): readonly string[] {
  if (input.length === 0) return [];
  const lines = input.flatMap(({ about, observed, code, sides }) => {
    const why = code === undefined ? "" : ` [${code}]`;
    const text = `${sides.join(", ")}: ${about === "" ? "" : `${about}: `}${observed}${why}`;
    return wrap(text, style.columns - 2).map((line) => `  ${line}`);
  });
  return [style.heading("Findings about the input that not all have"), ...lines, ""];
}

function keptLines({ sides, nothingKept }: VerifyComparison, style: TraceStyle): readonly string[] {
  if (nothingKept !== undefined) return wrap(`Everything was judged: ${nothingKept}.`, style.columns);
  return sides.flatMap(({ label, kept }) =>
    kept === undefined ? [] : [TEXTS.verifyCellsKept({ cells: kept.cells, of: kept.of, label })],
  );
}

export function formatComparison(comparison: VerifyComparison, style: TraceStyle = PLAIN_STYLE): string {
  const { cluster, sides, counts, changes } = comparison;
  const labels = sides.map(({ label }) => label);
  const flows = Map.groupBy(changes, ({ flow, family }) => `${flow} ${family ?? ""}`);
  const isChanged = changes.length + comparison.input.length > 0;
  const summary = `${plural(counts.flows, "flow")} compared, ${counts.changed} changed, ${counts.unchanged} unchanged.`;
  const findings = sides
    .map(({ label, findings: count }) => `${label} ${plural(count, "finding")}`)
    .join(", ");
  const lines = [
    style.heading(`Cluster ${cluster}: ${labels.join(", ")}`),
    "",
    ...[...flows.values()].flatMap((each) => flowLines(each, labels, style)),
    ...inputLines(comparison, style),
    ...wrap(`${summary} Against the documentation: ${findings}.`, style.columns),
    ...keptLines(comparison, style),
    isChanged ? style.bad("Not the same for all.") : style.good("The same for all."),
  ];
  return `${lines.join("\n")}\n`;
}
