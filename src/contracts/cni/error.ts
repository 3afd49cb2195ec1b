/** Errors of the CNI contract (cni.md §1.6). */
import { messageOf } from "#core/base/thrown.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { JsonObject } from "#core/base/json.ts";

/** The codes of the specification, and those that only the Go library has (8, 999). */
export const CNI_CODES = {
  unknown: 0,
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodingFailure: 6,
  invalidNetworkConfig: 7,
  invalidNetns: 8,
  tryAgainLater: 11,
  pluginNotAvailable: 50,
  limitedConnectivity: 51,
  internal: 999,
} as const;

/** What a `CniError` carries beside code and message. */
export interface CniErrorOptions {
  /** The longer text of the error object; empty, absent: the member is left out. */
  readonly details?: string;
  /** The entry of the catalogue that explains the error. */
  readonly knowledge?: KnowledgeCode | undefined;
  readonly cause?: unknown;
  /** The code is that of a plugin that was called, and stays whatever is said around it. */
  readonly isOfDelegate?: boolean;
}

/** An error in the words of the contract. */
export class CniError extends Error {
  override readonly name = "CniError";
  readonly code: number;
  readonly details: string;
  readonly knowledge: KnowledgeCode | undefined;
  readonly isOfDelegate: boolean;

  constructor(code: number, message: string, options: CniErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? "";
    this.knowledge = options.knowledge;
    this.isOfDelegate = options.isOfDelegate ?? false;
  }
}

/**
 * The reference plugin would have crashed here: a Go panic ends it with status 2, a text on stderr and nothing
 * on stdout (cni.md §2.1). Thrown in `upstream` mode only.
 */
export class PluginPanic extends Error {
  override readonly name = "PluginPanic";
}

/** A failure that upstream says as a plain text, with status 1 (cni.md §5.9). Thrown in `upstream` mode only. */
export class PlainFailure extends Error {
  override readonly name = "PlainFailure";
}

/** The message of anything that was thrown, with details as the Go library joins them. */
export function describeError(error: unknown): string {
  if (error instanceof CniError && error.details !== "") return `${error.message}; ${error.details}`;
  return messageOf(error);
}

/** The error in the contract's words. Whatever is no `CniError` gets code 999 (cni.md §1.6). */
export function toCniError(error: unknown): CniError {
  if (error instanceof CniError) return error;
  return new CniError(CNI_CODES.internal, describeError(error), { cause: error });
}

/**
 * A new error whose message says what was being done when `error` happened. As in the plugins' Go code the
 * inner code is lost: the result is a plain 999, but for the failures of `annotateDelegate`.
 * @throws PluginPanic as it is: nothing is put around a crash.
 */
export function annotate(error: unknown, action: string): CniError {
  if (error instanceof PluginPanic) throw error;
  const { knowledge, isOfDelegate, code } = toCniError(error);
  return new CniError(isOfDelegate ? code : CNI_CODES.internal, `${action}: ${describeError(error)}`, {
    knowledge,
    isOfDelegate,
    cause: error,
  });
}

/** As `annotate`, but a runtime learns what the delegate's code says, such as to try again later (cni.md §1.8). */
export function annotateDelegate(error: unknown, action: string): CniError {
  if (!(error instanceof CniError)) return annotate(error, action);
  const { code, message, details, knowledge } = error;
  return annotate(
    new CniError(code, message, { details, knowledge, cause: error, isOfDelegate: true }),
    action,
  );
}

/** The error object as plugins print it (cni.md §1.6: without `cniVersion`, `details` only when there are any). */
export function formatCniError(error: CniError): JsonObject {
  return error.details === ""
    ? { code: error.code, msg: error.message }
    : { code: error.code, msg: error.message, details: error.details };
}
