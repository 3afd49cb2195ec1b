/** Errors of the CNI contract (cni.md §1.6). */
import { messageOf } from "#core/base/thrown.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ValueOf } from "#core/base/shape.ts";

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
  /** As a plugin that was called has ended: an error of the library's own type in upstream. */
  readonly isPrinted?: boolean;
}

/** An error in the words of the contract. */
export class CniError extends Error {
  override readonly name = "CniError";
  readonly code: number;
  readonly details: string;
  readonly knowledge: KnowledgeCode | undefined;
  readonly isOfDelegate: boolean;
  readonly isPrinted: boolean;

  constructor(code: number, message: string, options: CniErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? "";
    this.knowledge = options.knowledge;
    this.isOfDelegate = options.isOfDelegate ?? false;
    this.isPrinted = options.isPrinted ?? false;
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
 * A new error whose message says what was being done when `error` happened. What a called plugin has printed loses its code
 * by that, as in the plugins' Go code (`%v`), but for the failures of `annotateDelegate`; a code of our own stays.
 * @throws PluginPanic as it is: nothing is put around a crash.
 */
export function annotate(error: unknown, action: string): CniError {
  if (error instanceof PluginPanic) throw error;
  const { knowledge, isOfDelegate, isPrinted, code } = toCniError(error);
  const isLost = isPrinted && !isOfDelegate;
  return new CniError(isLost ? CNI_CODES.internal : code, `${action}: ${describeError(error)}`, {
    knowledge,
    isOfDelegate,
    cause: error,
  });
}

/** What `work` gives; what it throws comes with what was being done before it. @throws as `annotate` */
export async function annotated<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw annotate(error, action);
  }
}

/** What `work` gives; what it throws is put into upstream's own words around its text, with code 999. @throws CniError */
export async function reworded<T>(words: (error: string) => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CniError(CNI_CODES.internal, words(describeError(error)), { cause: error });
  }
}

/** Does all of it, one after the other: a failure stops no other. @returns what failed. */
export async function attemptAll(works: Iterable<() => Promise<unknown>>): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  return failures;
}

/** Reports at the end what failed on the way. @throws CniError */
export function failWith(failures: readonly string[]): void {
  if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
}

/**
 * What upstream writes as `%w`: since cni 1.2 the library prints what a called plugin has said, without the words around
 * it (pkg/skel of cni 1.3.0); every other failure gets them.
 */
export function wrap(error: unknown, action: string): unknown {
  return error instanceof CniError && error.isPrinted ? error : annotate(error, action);
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

/** The one place that names the fields of the error object (cni.md §1.6: plugins print it without `cniVersion`). */
export const CNI_ERROR = {
  text: "The error object of CNI.",
  fields: {
    code: {
      is: "integer",
      text: "Below 100 of the specification, 999 of the Go library, others of plugins.",
    },
    msg: { is: "text", text: "What is wrong." },
  },
  optional: { details: { is: "text", text: "More of it, where there is more." } },
} as const;
/** What plugins print. */
export type CniErrorObject = ValueOf<typeof CNI_ERROR>;

/** The error object: `details` only when there are any. */
export function formatCniError({ code, message, details }: CniError): CniErrorObject {
  return details === "" ? { code, msg: message } : { code, msg: message, details };
}

/** Reads fields as Go's decoder does: a text that is absent is empty. */
interface ErrorFields {
  integer(name: keyof CniErrorObject): number | undefined;
  text(name: keyof CniErrorObject): string;
}

/** What a plugin has printed. `fields` throws for a field of the wrong type. */
export function readCniError(fields: ErrorFields, knowledge: KnowledgeCode | undefined): CniError {
  return new CniError(fields.integer("code") ?? CNI_CODES.unknown, fields.text("msg"), {
    details: fields.text("details"),
    knowledge,
    isPrinted: true,
  });
}
