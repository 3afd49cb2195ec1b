/** A report as JUnit XML, for build servers: a suite per flow, a test case per cell. */
import { groupBy } from "#cluster/verify/classes.ts";
import { type XmlElement, formatXml, xmlElement } from "#core/base/xml.ts";
import { FLOW_TITLES } from "./format-verify.ts";
import type { VerifyCell, VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";

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

function outcomeOf(
  cell: VerifyCell,
  finding: VerifyFinding | undefined,
  command: string,
): readonly XmlElement[] {
  if (finding !== undefined) {
    const message = `expected ${finding.expected}, observed ${finding.observed}`;
    return [xmlElement("failure", { message }, failureText(finding, cell, command))];
  }
  return cell.verdict === "not-tried" ? [xmlElement("skipped", { message: cell.why ?? "" })] : [];
}

/** `command`: the words before the parties of a trace, `mullion trace -f cluster.yaml`. */
export function formatJunit(report: VerifyReport, command = "mullion trace"): string {
  const findings = new Map(report.findings.map((finding) => [finding.cell, finding]));
  const positions = new Map(report.cells.map((cell, position) => [cell, position]));
  const suites = [...groupBy(report.cells, (cell) => cell.flow)].map(([flow, cells]) => {
    const cases = cells.map((cell) => {
      const outcome = outcomeOf(cell, findings.get(positions.get(cell) ?? -1), command);
      return xmlElement("testcase", { classname: flow, name: nameOf(cell) }, outcome);
    });
    const counts = {
      name: FLOW_TITLES[flow as VerifyCell["flow"]],
      tests: cells.length,
      failures: countOf(cells, "finding"),
      skipped: countOf(cells, "not-tried"),
    };
    return xmlElement("testsuite", counts, cases);
  });
  const counts = {
    name: `mullion verify ${report.cluster}`,
    tests: report.cells.length,
    failures: report.findings.length,
    skipped: countOf(report.cells, "not-tried"),
  };
  return formatXml(xmlElement("testsuites", counts, suites));
}
