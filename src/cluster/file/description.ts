/**
 * The fields of a cluster file, version mullion/v1alpha1: the one place that names them. Parser, JSON schema and
 * docs/reference/cluster-file.md all come from here.
 */
import type { Edition } from "#core/catalogue/edition.ts";
import type { Mac } from "#core/net/mac.ts";
import { type Compat, parseCompat } from "#core/base/compat.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import { type ProfileName, type WindowsBuild, getProfile } from "#core/catalogue/profiles.ts";
import { type Ipv4, type Prefix, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import type {
  AddressRange,
  DnsSpec,
  ExpectationSpec,
  KubernetesRelease,
  NodeOs,
  PodPortSpec,
  PolicyEngineName,
  PortForwarding,
  PortProtocol,
  PortSpec,
  RouteSpec,
  WorkloadSpec,
} from "./cluster-file.ts";
import {
  FURTHER_NETWORK,
  type FurtherNetworkFields,
  NETWORK,
  type NetworkFields,
} from "./description-of-networks.ts";
import { ROUTE, UNDERLAY, type UnderlayFields } from "./description-of-underlay.ts";
import {
  NODE_IPV6,
  NODE_STATE,
  type NodeIpv6Fields,
  type NodeStateFields,
  QUIRK_SETTINGS,
} from "./description-of-nodes.ts";
import {
  LABEL_TEXTS,
  type LocatedFields,
  type OptionalMapping,
  list,
  mapping,
  optionalList,
  section,
} from "./mapping.ts";
import type { Located } from "./reading.ts";
import {
  ADDRESS_RANGE,
  BOOLEAN,
  CODE,
  EDITION,
  IPV4,
  MAC,
  IPV6_PREFIX,
  type MissingWord,
  NAME,
  NETWORK_NAME,
  NETWORK_PATTERN,
  PARTY,
  PORT,
  PREFIX,
  RELATIVE_PATH,
  WINDOWS_BUILD,
  WORD,
  integer,
  jsonObject,
  kubernetesVersion,
  oneOf,
} from "./scalars.ts";
import { optional, required, withDefault, withDefaultAs } from "./shape.ts";
import { clusterFields } from "#data/words.js";

const WORDS = clusterFields();

/** What `apiVersion` of a cluster file says. */
export const CLUSTER_FILE_VERSION = "mullion/v1alpha1";
/** What `kind` of a cluster file says. */
export const CLUSTER_FILE_KIND = "Cluster";

const BUILD_DEFAULT: ProfileName = "ws2022";

/** Minor versions of Kubernetes 1 that a cluster can have. */
export const KUBERNETES_MINOR_MIN = 20;
export const KUBERNETES_MINOR_MAX = 37;
/** Those whose kubelet knows Windows, and no CNI plugins there: of plugin acs-2017 (control-planes.md §9). */
export const KUBERNETES_MINORS_BEFORE_CNI: readonly number[] = Object.freeze([5, 6, 7, 8]);

/** Pods of one file: what Kubernetes is tested with. */
const PODS_MAX = 150_000;
const PORTS_MAX = 256;
/** Entries, of which each may be many addresses. */
const POD_ADDRESSES_MAX = 1_024;
const OUTSIDE_HOSTS_MAX = 1_000;
const NETWORKS_MAX = 64;
const POD_ROUTES_MAX = 256;
const POLICIES_MAX = 4_096;
const NAMES_MAX = 1_000;
const MANIFESTS_MAX = 1_000;
const EXPECTATIONS_MAX = 10_000;
const WORKLOADS_MAX = 1_000;
const COMMAND_WORDS_MAX = 1_024;
const SEED_MAX = 0xffff_ffff;

function ipv4(text: string): Ipv4 {
  return defined(parseIpv4(text), "a default address is one");
}

function prefix(text: string): Prefix {
  return Object.freeze(defined(parsePrefix(text), "a default range is one"));
}

const NO_QUIRKS: QuirkSettings = Object.freeze({});

interface MetadataFields {
  name: string;
}
interface KubernetesFields {
  version: KubernetesRelease;
}
export interface NodeFields extends NodeStateFields {
  name: string;
  os: NodeOs;
  build: WindowsBuild | undefined;
  address: Ipv4;
  podCIDR: Prefix | undefined;
  podAddresses: readonly Located<AddressRange>[] | undefined;
  compat: Compat;
  quirks: QuirkSettings;
  macSpoofing: "on" | "off";
  podCIDRAllocated: boolean;
  portForward: PortForwarding;
  labels: Readonly<Record<string, string>>;
  ipv6: LocatedFields<NodeIpv6Fields>;
}
export interface OutsideFields {
  name: string;
  address: Ipv4;
  ports: readonly Located<LocatedFields<PortSpec>>[] | undefined;
  names: readonly Located<string>[];
}
export interface SecondFamilyFields {
  enabled: boolean;
  subnet: Prefix;
  clusterCIDR: Prefix;
  serviceCIDR: Prefix;
  podRoutes: boolean;
}
interface KubeProxyFields {
  enabled: boolean;
  enableDSR: boolean;
  forwardHealthCheckVip: boolean;
  hostnameOverride: boolean;
}
interface LoadBalancerFields {
  pool: Prefix | undefined;
}
export interface PodFields {
  name: string;
  namespace: string;
  node: string;
  labels: Readonly<Record<string, string>>;
  ports: readonly Located<LocatedFields<PodPortSpec>>[] | undefined;
  address: Ipv4 | undefined;
  mac: Mac | undefined;
  network: string | undefined;
  networks: readonly Located<string>[];
  routes: readonly Located<LocatedFields<RouteSpec>>[];
  policies: readonly Located<JsonObject>[];
}
interface WorkloadFields extends Omit<WorkloadSpec, "command"> {
  command: readonly Located<string>[];
}
export interface RootFields {
  apiVersion: typeof CLUSTER_FILE_VERSION;
  kind: typeof CLUSTER_FILE_KIND;
  metadata: LocatedFields<MetadataFields>;
  kubernetes: LocatedFields<KubernetesFields>;
  seed: number;
  asDocumented: Edition | undefined;
  quirks: QuirkSettings;
  nodes: readonly Located<LocatedFields<NodeFields>>[];
  network: LocatedFields<NetworkFields>;
  networks: readonly Located<LocatedFields<FurtherNetworkFields>>[];
  underlay: LocatedFields<UnderlayFields>;
  ipv6: LocatedFields<SecondFamilyFields>;
  kubeProxy: LocatedFields<KubeProxyFields>;
  dns: LocatedFields<DnsSpec>;
  loadBalancers: LocatedFields<LoadBalancerFields>;
  policy: PolicyEngineName | undefined;
  policyNetwork: string | undefined;
  outside: readonly Located<LocatedFields<OutsideFields>>[] | undefined;
  pods: readonly Located<LocatedFields<PodFields>>[];
  manifests: readonly Located<string>[];
  expectations: readonly Located<LocatedFields<ExpectationSpec>>[];
  workloads: readonly Located<LocatedFields<WorkloadFields>>[];
}

const METADATA = mapping<MetadataFields>("a mapping with a name", {
  name: required(NAME, "The cluster's name, shown in reports."),
});

const KUBERNETES = mapping<KubernetesFields>("a mapping", {
  version: withDefaultAs(
    kubernetesVersion(KUBERNETES_MINOR_MIN, KUBERNETES_MINOR_MAX, KUBERNETES_MINORS_BEFORE_CNI),
    Object.freeze({ major: 1, minor: KUBERNETES_MINOR_MAX, patch: undefined }),
    `1.${KUBERNETES_MINOR_MAX}`,
    WORDS.kubernetesVersion,
  ),
});

const NODE = mapping<NodeFields>("a node", {
  name: required(NAME, WORDS.nodeName),
  os: required(oneOf<NodeOs>(["windows", "linux"]), "The node's operating system."),
  build: optional(WINDOWS_BUILD, WORDS.nodeBuild, `\`"${BUILD_DEFAULT}"\` on Windows`),
  address: required(IPV4, "The node's address on the underlay."),
  podCIDR: optional(PREFIX, WORDS.nodePodCIDR, "the next free block of `network.clusterCIDR`"),
  podAddresses: optional(
    list(ADDRESS_RANGE, { countMax: POD_ADDRESSES_MAX }),
    WORDS.nodePodAddresses,
    "the addresses of `podCIDR`",
  ),
  compat: withDefault(
    oneOf<Compat>(["upstream", "hardened"], { parse: parseCompat }),
    "upstream",
    WORDS.nodeCompat,
  ),
  quirks: withDefaultAs(QUIRK_SETTINGS, NO_QUIRKS, {}, WORDS.nodeQuirks),
  macSpoofing: withDefault(oneOf<"on" | "off">(["on", "off"]), "on", WORDS.nodeMacSpoofing),
  podCIDRAllocated: withDefault(BOOLEAN, true, WORDS.nodePodCIDRAllocated),
  portForward: withDefault(
    oneOf<PortForwarding>(["connect", "wincat", "without-wincat"]),
    "connect",
    WORDS.nodePortForward,
  ),
  labels: withDefaultAs(LABEL_TEXTS, Object.freeze({}), {}, WORDS.nodeLabels),
  ipv6: section(NODE_IPV6, WORDS.nodeIpv6),
  ...NODE_STATE,
});

const PROTOCOL = withDefault(
  oneOf<PortProtocol>(["TCP", "UDP"]),
  "TCP",
  "The transport protocol of the port.",
);
const PORT_SHAPE = mapping<PortSpec>("a port", {
  port: required(PORT, WORDS.outsidePortsPort),
  protocol: PROTOCOL,
});
const POD_PORT_SHAPE = mapping<PodPortSpec>("a port", {
  port: required(PORT, WORDS.podPortsPort),
  protocol: PROTOCOL,
  hostPort: optional(PORT, WORDS.podPortsHostPort, "none"),
});

const OUTSIDE = mapping<OutsideFields>("an outside host", {
  name: required(NAME, "The host's name. `router` is taken."),
  address: required(IPV4, WORDS.outsideAddress),
  ports: optional(
    list(PORT_SHAPE, { countMax: PORTS_MAX }),
    "Where the host answers.",
    "TCP 80, TCP 443, UDP 123, UDP 53",
  ),
  names: optionalList(NAME, NAMES_MAX, WORDS.outsideNames),
});

const IPV6 = mapping<SecondFamilyFields>("a mapping", {
  enabled: withDefault(BOOLEAN, false, WORDS.ipv6Enabled),
  subnet: withDefaultAs(IPV6_PREFIX, prefix("fd00:10::/64"), "fd00:10::/64", WORDS.ipv6Subnet),
  clusterCIDR: withDefaultAs(
    IPV6_PREFIX,
    prefix("fd00:10:244::/48"),
    "fd00:10:244::/48",
    WORDS.ipv6ClusterCIDR,
  ),
  serviceCIDR: withDefaultAs(
    IPV6_PREFIX,
    prefix("fd00:10:96::/112"),
    "fd00:10:96::/112",
    WORDS.ipv6ServiceCIDR,
  ),
  podRoutes: withDefault(BOOLEAN, true, WORDS.ipv6PodRoutes),
});

const KUBE_PROXY = mapping<KubeProxyFields>("a mapping", {
  enabled: withDefault(BOOLEAN, true, "Whether Services are programmed on the nodes."),
  enableDSR: withDefault(BOOLEAN, false, WORDS.kubeProxyEnableDSR),
  forwardHealthCheckVip: withDefault(BOOLEAN, false, WORDS.kubeProxyForwardHealthCheckVip),
  hostnameOverride: withDefault(BOOLEAN, true, WORDS.kubeProxyHostnameOverride),
});

const DNS = mapping<DnsSpec>("a mapping", {
  enabled: withDefault(BOOLEAN, true, WORDS.dnsEnabled),
  domain: withDefault(NAME, "cluster.local", "The zone of the cluster's names."),
});

const LOAD_BALANCERS = mapping<LoadBalancerFields>("a mapping", {
  pool: optional(PREFIX, WORDS.loadBalancersPool, WORDS.loadBalancersPoolDefault),
});

const EXPECTATION = mapping<ExpectationSpec>("an expectation", {
  from: required(PARTY, "Who sends, as `mullion trace` names them."),
  to: required(PARTY, "Who receives."),
  protocol: withDefault(
    oneOf<ExpectationSpec["protocol"]>(["tcp", "udp", "icmp"]),
    "tcp",
    "The protocol of the packet.",
  ),
  port: optional(PORT, "The receiver's port. ICMP has none.", "the first one that the receiver serves"),
  expect: required(oneOf<ExpectationSpec["expect"]>(["works", "denied"]), "The expected outcome."),
  code: optional(CODE, WORDS.expectationCode, "any drop or refusal"),
});

const WORKLOAD = mapping<WorkloadFields>("a workload", {
  pod: required(NAME, "The name of the pod that the process is in."),
  namespace: withDefault(NAME, "default", "The pod's namespace."),
  command: required(list(WORD, { countMin: 1, countMax: COMMAND_WORDS_MAX }), WORDS.workloadCommand),
  env: withDefaultAs(LABEL_TEXTS, Object.freeze({}), {}, WORDS.workloadEnv),
});

const POD = mapping<PodFields>("a pod", {
  name: required(NAME, "The pod's name, unique in its namespace."),
  namespace: withDefault(NAME, "default", "The pod's namespace."),
  node: required(NAME, WORDS.podNode),
  labels: withDefaultAs(LABEL_TEXTS, Object.freeze({}), {}, "The pod's labels."),
  ports: optional(list(POD_PORT_SHAPE, { countMax: PORTS_MAX }), "Where the pod answers.", "TCP 8080"),
  address: optional(IPV4, WORDS.podAddress, "chosen by IPAM"),
  mac: optional(MAC, WORDS.podMac, "chosen by HNS"),
  network: optional(NETWORK_NAME, "One of `networks`. Only on Windows nodes.", "`network`"),
  networks: optionalList(NETWORK_NAME, NETWORKS_MAX, WORDS.podNetworks),
  routes: optionalList(ROUTE, POD_ROUTES_MAX, WORDS.podRoutes),
  policies: optionalList(jsonObject("an HCN endpoint policy", ["Type"]), POLICIES_MAX, WORDS.podPolicies),
});

/** Engines of Kubernetes networks that are no engines here. */
const MISSING_ENGINES: Readonly<Record<string, MissingWord>> = Object.freeze({
  antrea: { message: WORDS.antreaEngineMissing, advice: WORDS.adviceAntreaEngine },
  ovn: { message: WORDS.ovnEngineMissing, advice: WORDS.adviceAntreaEngine },
  "ovn-kubernetes": { message: WORDS.ovnEngineMissing, advice: WORDS.adviceAntreaEngine },
  cilium: { message: WORDS.ciliumEngineMissing, advice: WORDS.adviceCiliumEngine },
});

/** A whole cluster file. */
export const CLUSTER: OptionalMapping<RootFields> = mapping<RootFields>("a cluster file", {
  apiVersion: required(oneOf([CLUSTER_FILE_VERSION]), "The version of this format."),
  kind: required(oneOf([CLUSTER_FILE_KIND]), "The kind of this document."),
  metadata: required(METADATA, "Names the cluster."),
  kubernetes: section(KUBERNETES, "Kubernetes on the nodes."),
  seed: withDefault(integer("a seed", 0, SEED_MAX), 1, WORDS.clusterSeed),
  asDocumented: optional(EDITION, WORDS.clusterAsDocumented, "the limits of the builds"),
  quirks: withDefaultAs(QUIRK_SETTINGS, NO_QUIRKS, {}, WORDS.clusterQuirks),
  nodes: required(list(NODE, { countMin: 1, countMax: LIMITS.nodesMax }), "The machines of the cluster."),
  network: section(NETWORK, "The pod network."),
  networks: optionalList(FURTHER_NETWORK, NETWORKS_MAX, WORDS.clusterNetworks),
  underlay: section(UNDERLAY, "What joins the nodes."),
  ipv6: section(IPV6, "The second family of a dual-stack cluster."),
  kubeProxy: section(KUBE_PROXY, "Services on the nodes."),
  dns: section(DNS, "Names in the cluster."),
  loadBalancers: section(LOAD_BALANCERS, "Addresses of Services of type LoadBalancer."),
  policy: optional(
    oneOf<PolicyEngineName>(["calico", "azure-npm", "none"], { missing: MISSING_ENGINES }),
    WORDS.clusterPolicy,
    WORDS.clusterPolicyDefault,
  ),
  policyNetwork: optional(NETWORK_PATTERN, WORDS.clusterPolicyNetwork, WORDS.clusterPolicyNetworkDefault),
  outside: optional(
    list(OUTSIDE, { countMax: OUTSIDE_HOSTS_MAX }),
    WORDS.clusterOutside,
    "one host `external` with address 203.0.113.10",
  ),
  pods: optionalList(POD, PODS_MAX, WORDS.clusterPods),
  manifests: optionalList(RELATIVE_PATH, MANIFESTS_MAX, WORDS.clusterManifests),
  expectations: optionalList(EXPECTATION, EXPECTATIONS_MAX, WORDS.clusterExpectations),
  workloads: optionalList(WORKLOAD, WORKLOADS_MAX, WORDS.clusterWorkloads),
});

/** Values of optional fields, where the default depends on nothing else. */
export const DEFAULTS: {
  readonly build: WindowsBuild;
  readonly clusterCIDR: Prefix;
  readonly outsideAddress: Ipv4;
  /** flannel's on Windows, and the port of RFC 7348. */
  readonly vni: number;
  readonly vxlanPort: number;
} = Object.freeze({
  build: Object.freeze({ profile: getProfile(BUILD_DEFAULT), revision: undefined, note: undefined }),
  clusterCIDR: prefix("10.244.0.0/16"),
  outsideAddress: ipv4("203.0.113.10"),
  vni: 4_096,
  vxlanPort: 4_789,
});

/** The fields of a whole file, each with its place. */
export type RawCluster = LocatedFields<RootFields>;
