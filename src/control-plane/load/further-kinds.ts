/**
 * Kinds that Mullion passes by, by group, with what they could do to a flow. What is in no list here is of an API that nobody
 * here has read: it is taken to do nothing, and the answer says so.
 */
import { type Fields, isFields } from "#core/base/json.ts";

/**
 * `policy`: it lets packets of pods of its namespace through or not; `cluster-policy`: those of any. `network`: it says
 * what the network is, or opens a way into it. `source`: somebody makes pods or other objects from it. `overlay`: it
 * changes objects of other files before they are deployed. `nothing`: it leaves flows alone.
 */
export type FurtherEffect = "policy" | "cluster-policy" | "network" | "source" | "overlay" | "nothing";

/** Those of a group; `rest`: those that are not named. */
interface Kinds {
  readonly named: Readonly<Record<string, FurtherEffect>>;
  readonly rest?: FurtherEffect;
}

type Listed = readonly [effect: FurtherEffect, ...kinds: readonly string[]];

function kinds(...lists: readonly Listed[]): Kinds {
  return {
    named: Object.fromEntries(lists.flatMap(([effect, ...names]) => names.map((name) => [name, effect]))),
  };
}

function all(rest: FurtherEffect, ...lists: readonly Listed[]): Kinds {
  return { ...kinds(...lists), rest };
}

function groups(effect: FurtherEffect, ...names: readonly string[]): Readonly<Record<string, Kinds>> {
  return Object.fromEntries(names.map((name) => [name, all(effect)]));
}

/** https://docs.tigera.io/calico/latest/reference/resources/. Sets of addresses and tiers act through policies. */
const CALICO = kinds(
  ["policy", "NetworkPolicy"],
  ["cluster-policy", "GlobalNetworkPolicy", "HostEndpoint"],
  ["network", "IPPool", "BGPConfiguration", "BGPFilter", "BGPPeer", "FelixConfiguration", "ExternalNetwork"],
  ["network", "EgressGatewayPolicy"],
  ["nothing", "BlockAffinity", "CalicoNodeStatus", "ClusterInformation", "GlobalNetworkSet", "IPAMBlock"],
  [
    "nothing",
    "IPAMConfig",
    "IPAMConfiguration",
    "IPAMHandle",
    "IPReservation",
    "KubeControllersConfiguration",
  ],
  ["nothing", "NetworkSet", "Profile", "StagedGlobalNetworkPolicy", "StagedKubernetesNetworkPolicy"],
  ["nothing", "StagedNetworkPolicy", "Tier", "WorkloadEndpoint"],
);

/** https://antrea.io/docs/main/docs/antrea-network-policy/, egress, traffic-control, bgp-policy */
const ANTREA = kinds(
  ["policy", "NetworkPolicy"],
  ["cluster-policy", "ClusterNetworkPolicy"],
  ["network", "BGPPolicy", "Egress", "ExternalIPPool", "IPPool", "TrafficControl"],
  ["nothing", "AntreaAgentInfo", "AntreaControllerInfo", "ClusterGroup", "Group", "Tier", "Traceflow"],
);

/** What the API server has beside the kinds that are read: https://kubernetes.io/docs/reference/kubernetes-api/ */
const KUBERNETES: Readonly<Record<string, Kinds>> = {
  "": all("nothing", ["source", "ReplicationController"]),
  "networking.k8s.io": all("nothing", ["network", "Ingress", "ServiceCIDR"]),
  extensions: all("nothing", ["network", "Ingress"]),
  ...groups("nothing", "apps", "autoscaling", "batch", "policy", "discovery.k8s.io", "storage.k8s.io"),
  ...groups(
    "nothing",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
  ),
  ...groups("nothing", "certificates.k8s.io", "events.k8s.io", "resource.k8s.io", "apiregistration.k8s.io"),
  ...groups("nothing", "admissionregistration.k8s.io", "apiextensions.k8s.io", "storagemigration.k8s.io"),
  ...groups("nothing", "flowcontrol.apiserver.k8s.io", "authentication.k8s.io", "authorization.k8s.io"),
  ...groups("nothing", "metrics.k8s.io", "autoscaling.k8s.io", "snapshot.storage.k8s.io"),
};

