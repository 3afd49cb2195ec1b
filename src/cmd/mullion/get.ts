/** `mullion get`: lists what a cluster consists of. */
import type { Cluster } from "../../cluster/cluster.ts";
import {
  type LoadBalancerSummary,
  type NodeSummary,
  type OnNode,
  type PodSummary,
  inventoryEndpoints,
  inventoryLoadBalancers,
  inventoryNamespaces,
  inventoryNetworks,
  inventoryNodes,
  inventoryPods,
} from "../../cluster/inventory.ts";
import { openCluster } from "../../cluster/open-cluster.ts";
import type { HostComputeEndpoint } from "../../hcn/endpoint.ts";
import {
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
} from "../../hcn/load-balancer.ts";
import type { HostComputeNamespace } from "../../hcn/namespace.ts";
import type { HostComputeNetwork } from "../../hcn/network.ts";
import { ipProtocolName } from "../../wire/ip-protocol.ts";
import { readCluster } from "./read-cluster.ts";
import { type Column, type Listing, formatListing } from "./table.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { GetRequest, Kind } from "./verbs.ts";

const NODE: Column<OnNode<unknown>> = { title: "NODE", text: ({ node }) => node };

/** The object as HNS returns it, with its node in front. */
function withNode({ node, object }: OnNode<object>): unknown {
  return { node, ...object };
}

function networks(rows: readonly OnNode<HostComputeNetwork>[]): Listing<OnNode<HostComputeNetwork>> {
  const subnets = (object: HostComputeNetwork): string =>
    (object.Ipams ?? [])
      .flatMap((ipam) => ipam.Subnets ?? [])
      .map((subnet) => subnet.IpAddressPrefix ?? "")
      .join(",");
  return {
    singular: "network",
    plural: "networks",
    rows,
    name: ({ object }) => object.Name ?? object.ID ?? "",
    data: withNode,
    columns: [
      NODE,
      { title: "NAME", text: ({ object }) => object.Name ?? "" },
      { title: "TYPE", text: ({ object }) => object.Type ?? "NAT" },
      { title: "SUBNETS", text: ({ object }) => subnets(object) },
      { title: "ID", text: ({ object }) => object.ID ?? "" },
      {
        title: "POLICIES",
        isWide: true,
        text: ({ object }) => (object.Policies ?? []).map((policy) => policy.Type).join(","),
      },
    ],
  };
}

function endpoints(rows: readonly OnNode<HostComputeEndpoint>[]): Listing<OnNode<HostComputeEndpoint>> {
  return {
    singular: "endpoint",
    plural: "endpoints",
    rows,
    name: ({ object }) => object.Name ?? object.ID ?? "",
    data: withNode,
    columns: [
      NODE,
      { title: "NAME", text: ({ object }) => object.Name ?? "" },
      {
        title: "IP",
        text: ({ object }) =>
          (object.IpConfigurations ?? []).map((config) => config.IpAddress ?? "").join(","),
      },
      { title: "MAC", text: ({ object }) => object.MacAddress ?? "" },
      {
        title: "POLICIES",
        text: ({ object }) => (object.Policies ?? []).map((policy) => policy.Type).join(","),
      },
      { title: "ID", isWide: true, text: ({ object }) => object.ID ?? "" },
      { title: "NAMESPACE", isWide: true, text: ({ object }) => object.HostComputeNamespace ?? "" },
      {
        title: "GATEWAY",
        isWide: true,
        text: ({ object }) => (object.Routes ?? []).map((route) => route.NextHop ?? "").join(","),
      },
    ],
  };
}

function namespaces(rows: readonly OnNode<HostComputeNamespace>[]): Listing<OnNode<HostComputeNamespace>> {
  return {
    singular: "namespace",
    plural: "namespaces",
    rows,
    name: ({ object }) => object.ID ?? "",
    data: withNode,
    columns: [
      NODE,
      { title: "ID", text: ({ object }) => object.ID ?? "" },
      { title: "TYPE", text: ({ object }) => object.Type ?? "" },
      { title: "COMPARTMENT", isRightAligned: true, text: ({ object }) => String(object.NamespaceId ?? "") },
      {
        title: "ENDPOINTS",
        text: ({ object }) => (object.Resources ?? []).map((resource) => resource.Data.Id).join(","),
      },
    ],
  };
}

/** Names of the bits that are set, joined; what has no name keeps its number. */
function flagNames(flags: number, names: Readonly<Record<string, number>>): readonly string[] {
  const found = Object.entries(names).filter(([, bit]) => (flags & bit) !== 0);
  const unknown = found.reduce((rest, [, bit]) => rest & ~bit, flags);
  return [...found.map(([name]) => name), ...(unknown === 0 ? [] : [String(unknown)])];
}

/** A Service may have hundreds of back ends; all of them stand in the JSON. */
const BACK_ENDS_SHOWN = 3;

