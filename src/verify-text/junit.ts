/** A report as JUnit XML, for build servers: a suite per flow, a test case per cell. */
import { create } from "xmlbuilder2";
import { groupBy } from "../cluster/verify/classes.ts";
import { FLOW_TITLES } from "./format-verify.ts";
import type { VerifyCell, VerifyFinding, VerifyReport } from "../cluster/verify/report.ts";

/** Unique in its suite. */
function nameOf(cell: VerifyCell): string {
  const port = cell.port === undefined ? "" : `/${cell.port}`;
  const name = cell.name === undefined ? "" : ` as ${cell.name}`;
  const family = cell.family === "ipv6" ? " over IPv6" : "";
  if (cell.flow === "bring-up") return cell.from;
  return `${cell.from} → ${cell.to}${name} ${cell.protocol}${port}${family}`;
}

function countOf(cells: readonly VerifyCell[], verdict: VerifyCell["verdict"]): number {
  return cells.filter((cell) => cell.verdict === verdict).length;
}

function failureText(finding: VerifyFinding, cell: VerifyCell, command: string): string {
  const lines = [
    `expected: ${finding.expected} (${cell.row}: ${cell.documentedIn})`,
    `observed: ${finding.observed}`,
    ...(finding.code === undefined ? [] : [`why: mullion explain ${finding.code}`]),
    ...(finding.remedy === undefined ? [] : [`remedy: ${finding.remedy}`]),
    ...(finding.trace === undefined ? [] : [`see: ${command} ${finding.trace}`]),
  ];
  return lines.join("\n");
}

/** `command`: the words before the parties of a trace, `mullion trace -f cluster.yaml`. */
export function formatJunit(report: VerifyReport, command = "mullion trace"): string {
  const findings = new Map(report.findings.map((finding) => [finding.cell, finding]));
  const positions = new Map(report.cells.map((cell, position) => [cell, position]));
  const root = create({ version: "1.0", encoding: "UTF-8" }).ele("testsuites", {
    name: `mullion verify ${report.cluster}`,
    tests: report.cells.length,
    failures: report.findings.length,
    skipped: countOf(report.cells, "not-tried"),
  });
  for (const [flow, cells] of groupBy(report.cells, (cell) => cell.flow)) {
    const suite = root.ele("testsuite", {
      name: FLOW_TITLES[flow as VerifyCell["flow"]],
      tests: cells.length,
      failures: countOf(cells, "finding"),
      skipped: countOf(cells, "not-tried"),
    });
    for (const cell of cells) {
      const test = suite.ele("testcase", { classname: flow, name: nameOf(cell) });
      const finding = findings.get(positions.get(cell) ?? -1);
      if (finding !== undefined) {
        const message = `expected ${finding.expected}, observed ${finding.observed}`;
        test.ele("failure", { message }).txt(failureText(finding, cell, command));
      } else if (cell.verdict === "not-tried") test.ele("skipped", { message: cell.why ?? "" });
    }
  }
  return `${root.end({ prettyPrint: true })}\n`;
}
