/**
 * The executables that bear the names of upstream's: the one list of them. `mullion` is the only name on a person's PATH;
 * these lie where a runtime looks for them (`mullion programs install DIR`), or run by `mullion run NAME`.
 */

export const PROGRAM_KINDS = ["CNI plugin", "daemon", "tool"] as const;
export type ProgramKind = (typeof PROGRAM_KINDS)[number];

export interface Program {
  readonly name: string;
  readonly kind: ProgramKind;
  /** What it is, in a line. */
  readonly about: string;
  /**
   * Runs it once, with this process' arguments, environment and streams, and sets the exit code. One dynamic import and
   * one call: tools/bundle-programs.ts makes the program's bundle of them.
   */
  readonly start: () => Promise<void>;
}

const MAIN_PLUGINS: readonly Program[] = [
  {
    name: "win-bridge",
    kind: "CNI plugin",
    about: "attaches pods to an L2Bridge network",
    start: async () => (await import("../cni-plugins/open-main-plugin.ts")).startWinBridge(),
  },
  {
    name: "win-overlay",
    kind: "CNI plugin",
    about: "attaches pods to an Overlay network",
    start: async () => (await import("../cni-plugins/open-main-plugin.ts")).startWinOverlay(),
  },
  {
    name: "flannel",
    kind: "CNI plugin",
    about: "calls win-bridge or win-overlay with flanneld's subnet.env",
    start: async () => (await import("../cni-plugins/open-meta-plugins.ts")).startFlannel(),
  },
  {
    name: "nat",
    kind: "CNI plugin",
    about: "attaches pods to a NAT network, as containerd on Windows",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startNat(),
  },
  {
    name: "sdnbridge",
    kind: "CNI plugin",
    about: "attaches pods to an L2Bridge network of Microsoft SDN",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startSdnBridge(),
  },
  {
    name: "sdnoverlay",
    kind: "CNI plugin",
    about: "attaches pods to an Overlay network of Microsoft SDN",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startSdnOverlay(),
  },
];

const AZURE_PLUGINS: readonly Program[] = [
  {
    name: "azure-vnet",
    kind: "CNI plugin",
    about: "attaches pods to the network of an Azure node",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnet(),
  },
  {
    name: "azure-vnet-stateless",
    kind: "CNI plugin",
    about: "azure-vnet without a file of its own: CNS keeps the state",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetStateless(),
  },
  {
    name: "azure-vnet-ipam",
    kind: "CNI plugin",
    about: "addresses of an Azure node's interfaces",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetIpam(),
  },
  {
    name: "azure-vnet-ipamv6",
    kind: "CNI plugin",
    about: "addresses of IPv6 from the range of the node",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetIpamV6(),
  },
];

const OTHER_PLUGINS: readonly Program[] = [
  {
    name: "host-local",
    kind: "CNI plugin",
    about: "addresses from ranges, with leases in files of this machine",
    start: async () => (await import("../cni-plugins/open-host-local.ts")).startHostLocal(),
  },
  {
    name: "ovn-k8s-cni-overlay",
    kind: "CNI plugin",
    about: "hands calls on to ovnkube of this node",
    start: async () => (await import("../cni-plugins/open-ovn-overlay.ts")).startOvnOverlay(),
  },
  {
    name: "mullion-netns",
    kind: "CNI plugin",
    about: "gives plugins a namespace of HNS for a path of Linux",
    start: async () => (await import("../cni-plugins/open-meta-plugins.ts")).startMullionNetns(),
  },
];

const DAEMONS: readonly Program[] = [
  {
    name: "flanneld",
    kind: "daemon",
    about: "joins a node to flannel's network, and writes subnet.env",
    start: async () => (await import("../flanneld/start.ts")).startFlanneld(),
  },
  {
    name: "kube-proxy",
    kind: "daemon",
    about: "programs Services into HNS, as load balancers",
    start: async () => (await import("../kube-proxy/start.ts")).startKubeProxy(),
  },
  {
    name: "ovnkube",
    kind: "daemon",
    about: "OVN-Kubernetes on a node: serves ovn-k8s-cni-overlay",
    start: async () => (await import("../ovnkube/start.ts")).startOvnkube(),
  },
];

const TOOLS: readonly Program[] = [
  {
    name: "hnsdiag",
    kind: "tool",
    about: "lists the objects of an HNS",
    start: async () => (await import("../hnsdiag/program.ts")).startHnsdiag(),
  },
  {
    name: "vfpctrl",
    kind: "tool",
    about: "prints switch ports, layers, rules and flows",
    start: async () => (await import("../vfpctrl/program.ts")).startVfpctrl(),
  },
  {
    name: "pktmon",
    kind: "tool",
    about: "prints what a node counted and dropped on a packet's way",
    start: async () => (await import("../pktmon/program.ts")).startPktmon(),
  },
  {
    name: "agnhost",
    kind: "tool",
    about: "netexec: says who it is and whom it saw",
    start: async () => (await import("../agnhost/program.ts")).startAgnhost(),
  },
];

/** All of them, in the order in which they are listed. */
export const PROGRAMS: readonly Program[] = Object.freeze([
  ...MAIN_PLUGINS,
  ...AZURE_PLUGINS,
  ...OTHER_PLUGINS,
  ...DAEMONS,
  ...TOOLS,
]);

/** Undefined for a name that none of them has. */
export function findProgram(name: string): Program | undefined {
  return PROGRAMS.find((program) => program.name === name);
}
