/**
 * A report for other programs and for threads: JUnit (a suite per node, a case per finding, what could not be checked
 * skipped), SARIF (a result per finding at its first line), Markdown to paste.
 */
import { type XmlElement, formatXml, xmlElement } from "#core/base/xml.ts";
import { plural } from "#core/base/text-layout.ts";
import { uriOf } from "../lint/report/format-sarif.ts";
import type { Certainty, NodeFinding } from "./check.ts";
import { type DoctorReport, isChecked } from "./doctor.ts";
import { isPathOfServer } from "./place.ts";

/** A line for each cause that is out: the code, and what excludes it. */
function ruledOutLines({ ruledOut = [] }: NodeFinding): readonly string[] {
  return ruledOut.map(
    ({ code, evidence }) =>
      `ruled out: ${code}: ${evidence.map(({ file, line, says }) => `${file}:${line}: ${says}`).join("; ")}`,
  );
}

function bodyOf(finding: NodeFinding): readonly string[] {
  const { message, evidence, breaks, proof, remedy, others = [], next } = finding;
  return [
    `${message}.`,
    ...evidence.map(({ file, line, says }) => `${file}:${line}: ${says}`),
    ...(others.length === 0 ? [] : [`also: ${others.join(", ")}`]),
    `breaks: ${breaks}`,
    `${proof.isProved ? "proved" : "not proved"}: ${proof.says}`,
    ...ruledOutLines(finding),
    ...(next === undefined ? [] : [`collect next: ${next}`]),
    remedy,
  ];
}

function failureOf(finding: NodeFinding): XmlElement {
  const failure = { type: finding.certainty, message: finding.message };
  const name = `${finding.code}: ${finding.message}`;
  return xmlElement("testcase", { classname: finding.node, name }, [
    xmlElement("failure", failure, bodyOf(finding).join("\n")),
  ]);
}

/** Files that were not read are skipped, so that a build server shows them. */
function filesSuite(notRead: DoctorReport["notRead"]): readonly XmlElement[] {
  if (notRead.length === 0) return [];
  const name = "files";
  const cases = notRead.map(({ file, line, reason }) =>
    xmlElement("testcase", { classname: name, name: `${file}:${line}` }, [
      xmlElement("skipped", { message: `not read: ${reason}` }),
    ]),
  );
  const count = notRead.length;
  return [xmlElement("testsuite", { name, tests: count, failures: 0, skipped: count }, cases)];
}

/** A node without findings; how many checks were made is known of all nodes together. */
function soundCase(node: string, { nodes, checksMade }: DoctorReport): XmlElement {
  const name = nodes.length === 1 ? `${plural(checksMade, "check")} made` : "nothing wrong found";
  return xmlElement("testcase", { classname: node, name });
}

function nodeSuite(node: string, report: DoctorReport): XmlElement {
  const failures = report.findings.filter((each) => each.node === node);
  const skipped = report.checksNotMade.filter((each) => each.node === node);
  const sound = failures.length === 0 && isChecked(report) ? [soundCase(node, report)] : [];
  const cases = [
    ...sound,
    ...failures.map(failureOf),
    ...skipped.map(({ check, missing }) =>
      xmlElement("testcase", { classname: node, name: check }, [
        xmlElement("skipped", { message: `without ${missing.join(", ")}` }),
      ]),
    ),
  ];
  const counts = { tests: cases.length, failures: failures.length, skipped: skipped.length };
  return xmlElement("testsuite", { name: node, ...counts }, cases);
}

/** Without a single check a build server shows an error, as the exit code does: skipped checks alone would pass. */
function uncheckedSuite(): XmlElement {
  const name = "mullion doctor";
  const message = "no check could be made";
  return xmlElement("testsuite", { name, tests: 1, failures: 0, errors: 1 }, [
    xmlElement("testcase", { classname: name, name: "checks" }, [xmlElement("error", { message })]),
  ]);
}

/** Findings fail; checks that could not be made are skipped with what is missing. */
export function formatJunit(report: DoctorReport): string {
  const { nodes, findings, checksNotMade, notRead } = report;
  const names = [...new Set([...nodes, ...findings.map(({ node }) => node)])];
  const suites = [
    ...names.map((name) => nodeSuite(name, report)),
    ...(isChecked(report) ? [] : [uncheckedSuite()]),
    ...filesSuite(notRead),
  ];
  const counts = {
    tests: suites.reduce((sum, { children }) => sum + children.length, 0),
    failures: findings.length,
    errors: isChecked(report) ? 0 : 1,
    skipped: checksNotMade.length + notRead.length,
  };
  return formatXml(xmlElement("testsuites", { name: "mullion doctor", ...counts }, suites));
}

const LEVELS: Readonly<Record<Certainty, string>> = { certain: "error", likely: "warning", possible: "note" };

