/** The subresource `scale`: how many pods a workload wants, under one shape for all kinds (k8s.io/api, `autoscaling/v1`). */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";

import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { badRequest } from "./requests.ts";

const SCALED: ReadonlySet<KubeKind> = new Set<KubeKind>(["Deployment", "ReplicaSet", "StatefulSet"]);

export function isScaled(kind: KubeKind): boolean {
  return SCALED.has(kind);
}

/** `app=web,tier in (a,b)` */
function selectorText(selector: Fields): string {
  const labels = Object.entries(mappingOf(selector["matchLabels"])).map(
    ([label, value]) => `${label}=${String(value)}`,
  );
  return labels.join(",");
}

/** The `Scale` of a workload. */
export function scaleOf(object: KubeObject): Fields {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { spec, status } = object as unknown as { readonly spec?: Fields; readonly status?: Fields };
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec?.["replicas"] ?? 1 },
    status: { replicas: status?.["replicas"] ?? 0, selector: selectorText(mappingOf(spec?.["selector"])) },
  };
}

/** What a `Scale` asks for, as a merge patch of the workload. @throws KubeError `kubernetes-request-invalid`. */
export function patchOfScale(value: unknown): Fields {
  if (!isFields(value) || value["kind"] !== "Scale") throw badRequest("the object provided is not a Scale");
  const { resourceVersion } = mappingOf(value["metadata"]);
  const { replicas = 0 } = mappingOf(value["spec"]);
  if (typeof replicas !== "number") throw badRequest("spec.replicas is not a number");
  const version = typeof resourceVersion === "string" && resourceVersion !== "" ? { resourceVersion } : {};
  return { metadata: version, spec: { replicas } };
}
