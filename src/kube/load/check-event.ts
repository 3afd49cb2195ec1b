/** Leases and events (k8s.io/kubernetes, `pkg/apis/coordination/validation`, `pkg/apis/core/validation/events.go`). */
import { type Check, COUNT, anyText, integer, object, required } from "./field-check.ts";

const TRANSITIONS_MAX = 2_147_483_647;

export const LEASE: Check = object({
  spec: object({
    holderIdentity: anyText,
    leaseDurationSeconds: integer(1, TRANSITIONS_MAX, "must be greater than 0"),
    leaseTransitions: COUNT,
    acquireTime: anyText,
    renewTime: anyText,
  }),
});

export const EVENT: Check = object({
  involvedObject: required(
    object({ kind: anyText, namespace: anyText, name: anyText, uid: anyText }),
    "Write the object that the event is about.",
  ),
  reason: anyText,
  message: anyText,
  type: anyText,
  count: COUNT,
});
