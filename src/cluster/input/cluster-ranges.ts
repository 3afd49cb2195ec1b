/**
 * The ranges of a cluster that was dumped: no object says them, so they are read off the addresses in use. Addresses of
 * machines, pods and Services are facts and stay apart; what is wider than they need is a guess that gives way.
 */
import { isHostNetwork, isHostProcess, podAddresses } from "#contracts/kubernetes/pod.ts";
import type { Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import {
  type Ipv4,
  type Prefix,
  hostPrefix,
  lastIp,
  parseInterfaceAddress,
  parseIpv4,
  prefixContains,
  prefixCovers,
  prefixOf,
} from "#core/net/ip.ts";
import type { AddressRange, NetworkShape, NodeOs } from "../file/cluster-file.ts";
import { DEFAULTS } from "../file/description.ts";
import {
  coverOf,
  firstApart,
  isApart,
  isHostOf,
  nodeAddresses,
  smallestRange,
  widened,
} from "./address-ranges.ts";

/** A node that becomes a machine. */
export interface DumpedNode {
  readonly node: Node;
  readonly os: NodeOs;
  readonly address: Ipv4;
}

type PodRanges = Pick<ClusterRanges, "ofNode" | "pods" | "blockLength">;

export interface ClusterRanges {
  readonly shape: NetworkShape;
  /** In shapes of which nodes share the subnet of their pods: the addresses that each has for pods. */
  readonly addressesOf: ReadonlyMap<string, readonly AddressRange[]>;
  readonly underlay: Prefix;
  readonly router: Ipv4;
  /** By node; those left out get a block of `pods`. */
  readonly ofNode: ReadonlyMap<string, Prefix>;
  readonly pods: Prefix;
  /** Length of these blocks. */
  readonly blockLength: number;
  readonly services: Prefix;
  /** Nodes whose pods stand in another range than `spec.podCIDR`. */
  readonly moved: readonly string[];
}

/** Nodes of one rack, and what most clouds give a subnet. */
const UNDERLAY_LENGTH = 24;
/** Nodes that are farther apart are not of one network. */
export const UNDERLAY_LENGTH_MIN = 8;
/** Ranges for pods and Services as most installers choose them. */
const CLUSTER_LENGTH = 16;
/** Kubernetes refuses larger service ranges. */
const SERVICE_LENGTH_MIN = 12;
/** What kube-controller-manager gives a node. */
const NODE_LENGTH = 24;
/** The smallest range in which a pod fits. */
const NODE_LENGTH_MAX = 29;
/** No pod range is smaller: Calico's blocks. */
const BLOCK_LENGTH = 26;
/** What is taken when no address tells. */
const POD_RANGES = ["10.244.0.0/16", "172.30.0.0/16", "192.168.0.0/16"];
const SERVICE_RANGES = ["10.96.0.0/12", "172.20.0.0/16", "192.168.0.0/16"];
/** The network's gateway, and on Windows the bridge endpoint, have the first addresses. */
const KEPT_ADDRESSES: Readonly<Record<NodeOs, number>> = { windows: 2, linux: 1 };

/** Azure CNI Overlay marks its nodes so (Azure/karpenter-provider-azure pull request 714). */
const PODNETWORK_LABEL = "kubernetes.azure.com/podnetwork-type";

/** A node of AKS whose pods have a range of its own, with a gateway of Azure's fabric. */
function isAzureOverlay({ metadata }: Node): boolean {
  return metadata.labels?.[PODNETWORK_LABEL] === "overlay";
}

/** A cluster of AKS whose pods on Windows have ranges of an overlay. */
export function hasAzureOverlay(machines: readonly DumpedNode[]): boolean {
  return machines.some(({ node, os }) => os === "windows" && isAzureOverlay(node));
}

/** How many addresses at the start of a node's range no pod has. */
function keptOn({ node, os }: Pick<DumpedNode, "node" | "os">): number {
  return isAzureOverlay(node) ? KEPT_ADDRESSES.linux : KEPT_ADDRESSES[os];
}

/** A range as Kubernetes reads it: host bits are masked (Go's `ParseCIDR`). */
function rangeOf(text: string): Prefix | undefined {
  const found = parseInterfaceAddress(text);
  return found !== undefined && typeof found.ip === "number" ? prefixOf(found.ip, found.length) : undefined;
}

/** The subnet of the machines: a /24, or the smallest in which each is a host. */
function underlayOf(addresses: readonly Ipv4[]): Prefix {
  let range = widened(smallestRange(addresses) ?? firstApart(["10.0.0.0/24"], []), UNDERLAY_LENGTH, []);
  while (range.length > 0 && !addresses.every((ip) => isHostOf(range, ip)))
    range = widened(range, range.length - 1, []);
  return range;
}

function routerIn(underlay: Prefix, addresses: readonly Ipv4[]): Ipv4 {
  const taken = new Set(addresses);
  let ip = Number(underlay.address) + 1;
  while (taken.has(ip as Ipv4)) ip++;
  return ip as Ipv4;
}

/**
 * Addresses of the pods that have a network of their own, by node. An address that pods of two nodes show (a dump made while
 * one moved) is the first's: no two nodes have it to give.
 */
function podAddressesByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Ipv4[]> {
  const found = new Map<string, Ipv4[]>();
  const holder = new Map<Ipv4, string>();
  for (const pod of pods) {
    const node = pod.spec?.nodeName;
    if (node === undefined || isHostNetwork(pod) || isHostProcess(pod)) continue;
    const shown = podAddresses(pod).flatMap((text) => parseIpv4(text) ?? []);
    const ips = shown.filter((ip) => (holder.get(ip) ?? node) === node);
    for (const ip of ips) {
      holder.set(ip, node);
      addToList(found, node, ip);
    }
  }
  return found;
}

/** True when pods of these addresses can stand in the range: beside the gateway, and what else a node needs there. */
function holds(range: Prefix, ips: readonly Ipv4[], kept: number): boolean {
  const first = Number(range.address) + kept;
  return ips.every((ip) => prefixContains(range, ip) && Number(ip) > first && ip !== lastIp(range));
}

function givenRange({ spec }: Node): Prefix | undefined {
  const texts = [spec?.podCIDR, ...(spec?.podCIDRs ?? [])];
  return texts.flatMap((text) => (text === undefined ? [] : (rangeOf(text) ?? [])))[0];
}

/** The smallest range of a usable size in which the pods can stand, apart from `others`. */
function rangeAround(ips: readonly Ipv4[], kept: number, others: readonly Prefix[]): Prefix | undefined {
  const smallest = smallestRange(ips);
  if (smallest === undefined) return undefined;
  let range = widened(smallest, BLOCK_LENGTH, []);
  while (range.length > CLUSTER_LENGTH && !holds(range, ips, kept))
    range = widened(range, range.length - 1, []);
  const isSmall = range.length >= CLUSTER_LENGTH;
  return isSmall && holds(range, ips, kept) && isApart(range, others) ? range : undefined;
}

class NodeRanges {
  readonly ofNode: Map<string, Prefix> = new Map<string, Prefix>();
  readonly moved: string[] = [];
  /** Nodes whose range was read off their pods. */
  private readonly guessed: {
    readonly name: string;
    readonly kept: number;
    readonly ips: readonly Ipv4[];
  }[] = [];
  private readonly fixed: readonly Prefix[];

  /** `fixed` are the machines' subnet, the host outside and the addresses of Services. */
  constructor(fixed: readonly Prefix[]) {
    this.fixed = fixed;
  }

  /** The first nodes win: a range that would make the pods' range meet machines or Services is not taken. */
  add(machine: DumpedNode, ips: readonly Ipv4[], told: readonly Prefix[]): void {
    const { node } = machine;
    const { name } = node.metadata;
    const kept = keptOn(machine);
    const given = givenRange(node) ?? told.find(({ address }) => typeof address === "number");
    const others = [...this.fixed, ...this.ofNode.values()];
    const isGivenRight = given !== undefined && holds(given, ips, kept);
    const range = isGivenRight ? given : (rangeAround(ips, kept, others) ?? given);
    if (range === undefined || range.length > NODE_LENGTH_MAX || !isApart(range, others)) return;
    const cover = coverOf([...this.ofNode.values(), range]);
    if (cover === undefined || !isApart(cover, this.fixed)) return;
    this.ofNode.set(name, range);
    if (range === given) return;
    this.guessed.push({ name, kept, ips });
    if (given !== undefined) this.moved.push(name);
  }

  /** Gives guessed ranges room for further pods, up to what a node usually has. */
  widen(): void {
    for (const { name, kept, ips } of this.guessed) {
      const range = this.ofNode.get(name);
      if (range === undefined) continue;
      const others = [...this.fixed, ...[...this.ofNode.values()].filter((other) => other !== range)];
      const wide = widened(range, NODE_LENGTH, others);
      if (holds(wide, ips, kept)) this.ofNode.set(name, wide);
    }
  }
}

/**
 * The range that holds the addresses of Services. Kubernetes has one range for all: where they lie too far apart, those
 * near the API server's own Service count, and the control plane refuses the others.
 */
function serviceCover(services: readonly Service[], underlay: Prefix): Prefix | undefined {
  const addresses = services.flatMap(({ metadata, spec }) => {
    const ip = parseIpv4(spec?.clusterIP ?? "");
    return ip === undefined ? [] : [{ isOfServer: metadata.name === "kubernetes", ip }];
  });
  const anchor = addresses.find(({ isOfServer }) => isOfServer) ?? addresses[0];
  if (anchor === undefined) return undefined;
  const largest = prefixOf(anchor.ip, SERVICE_LENGTH_MIN);
  const cover = smallestRange(addresses.map(({ ip }) => ip).filter((ip) => prefixContains(largest, ip)));
  return cover !== undefined && isApart(cover, [underlay]) ? cover : undefined;
}

function serviceRange(
  cover: Prefix | undefined,
  others: readonly Prefix[],
  told: Prefix | undefined,
): Prefix {
  if (told !== undefined && isFit(told, SERVICE_LENGTH_MIN, cover === undefined ? [] : [cover], others))
    return told;
  const usual = firstApart(SERVICE_RANGES, others);
  if (cover === undefined || (prefixContains(usual, cover.address) && cover.length >= usual.length))
    return usual;
  return widened(cover, CLUSTER_LENGTH, others);
}

/** A range that an installer was told holds what is known of its addresses, and nothing else. */
function isFit(told: Prefix, shortest: number, known: readonly Prefix[], others: readonly Prefix[]): boolean {
  const isApartFromOthers = isApart(told, others);
  return told.length >= shortest && isApartFromOthers && known.every((each) => prefixCovers(told, each));
}

/** The longest blocks, at most a /24, of which `count` are free in `range`; undefined when there is no room. */
function blockLength(range: Prefix, taken: readonly Prefix[], count: number): number | undefined {
  for (let length = Math.max(NODE_LENGTH, range.length); length <= NODE_LENGTH_MAX; length++) {
    const size = 2 ** (32 - length);
    let left = count;
    for (let first = Number(range.address); first <= Number(lastIp(range)) && left > 0; first += size)
      if (isApart({ address: first as Ipv4, length }, taken)) left--;
    if (left === 0) return length;
  }
  return undefined;
}

/** The ranges of pods, with room for the nodes whose range nobody knows; undefined where there is none beside the known. */
function podRanges(
  machines: readonly DumpedNode[],
  nodeRanges: NodeRanges,
  others: readonly Prefix[],
  told: Prefix | undefined,
): PodRanges | undefined {
  const { ofNode } = nodeRanges;
  const known = [...ofNode.values()];
  const cover = coverOf(known);
  const guessed =
    cover === undefined ? firstApart(POD_RANGES, others) : widened(cover, CLUSTER_LENGTH, others);
  const pods = told !== undefined && isFit(told, UNDERLAY_LENGTH_MIN, known, others) ? told : guessed;
  const length = blockLength(pods, known, machines.length - known.length);
  return length === undefined ? undefined : { ofNode, pods, blockLength: length };
}

/** Nobody's range is known then: every node gets one that meets nothing else. */
function freshPodRanges(count: number, others: readonly Prefix[]): PodRanges {
  const pods = firstApart(POD_RANGES, others);
  return { ofNode: new Map(), pods, blockLength: blockLength(pods, [], count) ?? NODE_LENGTH };
}

/** True when most pods of a node that has any stand outside the range that it was given: its addresses are no range. */
function hasLostPods(
  machines: readonly DumpedNode[],
  byNode: ReadonlyMap<string, readonly Ipv4[]>,
  { ofNode }: NodeRanges,
): boolean {
  return machines.some(({ node }) => {
    const ips = byNode.get(node.metadata.name) ?? [];
    const range = ofNode.get(node.metadata.name);
    const inside = range === undefined ? [] : ips.filter((ip) => prefixContains(range, ip));
    return inside.length * 2 < ips.length;
  });
}

/** Addresses of load balancers, which may be of the nodes' subnet. */
function balancerAddresses(services: readonly Service[]): readonly Ipv4[] {
  return services.flatMap(({ spec, status }) => {
    const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
    return [...ingress, ...(spec?.externalIPs ?? [])].flatMap((text) => parseIpv4(text ?? "") ?? []);
  });
}

/**
 * A subnet that the pods of all nodes share: that of the machines where pods stand between them (AKS node subnet, EKS),
 * else one of their own (AKS dynamic pod subnet). Undefined when their addresses are too far apart for one.
 */
function sharedSubnet(
  machines: readonly DumpedNode[],
  byNode: ReadonlyMap<string, readonly Ipv4[]>,
  { cover, balancers }: { readonly cover: Prefix | undefined; readonly balancers: readonly Ipv4[] },
): ClusterRanges | undefined {
  const own = machines.map(({ address }) => address);
  const ips = machines.flatMap(({ node }) => byNode.get(node.metadata.name) ?? []);
  const outside = hostPrefix(DEFAULTS.outsideAddress);
  const others = cover === undefined ? [outside] : [outside, cover];
  const machineNetwork = underlayOf(own);
  const isNodeSubnet = ips.some((ip) => prefixContains(machineNetwork, ip));
  const least = isNodeSubnet ? underlayOf([...own, ...ips]) : machineNetwork;
  if (!isApart(least, others)) return undefined;
  const podCover = isNodeSubnet ? undefined : underlayOf(ips);
  const known = [least, ...others];
  if (podCover !== undefined && !(isApart(podCover, known) && holds(podCover, ips, KEPT_ADDRESSES.linux)))
    return undefined;
  const underlay = isNodeSubnet ? widened(least, CLUSTER_LENGTH, others) : least;
  const pods = podCover === undefined ? underlay : widened(podCover, CLUSTER_LENGTH, known);
  const router = routerIn(underlay, [...own, ...ips, ...balancers]);
  const gateway = isNodeSubnet ? router : ((Number(pods.address) + 1) as Ipv4);
  const holders = machines.map(({ node: { metadata, status }, address }) => {
    const podsMax = Number(status?.allocatable?.["pods"]);
    return {
      name: metadata.name,
      address,
      ips: byNode.get(metadata.name) ?? [],
      podsMax: Number.isInteger(podsMax) ? podsMax : undefined,
    };
  });
  return {
    shape: isNodeSubnet ? "node-subnet" : "pod-subnet",
    addressesOf: nodeAddresses(holders, pods, [...own, ...balancers, router, gateway]),
    underlay,
    router,
    ofNode: new Map(),
    pods,
    blockLength: NODE_LENGTH,
    services: serviceRange(cover, [underlay, pods, outside], undefined),
    moved: [],
  };
}

/** Reads the ranges off what stands in a dump; `told` are those that its installer had, as far as they fit. */
export function rangesOf(
  machines: readonly DumpedNode[],
  pods: readonly Pod[],
  services: readonly Service[],
  told: {
    readonly pods: Prefix | undefined;
    readonly services: Prefix | undefined;
    readonly nodeRanges: ReadonlyMap<string, readonly Prefix[]>;
  },
): ClusterRanges {
  const addresses = machines.map(({ address }) => address);
  const underlay = underlayOf(addresses);
  const cover = serviceCover(services, underlay);
  const fixed = [underlay, hostPrefix(DEFAULTS.outsideAddress)];
  const nodeRanges = new NodeRanges(cover === undefined ? fixed : [...fixed, cover]);
  const byNode = podAddressesByNode(pods);
  for (const machine of machines) {
    const { name } = machine.node.metadata;
    nodeRanges.add(machine, byNode.get(name) ?? [], told.nodeRanges.get(name) ?? []);
  }
  const sharing = (): ClusterRanges | undefined =>
    sharedSubnet(machines, byNode, { cover, balancers: balancerAddresses(services) });
  if (hasLostPods(machines, byNode, nodeRanges)) {
    const shared = sharing();
    if (shared !== undefined) return shared;
  }
  nodeRanges.widen();
  const podCover = coverOf([...nodeRanges.ofNode.values()]);
  const known = serviceRange(cover, podCover === undefined ? fixed : [...fixed, podCover], told.services);
  const others = [...fixed, known];
  const own = podRanges(machines, nodeRanges, others, told.pods);
  // No room between the pods that there are and everything else: a subnet that all share still has their addresses.
  const shared = own === undefined ? sharing() : undefined;
  if (shared !== undefined) return shared;
  return {
    shape: "own-subnet",
    addressesOf: new Map(),
    underlay,
    router: routerIn(underlay, addresses),
    ...(own ?? freshPodRanges(machines.length, others)),
    services: known,
    moved: nodeRanges.moved,
  };
}
