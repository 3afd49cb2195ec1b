/**
 * The second family of a cluster that was dumped: whether it has one, and what can be said of it. Addresses of nodes, ranges of
 * pods and addresses of Services are facts; what no object says gets a default, and so does everything where the facts
 * contradict each other.
 */
import { hasFeature } from "#contracts/hcn/features.ts";
import type { JsonObject } from "#core/base/json.ts";
import { hnsVersionOf, parseProfile } from "#core/catalogue/profiles.ts";
import { isHostNetwork, isHostProcess, podAddresses } from "#contracts/kubernetes/pod.ts";
import type { Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import {
  type Ipv6,
  type Prefix,
  formatIp,
  formatPrefix,
  parseIpv6,
  parsePrefix,
  prefixContains,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { type ClusterRanges, type DumpedNode, hasAzureOverlay } from "./cluster-ranges.ts";
import { coverOf, firstApart, isApart } from "./address-ranges.ts";
import type { Contradiction } from "./network-account.ts";
import { clusterFile, clusterInput } from "#data/words.js";

const WORDS = clusterInput();
const FILE_WORDS = clusterFile();

/** What the cluster file says of the second family. */
export interface DumpedSecondFamily {
  readonly ipv6: JsonObject;
  /** `nodes[].ipv6`, by the node's name. */
  readonly ofNode: ReadonlyMap<string, JsonObject>;
  /** Pods have addresses that fit no ranges of nodes, so that they get others. */
  readonly movesPods: boolean;
}

const LINK_LENGTH = 64;
const IPV4_IN_IPV6 = 96;
/** Kubernetes takes no larger range of Services in IPv6. */
const SERVICE_LENGTH_MIN = 108;
const SERVICE_LENGTH = 112;
const SUBNETS = ["fd00:10::/64", "fd00:20::/64", "fd00:30::/64", "fd00:40::/64"];
const POD_RANGES = ["fd00:10:244::/48", "fd00:20:244::/48", "fd00:30:244::/48", "fd00:40:244::/48"];
const SERVICE_RANGES = ["fd00:10:96::/112", "fd00:20:96::/112", "fd00:30:96::/112", "fd00:40:96::/112"];

function addressesOf({ status }: Node): readonly Ipv6[] {
  return (status?.addresses ?? []).flatMap(({ type, address }) =>
    type === "InternalIP" ? (parseIpv6(address) ?? []) : [],
  );
}

function rangeOf({ spec }: Node): Prefix | undefined {
  return (spec?.podCIDRs ?? [])
    .flatMap((text) => parsePrefix(text) ?? [])
    .find(({ address }) => typeof address === "bigint");
}

function serviceAddresses(services: readonly Service[]): readonly Ipv6[] {
  return services.flatMap(({ spec }) =>
    [spec?.clusterIP, ...(spec?.clusterIPs ?? [])].flatMap((text) => parseIpv6(text ?? "") ?? []),
  );
}

/** True when a Service cannot be without IPv6. */
export function needsSecondFamily({ spec }: Service): boolean {
  const isAsked = spec?.ipFamilyPolicy === "RequireDualStack" || spec?.ipFamilies?.includes("IPv6") === true;
  return isAsked || serviceAddresses([{ spec } as Service]).length > 0;
}

function isDualStack(
  machines: readonly DumpedNode[],
  pods: readonly Pod[],
  services: readonly Service[],
): boolean {
  return (
    machines.some(({ node }) => rangeOf(node) !== undefined) ||
    pods.some((pod) => podAddresses(pod).some((text) => parseIpv6(text) !== undefined)) ||
    services.some(needsSecondFamily)
  );
}

/** A Windows node whose HNS has no second family (hcn.md §7.1). */
function nodeWithoutSecondFamily(machines: readonly DumpedNode[]): string | undefined {
  return machines.find(({ node, os }) => {
    const build = os === "windows" ? parseProfile(node.status?.nodeInfo?.kernelVersion ?? "") : undefined;
    return build !== undefined && !hasFeature(hnsVersionOf(build), "IPv6DualStack");
  })?.node.metadata.name;
}

/** The subnet of the machines and the address of each, where every one has one, and the router's place is free. */
function nodeAddresses(
  machines: readonly DumpedNode[],
  { underlay, router }: ClusterRanges,
): { readonly subnet: Prefix; readonly addresses: readonly Ipv6[] } | undefined {
  const addresses = machines.flatMap(({ node }) => addressesOf(node)[0] ?? []);
  const [first] = addresses;
  if (first === undefined || addresses.length !== machines.length) return undefined;
  const subnet = prefixOf(first, LINK_LENGTH);
  const routerIp = (subnet.address as Ipv6) + BigInt(router - Number(underlay.address));
  const isRight =
    addresses.every((ip) => prefixContains(subnet, ip) && ip !== subnet.address) &&
    new Set([...addresses, routerIp]).size === addresses.length + 1;
  return isRight ? { subnet, addresses } : undefined;
}

/**
 * Lengths of a node's block, the largest first. Inferred: AKS does not say them for overlays; CNS lists a block whole, so that
 * it is not large (Azure/azure-container-networking, cns/kubecontroller/nodenetworkconfig/conversion_windows.go).
 */
const BLOCK_LENGTHS = [80, 96, 112, 120];
/** In which these lie: what AKS takes for the pods of a cluster. */
const CLUSTER_LENGTH = 64;

/** The addresses of pods that have a network of their own, by node. */
function podAddressesOf(pods: readonly Pod[], { metadata }: Node): readonly Ipv6[] {
  return pods
    .filter((pod) => pod.spec?.nodeName === metadata.name && !isHostNetwork(pod) && !isHostProcess(pod))
    .flatMap((pod) => podAddresses(pod).flatMap((text) => parseIpv6(text) ?? []));
}

/** A block beside `taken`; undefined: there is none near the first. */
function freeBlock(near: Prefix, taken: readonly Prefix[]): Prefix | undefined {
  const size = 1n << BigInt(128 - near.length);
  for (let index = 0n; index <= BigInt(taken.length); index++) {
    const address = (prefixOf(near.address, CLUSTER_LENGTH).address as Ipv6) + index * size;
    const block: Prefix = { address: address as Ipv6, length: near.length };
    if (taken.every((other) => !prefixesOverlap(other, block))) return block;
  }
  return undefined;
}

/**
 * Blocks of equal length that tell the pods of the nodes apart, where no object says the ranges (Azure CNI Overlay): the
 * largest that do. Undefined: the addresses of one node lie between those of another.
 */
function blocksAround(machines: readonly DumpedNode[], pods: readonly Pod[]): readonly Prefix[] | undefined {
  const ofNode = machines.map(({ node }) => podAddressesOf(pods, node));
  for (const length of BLOCK_LENGTHS) {
    const blocks = ofNode.map(([first]) => (first === undefined ? undefined : prefixOf(first, length)));
    const known = blocks.filter((block) => block !== undefined);
    const [near] = known;
    if (near === undefined) return undefined;
    const areApart = new Set(known.map(formatPrefix)).size === known.length;
    const areWhole = ofNode.every((ips, index) =>
      ips.every((ip) => prefixContains(blocks[index] ?? near, ip)),
    );
    if (!areApart || !areWhole) continue;
    const all: Prefix[] = [];
    for (const block of blocks) {
      const found = block ?? freeBlock(near, [...known, ...all]);
      if (found === undefined) return undefined;
      all.push(found);
    }
    return all;
  }
  return undefined;
}

/** The range of each node's pods, where all of them have one with room for what the first family has. */
function podRanges(
  machines: readonly DumpedNode[],
  { ranges: { ofNode, blockLength }, pods, nodeRanges }: KnownOfDump,
  others: readonly Prefix[],
): { readonly cover: Prefix; readonly ranges: readonly Prefix[] } | undefined {
  const said = machines.flatMap(({ node }) => {
    const told = nodeRanges.get(node.metadata.name)?.find(({ address }) => typeof address === "bigint");
    return rangeOf(node) ?? told ?? [];
  });
  const ranges = said.length > 0 ? said : (blocksAround(machines, pods) ?? []);
  if (ranges.length !== machines.length) return undefined;
  const hasRoom = machines.every(({ node }, index) => {
    const first = ofNode.get(node.metadata.name)?.length ?? blockLength;
    return (ranges[index]?.length ?? 128) <= IPV4_IN_IPV6 + first;
  });
  const least = coverOf(ranges);
  const cover =
    least === undefined || said.length > 0
      ? least
      : prefixOf(least.address, Math.min(least.length, CLUSTER_LENGTH));
  const areApart = ranges.every((range, index) =>
    ranges.slice(0, index).every((other) => !prefixesOverlap(range, other)),
  );
  return cover !== undefined && hasRoom && areApart && isApart(cover, others) ? { cover, ranges } : undefined;
}

/** The range of Services: those near the first one. */
function serviceRange(services: readonly Service[], others: readonly Prefix[]): Prefix {
  const addresses = serviceAddresses(services);
  const [first] = addresses;
  if (first === undefined) return firstApart(SERVICE_RANGES, others);
  const largest = prefixOf(first, SERVICE_LENGTH_MIN);
  const near = addresses
    .filter((ip) => prefixContains(largest, ip))
    .map((ip) => prefixOf(ip, SERVICE_LENGTH));
  const cover = coverOf(near) ?? largest;
  return isApart(cover, others) ? cover : firstApart(SERVICE_RANGES, others);
}

/** Undefined: nothing in the dump has an IPv6 address. Nodes that cannot have one are looked for elsewhere. */
function secondFamilyOf(machines: readonly DumpedNode[], dump: KnownOfDump): DumpedSecondFamily | undefined {
  const { pods, services, ranges } = dump;
  if (!isDualStack(machines, pods, services)) return undefined;
  const nodes = nodeAddresses(machines, ranges);
  const facts = serviceAddresses(services).map((ip) => prefixOf(ip, SERVICE_LENGTH));
  const known = nodes === undefined ? [] : [nodes.subnet];
  const given = podRanges(machines, dump, known);
  const taken = [...known, ...(given === undefined ? [] : [given.cover])];
  const service = serviceRange(services, taken);
  const subnet = nodes?.subnet ?? firstApart(SUBNETS, [...taken, service, ...facts]);
  const cluster = given?.cover ?? firstApart(POD_RANGES, [subnet, service]);
  const ofNode = machines.map(({ node }, index) => {
    const address = nodes?.addresses[index];
    const podCIDR = given?.ranges[index];
    return [
      node.metadata.name,
      {
        ...(address === undefined ? {} : { address: formatIp(address) }),
        ...(podCIDR === undefined ? {} : { podCIDR: formatPrefix(podCIDR) }),
      },
    ] as const;
  });
  return {
    ipv6: {
      enabled: true,
      subnet: formatPrefix(subnet),
      clusterCIDR: formatPrefix(cluster),
      serviceCIDR: formatPrefix(service),
    },
    ofNode: new Map(ofNode.filter(([, fields]) => Object.keys(fields).length > 0)),
    movesPods: given === undefined && machines.some(({ node }) => podAddressesOf(pods, node).length > 0),
  };
}

/** Why pods of Windows nodes have no second address, and what of the objects' network says so. */
type FamilyLack = Pick<Contradiction, "code"> & { readonly reason: string };

/**
 * Networks without a second family on Windows. Kubernetes documentation, IPv4/IPv6 dual-stack, Windows support: dual stack is
 * for l2bridge, and overlays do not have it; kube-proxy falls back to one family there (pkg/proxy/winkernel,
 * `DualStackCompatible`), although HNS has it from build 22410 on (microsoft/Windows-Containers issue 82). flannel's
 * `hostgw_windows.go` and `vxlan_windows.go` look at the IPv4 subnet of a lease alone.
 */
export function networkWithoutIpv6(fields: JsonObject): FamilyLack | undefined {
  if (fields["driver"] === "Overlay" || fields["backend"] === "vxlan")
    return {
      code: "overlay-without-ipv6",
      reason: "Overlay networks on Windows do not support dual stack",
    };
  if (fields["plugin"] === "flannel")
    return { code: "flannel-option-not-for-windows", reason: "flanneld on Windows leads IPv4 alone" };
  return undefined;
}

/** From 1.26.3 on AKS has dual stack with overlays (https://learn.microsoft.com/en-us/azure/aks/azure-cni-overlay). */
const AZURE_MINOR_MIN = 26;

function lackOfSecondFamily(
  machines: readonly DumpedNode[],
  { ranges, fields, minor }: KnownOfDump,
): FamilyLack | undefined {
  const ofNetwork = networkWithoutIpv6(fields);
  if (ofNetwork !== undefined) return ofNetwork;
  if (ranges.shape !== "own-subnet")
    return {
      // AKS has dual stack with an overlay or kubenet, EKS has IPv6 on Linux nodes.
      code: "network-not-emulated",
      reason: WORDS.podSubnetIpv4Only({ pods: formatPrefix(ranges.pods) }),
    };
  if (hasAzureOverlay(machines) && minor < AZURE_MINOR_MIN)
    return {
      code: "service-ipv6-unsupported",
      reason: FILE_WORDS.azureOverlayDualStackVersion({ minor }),
    };
  const old = nodeWithoutSecondFamily(machines);
  return old === undefined
    ? undefined
    : { code: "service-ipv6-unsupported", reason: `HNS of node ${old} knows no dual stack` };
}

/** What a cluster with IPv6 addresses lacks: a finding where Windows nodes are meant to have them. */
export function tellLack(
  { code, reason }: FamilyLack,
  hasWindows: boolean,
  { assumptions, findings }: Pick<Told, "assumptions" | "findings">,
): undefined {
  if (hasWindows) {
    const message = `the cluster has IPv6 addresses, and ${reason}: IPv4 alone is taken`;
    findings.push({ code, where: undefined, message });
  } else {
    assumptions.push({ message: WORDS.ipv6NotEmulated });
  }
  return undefined;
}

/** What is said while a cluster is written: what was assumed, and what Windows cannot have. */
interface Told {
  readonly assumptions: { readonly message: string }[];
  readonly findings: Contradiction[];
}

/** What else is read off a dump. */
interface KnownOfDump {
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  readonly ranges: ClusterRanges;
  /** `network` of the cluster file, as the objects show it. */
  readonly fields: JsonObject;
  /** By node: the blocks of its pods that objects tell, of either family. */
  readonly nodeRanges: ReadonlyMap<string, readonly Prefix[]>;
  /** Of the version of Kubernetes, 1.x. */
  readonly minor: number;
}

/** The second family of a dump, unless a node of it cannot have one. */
export function secondFamily(
  machines: readonly DumpedNode[],
  known: KnownOfDump,
  told: Told,
): DumpedSecondFamily | undefined {
  const found = secondFamilyOf(machines, known);
  if (found === undefined) return undefined;
  const hasWindows = machines.some(({ os }) => os === "windows");
  const lack = lackOfSecondFamily(machines, known);
  if (lack !== undefined) return tellLack(lack, hasWindows, told);
  if (found.movesPods)
    told.assumptions.push({
      message: WORDS.podIpv6Reassigned,
    });
  if (hasWindows && !hasAzureOverlay(machines))
    told.assumptions.push({
      message: WORDS.dualStackThroughHns,
    });
  return found;
}
