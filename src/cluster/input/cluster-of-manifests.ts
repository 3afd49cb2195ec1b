/**
 * Manifests without a cluster file: which machines they run on. A dump of a cluster brings its Node objects; manifests
 * without any get two Windows Server 2022 nodes and a Linux node.
 */
import type { JsonObject } from "#core/base/json.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import type { KubeObject, Node, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, formatIp, formatPrefix, parseIpv4, prefixContains, prefixOf } from "#core/net/ip.ts";
import type { AddressRange } from "../file/cluster-file.ts";
import { parseReportedVersion } from "../session/node-object.ts";
import type { RecognisedNetwork } from "./recognise-network.ts";
import {
  type ClusterRanges,
  type DumpedNode,
  UNDERLAY_LENGTH_MIN,
  isAzureOverlay,
  rangesOf,
} from "./cluster-ranges.ts";
import {
  type DumpedSecondFamily,
  needsSecondFamily,
  nodeWithoutSecondFamily,
  secondFamilyOf,
} from "./second-family-of-dump.ts";

/** The machines of manifests that bring none. */
const DEFAULT_NODES: readonly JsonObject[] = [
  { name: "win-1", os: "windows", build: "ws2022", address: "10.0.0.11" },
  { name: "win-2", os: "windows", build: "ws2022", address: "10.0.0.12" },
  { name: "linux-1", os: "linux", address: "10.0.0.21" },
];
/** Nodes without any address count up from here. */
const FIRST_ADDRESS = (10 * 2 ** 24 + 11) as Ipv4;
/** Names that a message lists; the rest is counted. */
const NAMES_MAX = 3;

/** Something that had to be assumed. */
export interface Assumption {
  readonly message: string;
  /** Whom it is about; undefined: the cluster. */
  readonly node?: string;
}

/** A cluster file to be parsed, and what had to be assumed to write it. */
export interface WrittenCluster {
  readonly document: JsonObject;
  readonly assumptions: readonly Assumption[];
}

function addressOf(node: Node): Ipv4 | undefined {
  for (const { type, address } of node.status?.addresses ?? []) {
    const ip = type === "InternalIP" ? parseIpv4(address) : undefined;
    if (ip !== undefined) return ip;
  }
  return undefined;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(", ");
  return names.length > NAMES_MAX ? `${shown} and ${names.length - NAMES_MAX} more` : shown;
}

/** Which nodes become machines, and what is assumed about the others and their addresses. */
function machinesOf(nodes: readonly Node[], assumptions: Assumption[]): readonly DumpedNode[] {
  const found = nodes.flatMap((node): readonly DumpedNode[] => {
    const address = addressOf(node);
    return address === undefined
      ? []
      : [{ node, os: nodeOs(node) === "windows" ? "windows" : "linux", address }];
  });
  if (found.length === 0) {
    assumptions.push({
      message: `no Node has an InternalIP: they get addresses from ${formatIp(FIRST_ADDRESS)} on`,
    });
    return nodes.map((node, index) => ({
      node,
      os: nodeOs(node) === "windows" ? "windows" : "linux",
      address: (FIRST_ADDRESS + index) as Ipv4,
    }));
  }
  const network = prefixOf(found[0]?.address ?? FIRST_ADDRESS, UNDERLAY_LENGTH_MIN);
  const near = found.filter(({ address }) => prefixContains(network, address));
  const far = found.filter((each) => !near.includes(each));
  if (far.length > 0) {
    const names = listed(far.map(({ node }) => node.metadata.name));
    assumptions.push({
      message: `nodes whose addresses are outside ${formatPrefix(network)} are of another network and are left out: ${names}`,
    });
  }
  return near;
}

function buildOf(node: Node, assumptions: Assumption[]): string | undefined {
  const { name, labels } = node.metadata;
  const kernel = node.status?.nodeInfo?.kernelVersion ?? labels?.["node.kubernetes.io/windows-build"];
  const build = kernel === undefined ? undefined : parseProfile(kernel);
  if (build === undefined) {
    const said =
      kernel === undefined || kernel === ""
        ? "does not name its build of Windows"
        : `says ${JSON.stringify(kernel)}, which is not a build of Windows that Mullion knows`;
    assumptions.push({ node: name, message: `node ${name} ${said}: Server 2022 is taken` });
    return undefined;
  }
  if (build.note !== undefined) assumptions.push({ node: name, message: `node ${name}: ${build.note}` });
  return kernel;
}

