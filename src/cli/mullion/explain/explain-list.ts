/** `mullion explain --list`: all codes and errors, or those that the filters leave. */
import { listEntries, listSections } from "#diagnose/catalogue/catalogue.ts";
import type { KnowledgeEntry } from "#diagnose/catalogue/entry.ts";
import { explanationList } from "#diagnose/catalogue/errors/error-documents.ts";
import { formatNumber } from "#diagnose/catalogue/errors/windows/hresult.ts";
import {
  ERROR_ORIGINS,
  type KnownError,
  ORIGIN_TITLES,
  type ErrorOrigin,
} from "#diagnose/catalogue/errors/known-error.ts";
import { shownText } from "#diagnose/catalogue/errors/holes.ts";
import { KNOWN_ERRORS } from "#diagnose/catalogue/errors/table.ts";
import { type TextFormat, formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

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
