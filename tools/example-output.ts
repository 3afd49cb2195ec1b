/** What the commands shown in the documentation print. */
import { runCommand } from "./run-command.ts";
import { readFiles } from "./source-files.ts";

/** The files that commands in the documentation may read. */
function exampleFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readFiles("examples/**/*.{yaml,txt,conf,toml,ps1}").map(({ path, text }) => [path, text]),
  );
}

/** What a command line prints, run in this process. Files that it writes stay in memory. */
async function outputOf(program: string, argv: readonly string[]): Promise<string> {
  const { exitCode, terminal } = await runCommand([program, ...argv], exampleFiles());
  // A command on a pod may say all that it says on standard error, as curl does.
  const shown = terminal.output === "" && argv[0] === "exec" ? terminal.errors : terminal.output;
  if (exitCode === 2 || shown === "")
    throw new Error(`${program} ${argv.join(" ")} ends with ${exitCode}: ${terminal.errors}`);
  // Tools of Windows end their lines in another way than a page does, and some of them with a blank.
  return shown.replaceAll(/ *\r?\n/g, "\n");
}

/** `<!-- output of mullion verify …, from Findings, 40 lines: begin -->` (or `from "Two words"`), what stands there, `<!-- output: end -->`. */
const MARK =
  /(<!-- output of (mullion|hnsdiag|vfpctrl|pktmon) ([^>]+?)(?:, from (\w+|"[^"]+"))?(?:, (\d+) lines)?: begin -->\n)[\s\S]*?(<!-- output: end -->)/g;

/** What stands from the line `start` on. */
function fromLine(text: string, start: string | undefined): string {
  if (start === undefined) return text;
  const lines = text.split("\n");
  const index = lines.indexOf(start.replaceAll('"', ""));
  if (index < 0) throw new Error(`no line of the output is ${JSON.stringify(start)}`);
  return lines.slice(index).join("\n");
}

/** The first `lineCount` lines, and how many follow. */
function shorten(text: string, lineCount: number): string {
  const lines = text.trimEnd().split("\n");
  const rest = lines.length - lineCount;
  return rest > 1 ? [...lines.slice(0, lineCount), `… ${rest} more lines`].join("\n") : lines.join("\n");
}

/** The page with the output of each command that it marks. */
export async function withOutputs(page: string): Promise<string> {
  const outputs = new Map<string, string>();
  for (const [, begin = "", program = "", command = "", start, lineCount] of page.matchAll(MARK)) {
    const output = fromLine(await outputOf(program, command.split(" ")), start);
    outputs.set(
      begin,
      shorten(output, lineCount === undefined ? Number.POSITIVE_INFINITY : Number(lineCount)),
    );
  }
  return page.replace(MARK, (_all, begin: string, _program, _command, _start, _lineCount, end: string) => {
    return `${begin}\n\`\`\`text\n${outputs.get(begin) ?? ""}\n\`\`\`\n\n${end}`;
  });
}
