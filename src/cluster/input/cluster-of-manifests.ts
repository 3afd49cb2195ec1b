/**
 * Manifests without a cluster file: which machines they run on. A dump of a cluster brings its Node objects; manifests
 * without any get Windows nodes of the builds that their pods ask for, else two of Windows Server 2022, and a Linux node.
 */
import { defined } from "#core/base/assert.ts";
import type { JsonObject } from "#core/base/json.ts";
import { listed } from "#core/base/text-layout.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import type { KubeObject, Node } from "#contracts/kubernetes/objects.ts";
import {
  type Ipv4,
  type Prefix,
  equalPrefixes,
  formatIp,
  formatPrefix,
  hostPrefix,
  parseIpv4,
  parsePrefix,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import { formatAddressRange, formatRelease } from "../file/cluster-file.ts";
import { CLUSTER_FILE_VERSION, DEFAULTS, KUBERNETES_MINOR_MAX } from "../file/description.ts";
import { parseReportedVersion } from "../session/node-object.ts";
import { isApart } from "./address-ranges.ts";
import { FIRST_ADDRESS, assumedNodes, nodesOfPods, ownLabels } from "./assumed-nodes.ts";
import type { Contradiction } from "./network-account.ts";
import type { RecognisedNetwork } from "./recognise-network.ts";
import type { ToldCluster, ToldSetting } from "./told-ranges.ts";
import {
  type ClusterRanges,
  type DumpedNode,
  UNDERLAY_LENGTH_MIN,
  hasAzureOverlay,
  rangesOf,
} from "./cluster-ranges.ts";
import { needsSecondFamily, networkWithoutIpv6, secondFamily, tellLack } from "./second-family-of-dump.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

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
  /** What of the input Windows cannot have. */
  readonly findings: readonly Contradiction[];
}

function addressOf(node: Node): Ipv4 | undefined {
  for (const { type, address } of node.status?.addresses ?? []) {
    const ip = type === "InternalIP" ? parseIpv4(address) : undefined;
    if (ip !== undefined) return ip;
  }
  return undefined;
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
      message: WORDS.nodesOutsideNetwork({ network: formatPrefix(network), names }),
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
        : WORDS.windowsBuildUnknown({ kernel: JSON.stringify(kernel) });
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
  const known = `${version.major}.${version.minor}`;
  if (!text.replace(/^v/, "").startsWith(`${known}.`) && text.replace(/^v/, "") !== known)
    assumptions.push({ message: `Kubernetes ${text} is taken for ${known}, the nearest that Mullion knows` });
  return formatRelease(version);
}

/** The minor version; that of the newest where none is said. */
function minorOf(version: string | undefined): number {
  return parseReportedVersion(version ?? "")?.minor ?? KUBERNETES_MINOR_MAX;
}

/** What the objects show of the network, for a cluster file: fields of `network`, and of `kubeProxy`. */
export type ShownNetwork = Pick<RecognisedNetwork, "fields" | "kubeProxy" | "told">;

export const NOTHING_SHOWN: ShownNetwork = Object.freeze({
  fields: Object.freeze({}),
  kubeProxy: Object.freeze({ enableDSR: undefined, networkName: undefined, ofFiles: Object.freeze([]) }),
  told: Object.freeze({
    builds: [],
    pods: undefined,
    services: undefined,
    dnsDomain: undefined,
    version: undefined,
    nodeRanges: new Map(),
    contradictions: Object.freeze([]),
  }),
});

/** `kubeProxy` of the cluster file, where the objects say it. */
function proxyFields({ kubeProxy }: ShownNetwork): JsonObject {
  return kubeProxy.enableDSR?.value === true ? { kubeProxy: { enableDSR: true } } : {};
}

function sharedSubnetNote({ shape, pods }: ClusterRanges): string {
  const subnet = formatPrefix(pods);
  return shape === "node-subnet" ? WORDS.nodeSubnetAssumed({ subnet }) : WORDS.podSubnetAssumed({ subnet });
}

/** AKS says of its nodes which cluster they are of (https://learn.microsoft.com/en-us/azure/aks/use-labels). */
const AKS_CLUSTER_LABEL = "kubernetes.azure.com/cluster";

