/** The command line of `mullion explain`. */
import type { Command } from "commander";
import { ERROR_ORIGINS } from "#diagnose/catalogue/errors/known-error.ts";
import { type Run, usage } from "../options.ts";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { addVerb } from "../described-verb.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ExplainedGroup } from "./explain.ts";

const GROUPS: readonly ExplainedGroup[] = ["codes", ...ERROR_ORIGINS];

interface ExplainOptions {
  readonly output: TextFormat;
  readonly list?: boolean;
  readonly group?: ExplainedGroup;
  readonly log?: string;
}

/** What a way of explaining needs is loaded when it is chosen: other verbs start without all errors. */
async function dispatch(
  words: readonly string[],
  options: ExplainOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { output, list = false, group, log } = options;
  if (log !== undefined && (list || words.length > 0)) {
    throw usage(
      "--log takes a file or a folder and nothing else",
      "Leave out the words, or --log and --list.",
    );
  }
  if (group !== undefined && !list) throw usage("--group belongs to --list", "Add --list, or leave it out.");
  const { explain, explainList, explainLog } = await import("./explain.ts");
  if (list) return explainList({ words, group, output }, terminal);
  return log === undefined
    ? explain(words.join(" "), output, terminal)
    : explainLog({ path: log, output }, terminal);
}

export function addExplain(program: Command, run: Run, terminal: Terminal): void {
  addVerb(program, "explain", { values: { "--group": GROUPS, "--output": TEXT_FORMATS } }).action(
    (words: readonly string[], options: ExplainOptions) => run(() => dispatch(words, options, terminal)),
  );
}
