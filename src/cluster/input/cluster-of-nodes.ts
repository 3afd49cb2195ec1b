/**
 * Manifests without a cluster file: which machines they run on. A dump of a cluster brings its Node objects; manifests
 * without any get two Windows Server 2022 nodes and a Linux node.
 */
import type { JsonObject } from "../../hcn/client.ts";
import { parseProfile } from "../../knowledge/profiles.ts";
import type { KubeObject, Node, Pod } from "../../kube/objects.ts";
import { type Ipv4, formatIp, parseIpv4 } from "../../net/ip.ts";
import {
  type Prefix,
  formatPrefix,
  lastIp,
  parsePrefix,
  prefixContains,
  prefixOf,
} from "../../net/prefix.ts";
import type { NodeOs } from "../file/cluster-file.ts";
import { KUBERNETES_MINOR_MAX, KUBERNETES_MINOR_MIN } from "../file/description.ts";

/** The machines of manifests that bring none. */
const DEFAULT_NODES: readonly JsonObject[] = [
  { name: "win-1", os: "windows", build: "ws2022", address: "10.0.0.11" },
  { name: "win-2", os: "windows", build: "ws2022", address: "10.0.0.12" },
  { name: "linux-1", os: "linux", address: "10.0.0.21" },
];

/** The smallest underlay that is tried: nodes of one subnet. */
const SUBNET_LENGTH_MAX = 24;
const SUBNET_LENGTH_MIN = 8;
/** What kube-controller-manager gives a node, and most plugins do. */
const POD_CIDR_LENGTH = 24;

/** A cluster file to be parsed, and what had to be assumed to write it. */
export interface WrittenCluster {
  readonly document: JsonObject;
  readonly notes: readonly string[];
}

function addressOf(node: Node): Ipv4 | undefined {
  for (const { type, address } of node.status?.addresses ?? []) {
    const ip = type === "InternalIP" ? parseIpv4(address) : undefined;
    if (ip !== undefined) return ip;
  }
  return undefined;
}

function osOf(node: Node): NodeOs {
  const labels = node.metadata.labels ?? {};
  const os =
    node.status?.nodeInfo?.operatingSystem ?? labels["kubernetes.io/os"] ?? labels["beta.kubernetes.io/os"];
  return os === "windows" ? "windows" : "linux";
}

/** The subnet that all nodes stand in: a /24, or the smallest that holds them. */
function underlayOf(addresses: readonly Ipv4[]): Prefix {
  const [first] = addresses;
  let length = SUBNET_LENGTH_MAX;
  for (; length > SUBNET_LENGTH_MIN; length--) {
    const subnet = prefixOf(first ?? (0 as Ipv4), length);
    if (addresses.every((ip) => prefixContains(subnet, ip) && ip !== subnet.address && ip !== lastIp(subnet)))
      break;
  }
  return prefixOf(first ?? (0 as Ipv4), length);
}

function routerIn(subnet: Prefix, taken: readonly Ipv4[]): Ipv4 {
  let ip = ((subnet.address as Ipv4) + 1) as Ipv4;
  while (taken.includes(ip)) ip = (ip + 1) as Ipv4;
  return ip;
}

/** The range of a node's pods, from the addresses that its pods have: one /24 that no other node's pods use. */
function podRangeFrom(node: Node, pods: readonly Pod[]): string | undefined {
  const subnets = new Set<string>();
  for (const pod of pods) {
    const ip = pod.status?.podIP === undefined ? undefined : parseIpv4(pod.status.podIP);
    if (ip === undefined || pod.spec?.hostNetwork === true || pod.spec?.nodeName !== node.metadata.name)
      continue;
    subnets.add(formatPrefix(prefixOf(ip, POD_CIDR_LENGTH)));
  }
  const [only] = subnets;
  return subnets.size === 1 ? only : undefined;
}

function podRangeOf(node: Node, pods: readonly Pod[]): string | undefined {
  const { podCIDR, podCIDRs = [] } = node.spec ?? {};
  const given = [podCIDR, ...podCIDRs].find(
    (text) => text !== undefined && typeof parsePrefix(text)?.address === "number",
  );
  return given ?? podRangeFrom(node, pods);
}

