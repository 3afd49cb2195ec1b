/** Pods of the input for which a service mesh would add its proxy: nothing does it here. */
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { type Marks, type Mesh, meshesOf } from "#contracts/kubernetes/mesh-sidecars.ts";
import { podSpecOf } from "#contracts/kubernetes/runtime-class.ts";
import type { LoadedObject } from "./manifests.ts";

export interface SidecarRequest {
  readonly mesh: Mesh;
  /** The first object whose pods would get it. */
  readonly first: LoadedObject;
  /** How many objects there are. */
  readonly count: number;
}

function marksOf(object: KubeObject): Marks {
  switch (object.kind) {
    case "Pod":
      return object.metadata;
    case "Deployment":
    case "StatefulSet":
    case "DaemonSet":
    case "ReplicaSet":
      return object.spec?.template?.metadata ?? {};
    default:
      return {};
  }
}

/** By mesh. Objects of an API server are left out: their pods show what was added. */
export function sidecarRequests(objects: readonly LoadedObject[]): readonly SidecarRequest[] {
  const namespaces = new Map<string, Marks>();
  for (const { object } of objects)
    if (object.kind === "Namespace") namespaces.set(object.metadata.name, object.metadata);
  const found = new Map<string, SidecarRequest>();
  for (const loaded of objects) {
    const { object } = loaded;
    const spec = object.metadata.uid === "" ? podSpecOf(object) : undefined;
    if (spec === undefined) continue;
    const containers = [...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name);
    const pod = { ...marksOf(object), containers, isHostNetwork: spec.hostNetwork === true };
    for (const mesh of meshesOf(pod, namespaces.get(object.metadata.namespace) ?? {})) {
      const { first, count } = found.get(mesh.name) ?? { first: loaded, count: 0 };
      found.set(mesh.name, { mesh, first, count: count + 1 });
    }
  }
  return [...found.values()];
}
