/** What a cluster consists of, as `mullion get` lists it: HNS objects through the HCN line, nodes besides. */
import type { Compat } from "#core/base/compat.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  type StoredLoadBalancer,
  type StoredNamespace,
  type StoredNetwork,
  listEndpoints,
  listLoadBalancers,
  listNamespaces,
  listNetworks,
} from "#contracts/hcn/operations.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import type { NodeOs } from "../file/cluster-file.ts";
import { RequestError } from "../request-error.ts";
import { observerOf } from "../machines/windows-node.ts";

/** An object of HNS with the node that holds it. */
export interface OnNode<T> {
  readonly node: string;
  readonly object: T;
}

export interface InventoryNode {
  readonly name: string;
  readonly os: NodeOs;
  readonly build: string | undefined;
  readonly ip: string;
  readonly podCIDR: string;
  readonly compat: Compat;
}

/** The nodes that a listing is about. @throws RequestError for a node that does not exist. */
export function selectNodes(cluster: Cluster, name: string | undefined): readonly ClusterNode[] {
  if (name === undefined) return cluster.nodes;
  const found = cluster.nodes.filter((node) => node.spec.name === name);
  if (found.length > 0) return found;
  const names = cluster.nodes.map((node) => node.spec.name);
  const [near] = nearestNames(name, names, 1);
  const advice = near === undefined ? "" : `Did you mean ${JSON.stringify(near)}? `;
  throw new RequestError(
    "unknown-object",
    `the cluster has no node ${JSON.stringify(name)}`,
    `${advice}Nodes are: ${names.join(", ")}.`,
  );
}

async function listOnNodes<T>(
  cluster: Cluster,
  node: string | undefined,
  list: (client: HcnClient) => Promise<readonly T[]>,
): Promise<readonly OnNode<T>[]> {
  const rows: OnNode<T>[] = [];
  for (const each of selectNodes(cluster, node)) {
    if (each.hns === undefined) continue;
    for (const object of await list(observerOf(each))) rows.push({ node: each.spec.name, object });
  }
  return rows;
}

export function inventoryNetworks(
  cluster: Cluster,
  node?: string,
): Promise<readonly OnNode<StoredNetwork>[]> {
  return listOnNodes(cluster, node, (client) => listNetworks(client));
}

export function inventoryEndpoints(
  cluster: Cluster,
  node?: string,
): Promise<readonly OnNode<StoredEndpoint>[]> {
  return listOnNodes(cluster, node, (client) => listEndpoints(client));
}

export function inventoryNamespaces(
  cluster: Cluster,
  node?: string,
): Promise<readonly OnNode<StoredNamespace>[]> {
  return listOnNodes(cluster, node, (client) => listNamespaces(client));
}

/** A load balancer with the addresses of its back ends, in their order. */
export interface LoadBalancerSummary extends StoredLoadBalancer {
  /** The id stands for an endpoint that is not there any more. */
  readonly BackEnds: readonly string[];
}

async function listLoadBalancersOf(client: HcnClient): Promise<readonly LoadBalancerSummary[]> {
  const addresses = new Map<Guid, string>();
  for (const { ID = "", IpConfigurations = [] } of await listEndpoints(client))
    addresses.set(ID, IpConfigurations.map((config) => config.IpAddress ?? "").join("+"));
  return (await listLoadBalancers(client)).map((loadBalancer) => ({
    ...loadBalancer,
    BackEnds: (loadBalancer.HostComputeEndpoints ?? []).map((id) => addresses.get(id.toLowerCase()) ?? id),
  }));
}

export function inventoryLoadBalancers(
  cluster: Cluster,
  node?: string,
): Promise<readonly OnNode<LoadBalancerSummary>[]> {
  return listOnNodes(cluster, node, listLoadBalancersOf);
}

export function inventoryNodes(cluster: Cluster, node?: string): readonly InventoryNode[] {
  return selectNodes(cluster, node).map(({ spec }) => ({
    name: spec.name,
    os: spec.os,
    build: spec.build?.profile.name,
    ip: formatIp(spec.address),
    podCIDR: formatPrefix(spec.podCIDR),
    compat: spec.compat,
  }));
}