function shortList(items: readonly string[]): string {
  const more = items.length - BACK_ENDS_SHOWN;
  return items.slice(0, BACK_ENDS_SHOWN).join(",") + (more > 0 ? ` + ${more} more` : "");
}

function loadBalancerPorts({ PortMappings = [] }: LoadBalancerSummary): string {
  return PortMappings.map(({ Protocol = 0, InternalPort = 0, ExternalPort = 0 }) => {
    return `${ExternalPort}:${InternalPort}/${ipProtocolName(Protocol)}`;
  }).join(",");
}

function loadBalancerFlags({ Flags = 0, PortMappings = [] }: LoadBalancerSummary): string {
  const ofPorts = PortMappings.flatMap((mapping) =>
    flagNames(mapping.Flags ?? 0, LOAD_BALANCER_PORT_FLAGS).concat(
      LOAD_BALANCER_DISTRIBUTIONS[mapping.DistributionType ?? 0]?.replace("None", "") ?? "",
    ),
  );
  const names = [...flagNames(Flags, LOAD_BALANCER_FLAGS), ...ofPorts].filter((name) => name !== "");
  return [...new Set(names)].join(",");
}

function loadBalancers(rows: readonly OnNode<LoadBalancerSummary>[]): Listing<OnNode<LoadBalancerSummary>> {
  return {
    singular: "loadbalancer",
    plural: "loadbalancers",
    rows,
    name: ({ object }) => object.ID ?? "",
    data: withNode,
    columns: [
      NODE,
      {
        title: "VIPS",
        // Without any it is a node port.
        text: ({ object }) => (object.FrontendVIPs ?? ["node"]).join(","),
      },
      { title: "PORTS", text: ({ object }) => loadBalancerPorts(object) },
      { title: "BACK ENDS", text: ({ object }) => shortList(object.BackEnds) },
      { title: "FLAGS", text: ({ object }) => loadBalancerFlags(object) },
      { title: "ID", isWide: true, text: ({ object }) => object.ID ?? "" },
      { title: "SOURCE VIP", isWide: true, text: ({ object }) => object.SourceVIP ?? "" },
      {
        title: "STATE",
        isWide: true,
        isRightAligned: true,
        text: ({ object }) => String(object.State ?? ""),
      },
    ],
  };
}

function pods(rows: readonly PodSummary[]): Listing<PodSummary> {
  return {
    singular: "pod",
    plural: "pods",
    rows,
    name: (pod) => `${pod.namespace}/${pod.name}`,
    data: (pod) => pod,
    columns: [
      { title: "NAMESPACE", text: (pod) => pod.namespace },
      { title: "NAME", text: (pod) => pod.name },
      { title: "IP", text: (pod) => pod.ip },
      { title: "NODE", text: (pod) => pod.node },
      { title: "PORTS", text: (pod) => pod.ports.join(",") },
      { title: "COMPARTMENT", isWide: true, isRightAligned: true, text: (pod) => String(pod.compartment) },
      { title: "HCN NAMESPACE", isWide: true, text: (pod) => pod.namespaceId ?? "" },
    ],
  };
}

function nodes(rows: readonly NodeSummary[]): Listing<NodeSummary> {
  return {
    singular: "node",
    plural: "nodes",
    rows,
    name: (node) => node.name,
    data: (node) => node,
    columns: [
      { title: "NAME", text: (node) => node.name },
      { title: "OS", text: (node) => node.os },
      { title: "BUILD", text: (node) => node.build ?? "" },
      { title: "IP", text: (node) => node.ip },
      { title: "PODS", text: (node) => node.podCIDR },
      { title: "COMPAT", isWide: true, text: (node) => node.compat },
    ],
  };
}

/** Lists the objects of one kind as text. */
export async function formatKind(
  cluster: Cluster,
  kind: Kind,
  node: string | undefined,
  output: GetRequest["output"],
): Promise<string> {
  switch (kind) {
    case "networks":
      return formatListing(networks(await inventoryNetworks(cluster, node)), output);
    case "endpoints":
      return formatListing(endpoints(await inventoryEndpoints(cluster, node)), output);
    case "namespaces":
      return formatListing(namespaces(await inventoryNamespaces(cluster, node)), output);
    case "loadbalancers":
      return formatListing(loadBalancers(await inventoryLoadBalancers(cluster, node)), output);
    case "pods":
      return formatListing(pods(inventoryPods(cluster, node)), output);
    case "nodes":
      return formatListing(nodes(inventoryNodes(cluster, node)), output);
  }
}

export async function get(request: GetRequest, terminal: Terminal): Promise<ExitCode> {
  const cluster = await openCluster(await readCluster(request.file, terminal));
  terminal.stdout(await formatKind(cluster, request.kind, request.node, request.output));
  return 0;
}
