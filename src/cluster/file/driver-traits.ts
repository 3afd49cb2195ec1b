/**
 * What a cluster file may ask of each driver, and what holds when it says nothing (windows-networking-documentation.md
 * §2; dataplane.md §2.3 to §2.7).
 */
import type {
  ClusterFile,
  NetworkDriver,
  NetworkShape,
  NetworkSpec,
  PodNetworkPlugin,
  PodNetworkSpec,
} from "./cluster-file.ts";
import { defined } from "#core/base/assert.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

export interface DriverTraits {
  /** Where pod addresses may come from; the first is the default. */
  readonly shapes: readonly NetworkShape[];
  readonly plugin: PodNetworkPlugin;
  /** Its network stands on the node's adapter, which carries networks of one driver. */
  readonly isExternal: boolean;
  /** Several networks of it can be on one node. */
  readonly canRepeat: boolean;
  /** Its networks may hold the same addresses: each is a virtual network of its own. */
  readonly isIsolated: boolean;
  /** Between nodes its pods need static routes, in shape `own-subnet`. */
  readonly needsRoutes: boolean;
  /** Endpoints have the policy OutBoundNAT: VFP runs on their ports (dataplane.md §2.1). */
  readonly hasOutboundNat: boolean;
  /** Nodes see pods with their own address, or not at all: the underlay is no exception of OutBoundNAT (walk O-9). */
  readonly translatesToNodes: boolean;
  /** kube-proxy programs Services for it (dataplane.md §2.6, §2.7). */
  readonly hasServices: boolean;
  /** Words for messages: what the driver's pods have in place of the other shape. */
  readonly shapeReason: string;
  /** Why clusters of it have no second family (windows-networking-documentation.md §7; control-planes.md §8.1); empty: they have. */
  readonly ipv6Reason: string;
}

const BRIDGED: DriverTraits = {
  shapes: ["own-subnet", "node-subnet", "pod-subnet"],
  plugin: "win-bridge",
  isExternal: true,
  canRepeat: true,
  isIsolated: false,
  needsRoutes: true,
  hasOutboundNat: true,
  translatesToNodes: false,
  hasServices: true,
  shapeReason: "",
  ipv6Reason: "",
};

const TRAITS: Readonly<Record<NetworkDriver, DriverTraits>> = {
  L2Bridge: BRIDGED,
  L2Tunnel: {
    ...BRIDGED,
    shapes: ["node-subnet"],
    plugin: "hns",
    canRepeat: false,
    shapeReason: WORDS.l2TunnelShapeReason,
    ipv6Reason: WORDS.l2TunnelWithoutIpv6,
  },
  Overlay: {
    ...BRIDGED,
    shapes: ["own-subnet"],
    plugin: "hns",
    isIsolated: true,
    needsRoutes: false,
    translatesToNodes: true,
    shapeReason: WORDS.overlayShapeReason,
    ipv6Reason: WORDS.overlayWithoutIpv6,
  },
  Transparent: {
    ...BRIDGED,
    shapes: ["node-subnet"],
    plugin: "hns",
    canRepeat: false,
    needsRoutes: false,
    hasOutboundNat: false,
    hasServices: false,
    shapeReason: "pods of a transparent network are machines of the segment",
    ipv6Reason: WORDS.transparentWithoutIpv6,
  },
  NAT: {
    ...BRIDGED,
    shapes: ["own-subnet"],
    plugin: "hns",
    isExternal: false,
    canRepeat: false,
    needsRoutes: false,
    hasOutboundNat: false,
    hasServices: false,
    shapeReason: "the range behind a NAT is the node's own",
    ipv6Reason: WORDS.natWithoutIpv6,
  },
};

export function driverTraits(driver: NetworkDriver): DriverTraits {
  return TRAITS[driver];
}

/**
 * Where pod addresses may come from; the first is the default. Docker makes no leg of the host in an l2bridge network, so that
 * a subnet of its own would have no gateway (control-planes.md §8.3).
 */
export function shapesOf(
  plugin: PodNetworkPlugin | undefined,
  driver: NetworkDriver,
): readonly NetworkShape[] {
  if (plugin === "docker" && driver === "L2Bridge") return ["node-subnet"];
  return plugin === "acs-2017" || plugin === "ovn-kubernetes" ? ["own-subnet"] : TRAITS[driver].shapes;
}

/** `VIP_CIDR` of the scripts of 2017: what containers send into the network of pods; all else goes out by the NAT. */
export const ACS_POD_LEG: Prefix = Object.freeze(defined(parsePrefix("10.0.0.0/8"), "a range is one"));

/** Docker's engine makes the networks, and a pod is one container. */
export function hasDocker(plugin: PodNetworkPlugin | undefined): boolean {
  return plugin === "docker" || plugin === "acs-2017";
}

/** A kube-proxy serves the network: with VFP, or with sockets of its own as in 2017. */
export function isServedByProxy({ plugin, driver }: Pick<NetworkSpec, "plugin" | "driver">): boolean {
  return plugin === "acs-2017" || TRAITS[driver].hasServices;
}

/** Services work in it: a kube-proxy serves it, or OVN's load balancers do. */
export function hasServicesIn(network: Pick<NetworkSpec, "plugin" | "driver">): boolean {
  return network.plugin === "ovn-kubernetes" || isServedByProxy(network);
}

/** Packets to pods of other nodes need a route that leads there. */
export function needsPodRoutes({ plugin, driver }: Pick<NetworkSpec, "plugin" | "driver">): boolean {
  return plugin === "acs-2017" || TRAITS[driver].needsRoutes;
}

/** What hybrid-overlay-node of ovn-kubernetes has fixed (control-planes.md §4.1). */
export const HYBRID_OVERLAY = { name: "OVNKubernetesHybridOverlayNetwork", vni: 4_097 } as const;

/** A program on the nodes makes the network, and the ways to other nodes. */
export function isMadeByDaemon(
  file: Pick<ClusterFile, "network">,
  network: PodNetworkSpec = file.network,
): boolean {
  const { plugin } = file.network;
  return network === file.network && (plugin === "flannel" || plugin === "ovn-hybrid-overlay");
}

/** The only VXLAN network identifier that the Kubernetes page names for flannel (windows-networking-documentation.md §8). */
export const FLANNEL_VNI = 4_096;

/** True where flannel's VXLAN has another one. */
export function hasOtherVni({ network }: Pick<ClusterFile, "network">): boolean {
  return network.plugin === "flannel" && network.backend === "vxlan" && network.vni !== FLANNEL_VNI;
}
