/** Errors as people and programs are told: what is wrong, what to do, the code, the HTTP status. */
import { textOf } from "#core/base/json.ts";
import { errorCode, messageOf } from "#core/base/thrown.ts";
import { CniError, PluginPanic } from "#contracts/cni/error.ts";
import type { ProblemPlace, SessionProblem } from "../session/session.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import type { ErrorDetails } from "./documents.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** The code of faults that are Mullion's own. */
export const INTERNAL_FAULT = "internal-fault";

/** Codes whose entry says no more than the message. */
const SELF_EXPLANATORY: readonly KnowledgeCode[] = ["bad-usage", "unknown-code"];

const LOOK_AT_POLICIES = WORDS.adviceCheckClusterFile;

/** A refusal of the control API. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: KnowledgeCode;
  /** Full sentences. */
  readonly advice: string;
  readonly status: number;

  constructor(status: number, code: KnowledgeCode, message: string, advice: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.advice = advice;
  }
}

/** Inputs that cannot be taken: everything that is wrong with them. */
export class ProblemsError extends Error {
  override readonly name = "ProblemsError";
  readonly problems: readonly SessionProblem[];

  constructor(problems: readonly SessionProblem[]) {
    super(problems[0]?.message ?? "the input has problems");
    this.problems = problems;
  }
}

/** An error that was told by another process. */
export class ReportedError extends Error {
  override readonly name = "ToldError";
  readonly details: ErrorDetails;

  constructor(details: ErrorDetails) {
    super(details.message);
    this.details = details;
  }
}

function hex(hresult: number): string {
  return `0x${hresult.toString(16).padStart(8, "0")}`;
}

function entryOf(code: KnowledgeCode): { readonly entry?: KnowledgeCode } {
  return SELF_EXPLANATORY.includes(code) ? {} : { entry: code };
}

function describeHcn(error: HcnError): ErrorDetails {
  return {
    code: `${error.code} ${hex(error.hresult)}`,
    message: `HNS refuses a call: ${error.message}`,
    advice: LOOK_AT_POLICIES,
    ...(error.explanation === undefined ? {} : { entry: error.explanation }),
  };
}

function describeCni(error: CniError): ErrorDetails {
  const details = error.details === "" ? "" : ` (${error.details})`;
  return {
    code: `CNI ${error.code}`,
    message: `a CNI plugin fails: ${error.message}${details}`,
    advice: LOOK_AT_POLICIES,
    ...(error.knowledge === undefined ? {} : { entry: error.knowledge }),
  };
}

function describeProblems(problems: readonly SessionProblem[]): ErrorDetails | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const { code, message, advice, where } = first;
  const place: { readonly where?: ProblemPlace } = where === undefined ? {} : { where };
  return { code, message, advice, ...entryOf(code), ...place, problems };
}

/** Limits of this machine that a call of the system met: what is used up, and how to get more. */
const MACHINE_LIMITS: Readonly<Record<string, readonly [message: string, advice: string]>> = {
  EMFILE: ["this process may open no more files", WORDS.adviceOpenFiles],
  ENFILE: ["this machine opens no more files", WORDS.adviceOpenFiles],
  EAGAIN: ["this user may start no more processes", WORDS.adviceProcesses],
  ENOMEM: ["this machine has no memory left", WORDS.adviceMemory],
  ENOSPC: ["the disk is full", WORDS.adviceDisk],
  EDQUOT: ["this user's share of the disk is full", WORDS.adviceDisk],
};

function describeMachineLimit(error: Error): ErrorDetails | undefined {
  // Errors of Node's calls of the system have its name, and our own through koffi, too.
  const isOfSystem = "syscall" in error || error.name === "SystemCallError";
  const [message, advice] = (isOfSystem && MACHINE_LIMITS[errorCode(error)]) || [];
  if (message === undefined || advice === undefined) return undefined;
  return { code: "bad-usage", message: `${message} (${error.message})`, advice };
}

/** Errors that the user can mend; undefined for a fault of our own. */
export function describeKnownError(error: unknown): ErrorDetails | undefined {
  if (error instanceof ReportedError)
    return error.details.code === INTERNAL_FAULT ? undefined : error.details;
  if (error instanceof HcnError) return describeHcn(error);
  if (error instanceof CniError) return describeCni(error);
  if (error instanceof ProblemsError) return describeProblems(error.problems);
  if (error instanceof PluginPanic) {
    const message = `a CNI plugin crashes, as the real one does: ${error.message}`;
    const advice = `${LOOK_AT_POLICIES} A node with compat: hardened reports an error instead.`;
    return { code: "CNI panic", message, advice };
  }
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  if (typeof error.code !== "string" || !isKnowledgeCode(error.code)) return describeMachineLimit(error);
  const advice = textOf("advice" in error ? error.advice : undefined);
  return { code: error.code, message: error.message, advice, ...entryOf(error.code) };
}

/** Any error as it goes over a socket or a pipe. */
export function describeError(error: unknown): ErrorDetails {
  if (error instanceof ReportedError) return error.details;
  const known = describeKnownError(error);
  if (known !== undefined) return known;
  const message = messageOf(error);
  return { code: INTERNAL_FAULT, message, advice: "This is a bug in mullion. Please report it." };
}

const NOT_FOUND = 404;
const UNPROCESSABLE = 422;
const BAD_REQUEST = 400;
const INTERNAL = 500;

/** The HTTP status of an error. */
export function statusOf(error: unknown): number {
  if (error instanceof ApiError) return error.status;
  const known = describeKnownError(error);
  if (known === undefined) return INTERNAL;
  if (known.code === "unknown-object") return NOT_FOUND;
  return error instanceof HcnError || error instanceof CniError ? UNPROCESSABLE : BAD_REQUEST;
}