/** Providers of networks, and clouds. */
const NETWORKS: Readonly<Record<string, Kinds>> = {
  "projectcalico.org": CALICO,
  "crd.projectcalico.org": CALICO,
  "crd.antrea.io": ANTREA,
  "security.antrea.tanzu.vmware.com": ANTREA,
  // https://network-policy-api.sigs.k8s.io/api-overview/
  "policy.networking.k8s.io": kinds([
    "cluster-policy",
    "AdminNetworkPolicy",
    "BaselineAdminNetworkPolicy",
    "ClusterNetworkPolicy",
  ]),
  // https://docs.cilium.io/en/stable/network/kubernetes/policy/
  "cilium.io": all(
    "network",
    ["policy", "CiliumNetworkPolicy"],
    ["cluster-policy", "CiliumClusterwideNetworkPolicy"],
    ["nothing", "CiliumCIDRGroup", "CiliumEndpoint", "CiliumEndpointSlice", "CiliumIdentity", "CiliumNode"],
  ),
  // https://ovn-kubernetes.io/api-reference/introduction/
  "k8s.ovn.org": all("network", ["policy", "EgressFirewall"], ["nothing", "EgressQoS", "NetworkQoS"]),
  // Several networks for a pod.
  "k8s.cni.cncf.io": all("network"),
  // https://docs.openshift.com/container-platform/latest/rest_api/network_apis/network-apis-index.html
  "network.openshift.io": all("network", ["policy", "EgressNetworkPolicy"]),
  "operator.openshift.io": kinds(["network", "Network", "IngressController"]),
  "config.openshift.io": kinds(["network", "Network", "Ingress"]),
  "route.openshift.io": all("network"),
  // https://cloud.google.com/kubernetes-engine/docs/how-to/fqdn-network-policies, about-multinetwork-support-for-pods
  "networking.gke.io": all(
    "network",
    ["policy", "FQDNNetworkPolicy"],
    ["nothing", "FrontendConfig", "ManagedCertificate", "ServiceNetworkEndpointGroup"],
  ),
  // Auto mode of EKS, beside its NetworkPolicies: https://docs.aws.amazon.com/eks/latest/userguide/auto-net-pol.html
  "networking.k8s.aws": kinds(
    ["policy", "ApplicationNetworkPolicy"],
    ["cluster-policy", "ClusterNetworkPolicy"],
    ["nothing", "PolicyEndpoint"],
  ),
  // https://docs.aws.amazon.com/eks/latest/userguide/security-groups-for-pods.html, cni-custom-network.html
  "vpcresources.k8s.aws": kinds(["policy", "SecurityGroupPolicy"], ["nothing", "CNINode"]),
  "crd.k8s.amazonaws.com": kinds(["network", "ENIConfig"]),
  "elbv2.k8s.aws": kinds(["network", "TargetGroupBinding"], ["nothing", "IngressClassParams"]),
  // Azure/azure-container-networking, crd/
  "multitenancy.acn.azure.com": all("network", ["nothing", "NodeInfo"]),
  "metallb.io": all("network", ["nothing", "BFDProfile", "Community", "ServiceL2Status", "ServiceBGPStatus"]),
  // https://kubeovn.github.io/docs/stable/en/reference/kube-ovn-api/, https://submariner.io, https://nmstate.io
  ...groups("network", "kubeovn.io", "submariner.io", "sriovnetwork.openshift.io", "nmstate.io"),
};

