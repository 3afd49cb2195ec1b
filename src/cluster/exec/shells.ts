/** What stands around a command: `cmd /c`, `powershell -Command`, `sh -c`; and what a shell says of a command it does not know. */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { CommandOutput, Shell } from "./command.ts";
import { type ShellLine, readShellLine } from "./shell-line.ts";
import { membersAsStages, quoteWord } from "./windows/powershell/words.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** A cmdlet's name: a verb and a noun; or one of the short names that only PowerShell has. */
const CMDLET = /^(?:[a-z]+-[a-z][a-z0-9]*|tnc|gip|iwr|gc)$/i;
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
function shellOf(os: OperatingSystem, line: string): Shell {
  if (os === "linux") return "sh";
  const [, name = ""] = /^\(?([\w.-]+)/.exec(line) ?? [];
  return CMDLET.test(name) ? "powershell" : "cmd";
}

/** A line in quotes, as it stands behind a shell in a longer line, is that line. */
function withoutQuotes(line: string): string {
  return /^(?:"[^"]*"|'[^']*')$/.test(line) ? line.slice(1, -1) : line;
}

/** A line without its first words. */
function behindWords(line: string, count: number): string {
  let rest = line.trim();
  for (let left = count; left > 0; left--) {
    const end = rest.search(/\s/);
    rest = end < 0 ? "" : rest.slice(end).trimStart();
  }
  return rest;
}

function quoteBlanks(word: string): string {
  return /\s/.test(word) ? `"${word}"` : word;
}

/**
 * The command without the shell that it was given to. One that names no shell is read as it would be typed, where it is one line; what
 * comes in several words is the program's own.
 * @throws RequestError for a line of more than one program and its filters.
 */
export function withoutShell(
  os: OperatingSystem,
  given: readonly string[],
): { readonly shell: Shell; readonly line: ShellLine } {
  const [first = ""] = given;
  const isOneLine = given.length === 1;
  const command = isOneLine ? first.trim().split(/\s+/) : given;
  const wrapper = WRAPPERS.find(
    (each) =>
      each.os === os &&
      command.length > each.begin.length &&
      each.begin.every((word, index) => word.test(command[index] ?? "")),
  );
  const taken = wrapper?.begin.length ?? 0;
  const rest = command.slice(taken);
  const [whole = ""] = rest;
  const typed = isOneLine
    ? withoutQuotes(behindWords(first, taken))
    : rest.length === 1
      ? whole.trim()
      : undefined;
  const shell = wrapper?.shell ?? shellOf(os, typed ?? whole);
  if (shell === "powershell") {
    // PowerShell itself joins what it is given, and reads it as a line; of a command without it each word is one.
    const line = typed ?? (wrapper === undefined ? rest.map(quoteWord) : rest).join(" ");
    return { shell, line: readShellLine(shell, membersAsStages(line)) };
  }
  // So does cmd, whose words with blanks come in quotes; a shell of Linux takes its words as they are.
  const line = typed ?? (wrapper?.shell === "cmd" ? rest.map(quoteBlanks).join(" ") : undefined);
  if (line !== undefined) return { shell, line: readShellLine(shell, line) };
  return { shell, line: { words: rest, filters: [], errors: "shown", isSilent: false } };
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
