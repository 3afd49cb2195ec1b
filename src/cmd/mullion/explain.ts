/** `mullion explain`: prints entries of the catalogue. */
import { CATALOGUE, SECTIONS, getEntry } from "../../knowledge/catalogue.ts";
import { findCode } from "../../knowledge/find-code.ts";
import { formatEntry } from "../../knowledge/format-entry.ts";
import { Failure } from "./failure.ts";
import type { ExitCode, Terminal } from "./terminal.ts";

export interface ExplainOptions {
  readonly output: "text" | "json";
  /** Show all codes with their titles. */
  readonly list: boolean;
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** The few codes that are longer push their titles to the right. */
const LISTED_CODE_WIDTH = 40;

function formatList(terminal: Terminal): string {
  const width = Math.min(LISTED_CODE_WIDTH, Math.max(...Object.keys(CATALOGUE).map((code) => code.length)));
  return SECTIONS.map(({ title, entries }) => {
    const lines = entries.map((entry) => `  ${entry.code.padEnd(width)}  ${entry.title}\n`);
    return `${terminal.bold(title)}\n${lines.join("")}`;
  }).join("\n");
}

/** Prints one entry, or the list of all. */
export function explain(text: string | undefined, options: ExplainOptions, terminal: Terminal): ExitCode {
  if (options.list) {
    if (text !== undefined) {
      throw new Failure("bad-usage", "--list takes no code", "Leave out the code, or --list.");
    }
    terminal.stdout(options.output === "json" ? formatJson(Object.values(CATALOGUE)) : formatList(terminal));
    return 0;
  }
  if (text === undefined) {
    throw new Failure("bad-usage", "no code is given", "Name one, or see them all: mullion explain --list");
  }
  const search = findCode(text);
  if (search.code === undefined) {
    const { suggestions } = search;
    const advice =
      suggestions.length === 0
        ? "See all codes: mullion explain --list"
        : `Did you mean ${suggestions.join(", ")}?`;
    throw new Failure("unknown-code", `the catalogue has no code ${JSON.stringify(text)}`, advice);
  }
  const entry = getEntry(search.code);
  terminal.stdout(
    options.output === "json"
      ? formatJson(entry)
      : formatEntry(entry, terminal.columns, (heading) => terminal.bold(heading)),
  );
  return 0;
}
