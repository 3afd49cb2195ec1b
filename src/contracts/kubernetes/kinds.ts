/** The kinds that Mullion reads: their API version, the old ones that are converted, and their scope. */
import type { Leaf } from "#core/base/shape.ts";
import type { KubeKind } from "./objects.ts";

export interface KindInformation {
  readonly kind: KubeKind;
  readonly apiVersion: string;
  /** Versions that Kubernetes served once, each with the release that removed it. */
  readonly oldVersions: Readonly<Record<string, string>>;
  readonly isNamespaced: boolean;
  /** As in a URL and on a command line: `endpointslices`. */
  readonly plural: string;
  readonly shortNames: readonly string[];
}

const WORKLOADS_OLD = { "extensions/v1beta1": "1.16", "apps/v1beta1": "1.16", "apps/v1beta2": "1.16" };

function kind(
  name: KubeKind,
  apiVersion: string,
  plural: string,
  shortNames: readonly string[] = [],
  oldVersions: Readonly<Record<string, string>> = {},
): KindInformation {
  const isNamespaced = !["Node", "Namespace", "ServiceCIDR", "RuntimeClass"].includes(name);
  return Object.freeze({ kind: name, apiVersion, oldVersions, isNamespaced, plural, shortNames });
}

/** By kind. Kubernetes documentation: Deprecated API Migration Guide. */
export const KINDS: Readonly<Record<KubeKind, KindInformation>> = Object.freeze({
  Node: kind("Node", "v1", "nodes", ["no"]),
  Namespace: kind("Namespace", "v1", "namespaces", ["ns"]),
  Pod: kind("Pod", "v1", "pods", ["po"]),
  Deployment: kind("Deployment", "apps/v1", "deployments", ["deploy"], WORKLOADS_OLD),
  ReplicaSet: kind("ReplicaSet", "apps/v1", "replicasets", ["rs"], {
    "extensions/v1beta1": "1.16",
    "apps/v1beta2": "1.16",
  }),
  StatefulSet: kind("StatefulSet", "apps/v1", "statefulsets", ["sts"], {
    "apps/v1beta1": "1.16",
    "apps/v1beta2": "1.16",
  }),
  DaemonSet: kind("DaemonSet", "apps/v1", "daemonsets", ["ds"], {
    "extensions/v1beta1": "1.16",
    "apps/v1beta2": "1.16",
  }),
  Job: kind("Job", "batch/v1", "jobs"),
  CronJob: kind("CronJob", "batch/v1", "cronjobs", ["cj"], {
    "batch/v1beta1": "1.25",
    "batch/v2alpha1": "1.21",
  }),
  Service: kind("Service", "v1", "services", ["svc"]),
  EndpointSlice: kind("EndpointSlice", "discovery.k8s.io/v1", "endpointslices", [], {
    "discovery.k8s.io/v1beta1": "1.25",
    "discovery.k8s.io/v1alpha1": "1.21",
  }),
  Endpoints: kind("Endpoints", "v1", "endpoints", ["ep"]),
  NetworkPolicy: kind("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies", ["netpol"], {
    "extensions/v1beta1": "1.16",
  }),
  ConfigMap: kind("ConfigMap", "v1", "configmaps", ["cm"]),
  Lease: kind("Lease", "coordination.k8s.io/v1", "leases", [], { "coordination.k8s.io/v1beta1": "1.22" }),
  ServiceCIDR: kind("ServiceCIDR", "networking.k8s.io/v1", "servicecidrs", [], {
    "networking.k8s.io/v1beta1": "1.37",
    "networking.k8s.io/v1alpha1": "1.33",
  }),
  RuntimeClass: kind("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", [], {
    "node.k8s.io/v1beta1": "1.25",
  }),
  Event: kind("Event", "v1", "events", ["ev"]),
});

/** All kinds, in the order in which they are stored and reconciled. */
export const KUBE_KINDS: readonly KubeKind[] = Object.freeze(Object.keys(KINDS) as KubeKind[]);

export function isKubeKind(text: string): text is KubeKind {
  return Object.hasOwn(KINDS, text);
}

/** True for an API version in which Kubernetes has, or had, the kind. */
export function isVersionOf(name: KubeKind, apiVersion: string): boolean {
  const { apiVersion: present, oldVersions } = KINDS[name];
  return apiVersion === present || Object.hasOwn(oldVersions, apiVersion);
}

/** The kind that a person means by `svc`, `services`, `Service`; undefined when there is none. */
export function findKind(text: string): KubeKind | undefined {
  const wanted = text.toLowerCase();
  return KUBE_KINDS.find((name) => {
    const { plural, shortNames } = KINDS[name];
    return name.toLowerCase() === wanted || plural === wanted || shortNames.includes(wanted);
  });
}

/** A kind in documents. */
export const KUBE_KIND: Leaf<KubeKind> = { schema: { enum: Object.keys(KINDS) } };
