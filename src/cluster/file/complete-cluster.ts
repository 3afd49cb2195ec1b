/** From the fields as they were written to the whole cluster: every default filled in. */
import { type Ipv4, type Prefix, addToIp, formatIp } from "#core/net/ip.ts";
import { buildOfEdition, quirksOfEdition } from "#core/catalogue/documentation.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import type {
  ClusterFile,
  DhcpSpec,
  NetworkSpec,
  NodeSpec,
  FileOutsideHost,
  FilePodSpec,
  PortSpec,
  FileUnderlay,
} from "./cluster-file.ts";
import { completeFurtherNetwork, completeNetwork, completeRanges } from "./complete-networks.ts";
import { completeAzure } from "./azure-network.ts";
import { completeIpv6 } from "./complete-ipv6.ts";
import {
  DEFAULTS,
  type NodeFields,
  type OutsideFields,
  type PodFields,
  type RawCluster,
} from "./description.ts";
import type { DhcpScopeFields, UnderlayFields } from "./description-of-underlay.ts";
import { type LocatedFields, recordsOf, valuesIn } from "./mapping.ts";
import { type Located, type Reading, valuesOf } from "./reading.ts";

const OUTSIDE_PORTS: readonly PortSpec[] = [
  { port: 80, protocol: "TCP" },
  { port: 443, protocol: "TCP" },
  { port: 123, protocol: "UDP" },
  { port: 53, protocol: "UDP" },
];
const POD_PORT = 8080;

/** The host outside of a cluster file that names none. */
const EXTERNAL: FileOutsideHost = {
  name: "external",
  address: DEFAULTS.outsideAddress,
  ports: OUTSIDE_PORTS,
  names: ["www.example.com"],
};

function completeScope({
  leaseSeconds,
  exclusions,
  reservations,
}: LocatedFields<DhcpScopeFields>): Omit<DhcpSpec, "range"> {
  return {
    leaseSeconds: Math.ceil(leaseSeconds.value),
    exclusions: valuesOf(exclusions.value),
    reservations: recordsOf(reservations),
  };
}

function completeUnderlay(
  raw: LocatedFields<UnderlayFields>,
  nodes: readonly Located<LocatedFields<NodeFields>>[],
): FileUnderlay {
  const subnet = raw.subnet.value;
  const { range, servers } = raw.dhcp.value;
  return {
    subnet,
    router: raw.router.value ?? (addToIp(subnet.address, 1) as Ipv4),
    routes: recordsOf(raw.routes),
    deny: recordsOf(raw.deny),
    dhcp: range.value === undefined ? undefined : { range: range.value, ...completeScope(raw.dhcp.value) },
    dhcpServers: servers.value.map(({ value }) => ({
      name: value.name.value,
      address: value.address.value,
      range: value.range.value,
      ...completeScope(value),
    })),
    azureThrottledSeconds: raw.azure.value?.throttledSeconds.value ?? 0,
    azure:
      raw.azure.value &&
      completeAzure(
        raw.azure.value,
        subnet,
        nodes.map(({ value }) => ({ name: value.name.value, address: value.address.value })),
      ),
  };
}

/** What all nodes have in common. */
interface CommonOfNodes {
  readonly quirks: QuirkSettings;
  readonly asDocumented: Edition | undefined;
  readonly isDsr: boolean;
}

/** The build and the defects of a node: its own, or those of the edition that the cluster runs as. */
function completeWindows(
  raw: LocatedFields<NodeFields>,
  { quirks: common, asDocumented, isDsr }: CommonOfNodes,
): Pick<NodeSpec, "build" | "quirks"> {
  const build = raw.build.value ?? (raw.os.value === "windows" ? DEFAULTS.build : undefined);
  const quirks = { ...common, ...raw.quirks.value };
  // The article of 2017 is about programs, and names no limit of a build.
  if (build === undefined || asDocumented === undefined || asDocumented === "2017")
    return { build, quirks: Object.freeze(quirks) };
  const documented = buildOfEdition({ build, isDsr });
  const limits = quirksOfEdition(asDocumented, { build: documented, isDsr });
  return { build: documented, quirks: Object.freeze({ ...quirks, ...limits }) };
}

