/** Reads from a cluster what `verify` has to know of it. The only file here that knows how clusters and objects look. */
import { defined } from "../../base/assert.ts";
import type { JsonObject, JsonValue } from "../../hcn/client.ts";
import { formatIp } from "../../net/ip.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import { findDnsService } from "../dns-service.ts";
import { readKubernetes } from "./kubernetes-view.ts";
import type { VerifyModel, VerifyNode, VerifyOutside, VerifyPod, VerifyService } from "./model.ts";

/**
 * Nodes of one class run the same system, the same build with the same updates, and programs of the same temper; all of
 * them run pods, or none does.
 */
function nodeClassOf({ spec }: ClusterNode, hasPods: boolean): string {
  const build = spec.build === undefined ? "" : ` ${spec.build.profile.name}.${spec.build.revision ?? "all"}`;
  return `${spec.os}${build} ${spec.compat}${hasPods ? "" : " without pods"}`;
}

function readNode(node: ClusterNode, index: number, hasPods: boolean): VerifyNode {
  const { spec } = node;
  return {
    kind: "node",
    index,
    reference: `node/${spec.name}`,
    name: spec.name,
    os: spec.os,
    windows: spec.build,
    compat: spec.compat,
    address: spec.address,
    podRange: spec.podCIDR,
    hasPods,
    nodeClass: nodeClassOf(node, hasPods),
  };
}

/** HCN writes `Type`, HNS and CNI write `type` as well. */
function typeOf(policy: JsonObject): string {
  const type = policy["Type"] ?? policy["type"] ?? "";
  return typeof type === "string" ? type.toUpperCase() : "";
}

/** Every mapping in a JSON value, from the outside in. */
function* mappingsIn(value: JsonValue): Generator<JsonObject> {
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) yield* mappingsIn(item);
  } else if (typeof value === "object" && value !== null) {
    const mapping = value as JsonObject;
    yield mapping;
    for (const item of Object.values(mapping)) if (item !== undefined) yield* mappingsIn(item);
  }
}

/** The policies that every Windows pod has besides those of the cluster. */
function commonPolicies(cluster: Cluster): readonly JsonObject[] {
  const { conflist, policies } = cluster.file.network.cni;
  return [
    ...(conflist === undefined ? [] : mappingsIn(conflist)),
    ...policies.flatMap((each) => [...mappingsIn(each)]),
  ];
}

function accessRules(policies: readonly JsonObject[]): string {
  const rules = policies.filter((policy) => typeOf(policy) === "ACL");
  return rules.length === 0 ? "" : JSON.stringify(rules);
}

/** `a-b-c-d.namespace.pod.zone`, as the cluster's name service answers for every pod. */
function nameByAddress(pod: ClusterPod, zone: string): string {
  return `${formatIp(pod.address).replaceAll(/[.:]/g, "-")}.${pod.spec.namespace}.pod.${zone}`;
}

function readPod(
  pod: ClusterPod,
  index: number,
  context: {
    readonly node: VerifyNode;
    readonly common: readonly JsonObject[];
    readonly zone: string;
  },
): VerifyPod {
  const { spec } = pod;
  const { node, common, zone } = context;
  const isHostNetwork = spec.network === "host";
  const isFiltered = node.os === "windows" && !isHostNetwork;
  const ownRules = isFiltered
    ? accessRules([...common, ...spec.policies.flatMap((each) => [...mappingsIn(each)])])
    : "";
  // Pods with policies of their own stand for nobody else; their ports may matter to the policies.
  const policies = spec.policies.length === 0 ? "" : JSON.stringify([spec.policies, spec.ports]);
  return {
    kind: "pod",
    index,
    reference: `pod/${spec.namespace}/${spec.name}`,
    namespace: spec.namespace,
    node,
    address: pod.address,
    serverName: pod.server.name,
    isHostNetwork,
    ports: spec.ports.map(({ port, protocol, hostPort }) => ({
      protocol: protocol === "TCP" ? "tcp" : "udp",
      port,
      hostPort,
    })),
    hasOwnPolicies: spec.policies.length > 0,
    ownRules,
    podClass: `${node.nodeClass} ${isHostNetwork ? "host" : "pod"} ${policies}`,
    balancedPorts: new Set(),
    usesClusterDns: true,
    dnsName: isHostNetwork ? undefined : nameByAddress(pod, zone),
  };
}

