/** `mullion explain QUERY`: an entry of the catalogue, or errors of the table. With `--log FILE`: what a log shows. */
import type { KnowledgeEntry } from "#diagnose/catalogue/entry.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";
import { errorsDocument } from "#diagnose/catalogue/errors/error-documents.ts";
import { type ErrorSearch, findError } from "#diagnose/catalogue/errors/find-error.ts";
import { formatError, formatUnknownNumber } from "#diagnose/catalogue/errors/format-error.ts";
import { findCode } from "#diagnose/catalogue/find-code.ts";
import { formatEntry } from "#diagnose/catalogue/format-entry.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { formatFindings } from "#diagnose/catalogue/log/format-findings.ts";
import { logFindings } from "#diagnose/catalogue/log/findings.ts";
import { readLog } from "#diagnose/catalogue/log/read-log.ts";

type Output = "text" | "json";

/** JSON as verbs print it. */
export function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

const SHOWN_QUERY_LENGTH = 80;

function quote(query: string): string {
  return JSON.stringify(query.length > SHOWN_QUERY_LENGTH ? `${query.slice(0, SHOWN_QUERY_LENGTH)}…` : query);
}

function printEntry(entry: KnowledgeEntry, output: Output, terminal: Terminal): ExitCode {
  const text =
    output === "json"
      ? formatJson(entry)
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
export function explain(query: string, output: Output, terminal: Terminal): ExitCode {
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
    output === "json"
      ? formatJson(errorsDocument(query, search.errors, search.hresult))
      : formatSearch(search, terminal),
  );
  return search.errors.length > 0 ? 0 : 1;
}

export interface ExplainLogRequest {
  /** A file, or `-`. */
  readonly path: string;
  readonly output: "text" | "json";
}

function unreadable(path: string, why: string, advice: string): Failure {
  return new Failure("log-unreadable", `cannot read ${JSON.stringify(path)} as a log: ${why}`, advice);
}

/** Reads a log to its end. The exit code is 1 when it shows something, 0 when nothing in it is known. */
export async function explainLog({ path, output }: ExplainLogRequest, terminal: Terminal): Promise<ExitCode> {
  const name = path === "-" ? "standard input" : path;
  const log = await readLog(terminal.readStream(path)).catch((error: unknown) => {
    const isOfSystem = error instanceof Error && "code" in error;
    if (!isOfSystem) throw error;
    throw unreadable(name, describeSystemError(error), "Name a file of text, or - for standard input.");
  });
  if ("notALog" in log) throw unreadable(name, `it is ${log.notALog}`, log.advice);
  const hasFindings = log.errors.size + log.unknown.size > 0;
  if (log.isBinary && !hasFindings) {
    throw unreadable(name, "it is not text", "Export it as text first, then name that file.");
  }
  terminal.stdout(
    output === "json"
      ? formatJson(logFindings(name, log))
      : formatFindings(name, log, terminal.columns, (text) => terminal.bold(text)),
  );
  return hasFindings ? 1 : 0;
}
