/** A report for people: each finding with its evidence and what packets say, then what was checked and what was not. */
import { andMore, listed, plural, wrap } from "#core/base/text-layout.ts";
import { blocksOf } from "../catalogue/prose.ts";
import type { NodeFinding } from "./check.ts";
import { COLLECT, type DoctorReport, isChecked } from "./doctor.ts";
import type { KindOfEvidence } from "./evidence.ts";
import type { TextStyle } from "../lint/report/format-text.ts";

const INDENT = "    ";
const OTHERS_SHOWN = 5;
const RULED_OUT_SHOWN = 4;
const FILES_SHOWN = 8;

function certaintyWord({ certainty }: NodeFinding, style: TextStyle): string {
  if (certainty === "certain") return style.red(certainty);
  return certainty === "likely" ? style.yellow(certainty) : style.dim(certainty);
}

function labelled(label: string, text: string, { columns }: TextStyle): readonly string[] {
  const head = `${label.padEnd(9)} `;
  return wrap(text, columns - INDENT.length - head.length).map(
    (line, index) => INDENT + (index === 0 ? head : " ".repeat(head.length)) + line,
  );
}

/** The first paragraph of a remedy. */
function shortRemedy(remedy: string): string {
  const [first] = blocksOf(remedy).filter((block) => block.kind === "paragraph");
  return (first?.kind === "paragraph" ? first.text : remedy).replace(/:$/u, ".");
}

/** The causes that are out, each with the line that excludes it; the others are counted. */
function ruledOutLines({ ruledOut = [] }: NodeFinding, style: TextStyle): readonly string[] {
  if (ruledOut.length === 0) return [];
  const shown = ruledOut.slice(0, RULED_OUT_SHOWN).map(({ code, evidence }) => {
    const [first] = evidence;
    return first === undefined ? code : `${code} (${first.file}:${first.line})`;
  });
  return labelled("ruled out", shown.join(", ") + andMore(ruledOut.length - shown.length), style);
}

/** @param number among those of a report; undefined for one alone. */
export function formatFinding(finding: NodeFinding, number: number | undefined, style: TextStyle): string {
  const { code, node, message, evidence, breaks, proof, others = [], next, remedy } = finding;
  const lines = [
    `${style.bold(number === undefined ? `${INDENT}${node}` : `${number}. ${node}`)}: ${certaintyWord(finding, style)}: ${code}`,
    ...wrap(`${message}.`, style.columns - INDENT.length).map((line) => INDENT + line),
    ...evidence.flatMap(({ file, line, says }) => labelled("evidence", `${file}:${line}: ${says}`, style)),
    ...(others.length === 0 ? [] : labelled("also", listed(others, OTHERS_SHOWN), style)),
    ...labelled("breaks", breaks, style),
    ...labelled(proof.isProved ? "proved" : "no proof", proof.says, style),
    ...ruledOutLines(finding, style),
    ...(next === undefined ? [] : labelled("collect", next, style)),
    ...labelled("mend", shortRemedy(remedy), style),
  ];
  return lines.join("\n");
}

/** What could not be checked, by the command that would show what is missing. */
function notMadeLines({ checksNotMade }: DoctorReport, style: TextStyle): readonly string[] {
  const byCommand = new Map<string, { count: number; readonly kinds: Set<string> }>();
  for (const { missing } of checksNotMade) {
    const commands = Map.groupBy(missing, (kind) => COLLECT[kind.replace(/^all /u, "") as KindOfEvidence]);
    for (const [command, kinds] of commands) {
      const known = byCommand.get(command) ?? { count: 0, kinds: new Set() };
      known.count++;
      for (const kind of kinds) known.kinds.add(kind);
      byCommand.set(command, known);
    }
  }
  return [...byCommand]
    .toSorted(([, a], [, b]) => b.count - a.count)
    .map(([command, { count, kinds }]) => {
      const text = `${plural(count, "check")} without ${[...kinds].join(", ")}: ${command}`;
      return wrap(text, style.columns - INDENT.length)
        .map((line, index) => `${index === 0 ? "  " : INDENT}${line}`)
        .join("\n");
    });
}

/** The whole report. */
export function formatDoctor(report: DoctorReport, style: TextStyle, isLong: boolean): string {
  const { findings, checksMade, checksNotMade, files, notRead } = report;
  const blocks = findings.map((finding, index) => formatFinding(finding, index + 1, style));
  const made = `${plural(checksMade, "check")} made; ${checksNotMade.length} could not be made.`;
  const nothing = isChecked(report)
    ? style.green("Nothing wrong found")
    : style.yellow("Nothing was checked");
  const found = findings.length === 0 ? nothing : plural(findings.length, "finding");
  const read = files.map(({ file, holds }) => `  ${file}: ${holds.join(", ")}`);
  const left = notRead.map(({ file, line, reason }) => `  ${file}:${line}: ${reason}`);
  const cut = (lines: readonly string[]): readonly string[] =>
    isLong || lines.length <= FILES_SHOWN
      ? lines
      : [...lines.slice(0, FILES_SHOWN), `  and ${lines.length - FILES_SHOWN} more (--long)`];
  return `${[
    ...blocks,
    [`${found}; ${made}`, ...cut(notMadeLines(report, style))].join("\n"),
    ["Read:", ...cut(read)].join("\n"),
    ...(left.length === 0 ? [] : [["Not read:", ...cut(left)].join("\n")]),
  ].join("\n\n")}\n`;
}
