/** The error of the HCN contract, and the texts and records in which it travels (hcn.md §6.3). */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { HCN_ERRORS, type HcnErrorCode, errorCodeOf } from "./error-codes.ts";

/** The JSON that Windows hands back with a failing HRESULT; `ErrorCode` is the HRESULT as an unsigned decimal. */
export interface ErrorRecord {
  readonly Success: false;
  readonly Error: string;
  readonly ErrorCode: number;
}

export interface HcnErrorOptions extends ErrorOptions {
  /** What is wrong, where, and what to write instead. Shown to people; not part of the error record. */
  readonly detail?: string;
  /** Text that the error record carries behind the system message: what Windows appends, or what is not served here. */
  readonly appendix?: string;
  /** The entry of the knowledge catalogue that explains it. */
  readonly explanation?: KnowledgeCode;
  /** The record that a service sent; its text and number are kept as they came. */
  readonly reported?: Omit<ErrorRecord, "Success">;
}

/** `E_FAIL`, for a failure that says no number. */
const UNSPECIFIED_HRESULT = 0x80004005;

/** A refused or failed HCN call. */
export class HcnError extends Error {
  override readonly name = "HcnError";
  /** The name of the HRESULT; `unknown` for one that `HCN_ERRORS` does not hold. */
  readonly code: HcnErrorCode | "unknown";
  /** Unsigned. */
  readonly hresult: number;
  readonly detail: string | undefined;
  readonly explanation: KnowledgeCode | undefined;
  private readonly recordText: string;

  constructor(code: HcnErrorCode | "unknown", options: HcnErrorOptions = {}) {
    const reported = options.reported;
    const text = code === "unknown" ? (reported?.Error ?? "Unspecified error").trim() : HCN_ERRORS[code].text;
    const said = options.detail ?? options.appendix;
    super(said === undefined ? text : `${text}: ${said}`, options);
    this.code = code;
    this.hresult =
      code === "unknown" ? (reported?.ErrorCode ?? UNSPECIFIED_HRESULT) >>> 0 : HCN_ERRORS[code].hresult;
    this.detail = options.detail;
    this.explanation = options.explanation;
    // Windows ends its message with a full stop and a blank; what it appends stands behind that (hcn.md §9.24).
    this.recordText = reported?.Error ?? `${text}. ${options.appendix ?? ""}`;
  }

  /** The error that a service reported with a failing call. */
  static fromRecord(record: Omit<ErrorRecord, "Success">, options: HcnErrorOptions = {}): HcnError {
    return new HcnError(errorCodeOf(record.ErrorCode) ?? "unknown", { ...options, reported: record });
  }

  /** The record as Windows returns it: three fields, nothing more. */
  toRecord(): ErrorRecord {
    return { Success: false, Error: this.recordText, ErrorCode: this.hresult };
  }
}

/** A look-up by name or id found nothing. The client says this, not the service (hcn.md §6.3). */
export class HcnNotFoundError extends Error {
  override readonly name = "HcnNotFoundError";
  /** `Network name`, `Network ID`, `Endpoint name`, `Endpoint ID`, `Namespace ID`, `LoadBalancer`, `SDN Route`. */
  readonly what: string;
  readonly value: string;

  constructor(what: string, value: string) {
    super(`${what} "${value}" not found`);
    this.what = what;
    this.value = value;
  }
}

/**
 * True when the object that a call named does not exist. The Go client's own test misses the two HCN codes;
 * callers that copy upstream's behaviour compare codes themselves (hcn.md §6.3).
 */
export function isNotFoundError(error: unknown): boolean {
  if (error instanceof HcnNotFoundError) return true;
  if (!(error instanceof HcnError)) return false;
  return (
    error.code === "ERROR_NOT_FOUND" ||
    error.code === "HCN_E_NETWORK_NOT_FOUND" ||
    error.code === "HCN_E_ENDPOINT_NOT_FOUND"
  );
}

const FACILITY_WIN32 = 7;

/** An HRESULT as the Go client prints it: codes of facility 7 with their low 16 bits only (hcn.md §6.2). */
export function formatHresult(hresult: number): string {
  const facility = (hresult >>> 16) & 0x1fff;
  return `0x${(facility === FACILITY_WIN32 ? hresult & 0xffff : hresult >>> 0).toString(16)}`;
}

/**
 * The sentence that the Go client makes of a failed call (hcn.md §6.3), for programs that print what upstream prints.
 * @param call the native function with its first letter small: `hcnCreateNetwork`.
 */
export function formatFailedCall(call: string, error: HcnError): string {
  const facts = error.code === "unknown" ? undefined : HCN_ERRORS[error.code];
  const text = facts === undefined ? error.message : facts.text;
  return `${call} failed in Win32: ${text}. (${formatHresult(error.hresult)}) ${JSON.stringify(error.toRecord())}`;
}
