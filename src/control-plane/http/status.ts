/** Errors and good news as the API's `Status` objects (k8s.io/apimachinery, `meta/v1.Status`). */
import { KubeError } from "#contracts/kubernetes/error.ts";

const INTERNAL = 500;

export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly uid?: string;
}

/** A `Status`, as far as the server reads it itself. */
export interface FailureStatus {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: object;
  readonly status: "Failure";
  readonly message: string;
  readonly reason: string;
  readonly details: object;
  readonly code: number;
}

/** The `Status` of an error, with what it is about. An error that is none of the API's is not described. */
export function statusOf(error: unknown, about: StatusDetails = {}): FailureStatus {
  const known =
    error instanceof KubeError
      ? error
      : new KubeError("kubernetes-unreachable", INTERNAL, "Internal error occurred: see the server's log", {
          reason: "InternalError",
        });
  const { message, reason, status, causes, subject, retryAfterSeconds } = known;
  const reported = causes.map((cause) => ({ reason: "FieldValueInvalid", ...cause }));
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    details: {
      ...about,
      ...subject,
      ...(reported.length === 0 ? {} : { causes: reported }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
    code: status,
  };
}

export function successStatus(details: StatusDetails): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}
