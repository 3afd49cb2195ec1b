/**
 * By which field the items of a list are known, for strategic merge patches: the tags `patchMergeKey` and
 * `patchStrategy` of k8s.io/api (`core/v1/types.go`, `apps/v1/types.go`). Lists that are not named here are replaced.
 */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";

/** Items with a key, or plain values that are a set. */
export type ListStrategy = { readonly key: string } | "set";

/** In every object. */
const METADATA: Readonly<Record<string, ListStrategy>> = Object.freeze({
  "metadata.ownerReferences": { key: "uid" },
  "metadata.finalizers": "set",
});

/** In the spec of a pod, wherever it stands. */
const POD_SPEC: Readonly<Record<string, ListStrategy>> = Object.freeze({
  containers: { key: "name" },
  initContainers: { key: "name" },
  ephemeralContainers: { key: "name" },
  volumes: { key: "name" },
  imagePullSecrets: { key: "name" },
  hostAliases: { key: "ip" },
  topologySpreadConstraints: { key: "topologyKey" },
  resourceClaims: { key: "name" },
});

/** In a container. */
const CONTAINER: Readonly<Record<string, ListStrategy>> = Object.freeze({
  ports: { key: "containerPort" },
  env: { key: "name" },
  volumeMounts: { key: "mountPath" },
  volumeDevices: { key: "devicePath" },
});

const BY_KIND: Readonly<Partial<Record<KubeKind, Readonly<Record<string, ListStrategy>>>>> = Object.freeze({
  Node: {
    "spec.podCIDRs": "set",
    "status.conditions": { key: "type" },
    "status.addresses": { key: "type" },
  },
  Pod: {
    "status.conditions": { key: "type" },
    "status.podIPs": { key: "ip" },
  },
  Service: {
    "spec.ports": { key: "port" },
    "status.conditions": { key: "type" },
  },
  Namespace: { "status.conditions": { key: "type" } },
  Deployment: { "status.conditions": { key: "type" } },
  ReplicaSet: { "status.conditions": { key: "type" } },
  StatefulSet: { "status.conditions": { key: "type" } },
  DaemonSet: { "status.conditions": { key: "type" } },
  Job: { "status.conditions": { key: "type" } },
});

const POD_SPEC_AT: Readonly<Partial<Record<KubeKind, string>>> = Object.freeze({
  Pod: "spec.",
  Deployment: "spec.template.spec.",
  ReplicaSet: "spec.template.spec.",
  StatefulSet: "spec.template.spec.",
  DaemonSet: "spec.template.spec.",
  Job: "spec.template.spec.",
  CronJob: "spec.jobTemplate.spec.template.spec.",
});

function own(
  table: Readonly<Record<string, ListStrategy>> | undefined,
  name: string,
): ListStrategy | undefined {
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** How a list is joined; undefined when a patch replaces it. `path` has names only: `spec.containers.ports`. */
export function listStrategyOf(kind: KubeKind, path: string): ListStrategy | undefined {
  const direct = own(METADATA, path) ?? own(BY_KIND[kind], path);
  if (direct !== undefined) return direct;
  const prefix = POD_SPEC_AT[kind];
  if (prefix === undefined || !path.startsWith(prefix)) return undefined;
  const inside = path.slice(prefix.length);
  const container = /^(?:containers|initContainers|ephemeralContainers)\.(\w+)$/.exec(inside);
  return container === null ? own(POD_SPEC, inside) : own(CONTAINER, container[1] ?? "");
}
