/** What a cluster does with pods when they are made, and nothing does here: webhooks of service meshes, and Pod Security. */
import { type Marks, type Mesh, meshesOf } from "#contracts/kubernetes/mesh-sidecars.ts";
import { podTemplateOf } from "#contracts/kubernetes/runtime-class.ts";
import { podSecurityOf, podSecurityViolations } from "#contracts/kubernetes/pod-security.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import type { Fields } from "#core/base/json.ts";
import type { LoadedObject } from "./manifests.ts";

export interface SidecarRequest {
  readonly mesh: Mesh;
  /** The first object whose pods would get it. */
  readonly first: LoadedObject;
  /** How many objects there are. */
  readonly count: number;
}

function marksOfNamespaces(objects: readonly LoadedObject[]): ReadonlyMap<string, Marks> {
  const namespaces = new Map<string, Marks>();
  for (const { object } of objects)
    if (object.kind === "Namespace") namespaces.set(object.metadata.name, object.metadata);
  return namespaces;
}

/** The pods that an object asks for. Objects of an API server are left out: their pods show what came of it. */
function askedPods(object: KubeObject): ReturnType<typeof podTemplateOf> {
  return object.metadata.uid === "" ? podTemplateOf(object) : undefined;
}

/** By mesh. */
export function sidecarRequests(objects: readonly LoadedObject[]): readonly SidecarRequest[] {
  const namespaces = marksOfNamespaces(objects);
  const found = new Map<string, SidecarRequest>();
  for (const loaded of objects) {
    const { object } = loaded;
    const { spec, metadata = {} } = askedPods(object) ?? {};
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

export interface PodSecurityRefusal {
  readonly loaded: LoadedObject;
  /** `baseline:latest`. */
  readonly level: string;
  readonly reasons: readonly string[];
}

/** Objects whose pods an API server refuses, since their namespace enforces a level of Pod Security. */
export function podSecurityRefusals(objects: readonly LoadedObject[]): readonly PodSecurityRefusal[] {
  const namespaces = marksOfNamespaces(objects);
  return objects.flatMap((loaded) => {
    const { object } = loaded;
    const { spec, metadata } = askedPods(object) ?? {};
    const security = podSecurityOf(namespaces.get(object.metadata.namespace)?.labels ?? {});
    if (spec === undefined || security === undefined) return [];
    const pod = { annotations: metadata?.annotations ?? {}, spec: spec as unknown as Fields };
    const reasons = podSecurityViolations(pod, security);
    return reasons.length === 0 ? [] : [{ loaded, level: `${security.level}:${security.version}`, reasons }];
  });
}
