/** A report as JUnit XML: a suite per file, a test case per finding; notes pass, and say what they are in their output. */
import { create } from "xmlbuilder2";
import { pageOf, remedyOf } from "./format-text.ts";
import type { Finding, LintReport } from "./report.ts";

/** XML 1.0 has no way to write these. */
function writable(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "?");
}

function bodyOf(finding: Finding): string {
  const remedy = finding.fix === "" ? remedyOf(finding.code) : finding.fix;
  return writable(`${finding.message}.\n${finding.lineText.trim()}\n${remedy}\n${pageOf(finding.code)}`);
}

function isFailure({ severity }: Finding): boolean {
  return severity !== "info";
}

export function formatJunit(report: LintReport): string {
  const byFile = new Map<string, Finding[]>();
  for (const finding of report.findings) {
    const known = byFile.get(finding.file);
    if (known === undefined) byFile.set(finding.file, [finding]);
    else known.push(finding);
  }
  const clean = report.files.filter((file) => !byFile.has(file));
  const root = create({ version: "1.0", encoding: "UTF-8" }).ele("testsuites", {
    name: "mullion lint",
    tests: report.findings.length + clean.length,
    failures: report.findings.filter(isFailure).length,
    skipped: report.suppressed.length,
  });
  for (const [file, findings] of byFile) {
    const suite = root.ele("testsuite", {
      name: writable(file),
      tests: findings.length,
      failures: findings.filter(isFailure).length,
    });
    for (const finding of findings) {
      const { line, column, code, severity, title, message } = finding;
      const test = suite.ele("testcase", {
        classname: code,
        name: writable(`${file}:${line}:${column} ${title}`),
      });
      if (isFailure(finding))
        test.ele("failure", { type: severity, message: writable(message) }).txt(bodyOf(finding));
      else test.ele("system-out").txt(bodyOf(finding));
    }
  }
  for (const file of clean) {
    const name = writable(file);
    root.ele("testsuite", { name, tests: 1, failures: 0 }).ele("testcase", { classname: "clean", name });
  }
  return `${root.end({ prettyPrint: true })}\n`;
}
