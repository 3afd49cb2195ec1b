/** `mullion explain QUERY`: an entry of the catalogue, or errors of the table. With `--log FILE`: what a log shows. */
import type { KnowledgeEntry } from "#diagnose/catalogue/entry.ts";
import { findCode, getEntry, listEntries, listSections } from "#diagnose/catalogue/catalogue.ts";
import { sentencesOnEntry } from "#diagnose/catalogue/documentation-texts.ts";
import { errorsDocument, explanationList } from "#diagnose/catalogue/errors/error-documents.ts";
import { type ErrorSearch, findError } from "#diagnose/catalogue/errors/find-error.ts";
import { formatError, formatUnknownNumber } from "#diagnose/catalogue/errors/format-error.ts";
import { formatEntry } from "#diagnose/catalogue/format-entry.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { type TextFormat, formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { formatFindings, formatFolder } from "#diagnose/catalogue/log/format-findings.ts";
import { type FileLog, logFindings, logFolderFindings } from "#diagnose/catalogue/log/findings.ts";
import { type ReadLog, readLog } from "#diagnose/catalogue/log/read-log.ts";
import { type Signatures, buildSignatures } from "#diagnose/catalogue/log/signatures.ts";
import { formatNumber } from "#diagnose/catalogue/errors/windows/hresult.ts";
import {
  ERROR_ORIGINS,
  type ErrorOrigin,
  type KnownError,
  ORIGIN_TITLES,
} from "#diagnose/catalogue/errors/known-error.ts";
import { shownText } from "#diagnose/catalogue/errors/holes.ts";
import { KNOWN_ERRORS } from "#diagnose/catalogue/errors/table.ts";

const SHOWN_QUERY_LENGTH = 80;

function quote(query: string): string {
  return JSON.stringify(query.length > SHOWN_QUERY_LENGTH ? `${query.slice(0, SHOWN_QUERY_LENGTH)}…` : query);
}

function printEntry(entry: KnowledgeEntry, output: TextFormat, terminal: Terminal): ExitCode {
  const documentation = sentencesOnEntry(entry.code);
  const text = isDocumentFormat(output)
    ? formatDocument(documentation.length === 0 ? entry : { ...entry, documentation }, output)
    : formatEntry(entry, terminal.columns, (heading) => terminal.bold(heading));
  terminal.stdout(text);
  return 0;
}

function formatSearch({ errors, hresult }: ErrorSearch, terminal: Terminal): string {
  const bold = (text: string): string => terminal.bold(text);
  if (errors.length === 0 && hresult !== undefined) {
    return formatUnknownNumber(hresult, terminal.columns, bold);
  }
  const several = errors.length > 1 ? `${errors.length} errors, what names the fault first:\n\n` : "";
  return several + errors.map((error) => formatError(error, terminal.columns, bold)).join("\n\n");
}

/** Codes and errors that look alike; codes only when nothing of the table does. */
function suggestionsFor(query: string, search: ErrorSearch): readonly string[] {
  const found = findCode(query);
  const codes = found.code === undefined ? found.suggestions : [];
  const SHOWN_MAX = 6;
  return [...new Set([...search.suggestions, ...codes])].slice(0, SHOWN_MAX);
}

/** Explains what `query` names. The exit code is 1 for a number that is decoded but not known. */
export function explain(query: string, output: TextFormat, terminal: Terminal): ExitCode {
  if (query.trim() === "") {
    throw new Failure(
      "bad-usage",
      "no code and no error is given",
      "Name one, or see them all: mullion explain --list",
    );
  }
  const found = findCode(query);
  if (found.code !== undefined) return printEntry(getEntry(found.code), output, terminal);
  const search = findError(query);
  if (search.errors.length === 0 && search.hresult === undefined) {
    const suggestions = suggestionsFor(query, search);
    const advice =
      suggestions.length === 0
        ? "See all codes and errors: mullion explain --list"
        : `Did you mean ${suggestions.join(", ")}?`;
    throw new Failure("unknown-code", `nothing known is called ${quote(query)}`, advice);
  }
  terminal.stdout(
    isDocumentFormat(output)
      ? formatDocument(errorsDocument(query, search.errors, search.hresult), output)
      : formatSearch(search, terminal),
  );
  return search.errors.length > 0 ? 0 : 1;
}

export interface ExplainLogRequest {
  /** A file, a folder, or `-`. */
  readonly path: string;
  readonly output: TextFormat;
}

function unreadable(path: string, why: string, advice: string): Failure {
  return new Failure("log-unreadable", `cannot read ${JSON.stringify(path)} as a log: ${why}`, advice);
}

/** A log that was read, or why it was not. */
type Reading = { readonly log: ReadLog } | { readonly why: string; readonly advice: string };

async function readOne(path: string, signatures: Signatures, terminal: Terminal): Promise<Reading> {
  const log = await readLog(terminal.readStream(path), signatures).catch((error: unknown) => {
    const isOfSystem = error instanceof Error && "code" in error;
    if (!isOfSystem) throw error;
    return { why: describeSystemError(error), advice: "Name a file of text, or - for standard input." };
  });
  if ("why" in log) return log;
  if ("notALog" in log) return { why: `it is ${log.notALog}`, advice: log.advice };
  if (log.isBinary && !hasFindings(log))
    return { why: "it is not text", advice: "Export it as text first, then name that file." };
  return { log };
}

