/** What is known of a cluster and its Windows nodes from files, each piece with its place. */
import { type Fields, listOf, mappingOf, textOf } from "#core/base/json.ts";
import type { SourceText } from "#core/base/source-text.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { KubeKind, KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import type { ReadPort } from "../vfp-text/parse-rules.ts";
import type { LogFinding } from "../catalogue/log/findings.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { CUT_FIELD } from "#hns/dump/power-shell.ts";
import { type HostFacts, KINDS_OF_HOST_FACTS, type KindOfHostFact } from "./host-facts.ts";
import type { Link } from "./host-addresses.ts";
import type { ListedNode, ListedObjects } from "./listed-objects.ts";
import type { Place } from "./place.ts";

/** An object of HNS, in v2 form, and where it stands. */
export interface HnsRecord {
  readonly id: string;
  readonly name: string;
  readonly document: Fields;
  /** As a v1 document shows it; empty for an object in v2 form. */
  readonly v1: Fields;
  readonly place: Place;
}

/** Of an endpoint: its addresses, and whether it stands for a pod of another node. */
export interface EndpointRecord extends HnsRecord {
  readonly network: string;
  readonly addresses: readonly Ip[];
  readonly isRemote: boolean;
}

/** A port of a load balancer. */
export interface FrontEndPort {
  /** 6 TCP, 17 UDP. */
  readonly protocol: number;
  readonly external: number;
  readonly internal: number;
}

export interface LoadBalancerRecord extends HnsRecord {
  readonly vips: readonly Ip[];
  /** Undefined where the file does not show them (hnsdiag without -d). */
  readonly ports: readonly FrontEndPort[] | undefined;
  /** Ids of endpoints. */
  readonly backEnds: readonly string[];
  readonly isDsr: boolean;
}

export interface KubeRecord<Kind extends KubeKind> {
  readonly object: KubeObjects[Kind];
  readonly place: Place;
}

/** Ports of a switch with their rules, as vfpctrl lists them. */
export interface RuleListing {
  readonly port: ReadPort;
  readonly place: Place;
}

/** An endpoint whose port is among those that vfpctrl listed. */
export interface ListedEndpoint {
  readonly endpoint: EndpointRecord;
  readonly listing: RuleListing;
}

/** A configuration of a program of the node. */
export interface ConfigurationRecord {
  readonly value: Fields;
  readonly place: Place;
}

/** What the files of one Windows node show. */
export interface NodeEvidence {
  /** Kinds that a list shows to have none, and where. */
  readonly none: ReadonlyMap<KindOfEvidence, Place>;
  /** What stands in files that were not read to their end: there is more of it than is known. */
  readonly partial: ReadonlySet<KindOfEvidence>;
  /** Of its Node object, or the folder that the files stand in. */
  readonly name: string;
  readonly node: KubeRecord<"Node"> | undefined;
  /** What kubectl's tables show of it; the Node's object says more. */
  readonly row: ListedNode | undefined;
  readonly networks: readonly HnsRecord[];
  readonly endpoints: readonly EndpointRecord[];
  readonly namespaces: readonly HnsRecord[];
  readonly loadBalancers: readonly LoadBalancerRecord[];
  /** A port that no endpoint names says nothing of one. */
  readonly listed: readonly ListedEndpoint[];
  /** Files and flags of kube-proxy. */
  readonly kubeProxy: readonly ConfigurationRecord[];
  readonly cni: readonly ConfigurationRecord[];
  /** What commands of the node printed. */
  readonly host: HostFacts;
  readonly logs: readonly { readonly file: string; readonly findings: readonly LogFinding[] }[];
}

/** What the objects of Kubernetes show. */
export interface ClusterEvidence {
  /** A file of objects was not read to its end. */
  readonly isPartial: boolean;
  readonly nodes: readonly KubeRecord<"Node">[];
  readonly pods: readonly KubeRecord<"Pod">[];
  readonly services: readonly KubeRecord<"Service">[];
  readonly slices: readonly KubeRecord<"EndpointSlice">[];
  /** Devices of Linux nodes, whichever of them they are of. */
  readonly links: readonly Link[];
  /** What kubectl printed for people. */
  readonly listed: ListedObjects;
}

