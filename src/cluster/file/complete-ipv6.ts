/** The second family of a dual-stack cluster: its addresses follow from those of the first. */
import { hasFeature } from "../../hcn/features.ts";
import { hnsVersionOf } from "../../knowledge/profiles.ts";
import { type Ipv4, type Ipv6, formatIp } from "../../net/ip.ts";
import { type Prefix, formatPrefix, lastIp, prefixesOverlap } from "../../net/prefix.ts";
import type { ClusterFile, Ipv6Spec, NetworkSpec, NodeSpec, UnderlaySpec } from "./cluster-file.ts";
import type { RawCluster } from "./complete-cluster.ts";
import type { Reading } from "./reading.ts";

/** The length of the underlay's subnet and of each node's pod range (`--node-cidr-mask-size-ipv6`). */
const LINK_LENGTH = 64;

/** The address that has the place in `to` that `ip` has in `from`. */
export function samePlaceIn(to: Prefix, from: Prefix, ip: Ipv4): Ipv6 {
  return ((to.address as Ipv6) + BigInt(ip - Number(from.address))) as Ipv6;
}

/** Undefined: the file does not ask for it. */
export function completeIpv6(
  raw: RawCluster,
  known: {
    readonly network: NetworkSpec;
    readonly underlay: UnderlaySpec;
    readonly nodes: readonly NodeSpec[];
  },
): Ipv6Spec | undefined {
  const { enabled, subnet, clusterCIDR, serviceCIDR, podRoutes } = raw.ipv6.value;
  if (!enabled.value) return undefined;
  const { network, underlay, nodes } = known;
  const isShared = network.shape === "node-subnet";
  const podRangeOf = ({ podCIDR }: NodeSpec, index: number): Prefix =>
    isShared
      ? {
          address: samePlaceIn(subnet.value, underlay.subnet, podCIDR.address as Ipv4),
          length: 96 + podCIDR.length,
        }
      : { address: blockOf(clusterCIDR.value, index), length: LINK_LENGTH };
  return {
    subnet: subnet.value,
    router: samePlaceIn(subnet.value, underlay.subnet, underlay.router),
    clusterCIDR: isShared ? subnet.value : clusterCIDR.value,
    serviceCIDR: serviceCIDR.value,
    hasPodRoutes: podRoutes.value && !isShared,
    nodes: Object.fromEntries(
      nodes.map((node, index) => [
        node.name,
        {
          address: samePlaceIn(subnet.value, underlay.subnet, node.address),
          podRange: podRangeOf(node, index),
        },
      ]),
    ),
  };
}

/** The first address of the block of a node. */
function blockOf(range: Prefix, index: number): Ipv6 {
  return ((range.address as Ipv6) + (BigInt(index) << BigInt(128 - LINK_LENGTH))) as Ipv6;
}

/** Reports ranges that do not fit, and networks that carry no IPv6 (dataplane.md §2.11). */
export function checkIpv6(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const { ipv6 } = cluster;
  const places = raw.ipv6.value;
  if (ipv6 === undefined) return;
  if (ipv6.subnet.length !== LINK_LENGTH) {
    const message = `${formatPrefix(ipv6.subnet)} is no /${LINK_LENGTH}`;
    reading.reportValue(places.subnet.place, message, `Write a range of length ${LINK_LENGTH}.`);
    return;
  }
  const { value: clusterCIDR, place } = places.clusterCIDR;
  const room = clusterCIDR.length > LINK_LENGTH ? 0n : 1n << BigInt(LINK_LENGTH - clusterCIDR.length);
  if (BigInt(cluster.nodes.length) > room) {
    const message = `${formatPrefix(clusterCIDR)} has no /${LINK_LENGTH} for each of ${cluster.nodes.length} nodes`;
    reading.reportValue(place, message, "Write a shorter length, such as /48.");
    return;
  }
  const ranges = [
    { name: "the underlay's subnet", prefix: ipv6.subnet, place: places.subnet.place },
    { name: "ipv6.clusterCIDR", prefix: clusterCIDR, place },
    { name: "ipv6.serviceCIDR", prefix: ipv6.serviceCIDR, place: places.serviceCIDR.place },
  ];
  for (const [index, range] of ranges.entries()) {
    const other = ranges.slice(0, index).find((each) => prefixesOverlap(each.prefix, range.prefix));
    if (other === undefined) continue;
    const message = `${formatPrefix(range.prefix)} overlaps ${other.name}, ${formatPrefix(other.prefix)}`;
    const advice = `Choose a range that shares no address with it; it ends at ${formatIp(lastIp(other.prefix))}.`;
    reading.report("cluster-file-overlapping-ranges", range.place, message, advice);
  }
  checkNetwork(raw, cluster, reading);
}

function checkNetwork(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const { driver, plugin } = cluster.network;
  const { place } = raw.ipv6.value.enabled;
  const isWindowsThere = cluster.nodes.some(({ os }) => os === "windows");
  if (driver !== "L2Bridge") {
    const message = `networks of driver ${driver} carry no IPv6 that Windows gives addresses for`;
    const advice =
      "Write network.driver: L2Bridge, or leave ipv6 out. See also: mullion explain overlay-without-ipv6.";
    reading.report("cluster-file-driver-mismatch", place, message, advice);
  } else if (plugin === "win-bridge" && isWindowsThere) {
    const message = "win-bridge gives a pod the first address of its IPAM plugin and no second one";
    const advice = "Write network.plugin: hns.";
    reading.report("cluster-file-driver-mismatch", raw.network.value.plugin.place, message, advice);
  }
  for (const [index, node] of cluster.nodes.entries()) {
    if (node.build === undefined || hasFeature(hnsVersionOf(node.build), "IPv6DualStack")) continue;
    const message = `HNS of ${node.build.profile.title} knows no dual stack`;
    const advice = "Choose a later build, such as ws2022, or leave ipv6 out.";
    reading.reportValue(raw.nodes.value[index]?.value.build.place ?? place, message, advice);
  }
}