/** A line of a file; an object of an API server is in none, and its path is its name. */
function locationOf({
  file,
  line,
  says,
}: NodeFinding["evidence"][number]): Readonly<Record<string, unknown>> {
  const message = { text: says };
  return isPathOfServer(file)
    ? { logicalLocations: [{ fullyQualifiedName: file, kind: "resource" }], message }
    : { physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine: line } }, message };
}

/** What went wrong while files were read (SARIF 2.1.0, section 3.20.21). */
function notificationsOf(report: DoctorReport): readonly Readonly<Record<string, unknown>>[] {
  const left = report.notRead.map(({ file, line, reason }) => ({
    level: "note",
    message: { text: `not read: ${reason}` },
    locations: [locationOf({ file, line, says: reason })],
  }));
  const unchecked = { level: "warning", message: { text: "no check could be made" } };
  return isChecked(report) ? left : [unchecked, ...left];
}

/** SARIF 2.1.0. `version` is that of the tool. */
export function formatSarif(report: DoctorReport, version: string): string {
  const { findings } = report;
  const codes = [...new Set(findings.map(({ code }) => code))].toSorted();
  const rules = codes.map((id) => {
    const remedy = findings.find(({ code }) => code === id)?.remedy ?? "";
    return { id, help: { text: remedy } };
  });
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "mullion doctor", version, rules } },
        invocations: [
          {
            executionSuccessful: isChecked(report),
            toolExecutionNotifications: notificationsOf(report),
          },
        ],
        results: findings.map((finding) => {
          const [first, ...others] = finding.evidence;
          return {
            ruleId: finding.code,
            ruleIndex: codes.indexOf(finding.code),
            level: LEVELS[finding.certainty],
            message: { text: bodyOf(finding).join("\n") },
            locations: first === undefined ? [] : [locationOf(first)],
            relatedLocations: others.map((each, id) => ({ id, ...locationOf(each) })),
            properties: { node: finding.node, certainty: finding.certainty, proved: finding.proof.isProved },
          };
        }),
      },
    ],
  };
  return `${JSON.stringify(log, undefined, 2)}\n`;
}

/** What stands between back ticks: it may have some itself. */
function literal(text: string): string {
  const ticks = text.match(/`+/gu) ?? [];
  const fence = "`".repeat(Math.max(0, ...ticks.map(({ length }) => length)) + 1);
  const edge = /^`|`$/u.test(text) ? " " : "";
  return `${fence}${edge}${text.replaceAll("\n", " ")}${edge}${fence}`;
}

/** Words of files and clusters are no Markdown and no HTML. */
function plain(text: string): string {
  return text.replaceAll("\n", " ").replace(/[\\`*_[\]<>#|@]/gu, (sign) => `\\${sign}`);
}

function section(finding: NodeFinding, number: number): string {
  const { node, code, certainty, message, evidence, others = [], breaks, proof, next, remedy } = finding;
  return [
    `### ${number}. ${plain(message)}`,
    "",
    `${certainty}, ${literal(code)}, node ${literal(node)}`,
    "",
    ...evidence.map(({ file, line, says }) => `- ${literal(`${file}:${line}`)}: ${plain(says)}`),
    ...(others.length === 0 ? [] : [`- also: ${plain(others.join(", "))}`]),
    `- breaks: ${plain(breaks)}`,
    `- ${proof.isProved ? "proved" : "not proved"}: ${plain(proof.says)}`,
    ...ruledOutLines(finding).map((each) => `- ${plain(each)}`),
    ...(next === undefined ? [] : [`- collect next: ${plain(next)}`]),
    "",
    plain(remedy.split("\n\n")[0] ?? remedy),
  ].join("\n");
}

/** To paste into a thread. */
export function formatMarkdown(report: DoctorReport): string {
  const { nodes, findings, checksMade, checksNotMade, notRead } = report;
  const nothing = isChecked(report) ? "Nothing wrong found" : "Nothing was checked";
  const count = findings.length === 0 ? nothing : plural(findings.length, "finding");
  const made = `${count}; ${plural(checksMade, "check")} made; ${checksNotMade.length} could not be made.`;
  const missing = [...new Set(checksNotMade.flatMap((each) => each.missing))];
  return `${[
    ["## mullion doctor", ...(nodes.length === 0 ? [] : [nodes.map(plain).join(", ")])].join(": "),
    made,
    ...findings.map((finding, index) => section(finding, index + 1)),
    ...(missing.length === 0 ? [] : [`Missing: ${missing.join(", ")}.`]),
    ...(notRead.length === 0
      ? []
      : [
          notRead
            .map(({ file, line, reason }) => `- not read: ${literal(`${file}:${line}`)}: ${plain(reason)}`)
            .join("\n"),
        ]),
  ].join("\n\n")}\n`;
}
