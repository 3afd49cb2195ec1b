/**
 * Long runs of a log say nothing to readers of what commands print: a line that begins with a time, and holds none of the
 * words that a reader looks for within a line, is passed by. So a log of a gigabyte costs one look at each line.
 */
import { SourceText } from "#core/base/source-text.ts";
import { JSON_LOG_LINE, isJsonLog, plainLine, withPlainLines } from "./json-log.ts";
import { type Line, linesOf } from "./place.ts";

/** How lines of klog, logrus, zap, syslog and the plugins of Azure begin, also as JSON; no command prints such a line. */
const LOG_LINE = new RegExp(
  String.raw`(?:(?:[IWEF]\d{4} \d\d:|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|time="\d{4}-|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:)\d\d|${JSON_LOG_LINE})`,
  "uy",
);

/** True for a text in which a program's log stands, whatever stands around it. */
export function hasLogLines(text: string): boolean {
  return new RegExp(`^${LOG_LINE.source}`, "mu").test(text);
}

/**
 * What a line of a log has to hold that says something to a reader of documents: a flag, a proxy's address, an end of line
 * that is none of `\n`.
 */
const OF_DOCUMENTS = String.raw`--|_[Pp][Rr][Oo][Xx][Yy]|\r(?!\n)|[\u2028\u2029]`;

/** Lines that are kept where a run begins and ends: flags, tables and blocks are judged with the lines around them. */
const KEPT = 16;

/** A text of which the inside of long runs is left out. */
export interface ShortText {
  readonly source: SourceText;
  /** The lines that are left, where they stand in the whole; made when asked for. */
  readonly lines: () => readonly Line[];
  readonly isWhole: boolean;
}

/** Lines that are left out; both from 0, the second is behind them. */
type Extent = readonly [from: number, to: number];

/** A pattern for what readers look for within a line of a log. */
export function patternFor(parts: readonly string[]): RegExp {
  return new RegExp([OF_DOCUMENTS, ...parts].join("|"), "g");
}

/** The insides of the runs of a text: each by the offsets and by the numbers of its lines. */
function* runsOf(
  text: string,
  pattern: RegExp,
): Generator<{ readonly offsets: Extent; readonly lines: Extent }> {
  const beginning = new RegExp(LOG_LINE);
  const wanted = new RegExp(pattern);
  let hit = wanted.exec(text)?.index ?? Infinity;
  // Where the last lines of the run begin, to give those back that are kept at its end.
  const starts = new Float64Array(KEPT);
  let count = 0;
  let from = 0;
  let line = 0;
  for (let start = 0; start < text.length; line++) {
    const found = text.indexOf("\n", start);
    const next = found < 0 ? text.length : found + 1;
    beginning.lastIndex = start;
    const isQuiet = hit >= next && beginning.test(text);
    if (isQuiet) {
      if (count === KEPT) from = start;
      starts[count % KEPT] = start;
      count++;
    } else {
      const last = starts[count % KEPT] ?? 0;
      if (count > 2 * KEPT) yield { offsets: [from, last], lines: [line - count + KEPT, line - KEPT] };
      count = 0;
    }
    if (hit < next) {
      wanted.lastIndex = next;
      hit = wanted.exec(text)?.index ?? Infinity;
    }
    start = next;
  }
  const last = starts[count % KEPT] ?? 0;
  if (count > 2 * KEPT) yield { offsets: [from, last], lines: [line - count + KEPT, line - KEPT] };
}

/** The lines of a text without runs, by their numbers in the whole. */
function numbered(left: SourceText, runs: readonly Extent[]): readonly Line[] {
  let passed = 0;
  let next = 0;
  return linesOf(left).map((each) => {
    for (let run = runs[next]; run !== undefined && run[0] < each.line + passed; run = runs[++next])
      passed += run[1] - run[0];
    return { ...each, line: each.line + passed };
  });
}

/** The same with lines of JSON in their text form. */
export function withPlainText(short: ShortText): ShortText {
  if (!isJsonLog(short.source.text)) return short;
  return {
    ...short,
    source: withPlainLines(short.source),
    lines: () => short.lines().map((line) => ({ ...line, text: plainLine(line.text) })),
  };
}

/** Leaves out what no reader looks at. @param pattern what readers look for in a line of a log, of `patternFor`. */
export function withoutRuns(source: SourceText, pattern: RegExp): ShortText {
  const { file, text, encoding, hasByteOrderMark } = source;
  const runs = [...runsOf(text, pattern)];
  if (runs.length === 0) return { source, lines: () => linesOf(source), isWhole: true };
  let short = "";
  let behind = 0;
  for (const { offsets } of runs) {
    short += text.slice(behind, offsets[0]);
    [, behind] = offsets;
  }
  const left = new SourceText(file, short + text.slice(behind), encoding, hasByteOrderMark);
  return {
    source: left,
    lines: () =>
      numbered(
        left,
        runs.map(({ lines }) => lines),
      ),
    isWhole: false,
  };
}
