/** A JSON value from outside as a stored object of a kind: checked as manifests are, its identity complete, nothing null, frozen. */
import { KubeError, type StatusCause } from "#contracts/kubernetes/error.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import { FieldFaults } from "./checks/field-check.ts";
import { type Fields, isFields, mappingOf, textOf } from "#core/base/json.ts";
import { formatPath } from "#contracts/kubernetes/text/field-path.ts";
import { checkObject } from "./checks/kind-checks.ts";
import type { KubeKind, KubeObjects, KubeObject } from "#contracts/kubernetes/objects.ts";

/** Long, and of no use here. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Mappings of texts by name: null is an empty text in them (`node-role.kubernetes.io/control-plane:`). */
const TEXTS: ReadonlySet<string> = new Set([
  "labels",
  "annotations",
  "matchLabels",
  "nodeSelector",
  "selector",
]);
/** Fields of a selector that is no mapping of texts. */
const OF_SELECTOR: ReadonlySet<string> = new Set(["matchLabels", "matchExpressions"]);

/** What a null field of a mapping stands for; undefined: it is absent, as everywhere else in Kubernetes. */
function valueOfNull(name: string, mapping: string): "" | undefined {
  return TEXTS.has(mapping) && !OF_SELECTOR.has(name) ? "" : undefined;
}

/** A copy without null fields, frozen. The depth of what is read is bounded. `at` is the name of the field. */
function clean(value: unknown, at = ""): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map((item) => clean(item)));
  const entries = Object.entries(value).map(
    ([name, field]) => [name, field === null ? valueOfNull(name, at) : clean(field, name)] as const,
  );
  return Object.freeze(Object.fromEntries(entries.filter(([, field]) => field !== undefined)));
}

/** The same of a value that nobody else has: only a mapping that loses a field is copied. */
function cleanOwn(value: unknown, at = ""): unknown {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) if (typeof item === "object") value[index] = cleanOwn(item);
    return Object.freeze(value);
  }
  const fields = value as Record<string, unknown>;
  let hasNone = false;
  for (const name in fields) {
    const field = fields[name];
    if (field === null && valueOfNull(name, at) !== undefined) fields[name] = "";
    else if (field === null || field === undefined) hasNone = true;
    else if (typeof field === "object") {
      const cleaned = cleanOwn(field, name);
      if (cleaned !== field) fields[name] = cleaned;
    }
  }
  return Object.freeze(hasNone ? withoutNone(fields) : fields);
}

/** The fields of a mapping that are there. */
function withoutNone(fields: Fields): Fields {
  const left: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name];
    if (field !== null && field !== undefined) left[name] = field;
  }
  return left;
}

function withoutLastApplied(annotations: unknown): Fields {
  const { [LAST_APPLIED]: _, ...rest } = mappingOf(annotations);
  return rest;
}

/** What becomes of a value. */
interface Keeping {
  /** `kubectl apply` needs what it applied last; with files that is of no use. */
  readonly keepsLastApplied?: boolean;
  /** Nobody else has the value: it may be changed and frozen. */
  readonly isOwn?: boolean;
}

/** The object of a value that has passed its checks. A namespaced object without a namespace lies in `fallback`. */
export function normalize(
  kind: KubeKind,
  value: Fields,
  fallback: string,
  { keepsLastApplied = false, isOwn = false }: Keeping = {},
): KubeObject {
  const { apiVersion, isNamespaced } = KINDS[kind];
  const { managedFields: _, annotations, ...metadata } = mappingOf(value["metadata"]);
  const namespace = textOf(metadata["namespace"]);
  const identity = {
    name: textOf(metadata["name"]),
    namespace: isNamespaced ? (namespace === "" ? fallback : namespace) : "",
    uid: textOf(metadata["uid"]),
    resourceVersion: textOf(metadata["resourceVersion"]),
    ...(annotations === undefined || annotations === null
      ? {}
      : { annotations: keepsLastApplied ? annotations : withoutLastApplied(annotations) }),
  };
  const whole = { ...value, apiVersion, kind, metadata: { ...metadata, ...identity } };
  return (isOwn ? cleanOwn(whole) : clean(whole)) as KubeObject;
}

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
  return textOf(mappingOf(metadata)["name"]);
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
  return normalize(kind, complete, namespace, { keepsLastApplied: true }) as KubeObjects[Kind];
}
