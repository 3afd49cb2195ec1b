/** A checked value as a stored object: identity complete, nothing null, frozen with all it holds. */
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import type { Fields } from "#core/base/json.ts";
import { mappingOf } from "./checks/field-check.ts";

/** Long, and of no use here. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** A copy without null fields (absent, in Kubernetes), frozen. The depth of what is read is bounded. */
function clean(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(clean));
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.freeze(Object.fromEntries(entries.map(([name, field]) => [name, clean(field)])));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function withoutLastApplied(annotations: unknown): Fields {
  const { [LAST_APPLIED]: _, ...rest } = mappingOf(annotations);
  return rest;
}

/**
 * The object of a value that has passed its checks. A namespaced object without a namespace lies in `fallback`.
 * `kubectl apply` needs what it applied last; with files that is of no use.
 */
export function normalize(
  kind: KubeKind,
  value: Fields,
  fallback: string,
  keepsLastApplied = false,
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
  return clean({ ...value, apiVersion, kind, metadata: { ...metadata, ...identity } }) as KubeObject;
}
