/** A pod named by what made it, as kubectl takes it: `deploy/web`, `statefulset/shop/db`. */
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, Pod } from "#contracts/kubernetes/objects.ts";
import { controllerOf } from "#contracts/kubernetes/pod.ts";
import type { Cluster, ClusterPod } from "../cluster.ts";

const WORKLOADS = [
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
] as const satisfies KubeKind[];

type WorkloadKind = (typeof WORKLOADS)[number];

interface WorkloadName {
  readonly kind: WorkloadKind;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** `KIND/NAME` or `KIND/NAMESPACE/NAME`, with a kind as kubectl spells it; undefined for anything else. */
function workloadNameOf(text: string): WorkloadName | undefined {
  const parts = text.split("/");
  const [word = "", ...path] = parts;
  const kind = WORKLOADS.find((each) => {
    const { plural, shortNames } = KINDS[each];
    return [plural, each.toLowerCase(), ...shortNames].includes(word.toLowerCase());
  });
  const name = path.at(-1);
  if (kind === undefined || name === undefined || name === "" || path.length > 2) return undefined;
  return { kind, namespace: path.length === 2 ? path[0] : undefined, name };
}

/** The Deployment of a ReplicaSet: said by the ReplicaSet, or, where it is not in the input, by its name. */
function deploymentOf(cluster: Cluster, namespace: string, replicaSet: string): string | undefined {
  const own = cluster.objects.ReplicaSet.find(({ metadata }) => {
    return metadata.name === replicaSet && metadata.namespace === namespace;
  });
  const owner = own === undefined ? undefined : controllerOf(own);
  if (owner !== undefined) return owner.kind === "Deployment" ? owner.name : undefined;
  return own === undefined ? replicaSet.replace(/-[^-]+$/u, "") : undefined;
}

function isMadeBy(cluster: Cluster, { metadata }: Pod, { kind, name }: WorkloadName): boolean {
  const owner = controllerOf({ metadata });
  if (owner === undefined) return false;
  if (owner.kind === kind) return owner.name === name;
  const isOfSet = kind === "Deployment" && owner.kind === "ReplicaSet";
  return isOfSet && deploymentOf(cluster, metadata.namespace, owner.name) === name;
}

/**
 * The first pod with a network that a workload has made; undefined when `text` names none. Without a namespace it is that of
 * `default`, or of the only namespace with such a workload.
 */
export function podOfWorkload(cluster: Cluster, text: string): ClusterPod | undefined {
  const wanted = workloadNameOf(text);
  if (wanted === undefined) return undefined;
  const made = cluster.objects.Pod.filter((pod) => isMadeBy(cluster, pod, wanted));
  const namespaces = new Set(made.map(({ metadata }) => metadata.namespace));
  const [only = ""] = namespaces;
  const namespace = wanted.namespace ?? (namespaces.has("default") || namespaces.size > 1 ? "default" : only);
  const names = new Set(
    made.filter(({ metadata }) => metadata.namespace === namespace).map(({ metadata }) => metadata.name),
  );
  return cluster.pods.find(({ spec }) => spec.namespace === namespace && names.has(spec.name));
}