/** Who attaches pods whose addresses no win-bridge gives out: azure-vnet on nodes of AKS, else the cluster itself. */
function attachmentOf(
  machines: readonly DumpedNode[],
  { shape }: ClusterRanges,
  isDualStack: boolean,
): JsonObject {
  if (shape === "own-subnet") {
    if (hasAzureOverlay(machines)) return { plugin: "azure-vnet", shape, name: "azure" };
    return isDualStack ? { plugin: "hns" } : {};
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
  const message = WORDS.podsShareSubnetOverridden;
  assumptions.push({ message });
  return {};
}

/** What is told, and does not fit the addresses of the machines. */
function rangesNotTaken(
  { pods, services }: ToldCluster,
  taken: { readonly pods: Prefix | undefined; readonly services: Prefix | undefined },
): readonly Assumption[] {
  const note = (
    told: ToldSetting<Prefix> | undefined,
    own: Prefix | undefined,
    what: string,
  ): readonly Assumption[] => {
    if (told === undefined || (own !== undefined && equalPrefixes(told.value, own))) return [];
    const instead = own === undefined ? "another one" : formatPrefix(own);
    const range = formatPrefix(told.value);
    return [
      {
        message: WORDS.rangeOverridden({ source: told.source, range, what, instead }),
      },
    ];
  };
  return [...note(pods, taken.pods, "pods"), ...note(services, taken.services, "Services")];
}

/** `dns` and `kubernetes` of the cluster file, as kubeadm is told. */
function kubeadmFields({ dnsDomain, version }: ToldCluster): JsonObject {
  const release = parseReportedVersion(version?.value ?? "");
  return {
    ...(dnsDomain === undefined || !isDnsName(dnsDomain.value) ? {} : { dns: { domain: dnsDomain.value } }),
    ...(release === undefined ? {} : { kubernetes: { version: formatRelease(release) } }),
  };
}

/** Windows nodes without an address or a range of IPv4 (windows-networking-documentation.md §7). */
function ipv6Alone(machines: readonly DumpedNode[]): readonly Contradiction[] {
  const isAlone = (texts: readonly string[]): boolean =>
    texts.length > 0 && texts.every((text) => text.includes(":"));
  const alone = machines.filter(({ node: { spec, status }, os }) => {
    const addresses = (status?.addresses ?? []).flatMap(({ type, address }) =>
      type === "InternalIP" ? address : [],
    );
    const ranges = spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
    return os === "windows" && (isAlone(addresses) || isAlone(ranges));
  });
  if (alone.length === 0) return [];
  const names = listed(alone.map(({ node }) => node.metadata.name));
  return [
    { code: "node-ipv6-only", where: undefined, message: `Windows has no IPv6 alone, as ${names} would` },
  ];
}

function clusterOfDump(
  nodes: readonly Node[],
  objects: readonly KubeObject[],
  shown: ShownNetwork,
): WrittenCluster {
  const assumptions: Assumption[] = [];
  const machines = machinesOf(nodes, assumptions);
  const findings: Contradiction[] = [...ipv6Alone(machines)];
  const pods = objects.filter((object) => object.kind === "Pod");
  const services = objects.filter((object) => object.kind === "Service");
  const { told } = shown;
  const ranges = rangesOf(machines, pods, services, {
    pods: told.pods?.value,
    services: told.services?.value,
    nodeRanges: told.nodeRanges,
  });
  assumptions.push(...rangesNotTaken(told, ranges));
  if (ranges.moved.length > 0) {
    assumptions.push({
      message: WORDS.podCIDROverridden({ moved: listed(ranges.moved) }),
    });
  }
  if (ranges.shape !== "own-subnet") assumptions.push({ message: sharedSubnetNote(ranges) });
  const version = kubernetesOf(machines, assumptions);
  const second = secondFamily(
    machines,
    { pods, services, ranges, fields: shown.fields, nodeRanges: told.nodeRanges, minor: minorOf(version) },
    { assumptions, findings },
  );
  // A Node among the objects has its labels itself.
  const isTold = objects.some(({ kind }) => kind === "Node");
  const document = {
    apiVersion: CLUSTER_FILE_VERSION,
    kind: "Cluster",
    metadata: { name: "dump" },
    ...kubeadmFields(told),
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
        ...(isTold ? {} : { labels: ownLabels(node) }),
      };
    }),
    underlay: { subnet: formatPrefix(ranges.underlay), router: formatIp(ranges.router) },
    network: {
      ...shownFields(shown, ranges, assumptions),
      ...attachmentOf(machines, ranges, second !== undefined),
      clusterCIDR: formatPrefix(ranges.pods),
      nodeCIDRMaskSize: ranges.blockLength,
      serviceCIDR: formatPrefix(ranges.services),
    },
    ...proxyFields(shown),
    ...(second === undefined ? {} : { ipv6: second.ipv6 }),
  };
  return { document, assumptions, findings };
}

