/** Faults that end a verb, as the user sees them: what is wrong, what to do, a code. Never a stack trace. */
import { plural } from "#core/base/text-layout.ts";
import { errorCode, messageOf } from "#core/base/thrown.ts";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { describeKnownError } from "#cluster/api/error-details.ts";
import { type InputRemarks, type SessionProblem, formatFault } from "#cluster/session/session.ts";
import { formatPageDifference } from "#cluster/trace/format-trace.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { pageDifference } from "#diagnose/catalogue/documentation-texts.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Ends a verb. `message` is one sentence without a full stop. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: KnowledgeCode;
  /** Full sentences: what to do. */
  readonly advice: string;
  readonly exitCode: ExitCode;

  constructor(code: KnowledgeCode, message: string, advice: string, exitCode: ExitCode = 2) {
    super(message);
    this.code = code;
    this.advice = advice;
    this.exitCode = exitCode;
  }
}

/** Ends a verb whose problems are printed already. */
export class SilentFailure extends Error {
  override readonly name = "SilentFailure";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode) {
    super("the problems are already printed");
    this.exitCode = exitCode;
  }
}

/** Problems shown at once; more scroll the first ones away. */
const SHOWN_MAX = 20;

/** A problem on two lines: place and fault, then the advice with the code; what the Kubernetes page states instead is a third. */
export function formatProblem(problem: SessionProblem): string {
  const { differs } = problem;
  const page = differs === undefined ? "" : `    * ${formatPageDifference(pageDifference(differs))}\n`;
  return `${formatFault(problem)}\n    ${problem.advice} [${problem.code}]\n${page}`;
}

/** The first problems, and how many there are. `outcome` says what became of the rest. */
export function reportProblems(
  problems: readonly SessionProblem[],
  outcome: string,
  terminal: Terminal,
): void {
  for (const problem of problems.slice(0, SHOWN_MAX)) terminal.stderr(formatProblem(problem));
  const hidden = problems.length - SHOWN_MAX;
  const count = plural(problems.length, "problem");
  const more = hidden > 0 ? `, ${hidden} of them not shown` : "";
  terminal.stderr(`\n${count}${more}. ${outcome}\n`);
}

function formatExplanation({ message, advice, code, entry }: ErrorDetails): string {
  const lines = [`mullion: ${message} [${code}]`];
  if (advice !== "") lines.push(`    ${advice}`);
  if (entry !== undefined) lines.push(`    More: mullion explain ${entry}`);
  return `${lines.join("\n")}\n`;
}

/** Says what ended a verb, and returns the exit code. `isDebug` adds the stack of a fault of our own. */
export function reportFailure(error: unknown, terminal: Terminal, isDebug: boolean): ExitCode {
  if (error instanceof SilentFailure) return error.exitCode;
  const details = describeKnownError(error);
  if (details?.problems !== undefined && details.problems.length > 0) {
    reportProblems(details.problems, "Nothing was started.", terminal);
    return 2;
  }
  if (details !== undefined) {
    terminal.stderr(formatExplanation(details));
    return error instanceof Failure ? error.exitCode : 2;
  }
  const message = messageOf(error);
  terminal.stderr(`mullion: internal fault: ${message}\n`);
  terminal.stderr(`    ${WORDS.internalFault}\n`);
  terminal.stderr("    the cluster file and what MULLION_DEBUG=1 adds to this message.\n");
  if (isDebug && error instanceof Error) terminal.stderr(`${error.stack ?? ""}\n`);
  return 2;
}

const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EACCES: "this user may not open it",
  EPERM: "this user may not open it",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EMFILE: "too many files are open",
  EFBIG: "it is larger than 50 MiB",
  ENAMETOOLONG: "the path is too long",
};

/** An error of the file system in words. */
export function describeSystemError(error: unknown): string {
  const code = errorCode(error);
  return SYSTEM_REASONS[code] ?? messageOf(error);
}

// What a user should know about input that was taken: what is left out of it, and what is worth knowing besides.

/** What became of input with problems. */
export const LEFT_OUT = "What is refused is left out, and the rest runs.";

/** Notes of one kind that are shown: what comes a thousand times is no news the sixth time. */
const NOTES_SHOWN_MAX = 5;

function reportNotes(notes: readonly SessionProblem[], terminal: Terminal): void {
  const counts = new Map<KnowledgeCode, number>();
  for (const note of notes) {
    const count = (counts.get(note.code) ?? 0) + 1;
    counts.set(note.code, count);
    if (count <= NOTES_SHOWN_MAX) terminal.stderr(formatProblem(note));
  }
  for (const [code, count] of counts) {
    if (count > NOTES_SHOWN_MAX)
      terminal.stderr(`… and ${count - NOTES_SHOWN_MAX} more like these [${code}]\n`);
  }
}

/** Tells notes, then problems with their number; `outcome` says what became of the rest. */
export function reportFindings({ problems, notes }: InputRemarks, outcome: string, terminal: Terminal): void {
  reportNotes(notes, terminal);
  if (problems.length > 0) reportProblems(problems, outcome, terminal);
}
