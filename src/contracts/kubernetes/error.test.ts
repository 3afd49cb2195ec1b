// Errors of the API by their status (k8s.io/apimachinery, pkg/apis/meta/v1/types.go and pkg/api/errors/errors.go).
import { describe, expect, it } from "vitest";
import { KubeError, kubeErrorOf, unreachable } from "./error.ts";

describe("an answer with a status of HTTP", () => {
  it.each([
    [400, "BadRequest", "kubernetes-request-invalid"],
    [401, "Unauthorized", "kubernetes-access-denied"],
    [402, "Unknown", "kubernetes-request-invalid"],
    [403, "Forbidden", "kubernetes-access-denied"],
    [404, "NotFound", "object-not-found"],
    [405, "MethodNotAllowed", "kubernetes-request-invalid"],
    [406, "NotAcceptable", "kubernetes-request-invalid"],
    [409, "Conflict", "object-changed-meanwhile"],
    [410, "Expired", "resource-version-expired"],
    [413, "RequestEntityTooLarge", "kubernetes-request-invalid"],
    [415, "UnsupportedMediaType", "kubernetes-request-invalid"],
    [422, "Invalid", "object-refused"],
    [428, "Unknown", "kubernetes-request-invalid"],
    [429, "TooManyRequests", "kubernetes-unreachable"],
    [499, "Unknown", "kubernetes-request-invalid"],
    [500, "InternalError", "kubernetes-unreachable"],
    [502, "Unknown", "kubernetes-unreachable"],
    [503, "ServiceUnavailable", "kubernetes-unreachable"],
    [504, "Unknown", "kubernetes-unreachable"],
  ] as const)("%d: %s, %s", (status, reason, code) => {
    expect(kubeErrorOf(status, "text")).toMatchObject({ status, reason, code, message: "text", causes: [] });
    expect(new KubeError(code, status, "text").reason).toBe(reason);
  });

  it("keeps the reason that the server gives: 409 is of two kinds", () => {
    expect(kubeErrorOf(409, "", { reason: "AlreadyExists" })).toMatchObject({
      reason: "AlreadyExists",
      code: "object-exists-already",
    });
    const details = { causes: [{ field: "spec", message: "no" }], retryAfterSeconds: 3 };
    expect(kubeErrorOf(422, "", details)).toMatchObject({ ...details, reason: "Invalid" });
  });

  it("or none at all is one of a server that is not there", () => {
    const cause = new Error("refused");
    expect(unreachable("no answer", cause)).toMatchObject({
      code: "kubernetes-unreachable",
      status: 503,
      reason: "ServiceUnavailable",
      message: "no answer",
      cause,
    });
  });
});
