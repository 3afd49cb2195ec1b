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

type Rows = Readonly<Record<string, Pick<Program, "about" | "start">>>;

const CNI_PLUGINS: Rows = {
  "win-bridge": {
    about: "attaches pods to an L2Bridge network",
    start: async () => (await import("../cni-plugins/open-main-plugin.ts")).startWinBridge(),
  },
  "win-overlay": {
    about: "attaches pods to an Overlay network",
    start: async () => (await import("../cni-plugins/open-main-plugin.ts")).startWinOverlay(),
  },
  flannel: {
    about: "calls win-bridge or win-overlay with flanneld's subnet.env",
    start: async () => (await import("../cni-plugins/open-meta-plugins.ts")).startFlannel(),
  },
  nat: {
    about: "attaches pods to a NAT network, as containerd on Windows",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startNat(),
  },
  sdnbridge: {
    about: "attaches pods to an L2Bridge network of Microsoft SDN",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startSdnBridge(),
  },
  sdnoverlay: {
    about: "attaches pods to an Overlay network of Microsoft SDN",
    start: async () => (await import("../cni-plugins/open-sdn-plugin.ts")).startSdnOverlay(),
  },
  "azure-vnet": {
    about: "attaches pods to the network of an Azure node",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnet(),
  },
  "azure-vnet-stateless": {
    about: "azure-vnet without a file of its own: CNS keeps the state",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetStateless(),
  },
  "azure-vnet-ipam": {
    about: "addresses of an Azure node's interfaces",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetIpam(),
  },
  "azure-vnet-ipamv6": {
    about: "addresses of IPv6 from the range of the node",
    start: async () => (await import("../cni-plugins/open-azure-vnet.ts")).startAzureVnetIpamV6(),
  },
  "host-local": {
    about: "addresses from ranges, with leases in files of this machine",
    start: async () => (await import("../cni-plugins/open-host-local.ts")).startHostLocal(),
  },
  "ovn-k8s-cni-overlay": {
    about: "hands calls on to ovnkube of this node",
    start: async () => (await import("../cni-plugins/open-ovn-overlay.ts")).startOvnOverlay(),
  },
  "mullion-netns": {
    about: "gives plugins a namespace of HNS for a path of Linux",
    start: async () => (await import("../cni-plugins/open-meta-plugins.ts")).startMullionNetns(),
  },
};

const DAEMONS: Rows = {
  flanneld: {
    about: "joins a node to flannel's network, and writes subnet.env",
    start: async () => (await import("../flanneld/start.ts")).startFlanneld(),
  },
  "kube-proxy": {
    about: "programs Services into HNS, as load balancers",
    start: async () => (await import("../kube-proxy/start.ts")).startKubeProxy(),
  },
  ovnkube: {
    about: "OVN-Kubernetes on a node: serves ovn-k8s-cni-overlay",
    start: async () => (await import("../ovnkube/start.ts")).startOvnkube(),
  },
};

const TOOLS: Rows = {
  hnsdiag: {
    about: "lists the objects of an HNS",
    start: async () => (await import("../hnsdiag/program.ts")).startHnsdiag(),
  },
  vfpctrl: {
    about: "prints switch ports, layers, rules and flows",
    start: async () => (await import("../vfpctrl/program.ts")).startVfpctrl(),
  },
  pktmon: {
    about: "prints what a node counted and dropped on a packet's way",
    start: async () => (await import("../pktmon/program.ts")).startPktmon(),
  },
  agnhost: {
    about: "netexec: says who it is and whom it saw",
    start: async () => (await import("../agnhost/program.ts")).startAgnhost(),
  },
};

function ofKind(kind: ProgramKind, rows: Rows): readonly Program[] {
  return Object.entries(rows).map(([name, row]) => ({ name, kind, ...row }));
}

/** All of them, in the order in which they are listed. */
export const PROGRAMS: readonly Program[] = Object.freeze([
  ...ofKind("CNI plugin", CNI_PLUGINS),
  ...ofKind("daemon", DAEMONS),
  ...ofKind("tool", TOOLS),
]);

/** Undefined for a name that none of them has. */
export function findProgram(name: string): Program | undefined {
  return PROGRAMS.find((program) => program.name === name);
}
