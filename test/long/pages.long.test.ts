// Every command of the first page, the start pages and the how-to pages, typed on the system's Node in the order of the page.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it, onTestFailed } from "vitest";
import { runCommand } from "../../tools/run-command.ts";
import { readFiles } from "../../tools/source-files.ts";
import {
  commandsOf,
  filesOf,
  findExpected,
  findLeftOut,
  inProcess,
  readyPattern,
} from "../support/pages/page-commands.ts";
import { PageReader, systemNode } from "../support/pages/page-run.ts";

const PAGES = readFiles("README.md", "docs/{start,how-to}/*.md");
const EXAMPLES = Object.fromEntries(
  readFiles("examples/**/*.{yaml,txt,json}").map(({ path, text }) => [path, text]),
);

describe("the commands of the pages, on the system's Node", () => {
  it("is one that a clone can be used with", () => {
    expect(Number.parseInt(systemNode(), 10)).toBeGreaterThanOrEqual(20);
  });

  it.each(PAGES.map(({ path, text }) => [path, text] as const))("%s", async (page, text) => {
    const reader = new PageReader(filesOf(text));
    onTestFailed(async () => {
      await reader.close();
    });
    const typed = commandsOf(page, text).filter((command) => findLeftOut(command) === undefined);
    let inBackground = "";
    for (const command of typed) {
      const { line } = command;
      const isReady = readyPattern(line);
      if (isReady !== undefined) {
        await reader.serve(line, isReady);
        continue;
      }
      // A script that starts something in the background is one process with what follows.
      if (line.endsWith("&") || inBackground !== "") {
        inBackground += `${line}\n${line.endsWith("&") ? "sleep 3\n" : ""}`;
        if (!line.startsWith("kill ")) continue;
        const ran = await reader.run(`${inBackground}wait`);
        expect(ran, page).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(/Ctrl-C ends it[^]*namespaces\n/) as string,
        });
        inBackground = "";
        continue;
      }
      // npm and a module's own path look through links.
      const isInClone = /^(?:npm|npx node) /.test(line);
      const ran = await reader.run(line, isInClone ? process.cwd() : reader.folder);
      const words = inProcess(line);
      if (words !== undefined) {
        const { exitCode, terminal } = await runCommand(words, EXAMPLES);
        expect({ line, code: ran.code, stdout: ran.stdout }).toEqual({
          line,
          code: exitCode,
          stdout: terminal.output,
        });
        continue;
      }
      if (line.startsWith("export ")) continue;
      const expected = findExpected(command);
      expect(ran.stdout, `${page}: ${line}\n${ran.stderr}`).toMatch(expected?.output ?? /no expectation/);
      expect(ran.code, `${page}: ${line}\n${ran.stderr}`).toBe(expected?.code ?? 0);
    }
    for (const code of await reader.close()) expect([0, 130]).toContain(code);
  });
});

describe("npx in the clone", () => {
  const reader = new PageReader();
  afterAll(async () => reader.close());

  it("runs the clone, also in a folder of it", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
    for (const folder of [process.cwd(), "docs/how-to"]) {
      const ran = await reader.run("command npx mullion --version", folder);
      expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${version}\n` });
    }
  });
});
