/** A report as SARIF 2.1.0, for code scanning. */
import { POSIX_PATHS, WINDOWS_PATHS } from "#core/base/path-rules.ts";
import { getEntry } from "../../catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { LintSeverity } from "../../catalogue/entry.ts";
import { pageLines, pageOf, remedyOf } from "./format-text.ts";
import {
  type CauseGroup,
  type LintFinding,
  type LintReport,
  type SuppressedFinding,
  causeGroups,
} from "./report.ts";

const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

const LEVELS: Readonly<Record<LintSeverity, string>> = { error: "error", warning: "warning", info: "note" };

/** A path of either kind of system as a URI reference: slashes, and what a URI does not take escaped. */
export function uriOf(file: string): string {
  if (POSIX_PATHS.isAbsolute(file)) return POSIX_PATHS.fileUrlOf(file);
  if (WINDOWS_PATHS.isAbsolute(file)) return WINDOWS_PATHS.fileUrlOf(file);
  const path = file.replaceAll("\\", "/").replace(/^(?:\.\/)+/, "");
  return path.split("/").map(encodeURIComponent).join("/");
}

function ruleOf(code: KnowledgeCode): Readonly<Record<string, unknown>> {
  const entry = getEntry(code);
  const remedy = `${entry.cause}\n\n${entry.remedy}`;
  return {
    id: code,
    name: code
      .split("-")
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(""),
    shortDescription: { text: `${entry.title}.` },
    fullDescription: { text: entry.cause },
    help: { text: remedy, markdown: `${remedy}\n\nSee ${pageOf(code)}` },
    defaultConfiguration: { level: LEVELS[entry.severity ?? "warning"] },
  };
}

function regionOf(finding: LintFinding): Readonly<Record<string, unknown>> {
  const { line, column, endLine, endColumn, lineText } = finding;
  return {
    startLine: line,
    startColumn: column,
    endLine,
    endColumn,
    ...(lineText === "" ? {} : { snippet: { text: lineText } }),
  };
}

function locationOf(finding: LintFinding): Readonly<Record<string, unknown>> {
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(finding.file) },
      region: regionOf(finding),
    },
    logicalLocations: [{ fullyQualifiedName: finding.title }],
  };
}

function resultOf(
  { finding, severity, others }: CauseGroup,
  codes: readonly KnowledgeCode[],
  suppression: Pick<SuppressedFinding, "reason" | "isInSource"> | undefined,
): Readonly<Record<string, unknown>> {
  const remedy = finding.fix === "" ? remedyOf(finding.code) : finding.fix;
  return {
    ruleId: finding.code,
    ruleIndex: codes.indexOf(finding.code),
    level: LEVELS[severity],
    message: { text: [`${finding.message}. ${remedy}`.trim(), ...pageLines(finding)].join("\n") },
    locations: [locationOf(finding)],
    ...(others.length === 0
      ? {}
      : {
          relatedLocations: others.map((other, id) => ({
            id,
            ...locationOf(other),
            message: { text: `${other.code}: ${other.message}.` },
          })),
        }),
    // An empty list says that suppressions were looked for and there were none.
    suppressions:
      suppression === undefined
        ? []
        : [{ kind: suppression.isInSource ? "inSource" : "external", justification: suppression.reason }],
  };
}

/** SARIF of a report. `version` is that of the tool. */
export function formatSarif(report: LintReport, version: string): string {
  const { findings, suppressed, passedBy } = report;
  const all = [
    ...causeGroups(findings).map((group) => ({ group, suppression: undefined })),
    ...suppressed.map(({ finding, ...suppression }) => ({
      group: { finding, severity: finding.severity, others: [] },
      suppression,
    })),
  ];
  const codes = [...new Set(all.map(({ group }) => group.finding.code))].toSorted();
  const log = {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "mullion lint", version, rules: codes.map(ruleOf) } },
        columnKind: "utf16CodeUnits",
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: passedBy.map(({ file, line, reason }) => ({
              level: "note",
              message: { text: `skipped: ${reason}` },
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: uriOf(file) },
                    region: { startLine: Math.max(line, 1) },
                  },
                },
              ],
            })),
          },
        ],
        results: all.map(({ group, suppression }) => resultOf(group, codes, suppression)),
      },
    ],
  };
  return `${JSON.stringify(log, undefined, 2)}\n`;
}