function completeNode(raw: LocatedFields<NodeFields>, podCIDR: Prefix, common: CommonOfNodes): NodeSpec {
  const os = raw.os.value;
  return {
    name: raw.name.value,
    os,
    ...completeWindows(raw, common),
    address: raw.address.value,
    podCIDR,
    podAddresses: raw.podAddresses.value && valuesOf(raw.podAddresses.value),
    compat: raw.compat.value,
    hasMacSpoofing: raw.macSpoofing.value === "on",
    isRangeInNode: raw.podCIDRAllocated.value,
    portForward: raw.portForward.value,
    labels: raw.labels.value,
    hostname: raw.hostname.value ?? raw.name.value,
    files: raw.files.value,
    addressDelayMs: raw.addressDelay.value * 1_000,
    flanneld: {
      iface: raw.flanneld.value.iface.value ?? formatIp(raw.address.value),
      isRestarted: raw.flanneld.value.restart.value === "always",
    },
  };
}

function completeOutside(raw: LocatedFields<OutsideFields>): FileOutsideHost {
  return {
    name: raw.name.value,
    address: raw.address.value,
    ports: raw.ports.value?.map(({ value }) => valuesIn(value)) ?? OUTSIDE_PORTS,
    names: valuesOf(raw.names.value),
  };
}

function completePod(raw: LocatedFields<PodFields>, network: string): FilePodSpec {
  const ports = raw.ports.value?.map(({ value }) => valuesIn(value));
  return {
    name: raw.name.value,
    namespace: raw.namespace.value,
    node: raw.node.value,
    labels: raw.labels.value,
    ports: ports ?? [{ port: POD_PORT, protocol: "TCP", hostPort: undefined }],
    address: raw.address.value,
    mac: raw.mac.value,
    policies: valuesOf(raw.policies.value),
    network: "pod",
    podNetwork: raw.network.value ?? network,
    furtherNetworks: valuesOf(raw.networks.value),
    routes: recordsOf(raw.routes),
  };
}

/** The cluster with all defaults; undefined, with a problem, when the nodes' pod ranges cannot be settled. */
export function completeCluster(
  raw: RawCluster,
  fileName: string,
  reading: Reading,
): ClusterFile | undefined {
  const underlay = completeUnderlay(raw.underlay.value, raw.nodes.value);
  const base = completeNetwork(raw.network.value, underlay);
  const ranges = completeRanges(
    base,
    { network: raw.network.value, nodes: raw.nodes.value, underlay },
    reading,
  );
  if (ranges === undefined) return undefined;
  const common = {
    quirks: raw.quirks.value,
    asDocumented: raw.asDocumented.value,
    isDsr: raw.kubeProxy.value.enableDSR.value,
  };
  const nodes = raw.nodes.value.flatMap(({ value }, index) => {
    const podCIDR = ranges[index];
    return podCIDR === undefined ? [] : [completeNode(value, podCIDR, common)];
  });
  const network: NetworkSpec = {
    ...base,
    ranges: Object.fromEntries(nodes.map(({ name, podCIDR }) => [name, podCIDR])),
  };
  const networks = raw.networks.value.map(({ value }, index) =>
    completeFurtherNetwork(value, index + 1, { network, underlay, nodes }, reading),
  );
  const outside = raw.outside.value?.map(({ value }) => completeOutside(value));
  return {
    fileName,
    name: raw.metadata.value.name.value,
    kubernetes: { version: raw.kubernetes.value.version.value },
    seed: raw.seed.value,
    asDocumented: raw.asDocumented.value,
    nodes,
    network,
    networks,
    underlay,
    ipv6: completeIpv6(raw, { network, networks, underlay, nodes }),
    kubeProxy: {
      // Containers of Docker belong to no cluster.
      enabled: raw.kubeProxy.value.enabled.value && network.plugin !== "docker",
      enableDSR: raw.kubeProxy.value.enableDSR.value,
      forwardsHealthChecks: raw.kubeProxy.value.forwardHealthCheckVip.value,
      hasHostnameOverride: raw.kubeProxy.value.hostnameOverride.value,
    },
    dns: valuesIn(raw.dns.value),
    policy: { engine: raw.policy.value, network: raw.policyNetwork.value },
    loadBalancerPool: raw.loadBalancers.value.pool.value,
    outside: outside ?? [EXTERNAL],
    pods: raw.pods.value.map(({ value }) => completePod(value, network.name)),
    manifests: valuesOf(raw.manifests.value),
    expectations: recordsOf(raw.expectations),
    workloads: recordsOf(raw.workloads).map((each) => ({ ...each, command: valuesOf(each.command) })),
  };
}
