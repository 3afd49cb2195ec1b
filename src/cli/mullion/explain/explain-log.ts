/** `mullion explain --log FILE`: what a log shows. */
import { formatFindings } from "#diagnose/catalogue/log/format-findings.ts";
import { logFindings } from "#diagnose/catalogue/log/findings.ts";
import { readLog } from "#diagnose/catalogue/log/read-log.ts";
import { formatJson } from "./explain.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

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