/** Ways in, and meshes, whose proxies stand between pods. */
const PROXIES: Readonly<Record<string, Kinds>> = {
  // https://gateway-api.sigs.k8s.io/api-types/gateway/
  "gateway.networking.k8s.io": all("network", ["nothing", "GatewayClass", "ReferenceGrant"]),
  // Gateway API's experiments, Services of several clusters: https://multicluster.sigs.k8s.io
  ...groups("network", "gateway.networking.x-k8s.io", "networking.x-k8s.io", "multicluster.x-k8s.io"),
  ...groups("network", "inference.networking.x-k8s.io", "inference.networking.k8s.io"),
  // https://istio.io/latest/docs/reference/config/
  "security.istio.io": kinds(
    ["policy", "AuthorizationPolicy", "PeerAuthentication"],
    // It refuses tokens, and who shows none passes.
    ["nothing", "RequestAuthentication"],
  ),
  "networking.istio.io": all("network"),
  // https://linkerd.io/2/reference/authorization-policy/, https://smi-spec.io
  ...groups("network", "policy.linkerd.io", "linkerd.io", "access.smi-spec.io", "split.smi-spec.io"),
  "specs.smi-spec.io": all("nothing"),
  // https://release-v1-2.docs.openservicemesh.io/docs/api_reference/
  ...groups("network", "policy.openservicemesh.io", "config.openservicemesh.io"),
  ...groups("network", "kuma.io", "consul.hashicorp.com"),
  // Their routes: https://doc.traefik.io/traefik/, https://projectcontour.io, https://docs.nginx.com/nginx-ingress-controller/
  ...groups("network", "traefik.io", "traefik.containo.us", "projectcontour.io", "k8s.nginx.org"),
  ...groups("network", "configuration.konghq.com", "getambassador.io", "appgw.ingress.k8s.io"),
};