/** The exceptions of OutBoundNAT: those of a configuration that the user wrote, else those of the cluster file. */
function readOutboundNat(cluster: Cluster): {
  readonly hasOutboundNat: boolean;
  readonly natExceptions: readonly Prefix[];
} {
  const { network } = cluster.file;
  if (network.cni.conflist === undefined) {
    return { hasOutboundNat: network.outboundNAT.enabled, natExceptions: network.outboundNAT.exceptions };
  }
  const written = [...mappingsIn(network.cni.conflist)];
  const hasOutboundNat = written.some((policy) => typeOf(policy) === "OUTBOUNDNAT");
  const lists = written.map((policy) => policy["ExceptionList"] ?? policy["Exceptions"]);
  const ranges = lists.flatMap((list) => (Array.isArray(list) ? (list as readonly JsonValue[]) : []));
  const natExceptions = ranges.flatMap((range) =>
    typeof range === "string" ? (parsePrefix(range) ?? []) : [],
  );
  return { hasOutboundNat, natExceptions };
}

function readOutside(cluster: Cluster): readonly VerifyOutside[] {
  return cluster.file.outside.map((spec, index) => ({
    kind: "outside",
    index,
    reference: spec.name,
    address: spec.address,
    ports: spec.ports.map(({ port, protocol }) => ({
      protocol: protocol === "TCP" ? "tcp" : "udp",
      port,
      hostPort: undefined,
    })),
    names: spec.names,
  }));
}

/** Ports of pods to which a Service or a hostPort leads. */
function withBalancedPorts(
  pods: readonly VerifyPod[],
  services: readonly VerifyService[],
): readonly VerifyPod[] {
  const byPod = new Map<number, Set<string>>();
  const add = (pod: VerifyPod, protocol: string, port: number): void => {
    const known = byPod.get(pod.index) ?? new Set();
    byPod.set(pod.index, known.add(`${protocol} ${port}`));
  };
  const proxied = services.filter(({ kind }) => kind === "cluster-ip").flatMap(({ ports }) => ports);
  for (const { protocol, backEnds } of proxied)
    for (const { pod, port } of backEnds) if (pod !== undefined) add(pod, protocol, port);
  for (const pod of pods)
    for (const { protocol, port, hostPort } of pod.ports)
      if (hostPort !== undefined) add(pod, protocol, port);
  return pods.map((pod) => ({ ...pod, balancedPorts: byPod.get(pod.index) ?? pod.balancedPorts }));
}

/** Without a kube-proxy, or without routes between the nodes, nobody but its neighbours reaches the name service. */
function isDnsReachable({ file }: Cluster): boolean {
  const { network, kubeProxy } = file;
  return kubeProxy.enabled && (network.routes === "static" || network.shape === "node-subnet");
}

/** Reads the machines of a cluster, and what its Kubernetes objects ask for. */
export function readModel(cluster: Cluster): VerifyModel {
  const { file } = cluster;
  const inPodNetwork = cluster.pods.filter(({ spec }) => spec.network !== "host");
  const populated = new Set(inPodNetwork.map((pod) => pod.node.spec.name));
  const nodes = cluster.nodes.map((node, index) => readNode(node, index, populated.has(node.spec.name)));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const common = commonPolicies(cluster);
  const zone = file.dns.domain;
  const pods = cluster.pods.map((pod, index) =>
    readPod(pod, index, {
      node: defined(byName.get(pod.node.spec.name), "a pod's node is a node of the cluster"),
      common,
      zone,
    }),
  );
  const dnsService = findDnsService(cluster.objects.Service, file.network.serviceCIDR);
  const view = readKubernetes(cluster.objects, { pods, nodes }, { zone, dnsService });
  return {
    clusterName: file.name,
    kubernetesMinor: file.kubernetes.version.minor,
    nodes,
    pods: withBalancedPorts(view.pods, file.kubeProxy.enabled ? view.services : []),
    hostNetworkPods: view.hostNetworkPods,
    services: view.services,
    outside: readOutside(cluster),
    network: {
      driver: file.network.driver,
      shape: file.network.shape,
      hasStaticRoutes: file.network.routes === "static",
      ...readOutboundNat(cluster),
      routedRanges: file.underlay.routes.map(({ to }) => to),
    },
    hasProxy: file.kubeProxy.enabled,
    isDsr: file.kubeProxy.enableDSR,
    dnsZone: isDnsReachable(cluster) ? view.dnsZone : undefined,
  };
}
