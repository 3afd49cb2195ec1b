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
import type { Cluster, ClusterNode } from "../cluster.ts";
import { formatRelease } from "../file/cluster-file.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import {
  type ClusterSummary,
  type HnsItem,
  type HnsList,
  type ObjectList,
  type PodSummaryList,
  STACK_LISTS,
  type StackLists,
} from "./documents.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { viewEffectiveRoutes, viewEffectiveRules } from "../views/azure-views.ts";
import { viewDhcpLeases } from "../views/dhcp-views.ts";
import { listNodeFaults } from "../life/node-faults.ts";
import { viewQuirks } from "../views/quirk-views.ts";
import { viewDockerNetworks } from "../views/docker-views.ts";
import type { HnsKind, StackKind } from "./client.ts";
import type { KubeKindNames } from "./kube-kinds.ts";

export function summarizeCluster(session: ClusterSession): ClusterSummary {
  const { cluster } = session;
  const { file } = cluster;
  const pods = new Map<string, number>();
  const nodes = new Map(cluster.nodes.map((node) => [node.spec.name, node]));
  for (const { node } of cluster.pods) pods.set(node.spec.name, (pods.get(node.spec.name) ?? 0) + 1);
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "ClusterSummary",
    name: file.name,
    kubernetes: formatRelease(file.kubernetes.version),
    seed: file.seed,
    atMs: cluster.clock.nowMs,
    nodes: inventoryNodes(cluster).map(({ name, os, build, ip, podCIDR, compat }) => ({
      name,
      os,
      ...(build === undefined ? {} : { build }),
      address: ip,
      podCIDR,
      compat,
      pods: pods.get(name) ?? 0,
      ...standingOf(session, name),
      ...faultsOf(nodes.get(name)),
    })),
    pods: cluster.pods.length,
    outside: cluster.outside.map(({ name, ip }) => ({ name, address: formatIp(ip) })),
    ...(session.hasApiServer ? {} : { apiServer: "down" as const }),
    ...(session.nodesAtRest === 0 ? {} : { nodesAtRest: session.nodesAtRest }),
  };
}

function standingOf(
  session: ClusterSession,
  name: string,
): Pick<ClusterSummary["nodes"][number], "standing"> {
  const standing = session.standingOf(name);
  return standing === "joined" ? {} : { standing };
}

function faultsOf(node: ClusterNode | undefined): Pick<ClusterSummary["nodes"][number], "faults"> {
  const faults = node === undefined ? [] : listNodeFaults(node);
  return faults.length === 0 ? {} : { faults };
}

function troubleOf({ status }: Pod): string | undefined {
  const { phase = "Pending", conditions = [], containerStatuses = [] } = status ?? {};
  if (conditions.some((each) => each.type === "Ready" && each.status === "True")) return undefined;
  return (
    containerStatuses.find((each) => each.state?.waiting?.reason !== undefined)?.state?.waiting?.reason ??
    phase
  );
}

/** All pods, or those of one node. */
export function summarizePods(session: ClusterSession, node: string | undefined): PodSummaryList {
  const pods = session.listObjects("Pod") as readonly Pod[];
  const shown = node === undefined ? pods : pods.filter(({ spec }) => spec?.nodeName === node);
  const items = shown.map((pod) => {
    const trouble = troubleOf(pod);
    return {
      namespace: pod.metadata.namespace,
      name: pod.metadata.name,
      node: pod.spec?.nodeName ?? "",
      address: pod.status?.podIP ?? "",
      phase: pod.status?.phase ?? "Pending",
      ...(trouble === undefined ? {} : { trouble }),
    };
  });
  return { apiVersion: DOCUMENT_VERSION, kind: "PodSummaryList", items };
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

const HNS_INVENTORIES = {
  networks: inventoryNetworks,
  endpoints: inventoryEndpoints,
  loadbalancers: inventoryLoadBalancers,
} as const;

async function hnsItems(
  cluster: Cluster,
  kind: HnsKind,
  node: string | undefined,
): Promise<readonly HnsItem[]> {
  if (kind !== "namespaces") return (await HNS_INVENTORIES[kind](cluster, node)).map(withNode);
  const pods = podsBySandbox(cluster);
  return (await inventoryNamespaces(cluster, node)).map((each) => ({
    ...withNode(each),
    pods: pods.get(`${each.node} ${each.object.ID}`) ?? [],
  }));
}

/** @throws RequestError for a node that does not exist. */
export async function listHns(
  { cluster }: ClusterSession,
  kind: HnsKind,
  node: string | undefined,
): Promise<HnsList> {
  return { apiVersion: DOCUMENT_VERSION, kind: "HnsList", items: await hnsItems(cluster, kind, node) };
}

/** What is listed of each kind; of all machines, or of one. */
const STACK_VIEWS: {
  readonly [Kind in StackKind]: (
    cluster: Cluster,
    node?: string,
  ) => StackLists[Kind]["items"] | Promise<StackLists[Kind]["items"]>;
} = {
  computesystems: viewComputeSystems,
  compartments: viewCompartments,
  adapters: viewAdapters,
  routes: viewRoutes,
  effectiveroutes: viewEffectiveRoutes,
  effectiverules: viewEffectiveRules,
  dockernetworks: viewDockerNetworks,
  dhcpleases: viewDhcpLeases,
  quirks: viewQuirks,
};

/** @throws RequestError for a node that does not exist. */
export async function listStacks(
  { cluster }: ClusterSession,
  kind: StackKind,
  node: string | undefined,
): Promise<StackLists[StackKind]> {
  const { document } = STACK_LISTS[kind];
  const items = await STACK_VIEWS[kind](cluster, node);
  return { apiVersion: DOCUMENT_VERSION, kind: document, items } as StackLists[StackKind];
}
