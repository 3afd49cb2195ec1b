/** Which networks a Windows node has, and where in them its addresses lie. */
import { defined } from "#core/base/assert.ts";
import { type Ip, type Ipv4, type Ipv6, type Prefix, addToIp, lastIp, prefixContains } from "#core/net/ip.ts";
import { samePlaceIn } from "../file/complete-ipv6.ts";
import type { AddressRange, ClusterFile, NodeSpec, PodNetworkSpec } from "../file/cluster-file.ts";

/** The network's own gateway, where pods have a subnet of their own (dataplane.md §2.4, §2.7; the distributed router of §2.3). */
const GATEWAY_OFFSET = 1;
/** The bridge endpoint of L2Bridge (dataplane.md §2.4); the source address of load balancers of Overlay (walk O-5). */
const SECOND_OFFSET = 2;
/** Pods begin behind these two (cni.md, fact 3). */
export const FIRST_POD_OFFSET = 3;

/** How far into a range of a Windows node its pods begin: where the fabric has the gateway, the node has no leg. */
export function firstPodOffset({ routes }: PodNetworkSpec): number {
  return routes === "fabric" ? SECOND_OFFSET : FIRST_POD_OFFSET;
}

/**
 * The gateway of IPv6 that Azure's fabric has everywhere: what CNS need not name, and a node's own default route (cni.md
 * §5.7; Azure/azure-container-networking, cni/network/invoker_cns.go and network/network_windows.go).
 */
export const FABRIC_GATEWAY_IPV6: Ipv6 = 0xfe80_0000_0000_0000_0000_1234_5678_9abcn as Ipv6;

/** The node has a leg of its own in each network, `<network>_ep`; pods with a subnet of their own have their default route to it. */
function hasBridgeEndpoint({ driver }: PodNetworkSpec): boolean {
  return driver === "L2Bridge";
}

/** Offset of the address that pods have their default route to, in shape `own-subnet`. */
function gatewayOffset(network: PodNetworkSpec): number {
  return hasBridgeEndpoint(network) ? SECOND_OFFSET : GATEWAY_OFFSET;
}

/** An address of a range that is known to be long enough. */
export function addressIn(range: Prefix, offset: number): Ip {
  return defined(addToIp(range.address, offset), "a pod range is at most a /29");
}

/** All networks of the file, that of pods who name none first. */
export function allNetworks(file: ClusterFile): readonly PodNetworkSpec[] {
  return [file.network, ...file.networks];
}

export function networksOf(file: ClusterFile, node: NodeSpec): readonly PodNetworkSpec[] {
  return allNetworks(file).filter(({ ranges }) => ranges[node.name] !== undefined);
}

/** The network that a pod names. The cluster file checks that it is there. */
export function networkNamed(file: ClusterFile, name: string): PodNetworkSpec {
  return defined(
    allNetworks(file).find((network) => network.name === name),
    `there is no network ${name}`,
  );
}

/** Where the addresses of a node's pods come from. */
export function rangeOn(network: PodNetworkSpec, node: NodeSpec): Prefix {
  return defined(network.ranges[node.name], `node ${node.name} has the network ${network.name}`);
}

/** The subnet that the HNS network has on a node. */
export function subnetOn(file: ClusterFile, network: PodNetworkSpec, node: NodeSpec): Prefix {
  switch (network.shape) {
    case "own-subnet":
      return rangeOn(network, node);
    case "node-subnet":
      return file.underlay.subnet;
    case "pod-subnet":
      return network.clusterCIDR;
  }
}

/** The gateway that the HNS network names. */
export function networkGateway(file: ClusterFile, network: PodNetworkSpec, node: NodeSpec): Ip {
  if (network.shape === "node-subnet") return file.underlay.router;
  return addressIn(subnetOn(file, network, node), GATEWAY_OFFSET);
}

/** Where the default route of pods leads. */
export function podGateway(file: ClusterFile, network: PodNetworkSpec, node: NodeSpec): Ip {
  if (network.shape !== "own-subnet" || network.routes === "fabric")
    return networkGateway(file, network, node);
  return addressIn(rangeOn(network, node), gatewayOffset(network));
}

