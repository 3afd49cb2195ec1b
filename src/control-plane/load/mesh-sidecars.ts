/** Pods of the input for which a service mesh would add its proxy: nothing does it here. */
import { type Marks, type Mesh, meshesOf } from "#contracts/kubernetes/mesh-sidecars.ts";
import { podTemplateOf } from "#contracts/kubernetes/runtime-class.ts";
import type { LoadedObject } from "./manifests.ts";

export interface SidecarRequest {
  readonly mesh: Mesh;
  /** The first object whose pods would get it. */
  readonly first: LoadedObject;
  /** How many objects there are. */
  readonly count: number;
}

/** By mesh. Objects of an API server are left out: their pods show what was added. */
export function sidecarRequests(objects: readonly LoadedObject[]): readonly SidecarRequest[] {
  const namespaces = new Map<string, Marks>();
  for (const { object } of objects)
    if (object.kind === "Namespace") namespaces.set(object.metadata.name, object.metadata);
  const found = new Map<string, SidecarRequest>();
  for (const loaded of objects) {
    const { object } = loaded;
    const { spec, metadata = {} } = (object.metadata.uid === "" ? podTemplateOf(object) : undefined) ?? {};
    if (spec === undefined) continue;
    const containers = [...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name);
    const pod = { ...metadata, containers, isHostNetwork: spec.hostNetwork === true };
    for (const mesh of meshesOf(pod, namespaces.get(object.metadata.namespace) ?? {})) {
      const { first, count } = found.get(mesh.name) ?? { first: loaded, count: 0 };
      found.set(mesh.name, { mesh, first, count: count + 1 });
    }
  }
  return [...found.values()];
}
