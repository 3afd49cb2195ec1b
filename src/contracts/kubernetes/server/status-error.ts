/** The `Status` objects in which an API server says what went wrong (k8s.io/apimachinery, `meta/v1.Status`). */
import { isFields } from "#core/base/json.ts";
import { type KubeError, type StatusCause, type StatusReason, kubeErrorOf } from "../error.ts";

const SHOWN_MAX = 300;

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

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
  const seconds = isFields(details) ? details["retryAfterSeconds"] : undefined;
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
