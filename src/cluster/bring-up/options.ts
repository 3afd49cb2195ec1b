/** What is asked of a bring-up: which node, by which scripts, as what was typed, and what is wrong with the node. */
import type { FlanneldRelease } from "#programs/flannel/flanneld-options.ts";
import { type InterfaceAddress, type Prefix, formatIp, formatPrefix } from "#core/net/ip.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import { dnsAddressIn } from "../names/dns-service.ts";

/** The two generations of Microsoft's scripts (control-planes.md §2.1, §2.2). */
export const SCRIPT_SETS = ["start.ps1", "KubeCluster.ps1"] as const;
export type ScriptSet = (typeof SCRIPT_SETS)[number];

/** What `KubeCluster.ps1` installs to run containers; `start.ps1` knows Docker alone. */
export const RUNTIMES = ["dockerd", "containerd"] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** What can be wrong with a node besides what is typed. */
export const BRING_UP_FAULTS = [
  "hns-not-running",
  "kubeconfig-missing",
  "kubelet-cannot-register",
  "node-without-range",
  "management-ip-late",
  "subnet-env-unwritable",
  "internet-behind-proxy",
] as const;
export type BringUpFault = (typeof BRING_UP_FAULTS)[number];

/** What a person mends in the scripts before running them. */
export const SCRIPT_EDITS = [
  "kubelet-flags",
  "copy-net-conf",
  "cni-conf",
  "external-adapter",
  "no-external",
  "node-ip",
  "download-proxy",
] as const;
export type ScriptEdit = (typeof SCRIPT_EDITS)[number];

export const NETWORK_MODES = ["overlay", "l2bridge"] as const;
export type NetworkMode = (typeof NETWORK_MODES)[number];

/** A card of the node, in the order in which Windows lists them. */
export interface AdapterSpec {
  readonly name: string;
  readonly address: InterfaceAddress;
}

/** The parameters of the scripts, as text: no script checks them. */
export interface ScriptParameters {
  readonly managementIP: string;
  readonly networkMode: NetworkMode;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly kubeDnsServiceIP: string;
  readonly interfaceName: string;
}

export interface BringUpOptions {
  /** The name of a Windows node. */
  readonly node: string;
  readonly scripts: ScriptSet;
  readonly runtime: Runtime;
  /** The release of the flanneld that lies in `C:\k`. */
  readonly flanneld: FlanneldRelease;
  readonly parameters: ScriptParameters;
  /** Variables of the machine. */
  readonly environment: Readonly<Record<string, string>>;
  /** One of them has the node's address. */
  readonly adapters: readonly AdapterSpec[];
  readonly faults: ReadonlySet<BringUpFault>;
  readonly edits: ReadonlySet<ScriptEdit>;
  /** The range of pods that the node had when it was in the cluster before; undefined: it is new. */
  readonly formerRange: Prefix | undefined;
  /** How often the script is run. */
  readonly runs: number;
  /** How long a person looks at a script that waits for ever. */
  readonly patienceMs: number;
  /** Where the cluster's kubeconfig points to. */
  readonly apiServer: string;
}

/** What the scripts fetch (control-planes.md §2.1). */
export const FETCHED_FLANNELD: FlanneldRelease = Object.freeze({ major: 0, minor: 11, patch: 0 });
const DEFAULT_ADAPTER = "Ethernet";
const DEFAULT_PATIENCE_MS = 300_000;
const API_PORT = 6_443;

/** kubeadm's control plane is the first Linux node; without one the address is the router's side of the underlay. */
function apiServerOf(file: ClusterFile): string {
  const address = file.nodes.find(({ os }) => os === "linux")?.address ?? file.underlay.router;
  return `https://${formatIp(address)}:${API_PORT}`;
}

/** What the scripts make of the back end: `overlay` and `l2bridge`. */
export function networkModeOf({ network }: ClusterFile): NetworkMode {
  return network.backend === "vxlan" ? "overlay" : "l2bridge";
}

/** The name that the scripts give the network; no parameter changes it. */
export function scriptNetworkName(mode: NetworkMode): string {
  return mode === "overlay" ? "vxlan0" : "cbr0";
}

/** Everything as it should be: a node with one card, the cluster's ranges typed without a mistake. */
export function defaultOptions(file: ClusterFile, node: NodeSpec): BringUpOptions {
  return {
    node: node.name,
    scripts: "start.ps1",
    runtime: "dockerd",
    flanneld: FETCHED_FLANNELD,
    parameters: {
      managementIP: formatIp(node.address),
      networkMode: networkModeOf(file),
      clusterCIDR: formatPrefix(file.network.clusterCIDR),
      serviceCIDR: formatPrefix(file.network.serviceCIDR),
      kubeDnsServiceIP: dnsAddressIn(file.network.serviceCIDR),
      interfaceName: DEFAULT_ADAPTER,
    },
    environment: {},
    adapters: [{ name: DEFAULT_ADAPTER, address: { ip: node.address, length: file.underlay.subnet.length } }],
    faults: new Set(),
    edits: new Set(),
    formerRange: undefined,
    runs: 1,
    patienceMs: DEFAULT_PATIENCE_MS,
    apiServer: apiServerOf(file),
  };
}
