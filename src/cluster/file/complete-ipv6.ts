/** The second family of a dual-stack cluster: its addresses follow from those of the first. */
import { hasFeature } from "#contracts/hcn/features.ts";
import { hnsVersionOf } from "#core/catalogue/profiles.ts";
import {
  type Ipv4,
  type Ipv6,
  type Prefix,
  formatIp,
  formatPrefix,
  lastIp,
  prefixContains,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type {
  ClusterFile,
  Ipv6Spec,
  NetworkSpec,
  NodeSpec,
  PodNetworkSpec,
  FileUnderlay,
} from "./cluster-file.ts";
import type { RawCluster } from "./description.ts";
import { driverTraits, hasDocker } from "./driver-traits.ts";
import type { NodeIpv6Fields } from "./description-of-nodes.ts";
import type { LocatedFields } from "./mapping.ts";
import type { Reading } from "./reading.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** The length of the underlay's subnet and of each node's pod range (`--node-cidr-mask-size-ipv6`). */
const LINK_LENGTH = 64;
/** A range of IPv6 with as many addresses as one of IPv4 is longer by so many bits. */
const IPV4_IN_IPV6 = 96;

/** The address that has the place in `to` that `ip` has in `from`. */
export function samePlaceIn(to: Prefix, from: Prefix, ip: Ipv4): Ipv6 {
  return ((to.address as Ipv6) + BigInt(ip - Number(from.address))) as Ipv6;
}

/** The next free /64 of a range, in order. */
class Blocks {
  private readonly range: Prefix;
  private readonly taken: readonly Prefix[];
  private next: bigint;

  constructor(range: Prefix, taken: readonly Prefix[]) {
    this.range = range;
    this.taken = taken;
    this.next = range.address as Ipv6;
  }

  /** Beyond the range when none is left: the check of the file reports that. */
  take(): Prefix {
    for (;;) {
      const block: Prefix = { address: this.next as Ipv6, length: LINK_LENGTH };
      this.next += 1n << BigInt(128 - LINK_LENGTH);
      const isFree = this.taken.every((other) => !prefixesOverlap(other, block));
      if (isFree || !prefixesOverlap(this.range, block)) return block;
    }
  }
}

/** Networks that Windows gives IPv6 addresses for (dataplane.md §2.11). */
function carriesIpv6({ driver }: PodNetworkSpec): boolean {
  return driver === "L2Bridge";
}

/** Undefined: the file does not ask for it. */
export function completeIpv6(
  raw: RawCluster,
  known: {
    readonly network: NetworkSpec;
    readonly networks: readonly PodNetworkSpec[];
    readonly underlay: FileUnderlay;
    readonly nodes: readonly NodeSpec[];
  },
): Ipv6Spec | undefined {
  const { enabled, subnet, clusterCIDR, serviceCIDR, podRoutes } = raw.ipv6.value;
  if (!enabled.value) return undefined;
  const { network, networks, underlay, nodes } = known;
  const isShared = network.shape === "node-subnet";
  const given = raw.nodes.value.map(({ value }) => value.ipv6.value);
  const blocks = new Blocks(
    clusterCIDR.value,
    given.flatMap(({ podCIDR }) => podCIDR.value ?? []),
  );
  const podRangeOf = ({ podCIDR }: NodeSpec, index: number): Prefix =>
    isShared
      ? {
          address: samePlaceIn(subnet.value, underlay.subnet, podCIDR.address as Ipv4),
          length: IPV4_IN_IPV6 + podCIDR.length,
        }
      : (given[index]?.podCIDR.value ?? blocks.take());
  const addressOf = (node: NodeSpec, index: number): Ipv6 =>
    given[index]?.address.value ?? samePlaceIn(subnet.value, underlay.subnet, node.address);
  const ranges = nodes.map(podRangeOf);
  const further = networks
    .filter(carriesIpv6)
    .map(({ name, ranges: first }) => [
      name,
      Object.fromEntries(Object.keys(first).map((node) => [node, blocks.take()] as const)),
    ]);
  return {
    subnet: subnet.value,
    router: samePlaceIn(subnet.value, underlay.subnet, underlay.router),
    clusterCIDR: isShared ? subnet.value : clusterCIDR.value,
    serviceCIDR: serviceCIDR.value,
    // What is around Azure CNI Overlay does not enter its routing domain.
    hasPodRoutes: podRoutes.value && !isShared && network.routes !== "fabric",
    nodes: Object.fromEntries(
      nodes.map((node, index) => [
        node.name,
        { address: addressOf(node, index), podRange: ranges[index] ?? podRangeOf(node, index) },
      ]),
    ),
    further: Object.fromEntries(further) as Ipv6Spec["further"],
  };
}

/** Reports ranges that do not fit, and networks that carry no IPv6 (dataplane.md §2.11). */
export function checkIpv6(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const { ipv6 } = cluster;
  const places = raw.ipv6.value;
  if (ipv6 === undefined) return;
  if (ipv6.subnet.length !== LINK_LENGTH) {
    const message = `${formatPrefix(ipv6.subnet)} is not a /${LINK_LENGTH}`;
    reading.reportValue(places.subnet.place, message, `Write a range of length ${LINK_LENGTH}.`);
    return;
  }
  const lack = lackOfShape(cluster);
  if (lack !== undefined) {
    reading.reportValue(places.enabled.place, lack.message, lack.advice);
    return;
  }
  const { value: clusterCIDR, place } = places.clusterCIDR;
  if (!checkRoom(raw, cluster, ipv6, reading)) return;
  const ranges = [
    { name: "the underlay's subnet", prefix: ipv6.subnet, place: places.subnet.place },
    { name: "ipv6.clusterCIDR", prefix: clusterCIDR, place },
    { name: "ipv6.serviceCIDR", prefix: ipv6.serviceCIDR, place: places.serviceCIDR.place },
  ];
  for (const [index, range] of ranges.entries()) {
    const other = ranges.slice(0, index).find((each) => prefixesOverlap(each.prefix, range.prefix));
    if (other === undefined) continue;
    const message = `${formatPrefix(range.prefix)} overlaps ${other.name}, ${formatPrefix(other.prefix)}`;
    const advice = WORDS.adviceDisjointRange({ ip: formatIp(lastIp(other.prefix)) });
    reading.report("cluster-file-overlapping-ranges", range.place, message, advice);
  }
  checkNetwork(raw, cluster, reading);
}

/** From 1.26.3 on AKS has dual stack with overlays (https://learn.microsoft.com/en-us/azure/aks/azure-cni-overlay). */
const AZURE_MINOR_MIN = 26;

/**
 * Why pods of this shape have IPv4 alone. Azure CNI gives pods IPv6 with an overlay and nowhere else: pods in a subnet of
 * the virtual network have none (https://github.com/Azure/AKS/issues/4389).
 */
function lackOfShape({
  network,
  nodes,
  kubernetes,
}: ClusterFile): { message: string; advice: string } | undefined {
  const { plugin, shape } = network;
  if (plugin === "azure-vnet" && nodes.some(({ os }) => os === "windows")) {
    if (shape !== "own-subnet")
      return {
        message: WORDS.azureShapeWithoutIpv6({ shape }),
        advice: "Write network.shape: own-subnet, or leave ipv6 out.",
      };
    const { minor } = kubernetes.version;
    if (minor >= AZURE_MINOR_MIN) return undefined;
    return {
      message: WORDS.azureOverlayDualStackVersion({ minor }),
      advice: 'Write kubernetes.version: "1.26" or later, or leave ipv6 out.',
    };
  }
  const isSingle = nodes.some(({ podAddresses }) => podAddresses !== undefined);
  if (!isSingle && shape !== "pod-subnet") return undefined;
  return {
    message: isSingle
      ? "pods with single addresses (podAddresses) have IPv4 alone here"
      : "pods in shape pod-subnet have IPv4 alone here",
    advice: "Leave ipv6 out, or give the nodes ranges (podCIDR).",
  };
}

/** What the file says of one node. @returns false after a problem. */
function checkNode(
  node: NodeSpec,
  fields: LocatedFields<NodeIpv6Fields>,
  { cluster, ipv6 }: { readonly cluster: ClusterFile; readonly ipv6: Ipv6Spec },
  reading: Reading,
): boolean {
  const { address, podCIDR } = fields;
  if (address.value !== undefined && !prefixContains(ipv6.subnet, address.value)) {
    const message = `${formatIp(address.value)} is not in ${formatPrefix(ipv6.subnet)} (ipv6.subnet)`;
    reading.reportValue(address.place, message, "Choose an address of that range.");
    return false;
  }
  const { value: given, place } = podCIDR;
  if (given === undefined) return true;
  if (cluster.network.shape === "node-subnet") {
    const message = "in shape node-subnet pods have addresses of ipv6.subnet";
    reading.reportValue(place, message, "Remove the field.");
    return false;
  }
  if (!prefixCovers(ipv6.clusterCIDR, given)) {
    const message = `${formatPrefix(given)} is not in ${formatPrefix(ipv6.clusterCIDR)} (ipv6.clusterCIDR)`;
    reading.reportValue(place, message, "Choose a part of it.");
    return false;
  }
  const longest = IPV4_IN_IPV6 + node.podCIDR.length;
  if (given.length <= longest) return true;
  const message = `${formatPrefix(given)} has fewer addresses than ${formatPrefix(node.podCIDR)}`;
  reading.reportValue(place, message, `Write a length of ${longest} or less.`);
  return false;
}

/** @returns false after a problem. */
function checkRoom(raw: RawCluster, cluster: ClusterFile, ipv6: Ipv6Spec, reading: Reading): boolean {
  const { clusterCIDR } = ipv6;
  const { place } = raw.ipv6.value.clusterCIDR;
  const { nodes } = cluster;
  const checks = nodes.map((node, index) => {
    const fields = raw.nodes.value[index]?.value.ipv6.value;
    return fields === undefined || checkNode(node, fields, { cluster, ipv6 }, reading);
  });
  if (checks.includes(false)) return false;
  const all = [
    ...nodes.flatMap(({ name }) => ipv6.nodes[name]?.podRange ?? []),
    ...Object.values(ipv6.further).flatMap((ranges) => Object.values(ranges)),
  ];
  if (cluster.network.shape !== "node-subnet" && all.some((each) => !prefixCovers(clusterCIDR, each))) {
    const others = all.length - nodes.length;
    const and = others === 0 ? "" : ` and ${others} further networks of theirs`;
    const message = `${formatPrefix(clusterCIDR)} has no /${LINK_LENGTH} for each of ${nodes.length} nodes${and}`;
    reading.reportValue(place, message, "Write a shorter length, such as /48.");
    return false;
  }
  const twice = overlapIn(all);
  if (twice === undefined) return true;
  const message = `two nodes have pods in ${formatPrefix(twice)}`;
  reading.report("cluster-file-overlapping-ranges", place, message, "Give each node a range of its own.");
  return false;
}

/** One of two ranges that overlap. */
function overlapIn(ranges: readonly Prefix[]): Prefix | undefined {
  const sorted = ranges.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  return sorted.find((range, index) => {
    const before = sorted[index - 1];
    return before !== undefined && prefixesOverlap(before, range);
  });
}

/** A Windows node whose programs behave as upstream's. */
function isUpstream({ os, compat }: NodeSpec): boolean {
  return os === "windows" && compat === "upstream";
}

function checkNetwork(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const { driver, plugin } = cluster.network;
  const { place } = raw.ipv6.value.enabled;
  const isWindowsThere = cluster.nodes.some(({ os }) => os === "windows");
  const { ipv6Reason: reason } = driverTraits(driver);
  if (reason !== "") {
    const message = WORDS.driverWithoutIpv6({ driver, reason });
    const advice = WORDS.adviceL2BridgeOrNoIpv6;
    reading.reportMismatch(place, message, advice);
  } else if (hasDocker(plugin)) {
    reading.reportMismatch(place, WORDS.dockerWithoutIpv6, WORDS.adviceL2BridgeOrNoIpv6);
  } else if (plugin === "flannel") {
    // control-planes.md §1.3: the back ends of Windows do not look at the second family.
    const message = isWindowsThere
      ? "flanneld on Windows leads IPv4 alone"
      : "clusters with flannel have IPv4 alone here";
    const advice = "Write network.plugin: hns, or leave ipv6 out.";
    reading.report("flannel-option-not-for-windows", place, message, advice);
  } else if (plugin === "win-bridge" && cluster.nodes.some(isUpstream)) {
    // cni.md §8, row 48.
    const message = WORDS.winBridgeSingleStack;
    const advice = "Write network.plugin: hns, or compat: hardened on the Windows nodes.";
    reading.reportMismatch(raw.network.value.plugin.place, message, advice);
  }
  for (const [index, node] of cluster.nodes.entries()) {
    if (node.build === undefined || hasFeature(hnsVersionOf(node.build), "IPv6DualStack")) continue;
    const message = `HNS of ${node.build.profile.title} knows no dual stack`;
    const advice = "Choose a later build, such as ws2022, or leave ipv6 out.";
    const at = raw.nodes.value[index]?.value.build.place ?? place;
    reading.reportValue(at, message, advice, "dual-stack-from-2004");
  }
}
