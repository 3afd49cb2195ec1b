/**
 * What `verify` knows of a cluster before it sends a packet: who is there, what was asked for. It is read from the
 * cluster file and from Kubernetes objects, never from what HNS or the switches made of them.
 */
import type { NetworkDriver } from "../file/cluster-file.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";

export type TransportProtocol = "tcp" | "udp";

export interface VerifyNode {
  readonly kind: "node";
  /** Position in the cluster's list of nodes. */
  readonly index: number;
  /** `node/win-1`. */
  readonly reference: string;
  readonly name: string;
  readonly os: "windows" | "linux";
  readonly windows: WindowsBuild | undefined;
  /** It has the defect `l2bridge-dsr-kb5005619`. */
  readonly losesPodsWithDsr: boolean;
  /** It has the defect `overlay-nodeport-ws2022`. */
  readonly losesOverlayNodePorts: boolean;
  /** It has the defect `nat-denies-outbound`. */
  readonly deniesNatOutbound: boolean;
  readonly compat: "upstream" | "hardened";
  readonly address: Ip;
  readonly podRange: Prefix;
  /** A pod of the cluster's network runs there. */
  readonly hasPods: boolean;
  /** See `FlowFacts.hasGivenSubnetFile`. */
  readonly hasGivenSubnetFile: boolean;
  /** The fabric's port of the node lets its adapter's MAC pass alone. */
  readonly hasMacGuard: boolean;
  /** Nodes of one class behave alike. */
  readonly nodeClass: string;
}

export interface VerifyPort {
  readonly protocol: TransportProtocol;
  readonly port: number;
  readonly hostPort: number | undefined;
}

/** A network of pods, as the cluster file asks for it. */
export interface VerifyNetwork {
  readonly name: string;
  readonly driver: NetworkDriver;
  /** `shared`: pods have addresses of a subnet that the machines around know. */
  readonly shape: "own-subnet" | "shared";
  /** Nodes have a leg of their own among their pods. */
  readonly hasBridge: boolean;
  /** See `FlowFacts.hasOtherVni`. */
  readonly hasOtherVni: boolean;
  /** A virtual network of its own: what is not in it does not reach it. */
  readonly isVirtual: boolean;
  readonly hasStaticRoutes: boolean;
  readonly hasOutboundNat: boolean;
  readonly natExceptions: readonly Prefix[];
  /** The configuration of the plugin asks for loopbackDSR: a pod reaches itself through its Service with DSR. */
  readonly hasLoopbackDsr: boolean;
  /** kube-proxy serves it: it is that of pods who ask for no other. */
  readonly isFirst: boolean;
  /** The ranges of its pods, by the node's name. A node without one does not have the network. */
  readonly ranges: Readonly<Record<string, Prefix>>;
}

/** A pod that runs. */
export interface VerifyPod {
  readonly kind: "pod";
  /** Position in the cluster's list of pods. */
  readonly index: number;
  /** `pod/default/web`. */
  readonly reference: string;
  readonly namespace: string;
  readonly node: VerifyNode;
  readonly network: VerifyNetwork;
  readonly address: Ip;
  /** Another pod, of another network, has its address, too. */
  readonly hasTwin: boolean;
  /** As it calls itself: its hosts file leads this name to itself. */
  readonly hostname: string;
  /** As its built-in server calls itself. */
  readonly serverName: string;
  readonly isHostNetwork: boolean;
  readonly ports: readonly VerifyPort[];
  /** The cluster file gives it endpoint policies, access rules or others. */
  readonly hasOwnPolicies: boolean;
  /** Access rules that the cluster file gives it, as text; empty for none. */
  readonly ownRules: string;
  /** What limits of the cluster tell it apart by; empty for a pod like any other. */
  readonly limitKind: string;
  /** Pods of one class behave alike, as senders and as receivers. */
  readonly podClass: string;
  /** Ports to which a Service or a hostPort leads: `tcp 8080`. */
  readonly balancedPorts: ReadonlySet<string>;
  /** Its resolver asks the cluster's name service. */
  readonly usesClusterDns: boolean;
  /** The name that leads to it, without the trailing dot; undefined when there is none. */
  readonly dnsName: string | undefined;
}

