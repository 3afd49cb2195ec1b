/** A JSON value from outside as an object of a kind: checked as manifests are, complete, frozen. */
import { KubeError, type StatusCause } from "#contracts/kubernetes/error.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import { FieldFaults } from "./checks/field-check.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { formatPath } from "#contracts/kubernetes/text/field-path.ts";
import { checkObject } from "./checks/kind-checks.ts";
import { normalize } from "./normalize.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";

/** `deployments.apps`, as Kubernetes names a resource in its messages. */
export function resourceOf(kind: KubeKind): string {
  const { apiVersion, plural } = KINDS[kind];
  const [group] = apiVersion.split("/");
  return apiVersion.includes("/") ? `${plural}.${group}` : plural;
}

/** The refusal of an object for its fields, as the API server words it. */
export function refusedObject(kind: KubeKind, name: string, causes: readonly StatusCause[]): KubeError {
  const { apiVersion } = KINDS[kind];
  const [group] = apiVersion.split("/");
  const qualified = apiVersion.includes("/") ? `${kind}.${group}` : kind;
  const reported = causes.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`));
  const list = reported.length === 1 ? reported[0] : `[${reported.join(", ")}]`;
  return new KubeError("object-refused", 422, `${qualified} ${JSON.stringify(name)} is invalid: ${list}`, {
    reason: "Invalid",
    causes,
    subject: { name, kind },
  });
}

function badRequest(message: string): KubeError {
  return new KubeError("kubernetes-request-invalid", 400, message);
}

function nameOf(value: Fields): string {
  const metadata = value["metadata"];
  const name = isFields(metadata) ? metadata["name"] : undefined;
  return typeof name === "string" ? name : "";
}

/**
 * The object that `value` is. One without a namespace lies in `namespace`.
 * @throws KubeError `kubernetes-request-invalid` for what is no object of `kind`, `object-refused` for its fields.
 */
export function checkedObject<Kind extends KubeKind>(
  kind: Kind,
  value: unknown,
  namespace = "default",
): KubeObjects[Kind] {
  if (!isFields(value)) throw badRequest("the object provided is unrecognized: it is not a mapping");
  const { apiVersion } = KINDS[kind];
  const { kind: givenKind = kind, apiVersion: givenVersion = apiVersion } = value;
  if (givenKind !== kind || givenVersion !== apiVersion) {
    const given = `${JSON.stringify(givenVersion)}, Kind=${JSON.stringify(givenKind)}`;
    throw badRequest(`the object provided is ${given}; this path takes ${apiVersion}, Kind=${kind}`);
  }
  const complete = { ...value, kind, apiVersion };
  const faults = new FieldFaults();
  checkObject(kind, complete, faults);
  if (faults.list.length > 0) {
    const causes = faults.list.map(({ path, message }) => ({ field: formatPath(path), message }));
    throw refusedObject(kind, nameOf(value), causes);
  }
  return normalize(kind, complete, namespace, true) as KubeObjects[Kind];
}
