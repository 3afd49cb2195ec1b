/** A parsed cluster file → its machines, cabled and booted, with their pod networks and without pods. */
import { assert, defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { Prng } from "#core/base/prng.ts";
import type { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { DhcpServer } from "#dataplane/fabric/dhcp-server.ts";
import { VirtualNetwork } from "#dataplane/fabric/azure/virtual-network.ts";
import { DenyRules, type FabricMachine } from "#dataplane/fabric/fabric-rules.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { PhysicalHostSwitch } from "#dataplane/fabric/physical-host-switch.ts";
import { ROUTER_MAC, Underlay } from "#dataplane/fabric/underlay.ts";
import { type Ipv4, lastIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { NO_OBJECTS } from "../cluster-objects.ts";
import type { AddressRange, ClusterFile, DhcpSpec, NodeSpec } from "../file/cluster-file.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Kubelet } from "./kubelet.ts";
import { LinuxKubelet, bootLinuxNode } from "./linux-node.ts";
import { hasDocker, isMadeByDaemon } from "../file/driver-traits.ts";
import { addForwarder } from "./acs-node.ts";
import { DockerNode } from "./docker-node.ts";
import { NodeFiles } from "../flannel/node-files.ts";
import { joinOverlay, makeNetworks } from "../networks/make-networks.ts";
import { allNetworks } from "../networks/networks-of-node.ts";
import { addFabricRoutes, addPodGateways } from "../networks/pod-gateways.ts";
import { addSecondFamilyRoutes } from "./second-family.ts";
import { servePorts } from "../pods/serve-ports.ts";
import { PodNetworks } from "#programs/ovn/kube/pod-networks.ts";
import { makeManagementPort } from "../ovn/management-port.ts";
import { SharedValues } from "#hns/compile/compile-cache.ts";
import { type NodeEquipment, PodRoutes, bootWindowsNode } from "./windows-node.ts";
import { WindowsKubelet } from "./windows-pods.ts";

/**
 * The DHCP servers of the underlay: on the router, as in most small networks, and on machines of their own. The first and
 * the last address of a range are nobody's.
 */
function serveDhcp({ underlay: spec }: ClusterFile, underlay: Underlay): void {
  const serve = (compartment: Compartment, address: Ipv4, dhcp: DhcpSpec): void => {
    const server = new DhcpServer({
      compartment,
      netInterface: defined(compartment.interfaceOf(address), "a machine has its address"),
      subnet: spec.subnet,
      first: (Number(dhcp.range.address) + 1) as Ipv4,
      last: (Number(lastIp(dhcp.range)) - 1) as Ipv4,
      router: spec.router,
      dnsServers: [],
      leaseSeconds: dhcp.leaseSeconds,
      exclusions: dhcp.exclusions,
      reservations: dhcp.reservations,
    });
    assert(server.start() === undefined, "the machine serves DHCP and nothing else");
    underlay.dhcpServers.push(server);
  };
  if (spec.dhcp !== undefined) serve(underlay.router.compartment, spec.router, spec.dhcp);
  for (const server of spec.dhcpServers) {
    const { compartment } = underlay.addMachine({ name: server.name, ip: server.address });
    serve(compartment, server.address, server);
  }
}

function addressesIn({ first, last }: AddressRange): readonly Ipv4[] {
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) as Ipv4);
}

/** Addresses of all pods, which OVN's controller gives out. */
function podNetworksOf({ network, pods }: ClusterFile): PodNetworks | undefined {
  if (network.plugin !== "ovn-kubernetes") return undefined;
  return new PodNetworks(
    network.clusterCIDR,
    pods.flatMap(({ address }) => address ?? []),
  );
}

/** Gives a node the end of its cable. */
type Cabling = (spec: NodeSpec, mac: Mac) => MemoryDevice;

/** The addresses that the fabric knows as those of a node's adapter: its own, and its pods' where the fabric has them. */
function fabricAddresses(
  { underlay, network }: ClusterFile,
  { address, podCIDR, podAddresses }: NodeSpec,
): Pick<FabricMachine, "addresses" | "ranges"> {
  // A range of the node's own is known to Azure only where pods are configurations of the adapter (control-planes.md §6.1, §6.5).
  const isOwnRange =
    network.shape === "own-subnet" && network.driver !== "L2Tunnel" && network.routes !== "fabric";
  if (underlay.azure !== undefined && isOwnRange) return { addresses: [address], ranges: [] };
  return {
    addresses: [address, ...(podAddresses ?? []).flatMap(addressesIn)],
    ranges: podAddresses === undefined ? [podCIDR] : [],
  };
}

function fabricCabling(env: Environment, file: ClusterFile, underlay: Underlay): Cabling {
  const { azure, deny } = file.underlay;
  const rules = azure === undefined ? new DenyRules(deny) : new VirtualNetwork(azure);
  const fabric = new PhysicalHostSwitch(env, "fabric", rules);
  underlay.physicalHost = fabric;
  const router = { name: "router", mac: ROUTER_MAC, addresses: [file.underlay.router], isRouter: true };
  underlay.segment.addPort("fabric", fabric.connect(router));
  return (spec, mac) =>
    fabric.connect({
      name: spec.name,
      mac,
      ...fabricAddresses(file, spec),
      refusesOtherMacs: azure !== undefined || !spec.hasMacSpoofing,
    });
}

/**
 * What the nodes' adapters hang on: the segment, or for an L2Tunnel network, and in a virtual network of Azure, the switch of
 * the physical host that they run on (dataplane.md §2.5; control-planes.md §6.1).
 */
function makeCabling(env: Environment, file: ClusterFile, underlay: Underlay): Cabling {
  if (file.network.driver === "L2Tunnel" || file.underlay.azure !== undefined)
    return fabricCabling(env, file, underlay);
  return ({ name, hasMacSpoofing }, mac) => underlay.connect(name, hasMacSpoofing ? {} : { onlyMac: mac });
}

/** MACs of the nodes' adapters count up from here, so that the first node has 00-15-5D-00-00-11. */
const FIRST_NODE_MAC = 0x0015_5d00_0011;

/** Told of each step of the bring-up. */
export interface OpenProgress {
  nodeReady(node: NodeSpec): void;
}

/** Machines that are up, and what makes pods on them. */
export interface Machines {
  /** Without pods. */
  readonly cluster: Cluster;
  /** By the node's name. */
  readonly kubelets: ReadonlyMap<string, Kubelet>;
  /** The disks of the nodes, by their names. */
  readonly files: ReadonlyMap<string, NodeFiles>;
}

/** The API of the kubelet, on all addresses (kubernetes.io/docs/reference/networking/ports-and-protocols). */
const KUBELET_PORT = 10_250;

/** Its server says which node it is, as built-in servers do, in place of the API. */
function serveKubelet({ host, spec }: ClusterNode): void {
  const failure = new IdentificationServer(host.root, spec.name).listenTcp(KUBELET_PORT);
  assert(failure === undefined || failure === "port-in-use", "a node that boots has its ports");
}

async function bringUpNode(
  env: Environment,
  file: ClusterFile,
  node: ClusterNode,
  disk: {
    readonly files: NodeFiles;
    readonly clock: VirtualClock;
    readonly podRoutes: PodRoutes;
    readonly dhcpServers: readonly DhcpServer[];
    readonly ovn: PodNetworks | undefined;
  },
): Promise<Kubelet> {
  // Hosts of Docker alone have no kubelet.
  if (file.network.plugin !== "docker") serveKubelet(node);
  if (node.spec.os === "linux") {
    disk.podRoutes.addTo(node);
    addFabricRoutes(file, node);
    return new LinuxKubelet(env, file, node);
  }
  const docker = hasDocker(file.network.plugin) ? new DockerNode(env, file, node) : undefined;
  await (docker?.createNetworks(env, file) ?? makeNetworks(file, node));
  if (file.network.plugin === "acs-2017") addForwarder(env, file, node);
  if (file.network.plugin === "ovn-kubernetes") await makeManagementPort(file, node);
  disk.podRoutes.addTo(node);
  addFabricRoutes(file, node);
  return new WindowsKubelet(file, node, disk, docker);
}

/**
 * Builds the machines that `file` describes. Same file, same machines, byte for byte.
 * @throws HcnError when the file asks for something that HNS refuses.
 */
export async function raiseMachines(
  file: ClusterFile,
  progress?: OpenProgress,
  /** Of Windows nodes that are not like the others, by their names. */
  equipment: ReadonlyMap<string, NodeEquipment> = new Map(),
  flowsMax?: number,
): Promise<Machines> {
  const clock = new VirtualClock();
  const flowRoom = flowsMax === undefined ? undefined : { max: flowsMax, held: 0 };
  const env: Environment = { clock, prng: new Prng(file.seed), recorder: undefined, flowRoom };
  const underlay = new Underlay(env, {
    subnet: file.underlay.subnet,
    routerIp: file.underlay.router,
    outside: [],
    ...(file.ipv6 !== undefined && { ipv6: { subnet: file.ipv6.subnet, routerIp: file.ipv6.router } }),
  });
  addSecondFamilyRoutes(file, underlay.router);
  for (const { to, via } of file.underlay.routes) {
    assert(underlay.router.addRoute({ prefix: to, nextHop: via }), "a route's next hop is in the underlay");
  }
  serveDhcp(file, underlay);
  addPodGateways(file, env, underlay);
  const outside = file.outside.map((spec) => {
    const host = underlay.addOutsideHost({ name: spec.name, ip: spec.address });
    servePorts(host.server, spec.ports);
    return host;
  });
  const shared = new SharedValues();
  const connect = makeCabling(env, file, underlay);
  const nodes = file.nodes.map((spec, index) => {
    const mac = (FIRST_NODE_MAC + index) as Mac;
    const uplink = { device: connect(spec, mac), mac };
    return spec.os === "windows"
      ? bootWindowsNode(env, file, spec, { ...uplink, shared }, equipment.get(spec.name))
      : bootLinuxNode(env, file, spec, uplink);
  });
  const kubelets = new Map<string, Kubelet>();
  const files = new Map<string, NodeFiles>();
  const { dhcpServers } = underlay;
  const common = { clock, podRoutes: new PodRoutes(file), dhcpServers, ovn: podNetworksOf(file) };
  for (const node of nodes) {
    const disk = new NodeFiles(node.spec.os, node.spec.files);
    files.set(node.spec.name, disk);
    kubelets.set(node.spec.name, await bringUpNode(env, file, node, { ...common, files: disk }));
    progress?.nodeReady(node.spec);
  }
  for (const network of allNetworks(file))
    if (network.driver === "Overlay" && !isMadeByDaemon(file, network)) await joinOverlay(network, nodes);
  return {
    cluster: {
      file,
      env,
      clock,
      underlay,
      nodes,
      outside,
      apiServers: [],
      outlets: new Set(),
      isApiServiceAdded: false,
      demand: Object.freeze({ nodes: new Set<string>() }),
      pods: [],
      objects: NO_OBJECTS,
    },
    kubelets,
    files,
  };
}
