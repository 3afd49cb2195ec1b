/** What stands around a command: `cmd /c`, `powershell -Command`, `sh -c`; and what a shell says of a command it does not know. */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { type CommandOutput, type Shell, notBuilt } from "./command.ts";
import { type ShellLine, readShellLine } from "./shell-line.ts";
import { refuseLine } from "./text-filters.ts";
import { membersAsStages, quoteWord } from "./windows/powershell/words.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** A cmdlet's name: a verb and a noun; or one of the short names that only PowerShell has. */
const CMDLET = /^(?:[a-z]+-[a-z][a-z0-9]*|tnc|gip|iwr|gc)$/i;
/** What a word behind a shell's name is: an option alone, one with its value, or what says that the command comes. */
type OptionKind = "alone" | "valued" | "command" | "refused";

interface ShellProgram {
  readonly os: OperatingSystem;
  readonly shell: Shell;
  readonly name: RegExp;
  /** Undefined for a word that is no option. */
  readonly kindOf: (word: string) => OptionKind | undefined;
  /** A command may stand behind it without an option that says so. */
  readonly takesBareCommand: boolean;
  readonly usage: string;
}

/** Options of powershell.exe and pwsh by their shortest beginning, and other spellings of it (about_PowerShell_exe, about_Pwsh). */
const POWERSHELL_OPTIONS: readonly (readonly [
  name: string,
  shortest: string,
  kind: OptionKind,
  alias?: string,
])[] = [
  ["command", "c", "command"],
  ["nologo", "nol", "alone"],
  ["noprofile", "nop", "alone"],
  ["noprofileloadtime", "noprofilel", "alone"],
  ["noninteractive", "noni", "alone"],
  ["sta", "sta", "alone"],
  ["mta", "mta", "alone"],
  ["executionpolicy", "ex", "valued", "ep"],
  ["windowstyle", "w", "valued"],
  ["inputformat", "in", "valued", "if"],
  ["outputformat", "o", "valued", "of"],
  ["version", "v", "valued"],
  ["configurationname", "config", "valued"],
  ["workingdirectory", "wo", "valued", "wd"],
];

function powershellOption(word: string): OptionKind | undefined {
  if (!/^[-/]./.test(word)) return undefined;
  const text = word.slice(1).toLowerCase();
  const found = POWERSHELL_OPTIONS.find(
    ([name, shortest, , alias]) => text === alias || (name.startsWith(text) && text.startsWith(shortest)),
  );
  return found?.[2] ?? "refused";
}

function cmdOption(word: string): OptionKind | undefined {
  if (/^\/c$/i.test(word)) return "command";
  if (/^\/(?:[adqsu]|[efv]:(?:on|off))$/i.test(word)) return "alone";
  return word.startsWith("/") ? "refused" : undefined;
}

/** Letters that change nothing of what one command prints; a login shell reads files that nobody wrote here. */
function shOption(word: string): OptionKind | undefined {
  if (/^-[elu]*c$/.test(word)) return "command";
  if (/^-[elu]+$/.test(word)) return "alone";
  return word.startsWith("-") ? "refused" : undefined;
}

const SHELLS: readonly ShellProgram[] = [
  {
    os: "windows",
    shell: "cmd",
    name: /^cmd(\.exe)?$/i,
    kindOf: cmdOption,
    takesBareCommand: false,
    usage: "cmd [/d] [/q] [/s] /c COMMAND",
  },
  {
    os: "windows",
    shell: "powershell",
    name: /^(powershell|pwsh)(\.exe)?$/i,
    kindOf: powershellOption,
    takesBareCommand: true,
    usage: "powershell [-NoLogo] [-NoProfile] [-NonInteractive] [-ExecutionPolicy POLICY] [-Command] COMMAND",
  },
  {
    os: "linux",
    shell: "sh",
    name: /^(\/usr)?(\/bin\/)?(sh|bash|ash|dash)$/,
    kindOf: shOption,
    takesBareCommand: false,
    usage: "sh [-e] [-l] -c COMMAND",
  },
];

/** How a command is given to a shell. */
export const SHELL_USAGES: Readonly<Record<OperatingSystem, readonly string[]>> = {
  windows: SHELLS.flatMap(({ os, usage }) => (os === "windows" ? usage : [])),
  linux: SHELLS.flatMap(({ os, usage }) => (os === "linux" ? usage : [])),
};

/**
 * How many words in front of a command are a shell's name and its own options.
 * @throws RequestError for a shell without a command, into which nobody types here, and for options that do more than start one.
 */
function countShellWords(
  { kindOf, takesBareCommand, usage }: ShellProgram,
  words: readonly string[],
): number {
  const [name = ""] = words;
  const refuse = (text: string): never => notBuilt({ name, usages: [usage] }, text);
  let at = 1;
  let kind: OptionKind | undefined;
  for (; at < words.length && kind !== "command"; at += kind === "valued" ? 2 : 1) {
    const word = words[at] ?? "";
    kind = kindOf(word);
    if (kind === "refused" || (kind === undefined && !takesBareCommand)) refuse(word);
    if (kind === undefined) break;
  }
  return at < words.length ? at : refuse("without a command");
}

/** `& NAME` and `& { … }` start what stands behind. */
function withoutCallOperator(line: string): string {
  const behind = /^&\s*/.exec(line.trim());
  if (behind === null) return line;
  const rest = line.trim().slice(behind[0].length);
  if (!rest.startsWith("{")) return rest;
  const end = rest.indexOf("}");
  return end === rest.length - 1 ? rest.slice(1, -1).trim() : refuseLine("powershell", "&");
}

/** Where PowerShell reads an expression, an assignment or a keyword in place of a command's name (about_Parsing, about_Reserved_Words). */
const NO_NAME =
  /^[[$@({%!+,"'<]|\(|^\d+(?:$|\.\.|[-+*/])|^(?:begin|class|data|do|exit|filter|for|foreach|function|if|param|process|return|switch|throw|trap|try|until|using|while)$/i;

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
  const [program = ""] = command;
  const wrapper = SHELLS.find((each) => each.os === os && each.name.test(program));
  const taken = wrapper === undefined ? 0 : countShellWords(wrapper, command);
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
    const read = readShellLine(shell, membersAsStages(withoutCallOperator(line)));
    const [name = ""] = read.words;
    return NO_NAME.test(name) ? refuseLine(shell, name) : { shell, line: read };
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
