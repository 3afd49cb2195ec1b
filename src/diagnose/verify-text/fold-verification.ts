/** A report in a few lines, for a first look: what works by the name of its flow, and each row that differs from it. */
import { wrap } from "#core/base/text-layout.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { PLAIN_STYLE, type TraceStyle } from "#cluster/trace/format-trace.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { getEntry } from "../catalogue/catalogue.ts";
import {
  FLOW_TITLES,
  PAGE_MARK,
  RowLabels,
  SystemNames,
  differenceText,
  valueOf,
  verdictLine,
} from "./format-verify.ts";

const VALUE_WIDTH = 8;
const INPUT_MAX = 3;
/** Keeps words of one title on one line. */
const NO_BREAK = "\u{a0}";
/** Rows that differ; more are counted. */
const ROWS_MAX = 8;

/** After the flows that work; `verify` in full has the sentence and the reason. */
const PAGE_NOTE = ` (${PAGE_MARK} otherwise on the Kubernetes page)`;

/** A row of a flow's table in the protocols in which it does not simply work. */
interface Difference {
  readonly value: string;
  readonly isBad: boolean;
  readonly flow: string;
  readonly row: string;
  readonly protocols: string;
  readonly codes: readonly KnowledgeCode[];
}

function titleOf({ flow, family }: VerifyCell): string {
  return `${FLOW_TITLES[flow]}${family === "ipv6" ? ", IPv6" : ""}`;
}

/** Protocols that come out alike share an entry. */
function differencesOf(cells: readonly VerifyCell[], names: SystemNames): readonly Difference[] {
  const labels = new RowLabels(cells, names);
  const rows = [...Map.groupBy(cells, (cell) => `${labels.labelOf(cell)}\n${cell.protocol}`).values()];
  const differing = rows.filter((row) => !["works", "n/a"].includes(valueOf(row)));
  const alike = Map.groupBy(differing, (row) => {
    const [first] = row;
    return JSON.stringify([first && labels.labelOf(first), valueOf(row), ...codesOf(row)]);
  });
  return [...alike.values()].flatMap((each) => {
    const [first] = each.flat();
    if (first === undefined) return [];
    const protocols = each.map(([cell]) => cell?.protocol.toUpperCase()).join(", ");
    const isBad = each.some((row) => valueOf(row).startsWith("DIFFERS"));
    const value = isBad ? "DIFFERS" : valueOf(each[0] ?? []);
    return [
      {
        value,
        isBad,
        flow: titleOf(first),
        row: labels.labelOf(first),
        protocols,
        codes: codesOf(each.flat()),
      },
    ];
  });
}

function codesOf(cells: readonly VerifyCell[]): readonly KnowledgeCode[] {
  return [...new Set(cells.flatMap(({ code, expected }) => (expected === "denied" ? (code ?? []) : [])))];
}

/** A word in the margin, and a text that is wrapped beside it. */
function beside(
  margin: string,
  text: string,
  paint: (text: string) => string,
  { columns }: TraceStyle,
): readonly string[] {
  return wrap(text, columns - VALUE_WIDTH - 2).map(
    (line, index) =>
      `  ${paint((index === 0 ? margin : "").padEnd(VALUE_WIDTH))}${line.replaceAll(NO_BREAK, " ")}`,
  );
}

function differenceLines(difference: Difference, style: TraceStyle): readonly string[] {
  const { value, isBad, flow, row, protocols, codes } = difference;
  const reasons = codes.flatMap((code) => beside("", getEntry(code).title, style.faint, style));
  const text = [`${flow}: ${row}, ${protocols}`, ...codes].join(", ");
  return [...beside(value, text, isBad ? style.bad : style.heading, style), ...reasons];
}

/** `pod → pod (IP)` and `pod → pod (name)` as `pod → pod (IP, name)`. */
function joinTitles(titles: readonly string[]): string {
  const parts = titles.map((title) => {
    const close = title.lastIndexOf(")");
    const open = title.lastIndexOf(" (", close);
    return open < 0 || close < 0
      ? [title, title, "", ""]
      : [title, title.slice(0, open), title.slice(open + 2, close), title.slice(close + 1)];
  });
  const alike = Map.groupBy(parts, ([, flow = "", , family = ""]) => flow + family);
  return [...alike]
    .map(([key, each]) => {
      const mark = key.endsWith(PAGE_MARK) ? PAGE_MARK : "";
      const flow = key.slice(0, key.length - mark.length);
      const ways = each.map(([, , way = ""]) => way).filter((way) => way !== "");
      return `${ways.length === 0 ? flow : `${flow} (${ways.join(", ")})`}${mark}`;
    })
    .map((title) => title.replaceAll(" ", NO_BREAK))
    .join("; ");
}

/** The Kubernetes page states another outcome than the one that was seen. */
function differsFromPage(cell: VerifyCell): boolean {
  return differenceText(cell) !== undefined;
}

/** Findings about the input as a whole, which are in no row; the first ones. */
function inputLines({ findings }: VerifyReport, style: TraceStyle): readonly string[] {
  const ofInput = findings.filter(({ cell }) => cell === undefined);
  const hidden = ofInput.length - INPUT_MAX;
  return [
    ...ofInput
      .slice(0, INPUT_MAX)
      .flatMap(({ about = "", observed }) => beside("input", `${about}: ${observed}`, style.bad, style)),
    ...(hidden > 0 ? beside("", `… and ${hidden} more findings about the input`, style.faint, style) : []),
  ];
}

/** As wide as the style says. Flows whose every row works share one entry; `does not apply` is left to the whole report. */
export function foldVerification(report: VerifyReport, style: TraceStyle = PLAIN_STYLE): string {
  const names = new SystemNames(report);
  const flows = [...Map.groupBy(report.cells, titleOf)];
  const differences = flows
    .flatMap(([, cells]) => differencesOf(cells, names))
    .toSorted((a, b) => Number(b.isBad) - Number(a.isBad));
  const works = flows
    .filter(([, cells]) =>
      cells.some(({ expected, verdict }) => expected === "works" && verdict === "as-expected"),
    )
    .map(([title, cells]) => `${title}${cells.some(differsFromPage) ? PAGE_MARK : ""}`);
  const note = report.cells.some(differsFromPage) ? PAGE_NOTE : "";
  const hidden = differences.length - ROWS_MAX;
  return [
    ...inputLines(report, style),
    ...(works.length === 0 ? [] : beside("works", `${joinTitles(works)}${note}`, style.good, style)),
    ...differences.slice(0, ROWS_MAX).flatMap((difference) => differenceLines(difference, style)),
    ...(hidden > 0 ? beside("", `… and ${hidden} more`, style.faint, style) : []),
    `  ${report.counts.cells} cells, ${report.counts.attempts} attempts. ${verdictLine(report, style)}`,
    "",
  ].join("\n");
}
