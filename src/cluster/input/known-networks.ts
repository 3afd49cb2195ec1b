/**
 * The networks that are recognised: what each has on Windows nodes, what of that a cluster file can say, and what keeps
 * answers from being ones where it cannot.
 */
import type { NetworkDriver } from "../file/cluster-file.ts";
import type { Evidence } from "./evidence.ts";
import { flannelAccount } from "./flannel-network.ts";
import type { NetworkAccount, NetworkLack } from "./network-account.ts";
import type { NetworkId, Sign } from "./network-signs.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

type Teller = (mode: string | undefined, evidence: Evidence, at: Sign) => NetworkAccount;

function notCarriedOut(title: string, what: string, hasOwnServices = false): NetworkLack {
  const message = `${title} is recognised and not carried out: ${what}`;
  return { code: "network-not-emulated", message, hasOwnServices };
}

/** Calico's identifier and port, where they are said (dataplane of Calico for Windows: VXLAN_VNI, vxlan_vni). */
function calicoVni({ containers, cni, configs }: Evidence): number {
  const texts = [
    ...containers.filter(({ isForWindows }) => isForWindows).map(({ env }) => env["VXLAN_VNI"] ?? ""),
    ...cni.filter(({ type }) => type === "calico").map(({ plugin }) => plugin["vxlan_vni"]),
    ...configs.filter(({ key }) => key === "VXLAN_VNI").map(({ text }) => text.trim()),
  ];
  const vni = texts
    .map((each) => (typeof each === "number" ? each : Number(each)))
    .find((each) => Number.isInteger(each) && each > 0 && each <= 65_535);
  return vni ?? 4_096;
}

const CALICO: Teller = (mode, evidence, at) => {
  const backend = mode ?? "VXLAN";
  const common = { plugin: "calico", mode: backend, isModeAssumed: mode === undefined, contradictions: [] };
  if (backend !== "VXLAN")
    return {
      ...common,
      driver: "L2Bridge",
      routes: backend === "BGP" ? "by BGP, to the block of each node" : "through IPIP tunnels",
      fields: { name: "Calico" },
      lack: notCarriedOut("Calico", backend === "IPIP" ? WORDS.lackCalicoIpip : WORDS.lackCalicoBgp),
    };
  const vni = calicoVni(evidence);
  return {
    ...common,
    driver: "Overlay",
    routes: "through VXLAN tunnels, to the block of each node",
    vxlan: { vni: String(vni), port: "4789", at },
    fields: { driver: "Overlay", plugin: "hns", name: "Calico", vni },
    lack: notCarriedOut("Calico with VXLAN", WORDS.lackCalicoVxlan),
  };
};

const AZURE_MODES: Readonly<Record<string, string>> = {
  "node-subnet": "bridge, addresses of the virtual network (azure-vnet-ipam)",
  overlay: "overlay, addresses from CNS (azure-cns)",
  "pod-subnet": "addresses of a subnet for pods, from CNS (azure-cns)",
};

/** kubenet: the cloud's route controller writes a route for each node (https://learn.microsoft.com/en-us/azure/aks/concepts-network-cni-overview). */
const KUBENET = "kubenet";

const AZURE: Teller = (mode) => ({
  plugin: mode === KUBENET ? "kubenet" : "azure-vnet",
  mode: AZURE_MODES[mode ?? "node-subnet"] ?? "pod range per node",
  isModeAssumed: mode === undefined,
  driver: "L2Bridge",
  routes: mode === KUBENET ? WORDS.routesKubenet : WORDS.routesAzureFabric,
  fields: {},
  contradictions: [],
});

const VPC: Teller = () => ({
  plugin: "vpc-bridge",
  mode: "secondary addresses of the VPC",
  isModeAssumed: false,
  driver: "L2Bridge",
  routes: "by the VPC, to each pod's address",
  fields: {},
  contradictions: [],
  lack: notCarriedOut("The VPC CNI of EKS", WORDS.lackEksVpcCni),
});

const GKE: Teller = () => ({
  plugin: "win-bridge",
  mode: "pod range per node, routed by the VPC (alias ranges)",
  isModeAssumed: false,
  driver: "L2Bridge",
  routes: WORDS.routesVpc,
  fields: { plugin: "win-bridge" },
  contradictions: [],
});

/** `key="value"` of a section of `ovnkube.conf`. */
function iniValue(text: string, key: string): string | undefined {
  return new RegExp(`^[ \\t]*${key}[ \\t]*=[ \\t]*"?([^"\\n]*)"?`, "m").exec(text)?.[1];
}

/** Windows nodes have ranges of their own where the hybrid overlay runs (control-planes.md §4.1). */
const HYBRID_SUBNET = "k8s.ovn.org/hybrid-overlay-node-subnet";

