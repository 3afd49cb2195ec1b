/**
 * A cluster file as values: parsed, checked and complete (every default is filled in). Nothing here is text that
 * still has to be parsed. docs/reference/cluster-file.md describes the fields.
 */
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { type Ipv4, type Ipv6, type Prefix, formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { VirtualNetworkSpec } from "#dataplane/fabric/azure/virtual-network.ts";

export type NodeOs = "windows" | "linux";

/**
 * Who attaches pods to the network: a CNI plugin, or the cluster itself by HCN calls. With flannel its daemon on every node
 * makes the network, too; with ovn-hybrid-overlay a program of ovn-kubernetes does, and win-overlay attaches pods; with docker its engine does, by calls of HNS v1, and a pod is one container. `acs-2017`: Docker's
 * engine for a kubelet of before CNI, which gives a container two endpoints (control-planes.md §9).
 */
export type PodNetworkPlugin =
  | "win-bridge"
  | "win-overlay"
  | "azure-vnet"
  | "flannel"
  | "ovn-hybrid-overlay"
  | "docker"
  | "acs-2017"
  | "ovn-kubernetes"
  | "hns";

/** How chassis of OVN carry frames to one another (control-planes.md §4.3). */
export type OvnEncapsulation = "geneve" | "stt";

/** How flanneld connects nodes (control-planes.md §1.8, §1.9). */
export type FlannelBackend = "vxlan" | "host-gw";

/**
 * Where pod addresses come from. `own-subnet`: a range per node that the nodes route among themselves
 * (dataplane.md §2.4, cfg-2). `node-subnet`: the nodes' own subnet (cfg-1). `pod-subnet`: one subnet for the pods of all
 * nodes beside that of the nodes, as clouds have it.
 */
export type NetworkShape = "own-subnet" | "node-subnet" | "pod-subnet";

/** Addresses that follow each other, both ends included. */
export interface AddressRange {
  readonly first: Ipv4;
  readonly last: Ipv4;
}

/** `10.224.0.36`, or `10.224.0.36-10.224.0.65`. */
export function formatAddressRange({ first, last }: AddressRange): string {
  return first === last ? formatIp(first) : `${formatIp(first)}-${formatIp(last)}`;
}

/** The type of an HNS network (windows-networking-documentation.md §2). */
export type NetworkDriver = "L2Bridge" | "L2Tunnel" | "Overlay" | "Transparent" | "NAT";

/** Who gives pods their addresses: HNS, out of the node's range, or a DHCP server. As `Ipams[].Type` of an HNS network. */
export type NetworkIpam = "static" | "dhcp";

export type PortProtocol = "TCP" | "UDP";

/** How the container runtime of a Windows node reaches a port of a pod. */
export type PortForwarding = "connect" | "wincat" | "without-wincat";

export interface KubernetesRelease {
  readonly major: number;
  readonly minor: number;
  /** Undefined when the file names a minor version only. */
  readonly patch: number | undefined;
}

/** `1.34`, or `1.34.2`. */
export function formatRelease({ major, minor, patch }: KubernetesRelease): string {
  return patch === undefined ? `${major}.${minor}` : `${major}.${minor}.${patch}`;
}

export interface NodeSpec {
  readonly name: string;
  readonly os: NodeOs;
  /** The build of Windows; undefined on Linux. Its `note` is for the user to see. */
  readonly build: WindowsBuild | undefined;
  /** On the underlay. */
  readonly address: Ipv4;
  /**
   * Where the addresses of this node's pods come from. In shape `node-subnet` a part of the underlay's subnet, in
   * `pod-subnet` of the pods'; the whole of it, where `podAddresses` say more.
   */
  readonly podCIDR: Prefix;
  /** Single addresses that a cloud gave to the node's adapter for its pods; undefined: `podCIDR` is the node's alone. */
  readonly podAddresses: readonly AddressRange[] | undefined;
  readonly compat: Compat;
  /** Defects that are otherwise than the build has them. */
  readonly quirks: QuirkSettings;
  /**
   * False: the node is a virtual machine, and the fabric's port lets frames with its adapter's MAC pass alone
   * (dataplane.md §2.6).
   */
  readonly hasMacSpoofing: boolean;
  /** False: no controller has written `podCIDR` into the Node object; the node's own configuration has it all the same. */
  readonly isRangeInNode: boolean;
  /** How the container runtime of a Windows node reaches a port of a pod for `kubectl port-forward`. */
  readonly portForward: PortForwarding;
  /** Labels of the Node beside those that its kubelet gives it. */
  readonly labels: Readonly<Record<string, string>>;
  /** The machine's own name: what programs take that are not told the Node's. */
  readonly hostname: string;
  /** What lies on its disk before anything starts, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** How long after a new switch HNS knows the node's address there (hcn.md §4.1). */
  readonly addressDelayMs: number;
  readonly flanneld: FlanneldSpec;
}

/** How flanneld is started on a node. */
export interface FlanneldSpec {
  /** `--iface`: a name, or an address. */
  readonly iface: string;
  /** Whether it is started again when it has ended: a service or a DaemonSet does, `start.ps1` does not. */
  readonly isRestarted: boolean;
}

export interface OutboundNatSpec {
  readonly enabled: boolean;
  /** Destinations that see the pod's own address. */
  readonly exceptions: readonly Prefix[];
}

export interface CniSpec {
  /** Replaces the network configuration list that the cluster would write on Windows nodes. */
  readonly conflist: JsonObject | undefined;
  /** Entries added to the plugin's `policies`, or `AdditionalArgs`: `{name: "EndpointPolicy", value: {…}}`. */
  readonly policies: readonly JsonObject[];
}

/** One network of Windows nodes: an HNS network on each of them, all alike. */
export interface PodNetworkSpec {
  /** Of the HNS network. */
  readonly name: string;
  readonly driver: NetworkDriver;
  readonly shape: NetworkShape;
  /**
   * `static`: each node has a route to the pods of each other node. `flannel`: flanneld sees to them; `hybrid-overlay`: hybrid-overlay-node does. `fabric`: the network
   * around the nodes leads to them, and is the gateway of pods on Windows nodes. `cloud`: the Routes controller of the cloud
   * provider writes them into the route table of the nodes' subnet; with flannel beside what flanneld sees to.
   */
  readonly routes: "static" | "flannel" | "hybrid-overlay" | "fabric" | "cloud" | "none";
  readonly clusterCIDR: Prefix;
  readonly outboundNAT: OutboundNatSpec;
  /** Overlay: the VXLAN network identifier, and the UDP port of its tunnels. */
  readonly vni: number;
  readonly vxlanPort: number;
  /** Transparent: the VLAN of its pods on the wire; 0: none. */
  readonly vlan: number;
  /** `dhcp`: pods ask a DHCP server on the underlay; only with driver Transparent (dataplane.md §2.12). */
  readonly ipam: NetworkIpam;
  /** Where the addresses of each node's pods come from, by the node's name. A node without a range has no such network. */
  readonly ranges: Readonly<Record<string, Prefix>>;
}

/** Columns of a row that are set as `ovn-nbctl set` does; of maps the keys that are there. */
export interface NorthboundChange {
  readonly table: string;
  /** A name, or `.` for the only row. */
  readonly record: string;
  readonly set: JsonObject;
}

/** The network that pods have who ask for no other; also that of Linux nodes. */
export interface NetworkSpec extends PodNetworkSpec {
  readonly plugin: PodNetworkPlugin;
  /** Of plugin flannel; undefined with the others. */
  readonly backend: FlannelBackend | undefined;
  /** Of plugin ovn-kubernetes; undefined with the others. */
  readonly encapsulation: OvnEncapsulation | undefined;
  /** Of plugin ovn-kubernetes: what is written to the northbound database behind its controller. */
  readonly northbound: readonly NorthboundChange[];
  readonly serviceCIDR: Prefix;
  readonly cni: CniSpec;
  readonly docker: DockerSpec;
}

/** Options of `docker network create` that no field of a network stands for; they hold for all networks of the file. */
export interface DockerSpec {
  readonly dnsServers: readonly Ipv4[];
  /** Empty: none. */
  readonly dnsSuffix: string;
  /** Containers of NAT networks ask the engine on the gateway first. */
  readonly hasGatewayDns: boolean;
}

export interface RouteSpec {
  readonly to: Prefix;
  readonly via: Ipv4;
}

export interface FileUnderlay {
  readonly subnet: Prefix;
  readonly router: Ipv4;
  /** Further routes of the router. It knows no pod ranges unless they stand here. */
  readonly routes: readonly RouteSpec[];
  /** Rules of the fabric that nodes of an L2Tunnel network hang on. */
  readonly deny: readonly DenySpec[];
  /** The DHCP server on the router; undefined: there is none. */
  readonly dhcp: DhcpSpec | undefined;
  /** Further ones, each on a machine of its own beside the nodes. */
  readonly dhcpServers: readonly DhcpMachineSpec[];
  /** The virtual network of Azure; undefined: the underlay is a segment of layer 2, or the fabric of an L2Tunnel network. */
  readonly azure: VirtualNetworkSpec | undefined;
  /** How long after the start Azure refuses to write route tables. */
  readonly azureThrottledSeconds: number;
}

export interface DhcpSpec {
  /** What it gives out. */
  readonly range: Prefix;
  readonly leaseSeconds: number;
  /** Parts of the range that it does not. */
  readonly exclusions: readonly Prefix[];
  /** Addresses that it keeps for one MAC each. */
  readonly reservations: readonly { readonly mac: Mac; readonly address: Ipv4 }[];
}

export interface DhcpMachineSpec extends DhcpSpec {
  readonly name: string;
  readonly address: Ipv4;
}

/** The second family of a dual-stack cluster. */
export interface Ipv6Spec {
  /** Of the underlay. A machine has the same place in it as its first address has in the underlay's subnet. */
  readonly subnet: Prefix;
  readonly router: Ipv6;
  readonly clusterCIDR: Prefix;
  readonly serviceCIDR: Prefix;
  /** The router leads packets for pods to their nodes: their addresses are not translated (dataplane.md §2.16, walk 6-4). */
  readonly hasPodRoutes: boolean;
  /** By the node's name. A pod has the same place in `podRange` as its first address has in the node's range. */
  readonly nodes: Readonly<Record<string, NodeIpv6>>;
  /** Pods of further networks that carry IPv6: by the network's name, then by the node's. */
  readonly further: Readonly<Record<string, Readonly<Record<string, Prefix>>>>;
}

export interface NodeIpv6 {
  readonly address: Ipv6;
  readonly podRange: Prefix;
}

/** Packets that the fabric drops. */
export interface DenySpec {
  readonly from: Prefix;
  readonly to: Prefix;
}

export interface PortSpec {
  readonly port: number;
  readonly protocol: PortProtocol;
}

/** A port on which a pod's built-in server answers. */
export interface PodPortSpec extends PortSpec {
  /** The same port of the node, mapped to this one. */
  readonly hostPort: number | undefined;
}

export interface FileOutsideHost {
  readonly name: string;
  readonly address: Ipv4;
  readonly ports: readonly PortSpec[];
  /** Names that the name servers outside answer with this host's address. */
  readonly names: readonly string[];
}

/** How kube-proxy runs on the Windows nodes (kube-proxy.md §1.1). */
export interface KubeProxySpec {
  /** False: Services are not programmed on the nodes. */
  readonly enabled: boolean;
  /** `--enable-dsr`. */
  readonly enableDSR: boolean;
  /** `--forward-healthcheck-vip`. */
  readonly forwardsHealthChecks: boolean;
  /** `--hostname-override` with the Node's name; false: kube-proxy takes the machine's own. */
  readonly hasHostnameOverride: boolean;
}

/** The cluster's name service. */
export interface DnsSpec {
  /** False: no DNS of our own; manifests may bring one. */
  readonly enabled: boolean;
  /** The cluster's zone: `cluster.local`. */
  readonly domain: string;
}

export interface FilePodSpec {
  readonly name: string;
  readonly namespace: string;
  /** The name of the node it runs on. */
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly PodPortSpec[];
  /** Fixed address; undefined when IPAM chooses. */
  readonly address: Ipv4 | undefined;
  /** Of its endpoint, on a Transparent network; absent: HNS chooses one. */
  readonly mac?: Mac | undefined;
  /** Its second address, of a dump; absent: it follows from the first. */
  readonly address6?: Ipv6 | undefined;
  /** Further HCN endpoint policies, `{Type, Settings}`. */
  readonly policies: readonly JsonObject[];
  /** `host`: in the node's own compartment, as `hostNetwork` on Linux and HostProcess on Windows. */
  readonly network: "pod" | "host";
  /** The name of the network it is attached to. */
  readonly podNetwork: string;
  /** Networks that it has an endpoint in besides. */
  readonly furtherNetworks?: readonly string[];
  /** Static routes of its own. */
  readonly routes?: readonly RouteSpec[];
}

/** What the user expects of one flow, in place of what is documented. */
export interface ExpectationSpec {
  /** As on the command line of `mullion trace`. */
  readonly from: string;
  readonly to: string;
  readonly protocol: "tcp" | "udp" | "icmp";
  /** Undefined: the first port of the receiver; always for ICMP. */
  readonly port: number | undefined;
  readonly expect: "works" | "denied";
  /** With `denied`: the code that the trace has to show. Undefined: any drop or refusal will do. */
  readonly code: KnowledgeCode | undefined;
}

/** A process that runs in a pod which is real. */
export interface WorkloadSpec {
  readonly pod: string;
  readonly namespace: string;
  /** The program, as PATH finds it, and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What enforces NetworkPolicies on Windows nodes. */
export type PolicyEngineName = "calico" | "azure-npm" | "none";

export interface PolicySpec {
  /** Undefined: nobody says; then no flow that a policy is about is judged. */
  readonly engine: PolicyEngineName | undefined;
  /** KUBE_NETWORK of Calico, or the name that Azure NPM is configured with; undefined: their defaults. */
  readonly network: string | undefined;
}

/** A whole cluster file. Frozen through and through. */
export interface ClusterFile {
  /** As given on the command line: for messages. */
  readonly fileName: string;
  readonly name: string;
  readonly kubernetes: { readonly version: KubernetesRelease };
  /** From which all chance in the cluster comes. */
  readonly seed: number;
  /** The edition of the Kubernetes page whose limits the Windows nodes have; undefined: those of their builds. */
  readonly asDocumented: Edition | undefined;
  readonly nodes: readonly NodeSpec[];
  readonly network: NetworkSpec;
  /** Networks that Windows nodes have besides `network`. */
  readonly networks: readonly PodNetworkSpec[];
  readonly underlay: FileUnderlay;
  /** Undefined: the cluster has IPv4 alone. */
  readonly ipv6: Ipv6Spec | undefined;
  readonly kubeProxy: KubeProxySpec;
  readonly dns: DnsSpec;
  readonly policy: PolicySpec;
  /** Addresses for Services of type LoadBalancer; undefined: they get none. */
  readonly loadBalancerPool: Prefix | undefined;
  readonly outside: readonly FileOutsideHost[];
  readonly pods: readonly FilePodSpec[];
  /** Files and folders of Kubernetes manifests, below the folder of this file. */
  readonly manifests: readonly string[];
  /** What `mullion verify` expects besides what is documented. */
  readonly expectations: readonly ExpectationSpec[];
  /** What runs in pods that are real; in others it is not asked for. */
  readonly workloads: readonly WorkloadSpec[];
}
