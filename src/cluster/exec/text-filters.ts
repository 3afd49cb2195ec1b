/**
 * The programs behind a pipe that choose lines: `findstr`, `find` and `Select-String` on Windows, `grep`, `head`, `tail` and `wc` on
 * Linux. Of patterns there are text, `.`, an anchor at each end and, with `grep -E`, alternatives; what else is one is refused.
 */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { type CommandOutput, type Shell, notBuilt } from "./command.ts";

/** Lines that a filter lets through. Undefined: an option or a pattern that is not built. */
type Filter = (lines: readonly string[], args: readonly string[]) => CommandOutput | undefined;

interface Pattern {
  readonly text: string;
  readonly atBegin: boolean;
  readonly atEnd: boolean;
  /** `.` stands for every sign. */
  readonly hasWildcards: boolean;
}

function isAt(line: string, { text, hasWildcards }: Pattern, at: number): boolean {
  if (at < 0 || at + text.length > line.length) return false;
  for (let index = 0; index < text.length; index++)
    if (text[index] !== line[at + index] && !(hasWildcards && text[index] === ".")) return false;
  return true;
}

function isIn(line: string, pattern: Pattern): boolean {
  const last = line.length - pattern.text.length;
  if (pattern.atBegin && pattern.atEnd && last !== 0) return false;
  if (pattern.atBegin) return isAt(line, pattern, 0);
  if (pattern.atEnd) return isAt(line, pattern, last);
  for (let at = 0; at <= last; at++) if (isAt(line, pattern, at)) return true;
  return false;
}

function plainPattern(text: string): Pattern {
  return { text, atBegin: false, atEnd: false, hasWildcards: false };
}

/** Undefined for a pattern with more than that. */
function readPattern(given: string): Pattern | undefined {
  const atBegin = given.startsWith("^");
  const atEnd = given.length > 1 && given.endsWith("$");
  const text = given.slice(atBegin ? 1 : 0, atEnd ? -1 : undefined);
  return /[[\]*\\^$+?(){}|]/.test(text) ? undefined : { text, atBegin, atEnd, hasWildcards: true };
}

interface Choice {
  readonly patterns: readonly (Pattern | undefined)[];
  readonly ignoresCase: boolean;
  readonly isInverse: boolean;
}

function choose(
  lines: readonly string[],
  { patterns, ignoresCase, isInverse }: Choice,
): readonly string[] | undefined {
  const fold = (text: string): string => (ignoresCase ? text.toLowerCase() : text);
  const wanted = patterns.flatMap((each) => (each === undefined ? [] : [{ ...each, text: fold(each.text) }]));
  if (wanted.length < patterns.length || wanted.length === 0) return undefined;
  return lines.filter((line) => wanted.some((each) => isIn(fold(line), each)) !== isInverse);
}

function output(found: readonly string[] | undefined, isCount = false): CommandOutput | undefined {
  if (found === undefined) return undefined;
  return { stdout: isCount ? [String(found.length)] : found, exitCode: found.length > 0 ? 0 : 1 };
}

/** `findstr [/i] [/v] [/r|/l] [/c:]TEXT`: the words of a text are one or the other, behind `/c:` it is one. */
const findstr: Filter = (lines, args) => {
  const options = args.filter((each) => /^[/-]./.test(each));
  const texts = args.filter((each) => !options.includes(each));
  const whole = options.flatMap((each) => (/^[/-]c:/i.test(each) ? [each.slice(3)] : []));
  const flags = options.filter((each) => !/^[/-]c:/i.test(each)).map((each) => each.slice(1).toLowerCase());
  if (flags.some((each) => !["i", "v", "r", "l"].includes(each))) return undefined;
  if (texts.length + (whole.length > 0 ? 1 : 0) !== 1) return undefined;
  const read = flags.includes("l") ? plainPattern : readPattern;
  const words = texts.flatMap((each) => each.split(" ").filter((word) => word !== ""));
  // A text behind /c: is none of a pattern's, unless /r says so.
  const patterns = [...words.map(read), ...whole.map(flags.includes("r") ? readPattern : plainPattern)];
  return output(
    choose(lines, { patterns, ignoresCase: flags.includes("i"), isInverse: flags.includes("v") }),
  );
};

/** `find [/i] [/v] [/c] "TEXT"`. */
const find: Filter = (lines, args) => {
  const flags = args.filter((each) => /^\/./.test(each)).map((each) => each.toLowerCase());
  const [text, ...others] = args.filter((each) => !/^\/./.test(each));
  if (text === undefined || others.length > 0 || flags.some((each) => !["/i", "/v", "/c"].includes(each)))
    return undefined;
  const choice = { patterns: [plainPattern(text)], ignoresCase: flags.includes("/i") };
  return output(choose(lines, { ...choice, isInverse: flags.includes("/v") }), flags.includes("/c"));
};

