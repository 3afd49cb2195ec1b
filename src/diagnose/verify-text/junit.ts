/** A report as JUnit XML, for build servers: a suite per flow, a test case per cell. */
import { type XmlElement, formatXml, xmlElement } from "#core/base/xml.ts";
import { formatReason } from "#cluster/session/flow-limit.ts";
import {
  FLOW_TITLES,
  INPUT_TITLE,
  differenceText,
  keptText,
  machinesLine,
  restingLine,
} from "./format-verify.ts";
import { type ClusterFact, placeOf } from "#cluster/session/session.ts";
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

function countSkipped(cells: readonly VerifyCell[]): number {
  return countOf(cells, "not-tried") + countOf(cells, "not-judged");
}

function failureOf(finding: VerifyFinding, cell: VerifyCell | undefined, command: string): XmlElement {
  const source = cell === undefined ? "" : ` (${cell.row}: ${cell.documentedIn})`;
  const lines = [
    `expected: ${finding.expected}${source}`,
    `observed: ${finding.observed}`,
    ...(finding.code === undefined ? [] : [`why: mullion explain ${finding.code}`]),
    ...(finding.remedy === undefined ? [] : [`remedy: ${finding.remedy}`]),
    ...(finding.trace === undefined ? [] : [`see: ${command} ${finding.trace}`]),
  ];
  const message = `expected ${finding.expected}, observed ${finding.observed}`;
  return xmlElement("failure", { message }, lines.join("\n"));
}

/** A finding fails its case, unless the user takes it. */
function testOf(finding: VerifyFinding, cell: VerifyCell | undefined, command: string): XmlElement {
  if (finding.allowed !== true) return failureOf(finding, cell, command);
  return xmlElement("skipped", { message: `allowed: ${finding.observed}` });
}

function outcomeOf(
  cell: VerifyCell,
  finding: VerifyFinding | undefined,
  command: string,
): readonly XmlElement[] {
  if (finding !== undefined) return [testOf(finding, cell, command)];
  if (cell.verdict === "not-judged") {
    const why = (cell.notJudged ?? []).map(formatReason).join("; ");
    return [xmlElement("skipped", { message: `not judged: ${why}` })];
  }
  return cell.verdict === "not-tried" ? [xmlElement("skipped", { message: cell.why ?? "" })] : [];
}

/** Where the case differs from what the Kubernetes page says. */
function pageOutput(cell: VerifyCell): readonly XmlElement[] {
  const text = differenceText(cell);
  return text === undefined ? [] : [xmlElement("system-out", {}, text)];
}

function sourceOf({ source, where }: ClusterFact): string {
  if (where === undefined) return source;
  const place = `${where.file}:${where.line}`;
  return source === where.file ? place : `${source}, ${place}`;
}

/** What the answer rests on, as properties of a suite, and what keeps it from being one, as failures. */
function inputSuite(report: VerifyReport, command: string): readonly XmlElement[] {
  const { basis } = report;
  const findings = report.findings.filter(({ cell }) => cell === undefined);
  const remarks = [
    ...basis.contradictions.map((remark) => ["against", remark] as const),
    ...basis.assumptions.map((remark) => ["assumed", remark] as const),
    ...basis.refused.map((remark) => ["left out", remark] as const),
    ...basis.notJudged.map((remark) => ["not judged", remark] as const),
    ...basis.notes.map((remark) => ["note", remark] as const),
  ];
  const facts = basis.facts.map((fact) =>
    xmlElement("property", { name: fact.name, value: `${fact.value} [${sourceOf(fact)}]` }, []),
  );
  const keptCells = keptText(report);
  const kept =
    keptCells === undefined ? [] : [xmlElement("property", { name: "kept", value: keptCells }, [])];
  const compared = [...machinesLine(report), ...restingLine(report)].map((value) =>
    xmlElement("property", { name: "machines", value }, []),
  );
  if (findings.length + remarks.length + facts.length + kept.length + compared.length === 0) return [];
  const said = remarks.map(([name, remark]) => {
    const place = placeOf(remark);
    const value = `${place === "" ? "" : `${place}: `}${remark.message} [${remark.code}]`;
    return xmlElement("property", { name, value }, []);
  });
  const cases = findings.map((finding) => {
    const name = `${finding.about ?? ""}: ${finding.observed}`;
    return xmlElement("testcase", { classname: INPUT_TITLE, name }, [testOf(finding, undefined, command)]);
  });
  const skipped = findings.filter(({ allowed }) => allowed === true).length;
  const failures = cases.length - skipped;
  const counts = { name: INPUT_TITLE, tests: cases.length, failures, skipped };
  const properties = [...facts, ...said, ...kept, ...compared];
  const listed = properties.length === 0 ? [] : [xmlElement("properties", {}, properties)];
  return [xmlElement("testsuite", counts, [...listed, ...cases])];
}

/** `command`: the words before the parties of a trace, `mullion trace -f cluster.yaml`. */
export function formatJunit(report: VerifyReport, command = "mullion trace"): string {
  const findings = new Map(report.findings.map((finding) => [finding.cell, finding]));
  const positions = new Map(report.cells.map((cell, position) => [cell, position]));
  const findingOf = (cell: VerifyCell): VerifyFinding | undefined => findings.get(positions.get(cell) ?? -1);
  const isAllowed = (cell: VerifyCell): boolean => findingOf(cell)?.allowed === true;
  const suites = [...Map.groupBy(report.cells, (cell) => cell.flow)].map(([flow, cells]) => {
    const cases = cells.map((cell) => {
      const outcome = [...outcomeOf(cell, findingOf(cell), command), ...pageOutput(cell)];
      return xmlElement("testcase", { classname: flow, name: nameOf(cell) }, outcome);
    });
    const taken = cells.filter(isAllowed).length;
    const counts = {
      name: FLOW_TITLES[flow],
      tests: cells.length,
      failures: countOf(cells, "finding") - taken,
      skipped: countSkipped(cells) + taken,
    };
    return xmlElement("testsuite", counts, cases);
  });
  const counts = {
    name: `mullion verify ${report.cluster}`,
    tests: report.cells.length + report.findings.filter(({ cell }) => cell === undefined).length,
    failures: report.counts.findings,
    skipped: countSkipped(report.cells) + report.findings.filter(({ allowed }) => allowed === true).length,
  };
  return formatXml(xmlElement("testsuites", counts, [...inputSuite(report, command), ...suites]));
}