export interface Evidence {
  readonly cluster: ClusterEvidence;
  readonly nodes: readonly NodeEvidence[];
  /** What lint reads, too. */
  readonly sources: readonly SourceText[];
}

/** What files hold objects or lists of, beside what commands of a node print. */
const KINDS_OF_PIECES = [
  "nodes",
  "pods",
  "services",
  "endpoint slices",
  "networks",
  "endpoints",
  "namespaces",
  "load balancers",
  "rules",
  "links",
  "listed nodes",
  "listed pods",
  "cni configuration",
  "kube-proxy configuration",
  "logs",
] as const;

/** Families of evidence, as checks ask for them and as a report says what is missing. */
export type KindOfEvidence = (typeof KINDS_OF_PIECES)[number] | KindOfHostFact;
export const KINDS_OF_EVIDENCE: readonly KindOfEvidence[] = [...KINDS_OF_PIECES, ...KINDS_OF_HOST_FACTS];

/** The network of an endpoint, where HNS lists it. */
export function networkOf(
  { networks }: Pick<NodeEvidence, "networks">,
  endpoint: EndpointRecord | undefined,
): HnsRecord | undefined {
  const wanted = endpoint?.network.toLowerCase();
  return networks.find(({ id }) => id.toLowerCase() === wanted);
}

/** Local endpoints with the listings of their ports: HNS names a port among the resources of its endpoint. */
export function listedEndpoints(
  endpoints: readonly EndpointRecord[],
  listings: readonly RuleListing[],
): readonly ListedEndpoint[] {
  const named = listings.flatMap((listing) =>
    listing.port.name === undefined ? [] : [{ name: listing.port.name.toLowerCase(), listing }],
  );
  if (named.length === 0) return [];
  return endpoints.flatMap((endpoint) => {
    if (endpoint.isRemote) return [];
    const said = JSON.stringify([endpoint.v1, endpoint.document]).toLowerCase();
    const found = named.find(({ name }) => said.includes(name));
    return found === undefined ? [] : [{ endpoint, listing: found.listing }];
  });
}

/** What is objects of HNS. */
export const OF_HNS: readonly KindOfEvidence[] = ["networks", "endpoints", "namespaces", "load balancers"];

export const OF_CLUSTER: readonly KindOfEvidence[] = [
  "nodes",
  "pods",
  "services",
  "endpoint slices",
  "links",
];

/** True where there may be more of a kind than was read. */
export function isPartial(kind: KindOfEvidence, node: NodeEvidence, cluster: ClusterEvidence): boolean {
  return OF_CLUSTER.includes(kind) ? cluster.isPartial : node.partial.has(kind);
}

function isHostFact(kind: KindOfEvidence): kind is KindOfHostFact {
  return KINDS_OF_HOST_FACTS.some((known) => known === kind);
}