/** The subnet of the usual nodes. */
const OWN_LENGTH = 24;
/** A range in which each of them has a /24. */
const POD_LENGTH_MAX = 22;
/** kube-apiserver takes none that is larger. */
const SERVICE_LENGTH_MIN = 12;
/** kubeadm's. */
const SERVICE_RANGE = defined(parsePrefix("10.96.0.0/12"), "a range");

/** The ranges that are told and leave room for the usual nodes. */
function rangesOfDefaultNodes({ pods, services }: ToldCluster): {
  readonly pods: Prefix | undefined;
  readonly services: Prefix | undefined;
} {
  const kept = [prefixOf(FIRST_ADDRESS, OWN_LENGTH), hostPrefix(DEFAULTS.outsideAddress)];
  const besidePods = [...kept, services?.value ?? SERVICE_RANGE];
  const podRange =
    pods !== undefined && pods.value.length <= POD_LENGTH_MAX && isApart(pods.value, besidePods)
      ? pods.value
      : undefined;
  const besideServices = [...kept, podRange ?? DEFAULTS.clusterCIDR];
  const isFit =
    services !== undefined &&
    services.value.length >= SERVICE_LENGTH_MIN &&
    isApart(services.value, besideServices);
  return { pods: podRange, services: isFit ? services.value : undefined };
}

/** The cluster file for manifests that come without one. */
export function clusterOfManifests(
  objects: readonly KubeObject[],
  shown: ShownNetwork = NOTHING_SHOWN,
): WrittenCluster {
  const nodes = objects.filter((object) => object.kind === "Node");
  const { told } = shown;
  if (nodes.length > 0) return clusterOfDump(nodes, objects, shown);
  const ofPods = nodesOfPods(objects);
  if (ofPods.length > 0) {
    const written = clusterOfDump(ofPods, objects, shown);
    const message = WORDS.nodesOfPods({ names: listed(ofPods.map(({ metadata }) => metadata.name)) });
    return { ...written, assumptions: [{ message }, ...written.assumptions] };
  }
  const taken = rangesOfDefaultNodes(told);
  const { nodes: machines, text } = assumedNodes(objects, told.builds);
  const isAsked = objects.some((object) => object.kind === "Service" && needsSecondFamily(object));
  const lack = isAsked ? networkWithoutIpv6(shown.fields) : undefined;
  const isDual = isAsked && lack === undefined;
  const findings: Contradiction[] = [];
  if (lack !== undefined) tellLack(lack, true, { assumptions: [], findings });
  const second = isDual ? ", with IPv4 and IPv6, which Services ask for" : "";
  return {
    document: {
      apiVersion: CLUSTER_FILE_VERSION,
      kind: "Cluster",
      metadata: { name: "manifests" },
      nodes: machines,
      ...kubeadmFields(told),
      network: {
        ...shown.fields,
        ...(isDual && { plugin: "hns" }),
        ...(taken.pods !== undefined && { clusterCIDR: formatPrefix(taken.pods) }),
        ...(taken.services !== undefined && { serviceCIDR: formatPrefix(taken.services) }),
      },
      ...proxyFields(shown),
      ...(isDual && { ipv6: { enabled: true } }),
    },
    assumptions: [
      {
        message: `the manifests bring no Node objects: they run on ${text}${second}`,
      },
      ...rangesNotTaken(told, taken),
    ],
    findings,
  };
}