/** A pod that asks for the network of its node. */
export interface VerifyHostNetworkPod {
  readonly reference: string;
  readonly node: VerifyNode;
  readonly isHostProcess: boolean;
  /** What came of it. */
  readonly isInHostNetwork: boolean;
  /** In words. */
  readonly detail: string;
}

export interface VerifyBackEnd {
  readonly address: Ip;
  readonly port: number;
  /** Undefined for an address that no pod of the cluster has. */
  readonly pod: VerifyPod | undefined;
}

export interface VerifyServicePort {
  readonly name: string;
  readonly protocol: TransportProtocol;
  readonly port: number;
  readonly nodePort: number | undefined;
  /** The Service's own number for its pods; absent where it gives a name. */
  readonly targetPort?: number;
  /** Ready ones, by address. */
  readonly backEnds: readonly VerifyBackEnd[];
}

export interface VerifyService {
  /** `service/default/web`. */
  readonly reference: string;
  readonly namespace: string;
  readonly name: string;
  readonly kind: "cluster-ip" | "headless" | "external-name";
  /** It has an address of each family. */
  readonly isDualStack: boolean;
  readonly clusterIp: Ip | undefined;
  /** Type ExternalName: where its name leads. */
  readonly externalName: string | undefined;
  readonly ports: readonly VerifyServicePort[];
  readonly hasAffinity: boolean;
  /** Set when it is not the default of three hours. */
  readonly affinityTimeoutS: number | undefined;
  readonly internalTrafficPolicy: "Cluster" | "Local";
  readonly externalTrafficPolicy: "Cluster" | "Local";
  readonly ingress: readonly Ip[];
  /** Annotation `preserve-destination`, as kube-proxy reads it. */
  readonly preservesDestination: boolean;
  /** Ports of SCTP, which are in no list of ports: nothing asks them. */
  readonly sctpPorts: readonly number[];
  /** It asks for the address of a load balancer, and has none. */
  readonly waitsForAddress: boolean;
}

export interface VerifyOutside {
  readonly kind: "outside";
  /** Position in the cluster's list of outside hosts. */
  readonly index: number;
  /** Its name. */
  readonly reference: string;
  readonly address: Ip;
  readonly ports: readonly VerifyPort[];
  readonly names: readonly string[];
}

/** The Service of the cluster's DNS. Its ports are in no list of ports: questions prove them. */
export interface VerifyDns {
  readonly reference: string;
  readonly protocols: readonly TransportProtocol[];
  /** Names of the nodes on which its ready pods run, each once. */
  readonly nodes: readonly string[];
}

/** Somebody who can send. */
export type VerifySender = VerifyPod | VerifyNode | VerifyOutside;

export interface VerifyModel {
  readonly clusterName: string;
  readonly kubernetesMinor: number;
  readonly nodes: readonly VerifyNode[];
  readonly pods: readonly VerifyPod[];
  readonly hostNetworkPods: readonly VerifyHostNetworkPod[];
  readonly services: readonly VerifyService[];
  readonly outside: readonly VerifyOutside[];
  /** That of pods who ask for no other. */
  readonly network: VerifyNetwork;
  /** Ranges that the network between and around the nodes knows. */
  readonly routedRanges: readonly Prefix[];
  /** Ranges that route tables of the nodes' virtual network lead to a node; outside of it nobody knows them. */
  readonly tableRanges: readonly Prefix[];
  /** `--cluster-cidr` of kube-proxy: senders in it are pods to it. */
  readonly clusterRange: Prefix;
  /** Packets that the fabric's rules drop. */
  readonly denials: readonly { readonly from: Prefix; readonly to: Prefix }[];
  /** See `FlowFacts.setUp`. */
  readonly setUp: "present" | "acs-2017" | "ovn";
  readonly hasProxy: boolean;
  readonly isDsr: boolean;
  /** See `FlowFacts.asDocumented`. */
  readonly asDocumented: Edition | "no";
  /** The zone of the cluster's names; undefined without a name service. */
  readonly dnsZone: string | undefined;
  /** The Service of the cluster's DNS; undefined as the zone is. */
  readonly dns: VerifyDns | undefined;
}