/** The version that the Windows nodes report; each node's own kube-proxy follows its own. */
function kubernetesOf(machines: readonly DumpedNode[], assumptions: Assumption[]): string | undefined {
  const reported = machines
    .toSorted((a, b) => Number(b.os === "windows") - Number(a.os === "windows"))
    .flatMap(
      ({ node: { status } }) => status?.nodeInfo?.kubeProxyVersion || status?.nodeInfo?.kubeletVersion || [],
    );
  const [text = ""] = reported;
  const version = parseReportedVersion(text);
  if (version === undefined) return undefined;
  const { major, minor, patch } = version;
  const known = `${major}.${minor}`;
  if (!text.replace(/^v/, "").startsWith(`${known}.`) && text.replace(/^v/, "") !== known)
    assumptions.push({ message: `Kubernetes ${text} is taken for ${known}, the nearest that Mullion knows` });
  return patch === undefined ? known : `${known}.${patch}`;
}

/** What the objects show of the network, for a cluster file: fields of `network`, and of `kubeProxy`. */
export type ShownNetwork = Pick<RecognisedNetwork, "fields" | "kubeProxy">;

export const NOTHING_SHOWN: ShownNetwork = Object.freeze({
  fields: Object.freeze({}),
  kubeProxy: Object.freeze({ enableDSR: undefined, networkName: undefined }),
});

function isWithoutIpv6({ fields }: ShownNetwork): boolean {
  return fields["driver"] === "Overlay" || fields["plugin"] === "flannel";
}

/** The second family of a dump, unless a node of it cannot have one. */
function secondFamily(
  machines: readonly DumpedNode[],
  known: {
    readonly pods: readonly Pod[];
    readonly services: readonly Service[];
    readonly ranges: ClusterRanges;
    readonly shown: ShownNetwork;
  },
  assumptions: Assumption[],
): DumpedSecondFamily | undefined {
  const found = secondFamilyOf(machines, known.pods, known.services, known.ranges);
  if (found === undefined) return undefined;
  if (isWithoutIpv6(known.shown)) {
    assumptions.push({
      message: "the cluster has IPv6 addresses, and its network has none on Windows: IPv4 alone is taken",
    });
    return undefined;
  }
  if (known.ranges.shape !== "own-subnet") {
    assumptions.push({
      message: `pods share the subnet ${formatPrefix(known.ranges.pods)} and have IPv6 addresses, too: IPv4 alone is taken`,
    });
    return undefined;
  }
  const old = nodeWithoutSecondFamily(machines);
  if (old !== undefined) {
    assumptions.push({
      node: old,
      message: `the cluster has IPv6 addresses, and HNS of node ${old} knows no dual stack: IPv4 alone is taken`,
    });
    return undefined;
  }
  if (machines.some(({ os }) => os === "windows"))
    assumptions.push({
      message:
        "pods have addresses of two families: HNS gives them to pods on Windows nodes, without a CNI plugin",
    });
  return found;
}

/** `kubeProxy` of the cluster file, where the objects say it. */
function proxyFields({ kubeProxy }: ShownNetwork): JsonObject {
  return kubeProxy.enableDSR?.value === true ? { kubeProxy: { enableDSR: true } } : {};
}

function formatAddressRange({ first, last }: AddressRange): string {
  return first === last ? formatIp(first) : `${formatIp(first)}-${formatIp(last)}`;
}

function sharedSubnetNote({ shape, pods }: ClusterRanges): string {
  const subnet = formatPrefix(pods);
  return shape === "node-subnet"
    ? `pods have single addresses of the subnet of the nodes, as the dump gives them: ${subnet} is taken for it`
    : `pods of all nodes have single addresses of one subnet, as the dump gives them: ${subnet} is taken for it`;
}

/** AKS says of its nodes which cluster they are of (https://learn.microsoft.com/en-us/azure/aks/use-labels). */
const AKS_CLUSTER_LABEL = "kubernetes.azure.com/cluster";

