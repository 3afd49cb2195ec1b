/** Reads from a cluster what `verify` has to know of it. The only file here that knows how clusters and objects look. */
import { defined } from "#core/base/assert.ts";
import { outsideIpv6 } from "#dataplane/fabric/underlay.ts";
import type { Pod, Service } from "#contracts/kubernetes/objects.ts";
import { isWithoutProcess } from "#contracts/kubernetes/pod.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type QuirkName, isDefaultQuirk } from "#core/catalogue/quirks.ts";
import { type Ip, type IpFamily, type Prefix, formatIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import type { ClusterObjects } from "../cluster-objects.ts";
import type {
  DenySpec,
  FileUnderlay,
  Ipv6Spec,
  NodeIpv6,
  NodeSpec,
  OutboundNatSpec,
  PodNetworkSpec,
} from "../file/cluster-file.ts";
import { DEFAULT_OPTIONS } from "#programs/flannel/flanneld-options.ts";
import { driverTraits, hasOtherVni, hasServicesIn, needsPodRoutes } from "../file/driver-traits.ts";
import { allNetworks, bridgeAddress, secondFamily } from "../networks/networks-of-node.ts";
import { findDnsService } from "../names/dns-service.ts";
import { isApiService } from "../services/api-server.ts";
import { podReference } from "../machines/kubelet.ts";
import { type LimitKinds, withAzureKinds } from "./azure-kinds.ts";
import { readKubernetes } from "./kubernetes-view.ts";
import { DNS_PORT } from "#dataplane/host/resolver/question.ts";
import { isServed } from "./service-port.ts";
import type {
  VerifyModel,
  VerifyNetwork,
  VerifyNode,
  VerifyOutside,
  VerifyPod,
  VerifyService,
} from "./model.ts";

/**
 * Nodes of one class run the same system, the same build with the same updates, and programs of the same mode; all of
 * them run pods, or none does.
 */
function nodeClassOf({ spec, isApart }: ClusterNode, hasPods: boolean, limitKind: string): string {
  const build = spec.build === undefined ? "" : ` ${spec.build.profile.name}.${spec.build.revision ?? "all"}`;
  const quirks = Object.keys(spec.quirks).length === 0 ? "" : ` ${JSON.stringify(spec.quirks)}`;
  const guard = spec.hasMacSpoofing ? "" : " guarded";
  const alone = isApart === true ? ` ${spec.name}` : "";
  const own = `${spec.os}${build} ${spec.compat}${guard}${quirks}${hasPods ? "" : " without pods"}${alone}`;
  return limitKind === "" ? own : `${own} ${limitKind}`;
}

/** Only what is set for all of a node can be expected of it: a rate cannot. */
function hasDefect({ build, quirks }: NodeSpec, name: QuirkName): boolean {
  if (build === undefined) return false;
  const setting = quirks[name];
  return setting === undefined ? isDefaultQuirk(name, build) : setting === "on";
}

function readNode(
  node: ClusterNode,
  index: number,
  hasPods: boolean,
  { second, kinds }: { readonly second: NodeIpv6 | undefined; readonly kinds: LimitKinds },
): VerifyNode {
  const { spec } = node;
  return {
    kind: "node",
    index,
    reference: `node/${spec.name}`,
    name: spec.name,
    os: spec.os,
    windows: spec.build,
    // The reports are of IPv4 (#hns/failures/defects/program-defects.ts).
    losesPodsWithDsr: second === undefined && hasDefect(spec, "l2bridge-dsr-kb5005619"),
    losesOverlayNodePorts: hasDefect(spec, "overlay-nodeport-ws2022"),
    deniesNatOutbound: hasDefect(spec, "nat-denies-outbound"),
    compat: spec.compat,
    address: second?.address ?? spec.address,
    podRange: second?.podRange ?? spec.podCIDR,
    hasPods,
    hasMacGuard: !spec.hasMacSpoofing,
    hasGivenSubnetFile: DEFAULT_OPTIONS.subnetFile in spec.files,
    nodeClass: nodeClassOf(node, hasPods, kinds.kindOf(`node/${spec.name}`)),
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

function keyOfPod({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `a-b-c-d.namespace.pod.zone`, as the cluster's name service answers for every pod. */
function nameByAddress(pod: ClusterPod, zone: string): string {
  return `${formatIp(pod.address).replaceAll(/[.:]/g, "-")}.${pod.spec.namespace}.pod.${zone}`;
}

/** What the cluster file gives a pod beside its network; empty: nothing. */
function ownWaysOf({ furtherNetworks = [], routes = [] }: ClusterPod["spec"]): string {
  if (furtherNetworks.length + routes.length === 0) return "";
  return JSON.stringify([furtherNetworks, routes.map(({ to, via }) => [to.address, to.length, via].join())]);
}

function readPod(
  pod: ClusterPod,
  index: number,
  context: {
    readonly node: VerifyNode;
    readonly network: VerifyNetwork;
    readonly hasTwin: boolean;
    readonly denials: readonly DenySpec[];
    readonly common: readonly JsonObject[];
    readonly zone: string;
    readonly address: Ip;
    readonly limitKind: string;
  },
): VerifyPod {
  const { spec } = pod;
  const { node, network, hasTwin, common, zone, address, limitKind } = context;
  const isHostNetwork = spec.network === "host";
  const isFiltered = node.os === "windows" && !isHostNetwork;
  const ownRules = isFiltered
    ? accessRules([...common, ...spec.policies.flatMap((each) => [...mappingsIn(each)])])
    : "";
  // A pod that a rule of the fabric names is like no other.
  const isDenied = context.denials.some(({ from, to }) =>
    [from, to].some((range) => prefixContains(range, address)),
  );
  // Pods with policies of their own stand for nobody else; their ports may matter to the policies.
  const policies = spec.policies.length === 0 ? "" : JSON.stringify([spec.policies, spec.ports]);
  return {
    kind: "pod",
    index,
    reference: `pod/${spec.namespace}/${spec.name}`,
    namespace: spec.namespace,
    node,
    network,
    address,
    hasTwin,
    hostname: spec.name,
    serverName: podReference(spec),
    isHostNetwork,
    ports: spec.ports.map(({ port, protocol, hostPort }) => ({
      protocol: protocol === "TCP" ? "tcp" : "udp",
      port,
      hostPort,
    })),
    hasOwnPolicies: spec.policies.length > 0,
    ownRules: ownRules + ownWaysOf(spec),
    limitKind,
    podClass: `${node.nodeClass} ${isHostNetwork ? "host" : network.name} ${isDenied ? address : ""} ${policies} ${limitKind}`,
    balancedPorts: new Set(),
    usesClusterDns: true,
    dnsName: isHostNetwork ? undefined : nameByAddress(pod, zone),
  };
}

/** A network of Linux nodes has no driver, and routes as the cluster's own does. */
function readNetwork(cluster: Cluster, network: PodNetworkSpec, family: IpFamily): VerifyNetwork {
  return {
    isFirst: network === cluster.file.network,
    ranges: readRanges(cluster, network, family),
    name: network.name,
    driver: network.driver,
    shape: network.shape === "own-subnet" ? "own-subnet" : "shared",
    hasBridge: cluster.file.nodes.some(
      (node) => network.ranges[node.name] !== undefined && bridgeAddress(network, node) !== undefined,
    ),
    hasOtherVni: network === cluster.file.network && hasOtherVni(cluster.file),
    isVirtual: driverTraits(network.driver).isIsolated,
    // Each node's own port leads to the pods of all nodes (control-planes.md §4.5, "Management port").
    hasStaticRoutes: network.routes !== "none" || cluster.file.network.plugin === "ovn-kubernetes",
    ...(network === cluster.file.network ? readOutboundNat(cluster) : natOf(network.outboundNAT)),
  };
}

function readRanges({ file }: Cluster, network: PodNetworkSpec, family: IpFamily): VerifyNetwork["ranges"] {
  if (family === 4) return network.ranges;
  return Object.fromEntries(
    file.nodes.flatMap((node) => {
      const range = secondFamily(file, network, node)?.podRange;
      return range === undefined ? [] : [[node.name, range] as const];
    }),
  );
}

function natOf({ enabled, exceptions }: OutboundNatSpec): ReturnType<typeof readOutboundNat> {
  return { hasOutboundNat: enabled, natExceptions: exceptions, hasLoopbackDsr: false };
}

/** win-bridge's `loopbackDSR`, the sdn plugins' and Azure's `enableLoopbackDSR` (cni.md §2.2, §2.4, §5.1). */
function asksForLoopbackDsr(mapping: JsonObject): boolean {
  return mapping["loopbackDSR"] === true || mapping["enableLoopbackDSR"] === true;
}

/** The exceptions of OutBoundNAT: those of a configuration that the user wrote, else those of the cluster file. */
function readOutboundNat(cluster: Cluster): {
  readonly hasOutboundNat: boolean;
  readonly natExceptions: readonly Prefix[];
  readonly hasLoopbackDsr: boolean;
} {
  const { network } = cluster.file;
  if (network.cni.conflist === undefined) {
    // The gateway router translates what leaves the cluster (control-planes.md §4.2, "GR NAT").
    if (network.plugin === "ovn-kubernetes")
      return {
        hasOutboundNat: true,
        natExceptions: [network.clusterCIDR, network.serviceCIDR],
        hasLoopbackDsr: true,
      };
    const own = natOf(network.outboundNAT);
    if (network.plugin !== "flannel") return own;
    // flannel adds its network for win-bridge (cni.md §3.3), and behind a tunnel nothing is translated: ENCAP comes before
    // SLB_NAT (dataplane.md §2.3).
    return { ...own, natExceptions: [...own.natExceptions, network.clusterCIDR] };
  }
  const written = [...mappingsIn(network.cni.conflist)];
  const hasOutboundNat = written.some((policy) => typeOf(policy) === "OUTBOUNDNAT");
  const lists = written.map((policy) => policy["ExceptionList"] ?? policy["Exceptions"]);
  const ranges = lists.flatMap((list) => (Array.isArray(list) ? (list as readonly JsonValue[]) : []));
  const natExceptions = ranges.flatMap((range) =>
    typeof range === "string" ? (parsePrefix(range) ?? []) : [],
  );
  return { hasOutboundNat, natExceptions, hasLoopbackDsr: written.some(asksForLoopbackDsr) };
}

function readOutside(cluster: Cluster, family: IpFamily): readonly VerifyOutside[] {
  return cluster.file.outside.map((spec, index) => ({
    kind: "outside",
    index,
    reference: spec.name,
    address: family === 6 ? outsideIpv6(spec.address) : spec.address,
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
    for (const { pod, port } of backEnds) if (pod !== undefined && isServed(pod)) add(pod, protocol, port);
  for (const pod of pods)
    for (const { protocol, port, hostPort } of pod.ports)
      if (hostPort !== undefined) add(pod, protocol, port);
  return pods.map((pod) => ({ ...pod, balancedPorts: byPod.get(pod.index) ?? pod.balancedPorts }));
}

/** Without a kube-proxy, or without routes between the nodes, nobody but its neighbours reaches the name service. */
function isDnsReachable({ file }: Cluster): boolean {
  const { network, kubeProxy } = file;
  const isReached =
    network.routes !== "none" ||
    network.plugin === "ovn-kubernetes" ||
    network.shape !== "own-subnet" ||
    !needsPodRoutes(network);
  return kubeProxy.enabled && hasServicesIn(network) && isReached;
}

const ALL_ALIKE: LimitKinds = Object.freeze({ kindOf: () => "" });

function rangesOfTables({ azure }: FileUnderlay): readonly Prefix[] {
  const routes = azure?.subnets.flatMap((subnet) => subnet.routes) ?? [];
  return routes.filter(({ nextHopType }) => nextHopType === "VirtualAppliance").map(({ prefix }) => prefix);
}

/**
 * Reads the machines of a cluster, and what its Kubernetes objects ask for. With `family` 6 everybody has their IPv6
 * address: pods and Services without one are left out, and nobody has names, which are asked once.
 */
export function readModel(
  cluster: Cluster,
  family: IpFamily = 4,
  limitKinds: LimitKinds = ALL_ALIKE,
): VerifyModel {
  const kinds = withAzureKinds(cluster, limitKinds);
  const { file } = cluster;
  const second = family === 6 ? file.ipv6 : undefined;
  const inPodNetwork = cluster.pods.filter(({ spec }) => spec.network !== "host");
  const populated = new Set(inPodNetwork.map((pod) => pod.node.spec.name));
  const nodes = cluster.nodes.map((node, index) =>
    readNode(node, index, populated.has(node.spec.name), { second: second?.nodes[node.spec.name], kinds }),
  );
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const common = commonPolicies(cluster);
  const zone = file.dns.domain;
  const networks = new Map(
    allNetworks(file).map((each) => {
      const network = readNetwork(cluster, each, family);
      // Nobody translates IPv6 (dataplane.md §2.11).
      return [each.name, second === undefined ? network : { ...network, hasOutboundNat: false }];
    }),
  );
  const networkOf = (name: string): VerifyNetwork => defined(networks.get(name), `network ${name} is there`);
  const owners = Map.groupBy(cluster.pods, ({ address }) => formatIp(address));
  // A pod without a process has an address, and nothing that asks or answers.
  const idle = new Set(cluster.objects.Pod.filter(isWithoutProcess).map(keyOfPod));
  const pods = cluster.pods.flatMap((pod, index) => {
    const address = family === 6 ? pod.address6 : pod.address;
    const isIdle = pod.spec.network !== "host" && idle.has(`${pod.spec.namespace}/${pod.spec.name}`);
    if (address === undefined || isIdle) return [];
    return readPod(pod, index, {
      network: networkOf(pod.spec.podNetwork),
      hasTwin: new Set(owners.get(formatIp(pod.address))?.map(({ spec }) => spec.podNetwork)).size > 1,
      denials: second === undefined ? file.underlay.deny : [],
      node: defined(byName.get(pod.node.spec.name), "a pod's node is a node of the cluster"),
      common,
      zone,
      address,
      limitKind: kinds.kindOf(`pod/${pod.spec.namespace}/${pod.spec.name}`),
    });
  });
  const dnsService = findDnsService(cluster.objects.Service, file.network.serviceCIDR);
  const view = readKubernetes(objectsToAsk(cluster), { pods, nodes }, { zone, dnsService, family });
  const isNamed = second === undefined && isDnsReachable(cluster);
  return {
    clusterName: file.name,
    kubernetesMinor: file.kubernetes.version.minor,
    nodes,
    pods: withBalancedPorts(view.pods, file.kubeProxy.enabled ? view.services : []),
    hostNetworkPods: view.hostNetworkPods,
    services: view.services,
    outside: readOutside(cluster, family),
    network: networkOf(file.network.name),
    routedRanges: second === undefined ? file.underlay.routes.map(({ to }) => to) : routedRangesOf(second),
    tableRanges: second === undefined ? rangesOfTables(file.underlay) : [],
    clusterRange: (second ?? file.network).clusterCIDR,
    denials: second === undefined ? file.underlay.deny : [],
    setUp: setUpOf(file),
    hasProxy: file.kubeProxy.enabled && hasServicesIn(file.network),
    isDsr: file.kubeProxy.enableDSR,
    asDocumented: file.asDocumented ?? "no",
    dnsZone: isNamed ? view.dnsZone : undefined,
    dns: isNamed && view.dnsZone !== undefined ? readDns(dnsService, view.dnsNodes) : undefined,
  };
}

function setUpOf({ network: { plugin } }: Cluster["file"]): VerifyModel["setUp"] {
  if (plugin === "acs-2017") return "acs-2017";
  return plugin === "ovn-kubernetes" ? "ovn" : "present";
}

/** Service `kubernetes` is asked where the input brings it: of one that every cluster gets, nothing is to be found out. */
function objectsToAsk({ objects, isApiServiceAdded }: Cluster): ClusterObjects {
  if (!isApiServiceAdded) return objects;
  return { ...objects, Service: objects.Service.filter((service) => !isApiService(service)) };
}

function readDns(service: Service | undefined, nodes: readonly string[]): VerifyModel["dns"] {
  if (service === undefined) return undefined;
  const { namespace, name } = service.metadata;
  const protocols = (["udp", "tcp"] as const).filter((transport) =>
    (service.spec?.ports ?? []).some(
      ({ port, protocol = "TCP" }) => port === DNS_PORT && protocol === transport.toUpperCase(),
    ),
  );
  return { reference: `service/${namespace}/${name}`, protocols, nodes };
}

/** Pod ranges that the router knows. */
function routedRangesOf({ hasPodRoutes, nodes, further }: Ipv6Spec): readonly Prefix[] {
  if (!hasPodRoutes) return [];
  const others = Object.values(further).flatMap((ranges) => Object.values(ranges));
  return [...Object.values(nodes).map(({ podRange }) => podRange), ...others];
}