/** What somebody makes pods, Services or policies from. */
const SOURCES: Readonly<Record<string, Kinds>> = {
  // https://argo-cd.readthedocs.io, https://argo-rollouts.readthedocs.io, https://argo-workflows.readthedocs.io
  "argoproj.io": kinds(
    ["source", "Application", "ApplicationSet", "CronWorkflow", "Experiment", "Rollout", "Workflow"],
    ["nothing", "AnalysisRun", "AnalysisTemplate", "AppProject", "ClusterAnalysisTemplate"],
    ["nothing", "ClusterWorkflowTemplate", "WorkflowTemplate"],
  ),
  // https://fluxcd.io/flux/components/, https://docs.k3s.io/add-ons/helm
  ...groups("source", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"),
  "source.toolkit.fluxcd.io": all("nothing"),
  "helm.cattle.io": kinds(["source", "HelmChart"]),
  "fleet.cattle.io": kinds(["source", "Bundle", "GitRepo"]),
  // Workloads: https://openkruise.io, https://knative.dev, https://ray.io, https://kubevirt.io and others
  ...groups("source", "apps.kruise.io", "serving.knative.dev", "ray.io", "jobset.x-k8s.io"),
  ...groups("source", "leaderworkerset.x-k8s.io", "kubeflow.org", "sparkoperator.k8s.io", "batch.volcano.sh"),
  ...groups("source", "agones.dev", "core.oam.dev", "actions.github.com", "actions.summerwind.dev"),
  "kubevirt.io": kinds([
    "source",
    "VirtualMachine",
    "VirtualMachineInstance",
    "VirtualMachineInstanceReplicaSet",
  ]),
  "apps.openshift.io": kinds(["source", "DeploymentConfig"]),
  "tekton.dev": kinds(["source", "PipelineRun", "TaskRun"], ["nothing", "Pipeline", "Task"]),
  // https://keda.sh/docs/latest/reference/
  "keda.sh": kinds(
    ["source", "ScaledJob"],
    ["nothing", "ClusterTriggerAuthentication", "ScaledObject", "TriggerAuthentication"],
  ),
  // https://prometheus-operator.dev/docs/api-reference/api/
  "monitoring.coreos.com": all("nothing", [
    "source",
    "Alertmanager",
    "Prometheus",
    "PrometheusAgent",
    "ThanosRuler",
  ]),
  // Databases and queues of operators.
  ...groups("source", "postgresql.cnpg.io", "acid.zalan.do", "kafka.strimzi.io", "rabbitmq.com"),
  ...groups(
    "source",
    "elasticsearch.k8s.elastic.co",
    "kibana.k8s.elastic.co",
    "mongodbcommunity.mongodb.com",
  ),
};

const KUSTOMIZE = "kustomize.config.k8s.io";

const FURTHER_KINDS: Readonly<Record<string, Kinds>> = Object.freeze({
  [KUSTOMIZE]: all("overlay"),
  ...KUBERNETES,
  ...NETWORKS,
  ...PROXIES,
  ...SOURCES,
  // Credentials of pods: https://github.com/kubernetes-sigs/windows-gmsa
  ...groups("nothing", "windows.k8s.io"),
  // Certificates and secrets, which packets carry.
  ...groups("nothing", "cert-manager.io", "acme.cert-manager.io", "trust.cert-manager.io", "bitnami.com"),
  ...groups("nothing", "external-secrets.io", "secrets-store.csi.x-k8s.io", "external.metrics.k8s.io"),
});

/** Kinds of policies, as `NetworkPolicy.projectcalico.org`, and of lists of them that cannot be taken apart. */
export const FURTHER_POLICY_TYPES: readonly string[] = Object.freeze(
  Object.entries(FURTHER_KINDS).flatMap(([group, { named }]) =>
    Object.keys(named)
      .filter((kind) => named[kind] === "policy" || named[kind] === "cluster-policy")
      .flatMap((kind) => [`${kind}.${group}`, `${kind}List.${group}`]),
  ),
);

/** What an object that is passed by could do to a flow; undefined: nobody knows. Of a list without items nobody knows whose it is. */
export function effectOfFurther(apiVersion: string, kind: string): FurtherEffect | undefined {
  const end = apiVersion.lastIndexOf("/");
  const group = end < 0 ? "" : apiVersion.slice(0, end);
  const known = Object.hasOwn(FURTHER_KINDS, group) ? FURTHER_KINDS[group] : undefined;
  if (known === undefined) return undefined;
  if (Object.hasOwn(known.named, kind)) return known.named[kind];
  const item = kind.replace(/List$/u, "");
  const effect = item === kind ? undefined : effectOfFurther(apiVersion, item);
  if (effect === "policy") return "cluster-policy";
  return effect ?? known.rest;
}

/** Fields of a kustomization that change nothing: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/ */
const LISTING_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata", "resources"];

/** True for a kustomization that only lists files of its own folder, which are read for themselves. */
export function onlyListsFiles(value: Fields): boolean {
  const resources: unknown = value["resources"] ?? [];
  const isOfFolder = (each: unknown): boolean =>
    typeof each === "string" && /^(?:\.\/)?[^/:]+\.ya?ml$/u.test(each);
  return (
    Object.keys(value).every((field) => LISTING_FIELDS.includes(field)) &&
    Array.isArray(resources) &&
    resources.every(isOfFolder)
  );
}

/** True for the name of a file that kustomize reads, whose apiVersion and kind may be left out. */
export function isKustomization(file: string): boolean {
  return /(?:^|[/\\])kustomization(?:\.ya?ml)?$/iu.test(file);
}

/** A kustomization need not say what it is, but for its file's name. */
export function withKustomizeKind(file: string, value: Fields): Fields {
  if (!isKustomization(file) || value["kind"] !== undefined) return value;
  return { apiVersion: `${KUSTOMIZE}/v1beta1`, kind: "Kustomization", ...value };
}

/** The parts in which a policy says whom it is about: `spec`, or those of Cilium's list `specs`, or both. At least one. */
export function specsOfFurther({ spec, specs }: Fields): readonly Fields[] {
  const list = Array.isArray(specs) ? (specs as readonly unknown[]) : [];
  const parts = spec === undefined && list.length > 0 ? list : [spec, ...list];
  return Object.freeze(parts.map((each) => (isFields(each) ? each : {})));
}

/**
 * Kinds that say how programs of the network run, and are read as such: Calico's operator, kube-proxy, and the addresses
 * that CNS has for pods of a node (Azure/azure-container-networking, crd/nodenetworkconfig). That of kube-proxy is no
 * object of an API server.
 */
const CONFIGURATIONS: Readonly<Record<string, string>> = Object.freeze({
  "operator.tigera.io": "Installation",
  "kubeproxy.config.k8s.io": "KubeProxyConfiguration",
  "acn.azure.com": "NodeNetworkConfig",
});

/** True for a document that configures the network of a cluster. */
export function isConfiguration(apiVersion: string, kind: string): boolean {
  const [group = ""] = apiVersion.split("/");
  return Object.hasOwn(CONFIGURATIONS, group) && CONFIGURATIONS[group] === kind;
}
