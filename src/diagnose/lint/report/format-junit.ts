/** A report as JUnit XML: a suite per file, a test case per finding; notes pass, and say what they are in their output. */
import { type XmlElement, formatXml, xmlElement } from "#core/base/xml.ts";
import { pageOf, remedyOf } from "./format-text.ts";
import type { LintFinding, LintReport } from "./report.ts";

function bodyOf(finding: LintFinding): string {
  const remedy = finding.fix === "" ? remedyOf(finding.code) : finding.fix;
  return `${finding.message}.\n${finding.lineText.trim()}\n${remedy}\n${pageOf(finding.code)}`;
}

function isFailure({ severity }: LintFinding): boolean {
  return severity !== "info";
}

function caseOf(finding: LintFinding): XmlElement {
  const { file, line, column, code, severity, title, message } = finding;
  const body = bodyOf(finding);
  const outcome = isFailure(finding)
    ? xmlElement("failure", { type: severity, message }, body)
    : xmlElement("system-out", {}, body);
  return xmlElement("testcase", { classname: code, name: `${file}:${line}:${column} ${title}` }, [outcome]);
}

export function formatJunit(report: LintReport): string {
  const byFile = new Map<string, LintFinding[]>();
  for (const finding of report.findings) {
    const known = byFile.get(finding.file);
    if (known === undefined) byFile.set(finding.file, [finding]);
    else known.push(finding);
  }
  const clean = report.files.filter((file) => !byFile.has(file));
  const suites = [...byFile].map(([name, findings]) => {
    const failures = findings.filter(isFailure).length;
    return xmlElement("testsuite", { name, tests: findings.length, failures }, findings.map(caseOf));
  });
  const cleanSuites = clean.map((name) =>
    xmlElement("testsuite", { name, tests: 1, failures: 0 }, [
      xmlElement("testcase", { classname: "clean", name }),
    ]),
  );
  const counts = {
    name: "mullion lint",
    tests: report.findings.length + clean.length,
    failures: report.findings.filter(isFailure).length,
    skipped: report.suppressed.length,
  };
  return formatXml(xmlElement("testsuites", counts, [...suites, ...cleanSuites]));
}
