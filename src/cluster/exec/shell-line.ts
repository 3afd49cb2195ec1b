/**
 * A line as a shell reads it: the words of one program, the filters behind its pipes, and where its streams go. Sequences, variables
 * and files are refused by name: what stands there would change what is printed.
 */
import type { CommandOutput, Shell } from "./command.ts";
import { filterLines, isFilter, refuseLine } from "./text-filters.ts";

export interface ShellLine {
  /** Of the program, in front of the first filter. */
  readonly words: readonly string[];
  /** Of each program behind a pipe. */
  readonly filters: readonly (readonly string[])[];
  /** The program's standard error is printed, joins standard output, or goes nowhere. */
  readonly errors: "shown" | "joined" | "dropped";
  /** What the last program prints goes nowhere. */
  readonly isSilent: boolean;
}

interface Token {
  readonly text: string;
  /** Outside quotes, and one of the shell's own signs. */
  readonly isSign: boolean;
}

/** Signs of each shell outside quotes, the longest first. */
const REDIRECTIONS = ["2>&1", "1>&2", "2>>", "2>", "1>", ">>", ">", "<"];
const SIGNS: Readonly<Record<Shell, readonly string[]>> = {
  cmd: [...REDIRECTIONS, "&&", "||", "|", "&"],
  powershell: [...REDIRECTIONS, "|", ";", "{", "}"],
  sh: [...REDIRECTIONS, "&&", "||", "|", "&", ";", "`"],
};
const SEQUENCES = ["&&", "||", "&", ";", "`", "<", "1>&2"];
const QUOTES: Readonly<Record<Shell, string>> = { cmd: '"', powershell: "\"'", sh: "\"'" };
/** What a shell puts something else for; not inside single quotes where it has those. */
const VARIABLES: Readonly<Record<Shell, RegExp>> = {
  cmd: /%\w+%/,
  powershell: /\$env:\w+/i,
  sh: /\$[\w{(]+[)}]?/,
};
const NOWHERE: Readonly<Record<Shell, RegExp>> = {
  cmd: /^nul$/i,
  powershell: /^\$null$/i,
  sh: /^\/dev\/null$/,
};

/** The words of a line and the signs between them; the quotes are taken away. */
function tokensOf(shell: Shell, line: string): readonly Token[] {
  const tokens: Token[] = [];
  let [text, isWord, quote] = ["", false, ""];
  const end = (): void => {
    if (isWord) tokens.push({ text, isSign: false });
    [text, isWord] = ["", false];
  };
  for (let at = 0; at < line.length; at++) {
    const sign = line[at] ?? "";
    if (quote !== "") {
      if (sign === quote) quote = "";
      else text += sign;
      continue;
    }
    const own = SIGNS[shell].find((each) => line.startsWith(each, at));
    if (QUOTES[shell].includes(sign)) [quote, isWord] = [sign, true];
    // A digit in front of > is a stream only where a word begins.
    else if (own !== undefined && !(isWord && /^\d/.test(own))) {
      end();
      tokens.push({ text: own, isSign: true });
      at += own.length - 1;
    } else if (sign.trim() === "") end();
    else [text, isWord] = [text + sign, true];
  }
  end();
  return tokens;
}

/** A line without what stands in single quotes, where those keep variables from being one. */
function withoutSingleQuoted(shell: Shell, line: string): string {
  return QUOTES[shell].includes("'") ? line.replaceAll(/'[^']*'/g, "") : line;
}

/** Takes the redirections out of a line. */
function takeStreams(
  shell: Shell,
  tokens: readonly Token[],
): { readonly left: readonly Token[]; readonly errors: ShellLine["errors"]; readonly isSilent: boolean } {
  const left: Token[] = [];
  let [errors, isSilent]: [ShellLine["errors"], boolean] = ["shown", false];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined || !token.isSign || !REDIRECTIONS.includes(token.text)) {
      if (token !== undefined) left.push(token);
    } else if (token.text === "2>&1") errors = "joined";
    else {
      const target = tokens[++at]?.text ?? "";
      if (!NOWHERE[shell].test(target)) refuseLine(shell, `${token.text} ${target}`.trim());
      if (token.text.startsWith("2")) errors = "dropped";
      else isSilent = true;
    }
  }
  return { left, errors, isSilent };
}

/** @throws RequestError for a line of more than one program and its filters. */
export function readShellLine(shell: Shell, line: string): ShellLine {
  const variable = VARIABLES[shell].exec(withoutSingleQuoted(shell, line));
  if (variable !== null) refuseLine(shell, variable[0]);
  const tokens = tokensOf(shell, line);
  const sequence = tokens.find(({ text, isSign }) => isSign && SEQUENCES.includes(text));
  if (sequence !== undefined) refuseLine(shell, sequence.text);
  const { left, errors, isSilent } = takeStreams(shell, tokens);
  const parts: Token[][] = [[]];
  for (const token of left) {
    if (token.isSign && token.text === "|") parts.push([]);
    else parts.at(-1)?.push(token);
  }
  const words = parts.map((part) => part.map(({ text }) => text));
  // A pipeline of cmdlets is one command up to what reads its text.
  const first = words.findIndex(([word = ""], index) => index > 0 && isFilter(shell, word));
  const end = shell === "powershell" ? (first < 0 ? words.length : first) : 1;
  const own = words.slice(0, end).flatMap((part, index) => (index === 0 ? part : ["|", ...part]));
  return { words: own, filters: words.slice(end), errors, isSilent };
}

/** What a line prints of what its program printed. */
export function printLine(
  shell: Shell,
  { filters, errors, isSilent }: ShellLine,
  output: CommandOutput,
): CommandOutput {
  const { stdout, stderr = [] } = output;
  let last: CommandOutput = {
    stdout: errors === "joined" ? [...stdout, ...stderr] : stdout,
    exitCode: output.exitCode,
  };
  for (const words of filters) last = filterLines(shell, last.stdout, words);
  return {
    stdout: isSilent ? [] : last.stdout,
    stderr: errors === "shown" ? stderr : [],
    exitCode: last.exitCode,
  };
}
