// Each example of docs/reference/lint.md, as it is printed and alone, through the command line that stands beside it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lint } from "#cli/mullion/lint.ts";
import { runMullion } from "#cli/mullion/program.ts";
import { LINT_RULES } from "#diagnose/lint/rules/all-rules.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../docs/reference/lint.md"), "utf8");

interface PrintedExample {
  readonly code: string;
  readonly argv: readonly string[];
  readonly place: string;
  readonly files: Readonly<Record<string, string>>;
  readonly isShortened: boolean;
}

function examplesOf(page: string): readonly PrintedExample[] {
  return page.split(/^### /m).flatMap((section) => {
    const code = /^[\w-]+$/m.exec(section)?.[0] ?? "";
    const [, command = "", place = ""] =
      /^`mullion (lint [^`]*)` finds it at `([^`]+)`\.$/m.exec(section) ?? [];
    if (command === "") return [];
    const blocks = [...section.matchAll(/^`([^`]+)`(?: \([^)]*\))?:\n\n```text\n([^]*?)\n```$/gm)];
    const files = Object.fromEntries(
      blocks.map(([, name = "", text = ""]) => [
        name,
        `${text.replaceAll("\u2423", "\u00a0").replaceAll("\u25ca", "\ufeff")}\n`,
      ]),
    );
    return [{ code, argv: command.split(" "), place, files, isShortened: section.includes("(shortened:") }];
  });
}

const EXAMPLES = examplesOf(PAGE);

describe("the page of rules", () => {
  it("has an example of every rule, and one alone that is shortened", () => {
    const codes = new Set(LINT_RULES.map(({ code }) => code));
    expect(EXAMPLES.map(({ code }) => code).toSorted()).toEqual([...codes].toSorted());
    expect(EXAMPLES.filter(({ isShortened }) => isShortened).map(({ code }) => code)).toEqual([
      "load-balancer-ports-exhausted",
    ]);
  });

  it.each(EXAMPLES.filter(({ isShortened }) => !isShortened))(
    "$code reproduces as printed",
    async (example) => {
      const { code, place, files } = example;
      const terminal = new MemoryTerminal(files);
      // Notes alone end with 0.
      const argv = [...example.argv, "--fail-on", "info"];
      const exit = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
      expect([exit, terminal.errors]).toEqual([1, ""]);
      expect(terminal.output).toMatch(
        new RegExp(`^${place.replaceAll(".", "\\.")}: \\w+: ${code}(?: |$)`, "m"),
      );
    },
  );
});