/** How many pieces there are of each kind. */
export function countOf(kind: KindOfEvidence, node: NodeEvidence, cluster: ClusterEvidence): number {
  if (isHostFact(kind)) return node.host[kind].length;
  const lists: Readonly<Record<Exclude<KindOfEvidence, KindOfHostFact>, readonly unknown[]>> = {
    nodes: cluster.nodes,
    pods: cluster.pods,
    services: cluster.services,
    "endpoint slices": cluster.slices,
    links: cluster.links,
    "listed nodes": node.row === undefined ? [] : [node.row],
    "listed pods": cluster.listed.pods,
    networks: node.networks,
    endpoints: node.endpoints,
    namespaces: node.namespaces,
    "load balancers": node.loadBalancers,
    rules: node.listed,
    "cni configuration": node.cni,
    "kube-proxy configuration": node.kubeProxy,
    logs: node.logs,
  };
  return lists[kind].length;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function ipsOf(values: readonly unknown[]): readonly Ip[] {
  return values.flatMap((value) => (typeof value === "string" ? (parseIp(value) ?? []) : []));
}

export function recordOf({ id, document, v1 = {} }: DumpItem, place: Place): HnsRecord {
  return { id, name: textOf(document["Name"]), document, v1, place };
}

export function endpointOf(record: HnsRecord): EndpointRecord {
  const { document } = record;
  const configurations = listOf(document["IpConfigurations"]).map(mappingOf);
  return {
    ...record,
    network: textOf(document["HostComputeNetwork"]),
    addresses: ipsOf(configurations.map((each) => each["IpAddress"])),
    isRemote: (numberOf(document["Flags"]) & ENDPOINT_FLAGS.RemoteEndpoint) !== 0,
  };
}

export function loadBalancerOf(record: HnsRecord): LoadBalancerRecord {
  const { document } = record;
  const mappings = document["PortMappings"];
  return {
    ...record,
    vips: ipsOf(listOf(document["FrontendVIPs"])),
    ports: Array.isArray(mappings)
      ? listOf(mappings)
          .map(mappingOf)
          .map((each) => ({
            protocol: numberOf(each["Protocol"]),
            external: numberOf(each["ExternalPort"]),
            internal: numberOf(each["InternalPort"]),
          }))
      : undefined,
    backEnds: listOf(document["HostComputeEndpoints"]).map((each) => textOf(each).toLowerCase()),
    isDsr: (numberOf(document["Flags"]) & LOAD_BALANCER_FLAGS.DSR) !== 0,
  };
}

/** The address of the node that a network was made on; v2 documents do not show it. */
export function managementAddressOf({ v1 }: HnsRecord): Ip | undefined {
  return parseIp(textOf(v1["ManagementIP"]));
}

/** `Overlay`, `L2Bridge`, `NAT` …; empty where a file does not show it. */
export function typeOfNetwork({ document, v1 }: HnsRecord): string {
  return textOf(document["Type"]) || textOf(v1["Type"]);
}

/** The networks of these types, written in small letters. */
export function networksOfType(
  { networks }: NodeEvidence,
  ...types: readonly string[]
): readonly HnsRecord[] {
  return networks.filter((each) => types.includes(typeOfNetwork(each).toLowerCase()));
}

/** Policies of one type, with their settings. */
export function policiesOf({ document }: HnsRecord, type: string): readonly Fields[] {
  return listOf(document["Policies"])
    .map(mappingOf)
    .filter((each) => textOf(each["Type"]).toLowerCase() === type.toLowerCase())
    .map((each) => mappingOf(each["Settings"]));
}

/** The subnets of a network in v2 form. */
export function subnetsOf({ document }: HnsRecord): readonly string[] {
  return listOf(document["Ipams"])
    .map(mappingOf)
    .flatMap((ipam) => listOf(ipam["Subnets"]).map((each) => textOf(mappingOf(each)["IpAddressPrefix"])));
}

/** Addresses of a Node of one type. */
export function addressesOfNode({ object }: KubeRecord<"Node">, type = "InternalIP"): readonly Ip[] {
  return ipsOf(
    (object.status?.addresses ?? []).filter((each) => each.type === type).map((each) => each.address),
  );
}

/** Flannel's address of the node, which its own flags name, where the Node publishes it as none of its own. */
export function flannelAddressBeside(node: NodeEvidence["node"]): string | undefined {
  const address = node?.object.metadata.annotations?.["flannel.alpha.coreos.com/public-ip"];
  if (node === undefined || address === undefined) return undefined;
  const published = (node.object.status?.addresses ?? []).map((each) => each.address);
  return published.includes(address) ? undefined : address;
}

export function isWindowsNode({ object }: KubeRecord<"Node">): boolean {
  return nodeOs(object) === "windows";
}

/** True where the dump does not show all of a field: PowerShell cut it off. */
export function isCut({ document, v1 }: HnsRecord, field: string): boolean {
  const cut = [...Object.keys(mappingOf(document[CUT_FIELD])), ...Object.keys(mappingOf(v1[CUT_FIELD]))];
  return cut.some((path) => path === field || path.startsWith(`${field}[`) || path.startsWith(`${field}.`));
}
