/**
 * The signs by which a network is recognised, plugin by plugin: what its installers and agents write into Nodes, ConfigMaps
 * and DaemonSets, and the CNI configuration that names it.
 */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";
import {
  type Evidence,
  type EvidencePlace,
  type InstallationEvidence,
  type NodeEvidence,
  mappingIn,
  textAt,
} from "./evidence.ts";

/** Networks that are recognised; not all are carried out. */
export type NetworkId =
  | "flannel"
  | "calico"
  | "azure-vnet"
  | "vpc-bridge"
  | "gke"
  | "antrea"
  | "ovn-hybrid-overlay"
  | "cilium"
  | "win-bridge"
  | "win-overlay"
  | "linux-only"
  | "unknown";

export interface Sign extends EvidencePlace {
  readonly network: NetworkId;
  /** flannel's backend, Calico's encapsulation, where Azure takes addresses from. */
  readonly mode: string | undefined;
  /** Shows where the cluster runs, and what it has there unless another network is installed. */
  readonly isHint: boolean;
  /** Of networks `linux-only` and `unknown`. */
  readonly title?: string;
}

type SignReader = (evidence: Evidence) => readonly Sign[];

function sign(network: NetworkId, { source, where }: EvidencePlace, mode?: string, isHint = false): Sign {
  return { network, source, where, mode, isHint };
}

/** The value of the first of some annotations that the node has. */
function annotated({ annotations }: NodeEvidence, ...names: readonly string[]): string | undefined {
  return names.map((name) => annotations[name]).find((value) => value !== undefined);
}

/** Configurations of CNI that name one of the plugins; those for Windows and files of the user first. */
function ofCni(
  { cni }: Evidence,
  network: NetworkId,
  types: readonly string[],
  modeOf: (each: Evidence["cni"][number]) => string | undefined = () => undefined,
): readonly Sign[] {
  return cni.filter(({ type }) => types.includes(type)).map((each) => sign(network, each, modeOf(each)));
}

/** DaemonSets whose images or names tell the plugin. */
function ofDaemons(
  { containers }: Evidence,
  network: NetworkId,
  pattern: RegExp,
  isHint = false,
): readonly Sign[] {
  const found = containers.filter(({ image, owner }) => pattern.test(image) || pattern.test(owner));
  return found.map((each) => sign(network, each, undefined, isHint));
}

/** `net-conf.json` of flannel; Go takes its keys in any case. */
export function flannelBackend(text: string): { readonly [field: string]: unknown } | undefined {
  const config = mappingIn(text);
  if (config === undefined) return undefined;
  const backend = Object.entries(config).find(([name]) => name.toLowerCase() === "backend")?.[1];
  // flannel, pkg/subnet/config.go: parseBackendType.
  if (backend === undefined) return { type: "udp" };
  if (!isFields(backend)) return undefined;
  return Object.fromEntries(Object.entries(backend).map(([name, value]) => [name.toLowerCase(), value]));
}

/** True for flanneld's own configuration, in a ConfigMap or a file of the user. */
export function isNetConf({ key }: { readonly key: string }): boolean {
  return key.endsWith("net-conf.json");
}

/** What flannel's CNI configuration delegates to shows its backend; the HCN-only forks of the plugins as well. */
const MODE_OF_DELEGATE: Readonly<Record<string, string>> = {
  "win-overlay": "vxlan",
  sdnoverlay: "vxlan",
  "win-bridge": "host-gw",
  sdnbridge: "host-gw",
};

const FLANNEL: SignReader = (evidence) => {
  const nodes = evidence.nodes.flatMap((node) => {
    const type = annotated(node, "flannel.alpha.coreos.com/backend-type");
    return type === undefined ? [] : [sign("flannel", node, type === "" ? undefined : type)];
  });
  const configs = evidence.configs.flatMap((config) => {
    const type = isNetConf(config) ? flannelBackend(config.text)?.["type"] : undefined;
    return typeof type === "string" ? [sign("flannel", config, type)] : [];
  });
  return [
    ...nodes,
    ...configs,
    ...ofCni(evidence, "flannel", ["flannel"], ({ delegate }) => MODE_OF_DELEGATE[delegate]),
    ...ofDaemons(evidence, "flannel", /(?:^|\/)(?:(?!flannel)[^/:@])*flannel[^/:@]*(?:[:@]|$)/),
  ];
};

/** What `CALICO_NETWORKING_BACKEND` may say, on Linux and on Windows; with `none` another plugin has the pods. */
const CALICO_BACKENDS: Readonly<Record<string, string>> = {
  vxlan: "VXLAN",
  bird: "BGP",
  "windows-bgp": "BGP",
};

