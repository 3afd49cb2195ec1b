/**
 * What a cluster does with pods when they are made, and nothing does here: webhooks of service meshes, Pod Security, LimitRanges
 * and quotas.
 */
import { type Marks, type Mesh, meshesOf } from "#contracts/kubernetes/mesh-sidecars.ts";
import { podTemplateOf } from "#contracts/kubernetes/runtime-class.ts";
import { podSecurityOf, podSecurityViolations } from "#contracts/kubernetes/pod-security.ts";
import {
  type AskedPods,
  type NamespaceLimit,
  exceededQuotas,
  refusalsOfPods,
} from "#contracts/kubernetes/namespace-limits.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import type { Fields } from "#core/base/json.ts";
import type { FilePlace, LoadedObject } from "./manifests.ts";

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

/** A LimitRange or a ResourceQuota of the input, and where it stands. */
export interface PlacedLimit extends NamespaceLimit, FilePlace {
  readonly namespace: string;
  readonly file: string;
}

/** Pods that an object asks for; of a DaemonSet one at least, of a CronJob none until its time comes. */
function countOf(object: KubeObject): number {
  if (object.kind === "CronJob") return 0;
  if (object.kind === "Deployment" || object.kind === "ReplicaSet" || object.kind === "StatefulSet")
    return object.spec?.replicas ?? 1;
  if (object.kind !== "Job") return 1;
  return Math.min(object.spec?.parallelism ?? 1, object.spec?.completions ?? Number.POSITIVE_INFINITY);
}

function podsOf(object: KubeObject): AskedPods | undefined {
  const spec = askedPods(object)?.spec;
  return spec === undefined ? undefined : { spec: spec as unknown as Fields, count: countOf(object) };
}

export interface LimitRefusal {
  /** What is refused, or the limit that everything together goes beyond. */
  readonly about: LoadedObject | PlacedLimit;
  readonly reasons: readonly string[];
}

/** Objects whose pods their Namespace refuses, and quotas of which more is asked for than there is. */
export function* limitRefusals(
  objects: readonly LoadedObject[],
  limits: readonly PlacedLimit[],
): Generator<LimitRefusal> {
  for (const [namespace, own] of Map.groupBy(limits, (limit) => limit.namespace)) {
    const inside = objects.filter(({ object }) => object.metadata.namespace === namespace);
    const asking = inside.flatMap((loaded) => {
      const pods = podsOf(loaded.object);
      return pods === undefined ? [] : [{ about: loaded, pods }];
    });
    for (const { about, pods } of asking) {
      const reasons = refusalsOfPods(pods, own);
      if (reasons.length > 0) yield { about, reasons };
    }
    const all = asking.map(({ pods }) => pods);
    const services = inside.flatMap(({ object }) =>
      object.kind === "Service" ? [(object.spec ?? {}) as unknown as Fields] : [],
    );
    const exceeded = Map.groupBy(exceededQuotas(all, services, own), ({ name }) => name);
    for (const [name, found] of exceeded) {
      const about = own.find((limit) => limit.kind === "ResourceQuota" && limit.name === name);
      if (about !== undefined) yield { about, reasons: found.map(({ message }) => message) };
    }
  }
}