const OVN: Teller = (_mode, { nodes, configs }, at) => {
  const config = configs.find(({ text }) => /^[ \t]*\[hybridoverlay\]/m.test(text));
  const section = /\[hybridoverlay\]([^[]*)/.exec(config?.text ?? "")?.[1] ?? "";
  const port = Number(iniValue(section, "hybrid-overlay-vxlan-port") ?? 4_789);
  const vxlanPort = port === 4_789 ? {} : { vxlanPort: port };
  const common = {
    plugin: "win-overlay (OVN-Kubernetes hybrid overlay)",
    mode: "hybrid overlay",
    isModeAssumed: false,
    driver: "Overlay",
    vxlan: { vni: "4097", port: String(port), at },
    contradictions: [],
  } as const;
  if (nodes.some(({ annotations }) => annotations[HYBRID_SUBNET] !== undefined))
    return {
      ...common,
      routes: WORDS.routesHybridOverlay,
      fields: { driver: "Overlay", plugin: "ovn-hybrid-overlay", ...vxlanPort },
    };
  return {
    ...common,
    routes: "through VXLAN tunnels to and from OVN",
    fields: {
      driver: "Overlay",
      plugin: "hns",
      name: "OVNKubernetesHybridOverlayNetwork",
      vni: 4_097,
      ...vxlanPort,
    },
    lack: notCarriedOut("OVN-Kubernetes", WORDS.lackOvnKubernetes, true),
  };
};

const ANTREA: Teller = () => ({
  plugin: "antrea",
  mode: "Open vSwitch, with tunnels or routes of its own",
  isModeAssumed: false,
  driver: "Transparent",
  routes: "by Open vSwitch",
  fields: {},
  contradictions: [],
  lack: notCarriedOut("Antrea", WORDS.lackAntrea, true),
});

const CILIUM: Teller = () => ({
  plugin: "cilium",
  mode: "eBPF on Linux nodes; Cilium has no part for Windows",
  isModeAssumed: false,
  driver: "L2Bridge",
  routes: "by Cilium",
  fields: {},
  contradictions: [],
  lack: notCarriedOut("Cilium", WORDS.lackCilium, true),
});

const LINUX_ONLY: Teller = (_mode, _evidence, { title = "the network" }) => ({
  plugin: title,
  mode: "on Linux nodes; it has no part for Windows",
  isModeAssumed: false,
  driver: "L2Bridge",
  routes: `by ${title}`,
  fields: {},
  contradictions: [],
  lack: notCarriedOut(title, "it has no part for Windows"),
});

/** Plugins of Microsoft's examples are called after the driver of their network. */
const DRIVER_OF_TYPE: Readonly<Record<string, NetworkDriver>> = {
  l2tunnel: "L2Tunnel",
  nat: "NAT",
  transparent: "Transparent",
};

const UNKNOWN: Teller = (_mode, _evidence, { title = "" }) => ({
  plugin: title,
  mode: "as its configuration says",
  isModeAssumed: false,
  driver: DRIVER_OF_TYPE[title.toLowerCase()] ?? "L2Bridge",
  routes: "as its configuration says",
  fields: {},
  contradictions: [],
  lack: notCarriedOut(`The CNI plugin ${title}`, "nothing is known of the network that it makes"),
});

const WIN_BRIDGE: Teller = () => ({
  plugin: "win-bridge",
  mode: "pod range per node",
  isModeAssumed: true,
  driver: "L2Bridge",
  routes: "static, in each node",
  fields: { plugin: "win-bridge" },
  contradictions: [],
});

const WIN_OVERLAY: Teller = (_mode, { cni }, at) => {
  const found = cni.find(({ type }) => type === "win-overlay" || type === "sdnoverlay");
  const name = found?.network ?? "";
  return {
    plugin: "win-overlay",
    mode: "pod range per node",
    isModeAssumed: true,
    driver: "Overlay",
    routes: "through VXLAN tunnels",
    vxlan: { vni: "4096", port: "4789", at: { ...at, source: "assumed", where: undefined } },
    fields: {
      driver: "Overlay",
      plugin: "win-overlay",
      ...(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name) ? { name } : {}),
    },
    contradictions: [],
  };
};

const TELLERS: Readonly<Record<NetworkId, Teller>> = {
  flannel: flannelAccount,
  calico: CALICO,
  "azure-vnet": AZURE,
  "vpc-bridge": VPC,
  gke: GKE,
  antrea: ANTREA,
  "ovn-hybrid-overlay": OVN,
  cilium: CILIUM,
  "win-bridge": WIN_BRIDGE,
  "win-overlay": WIN_OVERLAY,
  "linux-only": LINUX_ONLY,
  unknown: UNKNOWN,
};

/** What is known of the network that a sign shows. */
export function accountOf(at: Sign, mode: string | undefined, evidence: Evidence): NetworkAccount {
  return TELLERS[at.network](mode, evidence, at);
}
