/** What the commands shown in the documentation print. */
import { runHnsdiag } from "../src/cmd/hnsdiag/program.ts";
import { demo } from "../src/cmd/mullion/demo.ts";
import { get } from "../src/cmd/mullion/get.ts";
import { get as getHns } from "../src/cmd/mullion/hns/get.ts";
import { runMullion } from "../src/cmd/mullion/program.ts";
import { trace } from "../src/cmd/mullion/trace.ts";
import { verify } from "../src/cmd/mullion/verify.ts";
import { MemoryTerminal } from "../src/testing/memory-terminal.ts";
import { readFiles } from "./source-files.ts";

/** The files that commands in the documentation may read. */
function exampleFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(readFiles("examples/**/*.{yaml,txt}").map(({ path, text }) => [path, text]));
}

/** Standard output of a command line, run in this process. Files that it writes stay in memory. */
async function outputOf(program: string, argv: readonly string[]): Promise<string> {
  const terminal = new MemoryTerminal(exampleFiles());
  const verbs = { trace, get, demo, verify, hns: { get: getHns } };
  const exitCode =
    program === "hnsdiag"
      ? await runHnsdiag(argv, terminal)
      : await runMullion({ argv, verbs, terminal, version: "0", isDebug: true });
  if (exitCode === 2 || terminal.output === "")
    throw new Error(`${program} ${argv.join(" ")} ends with ${exitCode}: ${terminal.errors}`);
  return terminal.output;
}

/** `<!-- output of mullion trace …, 40 lines: begin -->`, what stands there, `<!-- output: end -->`. */
const MARK =
  /(<!-- output of (mullion|hnsdiag) ([^>]+?)(?:, (\d+) lines)?: begin -->\n)[\s\S]*?(<!-- output: end -->)/g;

/** The first `lineCount` lines, and how many follow. */
function shorten(text: string, lineCount: number): string {
  const lines = text.trimEnd().split("\n");
  const rest = lines.length - lineCount;
  return rest > 1 ? [...lines.slice(0, lineCount), `… ${rest} more lines`].join("\n") : lines.join("\n");
}

/** The page with the output of each command that it marks. */
export async function withOutputs(page: string): Promise<string> {
  const outputs = new Map<string, string>();
  for (const [, begin = "", program = "", command = "", lineCount] of page.matchAll(MARK)) {
    const output = await outputOf(program, command.split(" "));
    outputs.set(
      begin,
      shorten(output, lineCount === undefined ? Number.POSITIVE_INFINITY : Number(lineCount)),
    );
  }
  return page.replace(MARK, (_all, begin: string, _program, _command, _lineCount, end: string) => {
    return `${begin}\n\`\`\`text\n${outputs.get(begin) ?? ""}\n\`\`\`\n\n${end}`;
  });
}