/**
 * What pools of Calico's operator stand for on Windows (tigera/operator, api/v1/installation_types.go). VXLANCrossSubnet and
 * the kinds of IPIP are refused there, which is told as a contradiction.
 */
export function installedMode({ spec }: InstallationEvidence): string | undefined {
  const encapsulation = ipv4Pool(spec)?.["encapsulation"];
  if (typeof encapsulation !== "string") return undefined;
  if (encapsulation.startsWith("VXLAN")) return "VXLAN";
  return encapsulation.startsWith("IPIP") ? "IPIP" : "BGP";
}

/** The pool of IPv4: the operator takes one of each family. */
export function ipv4Pool(spec: Fields): Fields | undefined {
  const network = spec["calicoNetwork"];
  const pools = mappingOf(network)["ipPools"];
  if (!Array.isArray(pools)) return undefined;
  return pools.find((pool: unknown) => isFields(pool) && !textAt(pool, "cidr").includes(":")) as
    | Fields
    | undefined;
}

/** True where Calico is there for policies alone, and another plugin gives pods their network. */
export function isCalicoForPolicyAlone({ containers, configs, cni, installations }: Evidence): boolean {
  const [installed] = installations.map(({ spec }) => textAt(spec, "cni", "type")).filter(Boolean);
  if (installed !== undefined) return installed !== "Calico";
  const backends = containers.flatMap(({ env }) => env["CALICO_NETWORKING_BACKEND"] ?? []);
  if (backends.length > 0) return backends.every((backend) => backend === "none" || backend === "");
  if (configs.some(({ key, text }) => key === "calico_backend" && text === "none")) return true;
  return (
    cni.some(({ type }) => type === "flannel") &&
    !cni.some(({ plugin }) => textAt(plugin, "ipam", "type") === "calico-ipam")
  );
}

const CALICO: SignReader = (evidence) => {
  if (isCalicoForPolicyAlone(evidence)) return [];
  const nodes = evidence.nodes.flatMap((node) => {
    if (annotated(node, "projectcalico.org/IPv4VXLANTunnelAddr") !== undefined)
      return [sign("calico", node, "VXLAN")];
    if (annotated(node, "projectcalico.org/IPv4IPIPTunnelAddr") !== undefined)
      return [sign("calico", node, "IPIP")];
    return annotated(node, "projectcalico.org/IPv4Address") === undefined
      ? []
      : [sign("calico", node, undefined, true)];
  });
  const daemons = evidence.containers
    .filter(({ owner }) => owner.startsWith("calico-node"))
    .toSorted((a, b) => Number(b.isForWindows) - Number(a.isForWindows))
    .map((each) => sign("calico", each, CALICO_BACKENDS[each.env["CALICO_NETWORKING_BACKEND"] ?? ""]));
  const configs = evidence.configs
    .filter(({ key }) => key === "calico_backend" || key === "CALICO_NETWORKING_BACKEND")
    .map((config) => sign("calico", config, CALICO_BACKENDS[config.text.trim()]));
  const files = ofCni(
    evidence,
    "calico",
    ["calico"],
    ({ plugin }) => CALICO_BACKENDS[textAt(plugin, "mode")],
  );
  const installed = evidence.installations.map((each) => sign("calico", each, installedMode(each)));
  return [...nodes, ...installed, ...configs, ...files, ...daemons];
};

/** AKS has its own plugin unless it was made with another one (kubernetes.azure.com labels of its nodes). */
function azureMode({ labels, hasPodRange }: NodeEvidence): string {
  const type = labels["kubernetes.azure.com/podnetwork-type"];
  if (type === "overlay" || labels["kubernetes.azure.com/azure-cni-overlay"] === "true") return "overlay";
  if (type !== undefined && type !== "") return "pod-subnet";
  // Inferred: ranges for nodes are allocated with kubenet alone: azure-vnet has addresses of the virtual network.
  return hasPodRange ? "kubenet" : "node-subnet";
}

const AZURE: SignReader = (evidence) => {
  const nodes = evidence.nodes
    .filter(({ labels }) => labels["kubernetes.azure.com/cluster"] !== undefined)
    .map((node) => sign("azure-vnet", node, azureMode(node), true));
  const files = ofCni(evidence, "azure-vnet", ["azure-vnet"], ({ plugin }) => {
    const ipam = textAt(plugin, "ipam", "type");
    if (ipam === "azure-cns")
      return /overlay/i.test(textAt(plugin, "ipam", "mode")) ? "overlay" : "pod-subnet";
    return ipam === "azure-vnet-ipam" ? "node-subnet" : undefined;
  });
  return [...files, ...nodes, ...ofDaemons(evidence, "azure-vnet", /^azure-cns/, true)];
};

