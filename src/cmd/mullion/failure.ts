/** Faults that end a verb, as the user sees them: what is wrong, what to do, a code. Never a stack trace. */
import { type KnowledgeCode, isKnowledgeCode } from "../../knowledge/codes.ts";
import type { ExitCode, Terminal } from "./terminal.ts";

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
    super("the problems are printed already");
    this.exitCode = exitCode;
  }
}

/** Codes whose entry says no more than the message. */
const SELF_EXPLANATORY: readonly KnowledgeCode[] = ["bad-usage", "unknown-code"];

/** Errors of the core that carry a code of the catalogue (and perhaps `advice`) count as the user's to mend. */
function explained(error: unknown): { readonly text: string; readonly exitCode: ExitCode } | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  if (typeof error.code !== "string" || !isKnowledgeCode(error.code)) return undefined;
  const advice = "advice" in error && typeof error.advice === "string" ? error.advice : "";
  const exitCode = error instanceof Failure ? error.exitCode : 2;
  const lines = [`mullion: ${error.message} [${error.code}]`];
  if (advice !== "") lines.push(`    ${advice}`);
  if (!SELF_EXPLANATORY.includes(error.code)) lines.push(`    More: mullion explain ${error.code}`);
  return { text: `${lines.join("\n")}\n`, exitCode };
}

/** Says what ended a verb, and returns the exit code. `isDebug` adds the stack of a fault of our own. */
export function reportFailure(error: unknown, terminal: Terminal, isDebug: boolean): ExitCode {
  if (error instanceof SilentFailure) return error.exitCode;
  const known = explained(error);
  if (known !== undefined) {
    terminal.stderr(known.text);
    return known.exitCode;
  }
  const message = error instanceof Error ? error.message : String(error);
  terminal.stderr(`mullion: internal fault: ${message}\n`);
  terminal.stderr("    This is a fault of mullion, not of your input. Please report it with the command,\n");
  terminal.stderr("    the cluster file and what MULLION_DEBUG=1 adds to this message.\n");
  if (isDebug && error instanceof Error) terminal.stderr(`${error.stack ?? ""}\n`);
  return 2;
}

const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is no folder",
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
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return SYSTEM_REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
