/** What stands around a command: `cmd /c`, `powershell -Command`, `sh -c`; and what a shell says of a command it does not know. */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { CommandOutput } from "./command.ts";
import { membersAsStages, powershellWords, quoteWord } from "./windows/powershell/words.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export type Shell = "cmd" | "powershell" | "sh";

/** A cmdlet's name: a verb and a noun. */
const CMDLET = /^[a-z]+-[a-z][a-z0-9]*$/i;
const WRAPPERS: readonly {
  readonly os: OperatingSystem;
  readonly shell: Shell;
  readonly begin: readonly RegExp[];
}[] = [
  { os: "windows", shell: "cmd", begin: [/^cmd(\.exe)?$/i, /^\/[cs]$/i] },
  { os: "windows", shell: "powershell", begin: [/^(powershell|pwsh)(\.exe)?$/i, /^[-/]c(ommand)?$/i] },
  { os: "windows", shell: "powershell", begin: [/^(powershell|pwsh)(\.exe)?$/i] },
  { os: "linux", shell: "sh", begin: [/^(sh|bash|\/bin\/sh|\/bin\/bash)$/, /^-c$/] },
];

/** Where a command would be typed that names no shell. A pipeline may stand in parentheses. */
function shellOf(os: OperatingSystem, word: string): Shell {
  if (os === "linux") return "sh";
  const [first = ""] = powershellWords(word);
  const [name = ""] = first.startsWith("(") ? first.slice(1).split(")") : [first];
  return CMDLET.test(name) ? "powershell" : "cmd";
}

/** A line in quotes, as it stands behind a shell in a longer line, is that line. */
function withoutQuotes(line: string): string {
  return line.length > 1 && line.startsWith('"') && line.endsWith('"') ? line.slice(1, -1) : line;
}

/** The words of a line of cmd: blanks in quotes divide nothing, and the quotes are taken away. */
function cmdWords(line: string): readonly string[] {
  const isWhole = /^"[^"]*"$/.test(line);
  const words = (isWhole ? line.slice(1, -1) : line).match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
  return words.map((word) => word.replaceAll('"', ""));
}

/** The command without the shell that it was given to. One that names no shell is read as it would be typed. */
export function withoutShell(
  os: OperatingSystem,
  given: readonly string[],
): { readonly shell: Shell; readonly words: readonly string[] } {
  // A shell takes a whole line as one word, too.
  const isOneLine = given.length === 1;
  const command = isOneLine ? (given[0] ?? "").trim().split(/\s+/) : given;
  const wrapper = WRAPPERS.find(
    (each) =>
      each.os === os &&
      command.length > each.begin.length &&
      each.begin.every((word, index) => word.test(command[index] ?? "")),
  );
  const rest = wrapper === undefined ? command : command.slice(wrapper.begin.length);
  const words = rest.length === 1 ? (rest[0] ?? "").trim().split(/\s+/) : rest;
  const shell = wrapper?.shell ?? shellOf(os, words[0] ?? "");
  if (shell === "cmd" && (isOneLine || rest.length === 1)) return { shell, words: cmdWords(rest.join(" ")) };
  if (shell !== "powershell") return { shell, words };
  // PowerShell itself joins what it is given, and reads it as a line; of a command without it each word is one.
  const isLine = wrapper !== undefined || isOneLine;
  const line = (isLine ? rest : rest.map(quoteWord)).join(" ");
  return { shell, words: powershellWords(membersAsStages(withoutQuotes(line))) };
}

const NOT_FOUND: Readonly<Record<Shell, (word: string) => CommandOutput>> = {
  // `cmd /c` ends with 1; 9009 is the ERRORLEVEL inside a batch file.
  cmd: (word) => ({
    stdout: [],
    stderr: [
      `'${word}' is not recognized as an internal or external command,`,
      "operable program or batch file.",
    ],
    exitCode: 1,
  }),
  powershell: (word) => ({
    stdout: [],
    stderr: [
      WORDS.powershellUnknownCommand({ word }),
      "At line:1 char:1",
      `+ ${word}`,
      `+ ${"~".repeat(word.length)}`,
      `    + CategoryInfo          : ObjectNotFound: (${word}:String) [], CommandNotFoundException`,
      "    + FullyQualifiedErrorId : CommandNotFoundException",
      " ",
    ],
    exitCode: 1,
  }),
  // POSIX, XCU 2.8.2: 127.
  sh: (word) => ({ stdout: [], stderr: [`sh: 1: ${word}: not found`], exitCode: 127 }),
};

export function unknownCommand(shell: Shell, word: string): CommandOutput {
  return NOT_FOUND[shell](word);
}
