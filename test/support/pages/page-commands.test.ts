// What becomes of the commands of the pages; all of them run in test/long/pages.long.test.ts, one of them here.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCommand } from "../../../tools/run-command.ts";
import { readFiles } from "../../../tools/source-files.ts";
import {
  EXPECTED,
  LEFT_OUT,
  commandsOf,
  filesOf,
  findExpected,
  findLeftOut,
  inProcess,
  readyPattern,
} from "./page-commands.ts";
import { PageReader, systemNode } from "./page-run.ts";

const COMMANDS = readFiles("README.md", "docs/{start,how-to}/*.md").flatMap(({ path, text }) =>
  commandsOf(path, text),
);

describe("the commands of the pages", () => {
  it("are each compared, served, or left out with a reason", () => {
    const isKnown = (command: (typeof COMMANDS)[number]): boolean =>
      findLeftOut(command) !== undefined ||
      readyPattern(command.line) !== undefined ||
      inProcess(command.line) !== undefined ||
      command.line.startsWith("export ") ||
      findExpected(command) !== undefined;
    expect(COMMANDS.filter((command) => !isKnown(command))).toEqual([]);
    expect(COMMANDS.length).toBeGreaterThan(100);
  });

  it("leave out nothing, and expect nothing, that no page shows", () => {
    const used = new Set<unknown>(
      COMMANDS.flatMap((command) => [findLeftOut(command), findExpected(command)]),
    );
    expect([...LEFT_OUT, ...EXPECTED].filter((row) => !used.has(row))).toEqual([]);
  });

  it("are left out only where the named test exists", () => {
    const isThere = (place: string): boolean => {
      try {
        readFileSync(place);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === "EISDIR";
      }
      return true;
    };
    const places = LEFT_OUT.flatMap(({ instead }) => instead.split(", ")).filter((place) =>
      place.includes("/"),
    );
    expect(places.filter((place) => !isThere(place))).toEqual([]);
  });

  it("are found with their files: continued lines, comments, terminals", () => {
    const text =
      "A file, `a.json`:\n\n```json\n{}\n```\n\n```sh\none \\\n  two   # why\n# only words\nthree\n```\n```sh\nthree\n```\n";
    expect(commandsOf("p", text).map(({ line, block, time }) => [line, block, time])).toEqual([
      ["one two", 0, 1],
      ["three", 0, 1],
      ["three", 1, 2],
    ]);
    expect([...filesOf(text)]).toEqual([["a.json", "{}\n"]]);
  });

  it("run on the system's Node as in this process: the first one that the first page explains", async () => {
    const line =
      COMMANDS.find(({ page, line: typed }) => page === "README.md" && typed.includes(" explain "))?.line ??
      "";
    expect(Number.parseInt(systemNode(), 10)).toBeGreaterThanOrEqual(20);
    const reader = new PageReader();
    const ran = await reader.run(line);
    await reader.close();
    const { exitCode, terminal } = await runCommand(inProcess(line) ?? [], {});
    expect(ran).toEqual({ code: exitCode, stdout: terminal.output, stderr: "" });
  });
});