/** The gateway of a Windows node's pods that the fabric has: the first address of the node's range (cni.md §5.7). */
export function fabricGateway(network: PodNetworkSpec, node: NodeSpec): Ip | undefined {
  const isFabric = network.routes === "fabric" && node.os === "windows";
  return isFabric ? addressIn(rangeOn(network, node), GATEWAY_OFFSET) : undefined;
}

/**
 * Where pods of the node get their addresses from, `firstOffset` into a range of the node's own. The last address of a
 * range is for broadcasts.
 */
export function podAddressRanges(
  network: PodNetworkSpec,
  node: NodeSpec,
  firstOffset: number,
): readonly AddressRange[] {
  const range = rangeOn(network, node);
  if (node.podAddresses !== undefined && network.shape !== "own-subnet") return node.podAddresses;
  const first = (addToIp(range.address, firstOffset) ?? range.address) as Ipv4;
  return [{ first, last: (Number(lastIp(range)) - 1) as Ipv4 }];
}

/** The node's own leg in an L2Bridge network of shape `own-subnet`; undefined: there is none. */
export function bridgeAddress(network: PodNetworkSpec, node: NodeSpec): Ip | undefined {
  const { shape, routes } = network;
  const hasBridge = hasBridgeEndpoint(network) && shape === "own-subnet" && routes !== "fabric";
  return hasBridge ? addressIn(rangeOn(network, node), SECOND_OFFSET) : undefined;
}

/** What kube-proxy is told as `--source-vip` on an overlay network. */
export function sourceVip(network: PodNetworkSpec, node: NodeSpec): Ipv4 | undefined {
  if (network.driver !== "Overlay") return undefined;
  return addressIn(rangeOn(network, node), SECOND_OFFSET) as Ipv4;
}

/** The second family of a network on a node. */
export interface SecondFamily {
  /** The subnet that the HNS network has. */
  readonly subnet: Prefix;
  /** The gateway that the HNS network names. */
  readonly gateway: Ip;
  /** Where the default route of pods leads. */
  readonly podGateway: Ip;
  /** The node's own leg; undefined: there is none. */
  readonly bridge: Ip | undefined;
  /** Where the addresses of pods come from. */
  readonly podRange: Prefix;
}

/** The second family's range of a network on a node. */
function secondRange(
  { ipv6, network }: ClusterFile,
  { name }: PodNetworkSpec,
  node: NodeSpec,
): Prefix | undefined {
  return name === network.name ? ipv6?.nodes[node.name]?.podRange : ipv6?.further[name]?.[node.name];
}

/** Undefined where the network has IPv4 alone. */
export function secondFamily(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
): SecondFamily | undefined {
  const { ipv6 } = file;
  const podRange = secondRange(file, network, node);
  if (ipv6 === undefined || podRange === undefined) return undefined;
  if (network.shape === "node-subnet") {
    const { subnet, router } = ipv6;
    return { subnet, gateway: router, podGateway: router, bridge: undefined, podRange };
  }
  if (network.routes === "fabric") {
    const gateway = FABRIC_GATEWAY_IPV6;
    return { subnet: podRange, gateway, podGateway: gateway, bridge: undefined, podRange };
  }
  const second = addressIn(podRange, gatewayOffset(network));
  return {
    subnet: podRange,
    gateway: addressIn(podRange, GATEWAY_OFFSET),
    podGateway: second,
    bridge: hasBridgeEndpoint(network) ? second : undefined,
    podRange,
  };
}

/** The second address of a pod: one that it had in a dump, else the place in its range that the first has. */
export function secondAddress(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
  { address, wanted }: { readonly address: Ipv4; readonly wanted: Ipv6 | undefined },
): Ipv6 | undefined {
  const second = secondFamily(file, network, node);
  if (second === undefined) return undefined;
  const { podRange } = second;
  const isUsable =
    wanted !== undefined &&
    prefixContains(podRange, wanted) &&
    wanted - (podRange.address as Ipv6) >= BigInt(firstPodOffset(network));
  return isUsable ? wanted : samePlaceIn(podRange, rangeOn(network, node), address);
}