/** `Select-String [-Pattern] TEXT [-SimpleMatch] [-CaseSensitive] [-NotMatch]`: printed as objects are. */
const selectString: Filter = (lines, args) => {
  const flags = args.filter((each) => /^-./.test(each)).map((each) => each.toLowerCase());
  const [text, ...others] = args.filter((each) => !/^-./.test(each));
  const known = ["-pattern", "-simplematch", "-casesensitive", "-notmatch"];
  if (text === undefined || others.length > 0 || flags.some((each) => !known.includes(each)))
    return undefined;
  const isPlain = flags.includes("-simplematch");
  const found = choose(lines, {
    patterns: isPlain ? [plainPattern(text)] : text.split("|").map(readPattern),
    ignoresCase: !flags.includes("-casesensitive"),
    isInverse: flags.includes("-notmatch"),
  });
  if (found === undefined) return undefined;
  return { stdout: found.length === 0 ? [] : ["", ...found, "", ""], exitCode: 0 };
};

/** `grep [-i] [-v] [-c] [-E|-F] PATTERN`. */
const grep: Filter = (lines, args) => {
  const flags = args.filter((each) => /^-[ivcEF]+$/.test(each)).join("");
  const [text, ...others] = args.filter((each) => !/^-[ivcEF]+$/.test(each));
  if (text === undefined || text.startsWith("-") || others.length > 0) return undefined;
  const alternatives = flags.includes("E") ? text.split("|") : [text];
  const found = choose(lines, {
    patterns: alternatives.map(flags.includes("F") ? plainPattern : readPattern),
    ignoresCase: flags.includes("i"),
    isInverse: flags.includes("v"),
  });
  return output(found, flags.includes("c"));
};

/** `-n COUNT`, `-nCOUNT` or `-COUNT`; 10 without it. Undefined for other arguments. */
function countOf(args: readonly string[]): number | undefined {
  if (args.length === 0) return 10;
  const [, digits] = /^-(?:n ?)?(\d{1,6})$/.exec(args.join(" ")) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

const head: Filter = (lines, args) => {
  const count = countOf(args);
  return count === undefined ? undefined : { stdout: lines.slice(0, count), exitCode: 0 };
};

const tail: Filter = (lines, args) => {
  const count = countOf(args);
  return count === undefined
    ? undefined
    : { stdout: lines.slice(Math.max(0, lines.length - count)), exitCode: 0 };
};

const wc: Filter = (lines, args) =>
  args.join(" ") === "-l" ? { stdout: [String(lines.length)], exitCode: 0 } : undefined;

const FILTERS: Readonly<Record<Shell, Readonly<Record<string, Filter>>>> = {
  cmd: { findstr, find },
  powershell: { findstr, "select-string": selectString, sls: selectString },
  sh: { grep, head, tail, wc },
};

/** As `mullion exec --list` shows them. */
export const FILTER_USAGES: Readonly<Record<OperatingSystem, readonly string[]>> = {
  windows: [
    "… | findstr [/i] [/v] [/r|/l] TEXT|/c:TEXT",
    '… | find [/i] [/v] [/c] "TEXT"',
    "… | Select-String TEXT [-SimpleMatch] [-CaseSensitive] [-NotMatch]",
  ],
  linux: ["… | grep [-i] [-v] [-c] [-E|-F] PATTERN", "… | head|tail [-n COUNT]", "… | wc -l"],
};

/** What those shells have besides, and this one has not: it is refused, not unknown. */
const OTHERS: Readonly<Record<Shell, RegExp>> = {
  cmd: /^(more|sort|clip|powershell|pwsh)(\.(exe|com))?$/i,
  powershell:
    /^([a-z]+-[a-z]+|%|\?|select|where|sort|group|measure|tee|ft|fl|fw|find|more|sort)(\.(exe|com))?$/i,
  sh: /^(awk|sed|sort|uniq|cut|tr|less|more|tee|xargs|cat|column|jq|egrep|fgrep)$/,
};

function nameOf(shell: Shell, word: string): string {
  return shell === "sh" ? word : word.toLowerCase().replace(/\.exe$/, "");
}

export function isFilter(shell: Shell, word: string): boolean {
  return Object.hasOwn(FILTERS[shell], nameOf(shell, word));
}

/** True for one that the real shell has, as far as Mullion knows. */
export function isKnownBehindPipe(shell: Shell, word: string): boolean {
  return isFilter(shell, word) || OTHERS[shell].test(word);
}

/** @throws RequestError that names what of a line is not built. */
export function refuseLine(shell: Shell, text: string): never {
  const usages = FILTER_USAGES[shell === "sh" ? "linux" : "windows"];
  return notBuilt({ name: "a line with", usages: ["COMMAND [2>&1] [| FILTER]…", ...usages] }, text);
}

/** @throws RequestError for a program, an option or a pattern that is not built. */
export function filterLines(shell: Shell, lines: readonly string[], words: readonly string[]): CommandOutput {
  const [word = "", ...args] = words;
  const filter = FILTERS[shell][nameOf(shell, word)];
  return filter?.(lines, args) ?? refuseLine(shell, `| ${words.join(" ")}`);
}
