/** An error of the Kubernetes API that a program meets in the course of its work. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { isFields, mappingOf, textOf } from "#core/base/json.ts";

/** The reasons that a `Status` of the API gives (k8s.io/apimachinery, `meta/v1/types.go`). */
type StatusReason =
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Expired"
  | "Invalid"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "UnsupportedMediaType"
  | "RequestEntityTooLarge"
  | "TooManyRequests"
  | "ServiceUnavailable"
  | "InternalError"
  | "Unknown";

/** One field that is to blame. */
export interface StatusCause {
  readonly field: string;
  readonly message: string;
}

/** What an error is about, as a `Status` says it. */
export interface StatusSubject {
  readonly name: string;
  readonly kind: string;
}

/** What an error has beside its code, its status and its message. */
export interface KubeErrorDetails {
  readonly reason?: StatusReason | undefined;
  readonly causes?: readonly StatusCause[];
  readonly subject?: StatusSubject;
  /** How long the server wants to be left alone, in seconds. */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KnowledgeCode;
  /** The status of HTTP that goes with it. */
  readonly status: number;
  readonly reason: StatusReason;
  readonly causes: readonly StatusCause[];
  readonly subject: StatusSubject | undefined;
  /** How long the server wants to be left alone, in seconds. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: KnowledgeCode, status: number, message: string, details: KubeErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.status = status;
    this.reason = details.reason ?? REASONS[status] ?? "Unknown";
    this.causes = details.causes ?? [];
    this.subject = details.subject;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

const REASONS: Readonly<Record<number, StatusReason>> = Object.freeze({
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
});

/** The error for a `Status` of the API, or for an answer that is none. */
export function kubeErrorOf(status: number, message: string, details: KubeErrorDetails = {}): KubeError {
  const reason = details.reason ?? REASONS[status] ?? "Unknown";
  return new KubeError(codeOf(status, reason), status, message, { ...details, reason });
}

function codeOf(status: number, reason: StatusReason): KnowledgeCode {
  if (status === 404) return "object-not-found";
  if (status === 409)
    return reason === "AlreadyExists" ? "object-exists-already" : "object-changed-meanwhile";
  if (status === 410) return "resource-version-expired";
  if (status === 422) return "object-refused";
  if (status === 401 || status === 403) return "kubernetes-access-denied";
  if (status >= 500 || status === 429) return "kubernetes-unreachable";
  return "kubernetes-request-invalid";
}

/** The server does not answer, or not to the end. */
export function unreachable(message: string, cause?: unknown): KubeError {
  return new KubeError("kubernetes-unreachable", 503, message, { cause });
}

// The `Status` objects in which an API server says what went wrong (k8s.io/apimachinery, `meta/v1.Status`).

const SHOWN_MAX = 300;

function causesOf(details: unknown): readonly StatusCause[] {
  const causes =
    isFields(details) && Array.isArray(details["causes"]) ? (details["causes"] as unknown[]) : [];
  return causes
    .filter(isFields)
    .map(({ field, message }) => ({ field: textOf(field), message: textOf(message) }));
}

/** The error that a `Status` stands for; undefined for what is none. `fallback` is the status of the answer. */
export function errorOfStatus(value: unknown, fallback: number, retryAfter?: number): KubeError | undefined {
  if (!isFields(value) || value["kind"] !== "Status") return undefined;
  const { code, message, reason, details } = value;
  const status = typeof code === "number" && code > 0 ? code : fallback;
  const reported = textOf(reason);
  const seconds = mappingOf(details)["retryAfterSeconds"];
  return kubeErrorOf(status, textOf(message) || `the server answers with status ${status}`, {
    ...(reported === "" ? {} : { reason: reported as StatusReason }),
    causes: causesOf(details),
    retryAfterSeconds: retryAfter ?? (typeof seconds === "number" ? seconds : undefined),
  });
}

/** The error of an answer that is none of success. */
export function errorOfAnswer(status: number, text: string, retryAfter: string | undefined): KubeError {
  const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    // A proxy in between, or a server that is starting, answers with a line of text.
  }
  const known = errorOfStatus(value, status, seconds);
  if (known !== undefined) return known;
  const shown = text.trim().slice(0, SHOWN_MAX);
  const message = shown === "" ? `the server answers with status ${status}` : shown;
  return kubeErrorOf(status, message, { retryAfterSeconds: seconds });
}
