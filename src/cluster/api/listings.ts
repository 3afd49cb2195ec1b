/** What the cluster consists of, as documents of the API. */
import type { ClusterSession } from "../session/session.ts";
import {
  type OnNode,
  inventoryEndpoints,
  inventoryLoadBalancers,
  inventoryNamespaces,
  inventoryNetworks,
  inventoryNodes,
} from "../views/inventory.ts";
import { viewAdapters, viewCompartments, viewComputeSystems, viewRoutes } from "../views/stack-views.ts";
import type { Cluster } from "../cluster.ts";
import type { KubernetesRelease } from "../file/cluster-file.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { formatIp } from "#core/net/ip.ts";
import type { ClusterSummary, HnsItem, HnsList, ObjectList, StackLists } from "./documents.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { viewEffectiveRoutes, viewEffectiveRules } from "../views/azure-views.ts";
import { viewDhcpLeases } from "../views/dhcp-views.ts";
import { viewDockerNetworks } from "../views/docker-views.ts";
import type { HnsKind, StackKind } from "./client.ts";
import type { KubeKindNames } from "./kube-kinds.ts";

function formatVersion({ major, minor, patch }: KubernetesRelease): string {
  return patch === undefined ? `${major}.${minor}` : `${major}.${minor}.${patch}`;
}

export function summarizeCluster(session: ClusterSession): ClusterSummary {
  const { cluster } = session;
  const { file } = cluster;
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "ClusterSummary",
    name: file.name,
    kubernetes: formatVersion(file.kubernetes.version),
    seed: file.seed,
    atMs: cluster.clock.nowMs,
    nodes: inventoryNodes(cluster).map(({ name, os, build, ip, podCIDR, compat }) => ({
      name,
      os,
      ...(build === undefined ? {} : { build }),
      address: ip,
      podCIDR,
      compat,
      pods: cluster.pods.filter((pod) => pod.node.spec.name === name).length,
    })),
    pods: cluster.pods.length,
    outside: cluster.outside.map(({ name, ip }) => ({ name, address: formatIp(ip) })),
  };
}

/** @throws RequestError when the namespace cannot be listed. */
export function listObjects(
  session: ClusterSession,
  names: KubeKindNames,
  namespace: string | undefined,
): ObjectList {
  const items = session.listObjects(names.kind, names.isNamespaced ? namespace : undefined);
  return { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items };
}

function withNode({ node, object }: OnNode<{ readonly ID: string }>): HnsItem {
  return { node, ...object };
}

/** The pods of each sandbox, by node and HCN namespace. */
function podsBySandbox(cluster: Cluster): ReadonlyMap<string, readonly string[]> {
  const pods = new Map<string, string[]>();
  for (const pod of cluster.pods) {
    if (pod.isAtRest === true || pod.namespaceId === undefined) continue;
    const { spec, node, namespaceId } = pod;
    const key = `${node.spec.name} ${namespaceId}`;
    addToList(pods, key, `${spec.namespace}/${spec.name}`);
  }
  return pods;
}

async function hnsItems(
  cluster: Cluster,
  kind: HnsKind,
  node: string | undefined,
): Promise<readonly HnsItem[]> {
  switch (kind) {
    case "networks":
      return (await inventoryNetworks(cluster, node)).map(withNode);
    case "endpoints":
      return (await inventoryEndpoints(cluster, node)).map(withNode);
    case "loadbalancers":
      return (await inventoryLoadBalancers(cluster, node)).map(withNode);
    case "namespaces": {
      const pods = podsBySandbox(cluster);
      return (await inventoryNamespaces(cluster, node)).map((each) => ({
        ...withNode(each),
        pods: pods.get(`${each.node} ${each.object.ID}`) ?? [],
      }));
    }
  }
}

/** @throws RequestError for a node that does not exist. */
export async function listHns(
  session: ClusterSession,
  kind: HnsKind,
  node: string | undefined,
): Promise<HnsList> {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "HnsList",
    items: await hnsItems(session.cluster, kind, node),
  };
}

/** @throws RequestError for a node that does not exist. */
export async function listStacks(
  { cluster }: ClusterSession,
  kind: StackKind,
  node: string | undefined,
): Promise<StackLists[StackKind]> {
  const apiVersion = DOCUMENT_VERSION;
  switch (kind) {
    case "computesystems":
      return { apiVersion, kind: "ComputeSystemList", items: await viewComputeSystems(cluster, node) };
    case "compartments":
      return { apiVersion, kind: "CompartmentList", items: viewCompartments(cluster, node) };
    case "adapters":
      return { apiVersion, kind: "AdapterList", items: viewAdapters(cluster, node) };
    case "routes":
      return { apiVersion, kind: "RouteList", items: viewRoutes(cluster, node) };
    case "effectiveroutes":
      return { apiVersion, kind: "EffectiveRouteList", items: viewEffectiveRoutes(cluster, node) };
    case "effectiverules":
      return { apiVersion, kind: "EffectiveRuleList", items: viewEffectiveRules(cluster, node) };
    case "dockernetworks":
      return { apiVersion, kind: "DockerNetworkList", items: viewDockerNetworks(cluster, node) };
    case "dhcpleases":
      return { apiVersion, kind: "DhcpLeaseList", items: viewDhcpLeases(cluster, node) };
  }
}
