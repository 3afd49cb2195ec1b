/** Kinds of Kubernetes objects by the names that people and paths use, as kubectl has them. */
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind } from "#contracts/kubernetes/objects.ts";

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

/** What people see first stands first. */
const ORDER: readonly KubeKind[] = [
  "Pod",
  "Service",
  "Node",
  "Namespace",
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "CronJob",
  "EndpointSlice",
  "Endpoints",
  "NetworkPolicy",
  "ConfigMap",
  "Lease",
  "Event",
];

/** kubectl has no short name for EndpointSlices, the kind that matters most for Services. */
const MORE_SHORT: Readonly<Partial<Record<KubeKind, string>>> = { EndpointSlice: "eps" };

/** The names of a kind. */
export function namesOfKind(kind: KubeKind): KubeKindNames {
  const { plural, shortNames, apiVersion, isNamespaced } = KINDS[kind];
  const more = MORE_SHORT[kind];
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const short = more === undefined ? shortNames : [...shortNames, more];
  return Object.freeze({ kind, plural, singular: kind.toLowerCase(), short, group, isNamespaced });
}

/** In the order in which they are shown. */
export const KUBE_KIND_TABLE: readonly KubeKindNames[] = Object.freeze(ORDER.map(namesOfKind));

/** Finds a kind by any of its names, in any letter case; undefined when there is none. `endpoint` is Endpoints. */
export function findKubeKind(text: string): KubeKindNames | undefined {
  const wanted = text.toLowerCase();
  return KUBE_KIND_TABLE.find(
    ({ plural, singular, short }) =>
      plural === wanted || plural === `${wanted}s` || singular === wanted || short.includes(wanted),
  );
}
