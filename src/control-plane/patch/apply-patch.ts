/** An object after a patch, checked again. */
import { isFields, mappingOf } from "#core/base/json.ts";
import { checkedObject } from "../load/checked-object.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { withoutTypeDependentFields } from "../memory/services/service-defaults.ts";
import type { KubeKind, KubeObject, KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { KubePatch } from "#contracts/kubernetes/source.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Merge patches (RFC 7386): null takes a field away, mappings are joined, everything else replaces. */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const fields = new Map(isMapping(document) ? Object.entries(document) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, applyMergePatch(fields.get(name), value));
  }
  return Object.fromEntries(fields);
}

function patched(kind: KubeKind, document: unknown, patch: KubePatch): unknown {
  if (patch.type === "json") return applyJsonPatch(document, patch.body);
  return patch.type === "merge"
    ? applyMergePatch(document, patch.body)
    : applyStrategicMerge(kind, document, patch.body);
}

function metadataOf(value: unknown): Readonly<Record<string, unknown>> {
  return mappingOf(mappingOf(value)["metadata"]);
}

/**
 * What a stored object becomes by a patch. It has the stored version unless the patch names one, which is then checked
 * when the object is replaced.
 * @throws KubeError for a patch that cannot be done, that renames the object, or that leaves it broken.
 */
export function patchedObject<Kind extends KubeKind>(
  stored: KubeObjects[Kind],
  patch: KubePatch,
): KubeObjects[Kind] {
  const before: KubeObject = stored;
  const result = patched(before.kind, before, patch);
  const { name, namespace = before.metadata.namespace } = metadataOf(result);
  if (name !== before.metadata.name || namespace !== before.metadata.namespace) {
    throw new KubeError(
      "kubernetes-request-invalid",
      400,
      WORDS.nameMismatch({ objectName: String(name), name: before.metadata.name }),
    );
  }
  const prepared = isFields(result) ? withoutTypeDependentFields(before, result) : result;
  return checkedObject(before.kind, prepared, before.metadata.namespace) as KubeObjects[Kind];
}