/** The smallest range, of length 16 or less, that covers all pod ranges. */
function clusterRangeOf(ranges: readonly string[]): string | undefined {
  const prefixes = ranges.flatMap((text) => parsePrefix(text) ?? []);
  const [first] = prefixes;
  if (first === undefined) return undefined;
  let length = Math.min(16, first.length);
  const covers = (): boolean =>
    prefixes.every((prefix) => prefixContains(prefixOf(first.address, length), prefix.address));
  while (length > SUBNET_LENGTH_MIN && !covers()) length--;
  return formatPrefix(prefixOf(first.address, length));
}

/** `v1.30.4+k3s1` → `1.30`, as long as Mullion knows that minor. */
function kubernetesOf(nodes: readonly Node[], notes: string[]): string | undefined {
  const versions = nodes.flatMap(
    ({ status }) => status?.nodeInfo?.kubeProxyVersion || status?.nodeInfo?.kubeletVersion || [],
  );
  const match = /^v?1\.(\d+)(?:\.(\d+))?/.exec(versions[0] ?? "");
  if (match === null) return undefined;
  const minor = Math.min(Math.max(Number(match[1]), KUBERNETES_MINOR_MIN), KUBERNETES_MINOR_MAX);
  if (minor !== Number(match[1]))
    notes.push(`Kubernetes 1.${match[1]} is taken for 1.${minor}, the nearest that Mullion knows`);
  return minor === Number(match[1]) && match[2] !== undefined ? `1.${minor}.${match[2]}` : `1.${minor}`;
}

function buildOf(node: Node, notes: string[]): string | undefined {
  const kernel =
    node.status?.nodeInfo?.kernelVersion ?? node.metadata.labels?.["node.kubernetes.io/windows-build"];
  const build = kernel === undefined ? undefined : parseProfile(kernel);
  if (build === undefined) {
    notes.push(`node ${node.metadata.name} does not say its build of Windows: Server 2022 is taken`);
    return undefined;
  }
  if (build.note !== undefined) notes.push(`node ${node.metadata.name}: ${build.note}`);
  return kernel;
}

function clusterOfDump(nodes: readonly Node[], pods: readonly Pod[]): WrittenCluster {
  const notes: string[] = [];
  const machines = nodes.flatMap((node) => {
    const address = addressOf(node);
    if (address === undefined)
      notes.push(`node ${node.metadata.name} has no InternalIP of IPv4 and is left out`);
    return address === undefined ? [] : [{ node, address, podCIDR: podRangeOf(node, pods) }];
  });
  const addresses = machines.map(({ address }) => address);
  const subnet = underlayOf(addresses);
  const ranges = machines.flatMap(({ podCIDR }) => podCIDR ?? []);
  const clusterCIDR = clusterRangeOf(ranges);
  const version = kubernetesOf(nodes, notes);
  const document = {
    apiVersion: "mullion/v1alpha1",
    kind: "Cluster",
    metadata: { name: "dump" },
    ...(version === undefined ? {} : { kubernetes: { version } }),
    nodes: machines.map(({ node, address, podCIDR }) => {
      const os = osOf(node);
      const build = os === "windows" ? buildOf(node, notes) : undefined;
      return {
        name: node.metadata.name,
        os,
        address: formatIp(address),
        ...(build === undefined ? {} : { build }),
        ...(podCIDR === undefined ? {} : { podCIDR }),
      };
    }),
    underlay: { subnet: formatPrefix(subnet), router: formatIp(routerIn(subnet, addresses)) },
    ...(clusterCIDR === undefined ? {} : { network: { clusterCIDR } }),
  };
  return { document, notes };
}

/** The cluster file for manifests that come without one. */
export function clusterOfManifests(objects: readonly KubeObject[]): WrittenCluster {
  const nodes = objects.filter((object) => object.kind === "Node");
  if (nodes.length > 0)
    return clusterOfDump(
      nodes,
      objects.filter((object) => object.kind === "Pod"),
    );
  return {
    document: {
      apiVersion: "mullion/v1alpha1",
      kind: "Cluster",
      metadata: { name: "manifests" },
      nodes: DEFAULT_NODES,
    },
    notes: ["no Node objects: two Windows Server 2022 nodes and a Linux node"],
  };
}
