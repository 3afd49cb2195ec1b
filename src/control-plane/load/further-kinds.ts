/**
 * Kinds of other APIs that Mullion passes by although they could change a flow, by group. What is in no list here cannot
 * change one, as far as is known: definitions of custom resources, secrets, roles, certificates, budgets.
 */
import { type Fields, isFields } from "#core/base/json.ts";

/**
 * `policy`: it lets packets of pods of its namespace through or not; `cluster-policy`: those of any. `network`: it says
 * what the network is, or opens a way into it.
 */
export type FurtherEffect = "policy" | "cluster-policy" | "network";

type Kinds = Readonly<Record<string, FurtherEffect>>;

function all(effect: FurtherEffect, ...kinds: readonly string[]): Kinds {
  return Object.fromEntries(kinds.map((kind) => [kind, effect]));
}

/** https://docs.tigera.io/calico/latest/reference/resources/ */
const CALICO: Kinds = {
  ...all("policy", "NetworkPolicy"),
  ...all("cluster-policy", "GlobalNetworkPolicy", "HostEndpoint"),
  ...all("network", "IPPool", "BGPConfiguration", "BGPPeer", "FelixConfiguration"),
};

/** https://antrea.io/docs/main/docs/antrea-network-policy/, egress */
const ANTREA: Kinds = {
  ...all("policy", "NetworkPolicy"),
  ...all("cluster-policy", "ClusterNetworkPolicy"),
  ...all("network", "Egress", "ExternalIPPool"),
};

/** https://gateway-api.sigs.k8s.io/api-types/gateway/ */
const GATEWAY = all("network", "Gateway", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute");

const FURTHER_KINDS: Readonly<Record<string, Kinds>> = Object.freeze({
  "networking.k8s.io": all("network", "Ingress", "ServiceCIDR"),
  extensions: all("network", "Ingress"),
  "gateway.networking.k8s.io": GATEWAY,
  // https://network-policy-api.sigs.k8s.io/api-overview/
  "policy.networking.k8s.io": all(
    "cluster-policy",
    "AdminNetworkPolicy",
    "BaselineAdminNetworkPolicy",
    "ClusterNetworkPolicy",
  ),
  "projectcalico.org": CALICO,
  "crd.projectcalico.org": CALICO,
  "crd.antrea.io": ANTREA,
  "security.antrea.tanzu.vmware.com": ANTREA,
  // https://docs.cilium.io/en/stable/network/kubernetes/policy/
  "cilium.io": {
    ...all("policy", "CiliumNetworkPolicy"),
    ...all("cluster-policy", "CiliumClusterwideNetworkPolicy"),
  },
  // https://ovn-kubernetes.io/api-reference/introduction/
  "k8s.ovn.org": {
    ...all("policy", "EgressFirewall"),
    ...all("network", "EgressIP", "EgressService", "UserDefinedNetwork", "ClusterUserDefinedNetwork"),
  },
  // Several networks for a pod.
  "k8s.cni.cncf.io": all("network", "NetworkAttachmentDefinition"),
  "operator.openshift.io": all("network", "Network"),
  "config.openshift.io": all("network", "Network"),
  "route.openshift.io": all("network", "Route"),
  // Auto mode of EKS, beside its NetworkPolicies: https://docs.aws.amazon.com/eks/latest/userguide/auto-net-pol.html
  "networking.k8s.aws": {
    ...all("policy", "ApplicationNetworkPolicy"),
    ...all("cluster-policy", "ClusterNetworkPolicy"),
  },
  // https://docs.aws.amazon.com/eks/latest/userguide/security-groups-for-pods.html, cni-custom-network.html
  "vpcresources.k8s.aws": all("policy", "SecurityGroupPolicy"),
  "crd.k8s.amazonaws.com": all("network", "ENIConfig"),
  "metallb.io": all("network", "IPAddressPool", "L2Advertisement", "BGPAdvertisement", "BGPPeer"),
  // https://istio.io/latest/docs/reference/config/
  "security.istio.io": all("policy", "AuthorizationPolicy", "PeerAuthentication"),
  "networking.istio.io": all(
    "network",
    "Gateway",
    "VirtualService",
    "DestinationRule",
    "ServiceEntry",
    "Sidecar",
  ),
});

/** Kinds of policies, as `NetworkPolicy.projectcalico.org`, and of lists of them that cannot be taken apart. */
export const FURTHER_POLICY_TYPES: readonly string[] = Object.freeze(
  Object.entries(FURTHER_KINDS).flatMap(([group, kinds]) =>
    Object.keys(kinds)
      .filter((kind) => kinds[kind] !== "network")
      .flatMap((kind) => [`${kind}.${group}`, `${kind}List.${group}`]),
  ),
);

/** What an object that is passed by could do to a flow; undefined: nothing. Of a list without items nobody knows whose it is. */
export function effectOfFurther(apiVersion: string, kind: string): FurtherEffect | undefined {
  const [group = ""] = apiVersion.split("/");
  const kinds = Object.hasOwn(FURTHER_KINDS, group) ? FURTHER_KINDS[group] : undefined;
  if (kinds === undefined) return undefined;
  if (Object.hasOwn(kinds, kind)) return kinds[kind];
  const effect = kind.endsWith("List") ? effectOfFurther(apiVersion, kind.slice(0, -4)) : undefined;
  return effect === "policy" ? "cluster-policy" : effect;
}

/** The parts in which a policy says whom it is about: `spec`, or those of Cilium's list `specs`, or both. At least one. */
export function specsOfFurther({ spec, specs }: Fields): readonly Fields[] {
  const list = Array.isArray(specs) ? (specs as readonly unknown[]) : [];
  const parts = spec === undefined && list.length > 0 ? list : [spec, ...list];
  return Object.freeze(parts.map((each) => (isFields(each) ? each : {})));
}

/**
 * Kinds that say how programs of the network run, and are read as such: Calico's operator, kube-proxy, kubeadm, and the
 * addresses that CNS has for pods of a node (Azure/azure-container-networking, crd/nodenetworkconfig). Those of kube-proxy
 * and kubeadm are no objects of an API server.
 */
const CONFIGURATIONS: Readonly<Record<string, string>> = Object.freeze({
  "operator.tigera.io": "Installation",
  "kubeproxy.config.k8s.io": "KubeProxyConfiguration",
  "kubeadm.k8s.io": "ClusterConfiguration",
  "acn.azure.com": "NodeNetworkConfig",
});

/** True for a document that configures the network of a cluster. */
export function isConfiguration(apiVersion: string, kind: string): boolean {
  const [group = ""] = apiVersion.split("/");
  return Object.hasOwn(CONFIGURATIONS, group) && CONFIGURATIONS[group] === kind;
}
