/** Faults that end a verb, as the user sees them: what is wrong, what to do, a code. Never a stack trace. */
import { CniError, PluginPanic } from "../../cni/error.ts";
import { HcnError } from "../../hcn/error.ts";
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

/** What a user is told: one sentence, what to do, the code that stands behind it, the entry with more. */
interface Explanation {
  readonly message: string;
  readonly advice: string;
  readonly code: string | undefined;
  readonly entry: KnowledgeCode | undefined;
  readonly exitCode: ExitCode;
}

const LOOK_AT_POLICIES = "Look at the policies, ranges and CNI configuration in the cluster file.";

function hex(hresult: number): string {
  return `0x${hresult.toString(16).padStart(8, "0")}`;
}

/** Errors that the user can mend: with a code of the catalogue (and perhaps `advice`), of HNS, or of a plugin. */
function explain(error: unknown): Explanation | undefined {
  if (error instanceof HcnError) {
    const message = `HNS refuses a call: ${error.message}`;
    const code = `${error.code} ${hex(error.hresult)}`;
    return { message, advice: LOOK_AT_POLICIES, code, entry: error.explanation, exitCode: 2 };
  }
  if (error instanceof CniError) {
    const details = error.details === "" ? "" : ` (${error.details})`;
    const message = `a CNI plugin fails: ${error.message}${details}`;
    return {
      message,
      advice: LOOK_AT_POLICIES,
      code: `CNI ${error.code}`,
      entry: error.knowledge,
      exitCode: 2,
    };
  }
  if (error instanceof PluginPanic) {
    const message = `a CNI plugin crashes, as the real one does: ${error.message}`;
    const advice = `${LOOK_AT_POLICIES} A node with compat: better refuses it in words.`;
    return { message, advice, code: undefined, entry: undefined, exitCode: 2 };
  }
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  if (typeof error.code !== "string" || !isKnowledgeCode(error.code)) return undefined;
  const { code } = error;
  const advice = "advice" in error && typeof error.advice === "string" ? error.advice : "";
  const entry = SELF_EXPLANATORY.includes(code) ? undefined : code;
  const exitCode = error instanceof Failure ? error.exitCode : 2;
  return { message: error.message, advice, code, entry, exitCode };
}

function formatExplanation({ message, advice, code, entry }: Explanation): string {
  const lines = [`mullion: ${message}${code === undefined ? "" : ` [${code}]`}`];
  if (advice !== "") lines.push(`    ${advice}`);
  if (entry !== undefined) lines.push(`    More: mullion explain ${entry}`);
  return `${lines.join("\n")}\n`;
}

/** Says what ended a verb, and returns the exit code. `isDebug` adds the stack of a fault of our own. */
export function reportFailure(error: unknown, terminal: Terminal, isDebug: boolean): ExitCode {
  if (error instanceof SilentFailure) return error.exitCode;
  const explanation = explain(error);
  if (explanation !== undefined) {
    terminal.stderr(formatExplanation(explanation));
    return explanation.exitCode;
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
