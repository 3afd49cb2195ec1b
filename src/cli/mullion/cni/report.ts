/** What `mullion cni` prints: results, and failures with the next step. */
import { CNI_CODES, CNI_ERROR, type CniError, formatCniError } from "#contracts/cni/error.ts";
import { formatJson } from "#contracts/cni/json.ts";
import { resultSchema } from "#contracts/cni/result-schema.ts";
import { type JsonObject } from "#core/base/json.ts";
import { type JsonSchema, type Leaf, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { type TextFormat, formatDocument, isDocumentFormat } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const REPORTED_COMMANDS = ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"] as const;
export type ReportedCommand = (typeof REPORTED_COMMANDS)[number];

export const PLUGIN_VERSIONS = {
  text: "What a plugin answers to VERSION.",
  fields: {
    type: "text",
    supportedVersions: { list: "text" },
    isListSupported: { is: "boolean", text: "The version of the list is among them." },
  },
} as const;
export type PluginVersions = ValueOf<typeof PLUGIN_VERSIONS>;

export const REPORTED_CNI_ERROR = {
  text: (): string => WORDS.reportedCniError,
  base: (): typeof CNI_ERROR => CNI_ERROR,
  fields: { advice: "text" },
  optional: {
    knowledge: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "The code for mullion explain.",
    },
  },
} as const;
export type ReportedCniError = ValueOf<typeof REPORTED_CNI_ERROR>;

/** A result in the version of its list has its own description (`#contracts/cni/result.ts`). */
export const CNI_RESULT: Leaf<JsonObject> = { schema: resultSchema() };

/** What `-o json` prints. */
export const CNI_REPORT = {
  text: "One call.",
  fields: {
    command: (): typeof REPORTED_COMMANDS => REPORTED_COMMANDS,
    network: "text",
    cniVersion: { is: "text", text: "Of the list; empty: it names none." },
  },
  optional: {
    attachment: {
      text: "What it was about.",
      fields: { containerId: "text", ifName: "text", netns: "text" },
    },
    result: {
      is: (): typeof CNI_RESULT => CNI_RESULT,
      text: (): string => WORDS.cniReportResult,
    },
    plugins: { list: (): typeof PLUGIN_VERSIONS => PLUGIN_VERSIONS },
    error: (): typeof REPORTED_CNI_ERROR => REPORTED_CNI_ERROR,
  },
} as const;
export type CniReport = ValueOf<typeof CNI_REPORT>;

/** The JSON Schema of `-o json`, published as schemas/cni.v1alpha1.json. */
export function cniReportSchema(): JsonSchema {
  return documentSchema("What mullion cni -o json prints", CNI_REPORT, "draft-07");
}

const ADVICE: ReadonlyMap<number, string> = new Map([
  [CNI_CODES.incompatibleVersion, WORDS.adviceCniVersion],
  [CNI_CODES.unsupportedField, "Change the field that the message names."],
  [CNI_CODES.unknownContainer, "Name the container with --container-id."],
  [
    CNI_CODES.invalidEnvironment,
    "Change what the message names: --container-id, -i, --args or the namespace.",
  ],
  [CNI_CODES.ioFailure, WORDS.adviceCniIoFailure],
  [CNI_CODES.decodingFailure, 'See what is wrong with the file: "mullion lint FILE".'],
  [CNI_CODES.invalidNetworkConfig, 'See what is wrong with the file: "mullion lint FILE".'],
  [CNI_CODES.invalidNetns, WORDS.adviceCniNetns],
  [CNI_CODES.tryAgainLater, "Try again later: the plugin asks for it."],
]);

/** What was made before the failure stays, as with every runtime on the client library. */
const HALF_MADE = WORDS.adviceCniAddIncomplete;

/** The next step after a failure. */
export function adviceFor(error: CniError, command: ReportedCommand): string {
  if (error.message.includes("failed to find plugin"))
    return "Install it there, or name its folder with --plugin-dir.";
  const known = ADVICE.get(error.code);
  if (command === "ADD") return known === undefined ? HALF_MADE : `${known} ${HALF_MADE}`;
  if (known !== undefined) return known;
  if (command === "CHECK") return "Attach again: del, then add.";
  if (command === "STATUS") return "ADD would fail for this reason.";
  return WORDS.adviceCniRepeat;
}

export function reportedError(error: CniError, command: ReportedCommand): ReportedCniError {
  const { knowledge } = error;
  return {
    ...formatCniError(error),
    advice: adviceFor(error, command),
    ...(knowledge === undefined ? {} : { knowledge }),
  };
}

function describeSuccess({ command, network, attachment }: CniReport): string {
  const { containerId = "", ifName = "" } = attachment ?? {};
  if (command === "DEL") return `${network}: ${containerId} ${ifName} is detached\n`;
  if (command === "CHECK") return `${network}: ${containerId} ${ifName} is as ADD has left it\n`;
  if (command === "STATUS") return `${network}: ready\n`;
  return `${network}: collected\n`;
}

function formatVersions({ network, cniVersion, plugins = [] }: CniReport): string {
  const version = cniVersion === "" ? "0.1.0 (none is written)" : cniVersion;
  const width = Math.max(...plugins.map(({ type }) => type.length));
  const lines = plugins.map(({ type, supportedVersions, isListSupported }) => {
    const verdict = isListSupported ? "" : "   not the list's";
    return `  ${type.padEnd(width)}   ${supportedVersions.join(" ")}${verdict}\n`;
  });
  return `${network}: version ${version}\n${lines.join("")}`;
}

function formatText(report: CniReport): string {
  if (report.plugins !== undefined) return formatVersions(report);
  // A result is printed as plugins print it: scripts for cnitool read it so.
  return report.result === undefined ? describeSuccess(report) : `${formatJson(report.result, 4)}\n`;
}

function formatError({ code, msg, details, advice, knowledge }: ReportedCniError): string {
  const message = details === undefined ? msg : `${msg}; ${details}`;
  const more = knowledge === undefined ? "" : `    More: mullion explain ${knowledge}\n`;
  return `mullion: ${message} [CNI ${code}]\n    ${advice}\n${more}`;
}

/** Prints a report: results on standard output, failures on standard error, data always on standard output. */
export function printReport(report: CniReport, format: TextFormat, terminal: Terminal): void {
  if (isDocumentFormat(format)) terminal.stdout(formatDocument(report, format));
  if (report.error !== undefined) terminal.stderr(formatError(report.error));
  else if (format === "text") terminal.stdout(formatText(report));
}