/** What pods have in a cloud that annotations show. */
export const NETWORK_OF_CLOUD: Readonly<Record<"eks" | "gke", NetworkId>> = { eks: "vpc-bridge", gke: "gke" };

/** What a cloud's pods have, by the labels that it gives its nodes and by what is written for it alone. */
const OF_CLOUDS: readonly {
  readonly network: NetworkId;
  readonly labels: RegExp;
  readonly cloud?: string;
}[] = [
  { network: "azure-vnet", labels: /^kubernetes\.azure\.com\// },
  {
    network: "vpc-bridge",
    labels: /^(?:eks\.amazonaws\.com|alpha\.eksctl\.io|karpenter\.k8s\.aws)\//,
  },
  { network: "gke", labels: /^cloud\.google\.com\/gke-/ },
  {
    network: "ovn-hybrid-overlay",
    labels: /^(?:node|machineconfiguration|windowsmachineconfig)\.openshift\.io\//,
  },
];

/** Whoever selects nodes by such a label has such nodes. */
const PLACEMENTS: SignReader = ({ placements }) =>
  OF_CLOUDS.flatMap(({ network, labels: pattern }) => {
    const found = placements.find(
      ({ labels, cloud }) =>
        (cloud !== undefined && NETWORK_OF_CLOUD[cloud] === network) ||
        labels.some((label) => pattern.test(label)),
    );
    return found === undefined ? [] : [sign(network, found, undefined, true)];
  });

const VPC: SignReader = (evidence) => {
  const resource = "vpc.amazonaws.com/PrivateIPv4Address";
  const nodes = evidence.nodes.flatMap((node) => {
    if (node.capacity[resource] !== undefined) return [sign("vpc-bridge", node)];
    const isEks = Object.keys(node.labels).some((name) => name.startsWith("eks.amazonaws.com/"));
    return isEks ? [sign("vpc-bridge", node, undefined, true)] : [];
  });
  const pods = evidence.pods
    .filter(({ pod }) => pod.metadata.annotations?.[resource] !== undefined)
    .slice(0, 1)
    .map((each) => sign("vpc-bridge", each));
  const configs = evidence.configs
    .filter(({ name, key }) => name === "amazon-vpc-cni" && key === "enable-windows-ipam")
    .map((config) => sign("vpc-bridge", config, undefined, true));
  const daemons = ofDaemons(evidence, "vpc-bridge", /^aws-node$|\/amazon-k8s-cni[:@]/, true);
  return [...ofCni(evidence, "vpc-bridge", ["vpc-bridge"]), ...nodes, ...pods, ...configs, ...daemons];
};

const GKE: SignReader = ({ nodes }) =>
  nodes
    .filter(({ labels }) => Object.keys(labels).some((name) => name.startsWith("cloud.google.com/gke-")))
    .map((node) => sign("gke", node, undefined, true));

const OVN: SignReader = (evidence) => {
  const nodes = evidence.nodes.flatMap((node) => {
    const names = Object.keys(node.annotations);
    if (names.some((name) => name.startsWith("k8s.ovn.org/hybrid-overlay")))
      return [sign("ovn-hybrid-overlay", node)];
    return names.includes("k8s.ovn.org/node-subnets") ? [sign("ovn-hybrid-overlay", node)] : [];
  });
  const configs = evidence.configs
    .filter(({ name, key }) => name === "ovnkube-config" || key === "ovnkube.conf")
    .map((config) => sign("ovn-hybrid-overlay", config));
  return [...nodes, ...configs, ...ofCni(evidence, "ovn-hybrid-overlay", ["ovn-k8s-cni-overlay"])];
};

/** True where Antrea enforces policies on pods of another plugin. */
export function isAntreaForPolicyAlone({ configs }: Evidence): boolean {
  return configs.some(
    ({ name, text }) =>
      /^antrea-(?:windows-)?config/.test(name) &&
      /^[ \t]*trafficEncapMode:[ \t]*"?networkPolicyOnly/im.test(text),
  );
}

const ANTREA: SignReader = (evidence) => {
  if (isAntreaForPolicyAlone(evidence)) return [];
  const nodes = evidence.nodes
    .filter(({ annotations }) => Object.keys(annotations).some((name) => name.startsWith("node.antrea.io/")))
    .map((node) => sign("antrea", node));
  const configs = evidence.configs
    .filter(({ name }) => /^antrea-(?:windows-|agent-)?(?:windows-)?config/.test(name))
    .map((config) => sign("antrea", config));
  return [
    ...nodes,
    ...ofCni(evidence, "antrea", ["antrea"]),
    ...configs,
    ...ofDaemons(evidence, "antrea", /^antrea-agent/),
  ];
};

/** True where Cilium stands behind another plugin. */
export function isCiliumChained({ configs }: Evidence): boolean {
  return configs.some(
    ({ name, key, text }) =>
      name === "cilium-config" && key === "cni-chaining-mode" && !/^(?:none)?$/.test(text.trim()),
  );
}

const CILIUM: SignReader = (evidence) => {
  if (isCiliumChained(evidence)) return [];
  const nodes = evidence.nodes
    .filter(({ annotations }) =>
      Object.keys(annotations).some((name) => /^(?:network\.cilium\.io|io\.cilium\.network\.)/.test(name)),
    )
    .map((node) => sign("cilium", node));
  const configs = evidence.configs
    .filter(
      ({ name, key }) =>
        name === "cilium-config" && (key === "ipam" || key === "tunnel-protocol" || key === "routing-mode"),
    )
    .map((config) => sign("cilium", config));
  return [
    ...nodes,
    ...ofCni(evidence, "cilium", ["cilium-cni"]),
    ...configs,
    ...ofDaemons(evidence, "cilium", /^cilium$|\/cilium\/cilium[:@]/),
  ];
};

/** Networks without a Windows part, by the DaemonSets of their installers. */
const LINUX_NETWORKS: readonly (readonly [pattern: RegExp, title: string])[] = [
  [/^weave-net$/, "Weave Net"],
  [/^kube-router$/, "kube-router"],
  [/^kube-ovn-cni$/, "Kube-OVN"],
  [/^kindnet$/, "kindnet"],
];

const LINUX_ONLY: SignReader = (evidence) =>
  LINUX_NETWORKS.flatMap(([pattern, title]) =>
    ofDaemons(evidence, "linux-only", pattern).map((each) => ({ ...each, title })),
  );

const PLAIN: SignReader = (evidence) => [
  ...ofCni(evidence, "win-bridge", ["win-bridge", "sdnbridge"]),
  ...ofCni(evidence, "win-overlay", ["win-overlay", "sdnoverlay"]),
];

/** Files that the user names and no other reader knows: their plugin is told, and that it is not carried out. */
const UNKNOWN: SignReader = ({ cni }) =>
  cni
    .filter(({ isFile, type }) => isFile && !KNOWN_TYPES.has(type))
    .map((each) => ({ ...sign("unknown", each), title: each.type }));

const KNOWN_TYPES: ReadonlySet<string> = new Set([
  "flannel",
  "calico",
  "azure-vnet",
  "vpc-bridge",
  "ovn-k8s-cni-overlay",
  "antrea",
  "cilium-cni",
  "win-bridge",
  "sdnbridge",
  "win-overlay",
  "sdnoverlay",
]);

/** In the order of precedence among equals. */
const READERS: readonly SignReader[] = [
  FLANNEL,
  CALICO,
  OVN,
  ANTREA,
  CILIUM,
  PLAIN,
  LINUX_ONLY,
  UNKNOWN,
  AZURE,
  VPC,
  GKE,
  PLACEMENTS,
];

/** All signs of an input. Of each network: nodes with Windows first, then the other kinds of objects. */
export function networkSigns(evidence: Evidence): readonly Sign[] {
  return READERS.flatMap((read) => read(evidence));
}

/** What enforces NetworkPolicies in the cluster that the input is from, as far as it shows. */
export function policyEngine(evidence: Evidence): (EvidencePlace & { readonly name: string }) | undefined {
  const { containers, configs, installations } = evidence;
  const byName: readonly (readonly [pattern: RegExp, name: string])[] = [
    [/^azure-npm/, "Azure Network Policy Manager"],
    [/^(?:calico-node|canal|rke2-canal)/, "Calico"],
    [/^antrea-agent/, "Antrea"],
    [/^cilium$/, "Cilium"],
    [/^ovnkube-node$/, "OVN-Kubernetes"],
    [/^kube-router$/, "kube-router"],
    [/^weave-net$/, "Weave Net"],
    [/^kube-network-policies/, "kube-network-policies"],
  ];
  const ordered = containers.toSorted((a, b) => Number(b.isForWindows) - Number(a.isForWindows));
  for (const [pattern, name] of byName) {
    const found = ordered.find(({ owner }) => pattern.test(owner));
    if (found !== undefined) return { source: found.source, where: found.where, name };
  }
  const [installed] = installations;
  if (installed !== undefined) return { source: installed.source, where: installed.where, name: "Calico" };
  const vpc = configs.find(
    ({ name, key, text }) =>
      name === "amazon-vpc-cni" && key === "enable-network-policy-controller" && text.trim() === "true",
  );
  return vpc === undefined ? undefined : { source: vpc.source, where: vpc.where, name: "VPC CNI" };
}
