/** Kinds of Kubernetes objects by the names that people and paths use, as kubectl has them. */
import type { KubeKind } from "../kube/types.ts";

export interface KubeKindNames {
  readonly kind: KubeKind;
  /** In paths, and for `get`: `pods`. */
  readonly plural: string;
  /** `pod`. */
  readonly singular: string;
  /** `po`. */
  readonly short: readonly string[];
  /** The API group; empty for the core. */
  readonly group: string;
  readonly isNamespaced: boolean;
}

function names(
  kind: KubeKind,
  plural: string,
  short: readonly string[],
  group = "",
  isNamespaced = true,
): KubeKindNames {
  return Object.freeze({ kind, plural, singular: kind.toLowerCase(), short, group, isNamespaced });
}

/** In the order in which they are shown. `eps` is not kubectl's: it has no short name for EndpointSlices. */
export const KUBE_KINDS: readonly KubeKindNames[] = Object.freeze([
  names("Pod", "pods", ["po"]),
  names("Service", "services", ["svc"]),
  names("Node", "nodes", ["no"], "", false),
  names("Namespace", "namespaces", ["ns"], "", false),
  names("Deployment", "deployments", ["deploy"], "apps"),
  names("ReplicaSet", "replicasets", ["rs"], "apps"),
  names("StatefulSet", "statefulsets", ["sts"], "apps"),
  names("DaemonSet", "daemonsets", ["ds"], "apps"),
  names("Job", "jobs", [], "batch"),
  names("CronJob", "cronjobs", ["cj"], "batch"),
  names("EndpointSlice", "endpointslices", ["eps"], "discovery.k8s.io"),
  names("Endpoints", "endpoints", ["ep"]),
  names("NetworkPolicy", "networkpolicies", ["netpol"], "networking.k8s.io"),
  names("ConfigMap", "configmaps", ["cm"]),
]);

/** Finds a kind by any of its names, in any letter case; undefined when there is none. `endpoint` is Endpoints. */
export function findKubeKind(text: string): KubeKindNames | undefined {
  const wanted = text.toLowerCase();
  return KUBE_KINDS.find(
    ({ plural, singular, short }) =>
      plural === wanted || plural === `${wanted}s` || singular === wanted || short.includes(wanted),
  );
}

/** The names of a kind that exists. */
export function namesOfKind(kind: KubeKind): KubeKindNames {
  const found = KUBE_KINDS.find((each) => each.kind === kind);
  if (found === undefined) throw new RangeError(`${kind} is no kind of the table`);
  return found;
}