/** Who attaches pods whose addresses no win-bridge gives out: azure-vnet on nodes of AKS, else the cluster itself. */
function attachmentOf(machines: readonly DumpedNode[], { shape }: ClusterRanges): JsonObject {
  if (shape === "own-subnet") {
    const isOverlay = machines.some(({ node, os }) => os === "windows" && isAzureOverlay(node));
    return isOverlay ? { plugin: "azure-vnet", shape, name: "azure" } : {};
  }
  const isAzure = machines.some(({ node }) => node.metadata.labels?.[AKS_CLUSTER_LABEL] !== undefined);
  return isAzure ? { plugin: "azure-vnet", shape, name: "azure" } : { plugin: "hns", shape };
}

/** Fields that the objects show; those of networks with a range for each node do not hold where pods share a subnet. */
function shownFields(
  { fields }: ShownNetwork,
  { shape }: ClusterRanges,
  assumptions: Assumption[],
): JsonObject {
  if (shape === "own-subnet" || Object.keys(fields).length === 0) return fields;
  const message =
    "the objects show a network in which each node has a range for its pods, and pods share a subnet: an L2Bridge network with these addresses is taken";
  assumptions.push({ message });
  return {};
}

function clusterOfDump(
  nodes: readonly Node[],
  objects: readonly KubeObject[],
  shown: ShownNetwork,
): WrittenCluster {
  const assumptions: Assumption[] = [];
  const machines = machinesOf(nodes, assumptions);
  const pods = objects.filter((object) => object.kind === "Pod");
  const services = objects.filter((object) => object.kind === "Service");
  const ranges = rangesOf(machines, pods, services);
  if (ranges.moved.length > 0) {
    assumptions.push({
      message: `pods of ${listed(ranges.moved)} have addresses outside spec.podCIDR of their node: their ranges are used`,
    });
  }
  if (ranges.shape !== "own-subnet") assumptions.push({ message: sharedSubnetNote(ranges) });
  const version = kubernetesOf(machines, assumptions);
  const second = secondFamily(machines, { pods, services, ranges, shown }, assumptions);
  const document = {
    apiVersion: "mullion/v1alpha1",
    kind: "Cluster",
    metadata: { name: "dump" },
    ...(version === undefined ? {} : { kubernetes: { version } }),
    nodes: machines.map(({ node, os, address }) => {
      const build = os === "windows" ? buildOf(node, assumptions) : undefined;
      const range = ranges.ofNode.get(node.metadata.name);
      const own = second?.ofNode.get(node.metadata.name);
      const single = ranges.addressesOf.get(node.metadata.name);
      return {
        name: node.metadata.name,
        os,
        address: formatIp(address),
        ...(build === undefined ? {} : { build }),
        ...(range === undefined ? {} : { podCIDR: formatPrefix(range) }),
        ...(single === undefined ? {} : { podAddresses: single.map(formatAddressRange) }),
        ...(own === undefined ? {} : { ipv6: own }),
      };
    }),
    underlay: { subnet: formatPrefix(ranges.underlay), router: formatIp(ranges.router) },
    network: {
      ...shownFields(shown, ranges, assumptions),
      ...(second === undefined ? attachmentOf(machines, ranges) : { plugin: "hns" }),
      clusterCIDR: formatPrefix(ranges.pods),
      nodeCIDRMaskSize: ranges.blockLength,
      serviceCIDR: formatPrefix(ranges.services),
    },
    ...proxyFields(shown),
    ...(second === undefined ? {} : { ipv6: second.ipv6 }),
  };
  return { document, assumptions };
}

/** The cluster file for manifests that come without one. */
export function clusterOfManifests(
  objects: readonly KubeObject[],
  shown: ShownNetwork = NOTHING_SHOWN,
): WrittenCluster {
  const nodes = objects.filter((object) => object.kind === "Node");
  if (nodes.length > 0) return clusterOfDump(nodes, objects, shown);
  const isDual =
    !isWithoutIpv6(shown) && objects.some((object) => object.kind === "Service" && needsSecondFamily(object));
  const second = isDual ? ", with IPv4 and IPv6, which Services ask for" : "";
  return {
    document: {
      apiVersion: "mullion/v1alpha1",
      kind: "Cluster",
      metadata: { name: "manifests" },
      nodes: DEFAULT_NODES,
      network: { ...shown.fields, ...(isDual && { plugin: "hns" }) },
      ...proxyFields(shown),
      ...(isDual && { ipv6: { enabled: true } }),
    },
    assumptions: [
      {
        message: `the manifests bring no Node objects: they run on two Windows Server 2022 nodes and a Linux node${second}`,
      },
    ],
  };
}
