/**
 * Documents from which installers and clouds make whole clusters. They are no objects of the cluster itself; people keep them
 * beside its manifests, and they say what network and version it has.
 */
import { type Fields, isFields, listOf, mappingOf } from "#core/base/json.ts";

type Path = readonly string[];

/** Where each kind has its version; an empty path: nowhere. */
const VERSIONS: Readonly<Record<string, Readonly<Record<string, Path>>>> = Object.freeze({
  // https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
  "kubeadm.k8s.io": { ClusterConfiguration: ["kubernetesVersion"] },
  // https://schema.eksctl.io
  "eksctl.io": { ClusterConfig: ["metadata", "version"] },
  // https://docs.k0sproject.io/stable/configuration/, https://github.com/k0sproject/k0sctl
  "k0s.k0sproject.io": { ClusterConfig: [] },
  "k0sctl.k0sproject.io": { Cluster: ["spec", "k0s", "version"] },
  // https://ranchermanager.docs.rancher.com/reference-guides/cluster-configuration
  "provisioning.cattle.io": { Cluster: ["spec", "kubernetesVersion"] },
  // https://cluster-api-aws.sigs.k8s.io, https://github.com/rancher/cluster-api-provider-rke2
  "controlplane.cluster.x-k8s.io": {
    AWSManagedControlPlane: ["spec", "version"],
    RKE2ControlPlane: ["spec", "version"],
  },
  // https://capz.sigs.k8s.io, https://cluster-api-gcp.sigs.k8s.io
  "infrastructure.cluster.x-k8s.io": {
    AzureManagedControlPlane: ["spec", "version"],
    GCPManagedControlPlane: ["spec", "controlPlaneVersion"],
  },
  // https://azure.github.io/azure-service-operator/reference/containerservice/
  "containerservice.azure.com": { ManagedCluster: ["spec", "kubernetesVersion"] },
  // https://cloud.google.com/config-connector/docs/reference/resource-docs/container/containercluster
  "container.cnrm.cloud.google.com": { ContainerCluster: ["spec", "minMasterVersion"] },
  // https://aws-controllers-k8s.github.io/community/reference/eks/v1alpha1/cluster/
  "eks.services.k8s.aws": { Cluster: ["spec", "version"] },
});

function pathOf(apiVersion: string, kind: string): Path | undefined {
  const [group = ""] = apiVersion.split("/");
  const kinds = Object.hasOwn(VERSIONS, group) ? VERSIONS[group] : undefined;
  return kinds !== undefined && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
}

/** True for a document from which a whole cluster is made. */
export function isClusterDefinition(apiVersion: string, kind: string): boolean {
  return pathOf(apiVersion, kind) !== undefined;
}

/** The version of Kubernetes that a definition asks for, as it is written there; empty: it says none. */
export function definedVersion(apiVersion: string, kind: string, fields: Fields): string {
  const path = pathOf(apiVersion, kind) ?? [];
  const value = path.reduce<unknown>((at, step) => mappingOf(at)[step], fields);
  return path.length > 0 && (typeof value === "string" || typeof value === "number") ? String(value) : "";
}

/** Kinds of definitions as lint calls them: `ClusterConfig.eksctl.io`. */
export const DEFINITION_TYPES: readonly string[] = Object.entries(VERSIONS).flatMap(([group, kinds]) =>
  Object.keys(kinds).map((kind) => `${kind}.${group}`),
);

/**
 * The builds of Windows of eksctl's node groups, as nodes of a cluster file name them
 * (https://docs.aws.amazon.com/eks/latest/eksctl/windows-worker-nodes.html). Empty for every other document.
 */
export function definedBuilds(fields: Fields): readonly string[] {
  const groups = [fields["nodeGroups"], fields["managedNodeGroups"]].flatMap((list): readonly unknown[] =>
    listOf(list),
  );
  const families = groups.map((each) => mappingOf(each)["amiFamily"]);
  const years = families.map(
    (family) => /^WindowsServer(20\d\d)(?:Core|Full)Container$/.exec(String(family))?.[1],
  );
  return [...new Set(years.flatMap((year) => (year === undefined ? [] : [`ws${year}`])))];
}

/** Groups that an API server of OpenShift has, and no other one. */
export function isOfOpenShift(apiVersion: string): boolean {
  return /^(?:apps|build|image|machineconfiguration|project|route|security|template|windowsmachineconfig)\.openshift\.io\//.test(
    apiVersion,
  );
}

/**
 * Annotations that mean something to one cloud alone, where pods have the network of that cloud: identities of
 * ServiceAccounts, load balancers that send to addresses of pods.
 */
const ANNOTATIONS: readonly (readonly [cloud: "eks" | "gke", key: string, value?: string])[] = [
  // https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
  ["eks", "eks.amazonaws.com/role-arn"],
  // https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/nlb/, /guide/ingress/annotations/
  ["eks", "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type", "ip"],
  ["eks", "alb.ingress.kubernetes.io/target-type", "ip"],
  // https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity, /concepts/service-load-balancer-parameters
  ["gke", "iam.gke.io/gcp-service-account"],
  ["gke", "cloud.google.com/neg"],
  ["gke", "networking.gke.io/load-balancer-type"],
];

/** The cloud that an object is written for, as its annotations show; undefined: any. */
export function cloudOfAnnotations({ metadata }: Fields): "eks" | "gke" | undefined {
  const annotations = mappingOf(metadata)["annotations"];
  if (!isFields(annotations)) return undefined;
  return ANNOTATIONS.find(
    ([, key, value]) => Object.hasOwn(annotations, key) && (value ?? annotations[key]) === annotations[key],
  )?.[0];
}
