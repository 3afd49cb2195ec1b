/**
 * A report as JUnit XML: a suite per file, a test case per finding. Notes pass, and say what they are in their output; so
 * does what another finding causes, so that a cause fails once.
 */
import { type XmlElement, formatXml, xmlElement } from "#core/base/xml.ts";
import { alsoOf, pageLines, pageOf, remedyOf } from "./format-text.ts";
import { type CauseGroup, type LintFinding, type LintReport, causeGroups } from "./report.ts";

function bodyOf(finding: LintFinding, group: CauseGroup | undefined): string {
  const remedy = finding.fix === "" ? remedyOf(finding.code) : finding.fix;
  const { code, file, line, column } = finding.causedBy ?? finding;
  const more = group === undefined ? [`caused by ${code} at ${file}:${line}:${column}`] : alsoOf(group);
  return [
    `${finding.message}.`,
    finding.lineText.trim(),
    remedy,
    ...pageLines(finding),
    ...more,
    pageOf(finding.code),
  ].join("\n");
}

function isFailure(group: CauseGroup | undefined): group is CauseGroup {
  return group !== undefined && group.severity !== "info";
}

function caseOf(finding: LintFinding, group: CauseGroup | undefined): XmlElement {
  const { file, line, column, code, title, message } = finding;
  const body = bodyOf(finding, group);
  const outcome = isFailure(group)
    ? xmlElement("failure", { type: group.severity, message }, body)
    : xmlElement("system-out", {}, body);
  return xmlElement("testcase", { classname: code, name: `${file}:${line}:${column} ${title}` }, [outcome]);
}

export function formatJunit(report: LintReport): string {
  const byFile = Map.groupBy(report.findings, ({ file }) => file);
  const groups = causeGroups(report.findings);
  const causes = new Map(groups.map((group) => [group.finding, group]));
  const clean = report.files.filter((file) => !byFile.has(file));
  const suites = [...byFile].map(([name, findings]) => {
    const failures = findings.filter((finding) => isFailure(causes.get(finding))).length;
    const cases = findings.map((finding) => caseOf(finding, causes.get(finding)));
    return xmlElement("testsuite", { name, tests: findings.length, failures }, cases);
  });
  const cleanSuites = clean.map((name) =>
    xmlElement("testsuite", { name, tests: 1, failures: 0 }, [
      xmlElement("testcase", { classname: "clean", name }),
    ]),
  );
  const counts = {
    name: "mullion lint",
    tests: report.findings.length + clean.length,
    failures: groups.filter(isFailure).length,
    skipped: report.suppressed.length,
  };
  return formatXml(xmlElement("testsuites", counts, [...suites, ...cleanSuites]));
}