function hasFindings(log: ReadLog): boolean {
  return log.errors.length + log.unknown.size > 0;
}

/** The files of a folder: those that show something, each by itself; then what shows nothing, and what is no log. */
async function explainFolder(
  path: string,
  files: readonly string[],
  output: TextFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  if (files.length === 0) throw unreadable(path, "the folder holds no files", "Name a folder with logs.");
  const signatures = buildSignatures();
  const logs: FileLog[] = [];
  const skipped: { readonly file: string; readonly reason: string }[] = [];
  for (const file of files) {
    const reading = await readOne(file, signatures, terminal);
    if ("log" in reading) logs.push({ file, log: reading.log });
    else skipped.push({ file, reason: reading.why });
  }
  const telling = logs.filter(({ log }) => hasFindings(log));
  terminal.stdout(
    isDocumentFormat(output)
      ? formatDocument(logFolderFindings(path, logs, skipped), output)
      : formatFolder(logs, skipped, terminal.columns, (text) => terminal.bold(text)),
  );
  return telling.length > 0 ? 1 : 0;
}

/**
 * Reads a log, or all files of a folder, to the end. The exit code is 1 when something is shown, 0 when nothing in it is
 * known.
 */
export async function explainLog({ path, output }: ExplainLogRequest, terminal: Terminal): Promise<ExitCode> {
  const files = path === "-" ? undefined : await terminal.listFolder(path, true);
  if (files !== undefined) return explainFolder(path, files, output, terminal);
  const name = path === "-" ? "standard input" : path;
  const reading = await readOne(path, buildSignatures(), terminal);
  if ("why" in reading) throw unreadable(name, reading.why, reading.advice);
  const { log } = reading;
  terminal.stdout(
    isDocumentFormat(output)
      ? formatDocument(logFindings(name, log), output)
      : formatFindings(name, log, terminal.columns, (text) => terminal.bold(text)),
  );
  return hasFindings(log) ? 1 : 0;
}

// `mullion explain --list`: all codes and errors, or those that the filters leave.

/** What `--group` takes: the catalogue's codes, or the errors of one origin. */
export type ExplainedGroup = "codes" | ErrorOrigin;

export interface ExplainListRequest {
  /** Only what has all these words. */
  readonly words: readonly string[];
  readonly group: ExplainedGroup | undefined;
  readonly output: TextFormat;
}

/** The few names that are longer push their titles to the right. */
const NAME_WIDTH = 44;

function hasAll(words: readonly string[], texts: readonly string[]): boolean {
  const text = texts.join("\n").toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}

function matchesEntry(entry: KnowledgeEntry, words: readonly string[]): boolean {
  return hasAll(words, [entry.code, entry.title, entry.cause, entry.remedy]);
}

function matchesError(error: KnownError, words: readonly string[]): boolean {
  const { id, names, texts, cause, remedy, hresults } = error;
  return hasAll(words, [id, ...names, ...texts, cause, remedy, ...hresults.map(formatNumber)]);
}

function formatSection(title: string, rows: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.min(NAME_WIDTH, Math.max(...rows.map(([name]) => name.length)));
  return `${title}\n${rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join("\n")}\n`;
}

function errorRow(error: KnownError): readonly [string, string] {
  const hresult = error.hresults[0];
  const number = hresult === undefined ? "" : `${formatNumber(hresult)} `;
  const cni = error.cniCode === undefined ? "" : `CNI code ${error.cniCode} `;
  return [error.names[0] ?? error.id, `${number}${cni}${shownText(error.texts[0] ?? "")}`];
}

function formatText(
  codes: readonly KnowledgeEntry[],
  errors: readonly KnownError[],
  terminal: Terminal,
): string {
  const shown = new Set(codes.map(({ code }) => code));
  const ofCodes = listSections().map(({ title, entries }) => ({
    title,
    rows: entries.filter((entry) => shown.has(entry.code)).map((entry) => [entry.code, entry.title] as const),
  }));
  const ofErrors = ERROR_ORIGINS.map((origin) => ({
    title: `Errors: ${ORIGIN_TITLES[origin]}`,
    rows: errors.filter((error) => error.origin === origin).map(errorRow),
  }));
  return [...ofCodes, ...ofErrors]
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => formatSection(terminal.bold(title), rows))
    .join("\n");
}

/** Lists codes and errors. The exit code is 1 when the filters leave nothing. */
export function explainList({ words, group, output }: ExplainListRequest, terminal: Terminal): ExitCode {
  const hasCodes = group === undefined || group === "codes";
  const codes = hasCodes ? listEntries().filter((entry) => matchesEntry(entry, words)) : [];
  const errors = KNOWN_ERRORS.filter(
    (error) => (group === undefined || group === error.origin) && matchesError(error, words),
  );
  if (isDocumentFormat(output)) terminal.stdout(formatDocument(explanationList(codes, errors), output));
  else terminal.stdout(formatText(codes, errors, terminal));
  if (codes.length + errors.length > 0) return 0;
  terminal.stderr("Nothing has all these words.\n");
  return 1;
}
