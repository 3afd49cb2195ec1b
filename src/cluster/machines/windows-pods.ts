/**
 * The kubelet's and the runtime's part on a Windows node: a sandbox is an HCN namespace, and a plugin, or the cluster
 * itself, gives it a network.
 */
import { defined } from "#core/base/assert.ts";
import type { VirtualClock } from "#core/base/clock.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniRuntime } from "#contracts/cni/runtime.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError, HcnNotFoundError } from "#contracts/hcn/error.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  deleteEndpoint,
  deleteNamespace,
  getNamespaceEndpointIds,
  getNetworkByName,
} from "#contracts/hcn/operations.ts";
import type { DhcpServer } from "#dataplane/fabric/dhcp-server.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { DHCP_WAIT_MS } from "#dataplane/host/dhcp/dhcp-client.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { type Ipv4, type Prefix, formatIp, prefixContains, prefixOf } from "#core/net/ip.ts";
import { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import { type AzureNode, azureNode } from "./azure-node.ts";
import type { ClusterNode, ClusterPod } from "../cluster.ts";
import { connectTwice } from "./acs-node.ts";
import { type DockerNode, containerName } from "./docker-node.ts";
import type { DockerContainerRequest } from "#programs/docker/engine.ts";
import { hasDocker } from "../file/driver-traits.ts";
import { FurtherEndpoints } from "./further-endpoints.ts";
import type { NodeFiles } from "../flannel/node-files.ts";
import type { PodNetworks } from "#programs/ovn/kube/pod-networks.ts";
import { OvnNodeParts } from "../ovn/ovn-node.ts";
import { reserveSourceVip } from "../flannel/source-vip.ts";
import type { ClusterFile, FilePodSpec, NodeSpec, PodNetworkSpec } from "../file/cluster-file.ts";
import { startContainers, stopContainers } from "./pod-compute-systems.ts";
import { type Kubelet, type PodStart, addHostPod, podReference, type PodForesight } from "./kubelet.ts";
import { networkConfigurationList } from "./network-configuration.ts";
import { endpointDocument } from "../networks/network-document.ts";
import {
  firstPodOffset,
  networkNamed,
  networksOf,
  podAddressRanges,
  secondAddress,
  sourceVip,
} from "../networks/networks-of-node.ts";
import { PodAddresses } from "../pods/pod-addresses.ts";
import { AddressForesight, PluginForesight } from "./pod-foresight.ts";
import { hcnClientOf, observerOf } from "./windows-node.ts";
import {
  CNI_PATH,
  type PodIps,
  attachmentOf,
  podIpsOf,
  sandboxIdOf,
  windowsPlugins,
} from "./windows-plugins.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** What a Windows stack gives itself without a server: no address for a pod. */
const OWN_ADDRESSES: Prefix = Object.freeze(prefixOf(0xa9fe_0000 as Ipv4, 16));

function addressOf(compartment: Compartment): Ipv4 | undefined {
  const ips = compartment.listInterfaces().flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  return ips.find((ip) => typeof ip === "number");
}

/**
 * Lets time pass until a DHCP server has given the pod an address: the kubelet's runtime waits until it is there.
 * @throws CniError with the code `dhcp-no-lease` when no server grants one while the stack asks for the first time.
 */
function waitForLease(compartment: Compartment, clock: VirtualClock, servers: readonly DhcpServer[]): Ipv4 {
  const endMs = clock.nowMs + DHCP_WAIT_MS;
  for (let atMs = clock.nextAtMs(); atMs !== undefined && atMs <= endMs; atMs = clock.nextAtMs()) {
    if (addressOf(compartment) !== undefined) break;
    clock.step();
  }
  const address = addressOf(compartment);
  if (address !== undefined && !prefixContains(OWN_ADDRESSES, address)) return address;
  const macs = compartment.listInterfaces().map(({ mac }) => mac);
  const full = servers.filter((server) => macs.some((mac) => server.hasRefused(mac)));
  if (full.length > 0 && full.length === servers.length) {
    const ranges = full.map(
      ({ ip, range }) => `${formatIp(ip)} (${formatIp(range.first)} to ${formatIp(range.last)})`,
    );
    const text = WORDS.dhcpRangesFull({ servers: ranges.join(", ") });
    throw new CniError(CNI_CODES.internal, text, { knowledge: "dhcp-range-exhausted" });
  }
  const own = address === undefined ? "" : `; its stack took ${formatIp(address)}`;
  const message = `no DHCP server gave the pod an address within ${DHCP_WAIT_MS / 1_000} s${own}`;
  throw new CniError(CNI_CODES.internal, message, { knowledge: "dhcp-no-lease" });
}

/**
 * Addresses that the cluster gives out itself, by network. HNS of each host knows its own endpoints alone: Docker leaves
 * addresses to it, and in a subnet of several hosts `--ip` keeps them apart.
 */
function addressBooks(file: ClusterFile, node: NodeSpec): ReadonlyMap<string, PodAddresses> {
  const isGivenOut = ({ ipam, shape }: PodNetworkSpec): boolean =>
    ipam === "static" && (!hasDocker(file.network.plugin) || shape !== "own-subnet");
  return new Map(
    networksOf(file, node)
      .filter(isGivenOut)
      .map((network) => [
        network.name,
        new PodAddresses({
          ranges: podAddressRanges(network, node, firstPodOffset(network)),
          kept: file.pods.flatMap(({ address, podNetwork }) =>
            address === undefined || podNetwork !== network.name ? [] : [address],
          ),
        }),
      ]),
  );
}

/** Sets up the pods of one Windows node, one after the other. */
export class WindowsKubelet implements Kubelet {
  private file: ClusterFile;
  private readonly node: ClusterNode;
  private readonly client: HcnClient;
  private readonly files: NodeFiles;
  private readonly clock: VirtualClock;
  /** Undefined with another plugin. */
  private readonly docker: DockerNode | undefined;
  private readonly dhcpServers: readonly DhcpServer[];
  private readonly runner: InProcessRunner;
  private readonly runtime: CniRuntime;
  private readonly azure: AzureNode;
  /** With plugin ovn-kubernetes. */
  readonly ovn: OvnNodeParts | undefined;
  /** What host-local remembers on the node's disk. */
  readonly leases: MemoryLeaseStore = new MemoryLeaseStore();
  private readonly further: FurtherEndpoints;
  /** By network; of plugin `hns`, and of Docker where hosts share a subnet. */
  private addresses: ReadonlyMap<string, PodAddresses>;

  /** `files`: the node's disk. `clock`: on which a pod waits for a DHCP server. */
  constructor(
    file: ClusterFile,
    node: ClusterNode,
    {
      files,
      clock,
      dhcpServers,
      ovn,
    }: {
      readonly files: NodeFiles;
      readonly clock: VirtualClock;
      /** Who may say why a pod gets no address. */
      readonly dhcpServers: readonly DhcpServer[];
      /** Addresses of all pods, with plugin ovn-kubernetes. */
      readonly ovn?: PodNetworks | undefined;
    },
    docker?: DockerNode,
  ) {
    this.docker = docker;
    this.dhcpServers = dhcpServers;
    this.clock = clock;
    this.file = file;
    this.node = node;
    this.files = files;
    this.client = hcnClientOf(node);
    const { client, leases } = this;
    const { plugins, delegate, runner, runtime } = windowsPlugins({
      client,
      leases,
      files,
      spec: node.spec,
    });
    this.runner = runner;
    this.runtime = runtime;
    this.azure = azureNode(file, node, { client: this.client, delegate });
    for (const plugin of this.azure.plugins) plugins.set(plugin.name, plugin);
    if (ovn !== undefined) this.ovn = new OvnNodeParts(this.client, file.network.name, node, ovn);
    if (this.ovn !== undefined) plugins.set(this.ovn.plugin.name, this.ovn.plugin);
    this.addresses = addressBooks(file, node.spec);
    this.further = new FurtherEndpoints(this.client, node);
  }

  /** As the start scripts do it before kube-proxy (control-planes.md §2.1); without the network there is none. */
  async reserveSourceVip(): Promise<Ipv4 | undefined> {
    const { network } = this.file;
    if (network.plugin !== "flannel") return sourceVip(network, this.node.spec);
    if (network.backend !== "vxlan") return undefined;
    const { client, runner, files } = this;
    try {
      return await reserveSourceVip({
        client,
        runner,
        files,
        networkName: network.name,
        path: CNI_PATH,
        compat: this.node.spec.compat,
      });
    } catch (error) {
      // flanneld says why the network is not there, and kube-proxy that it has no address.
      if (error instanceof HcnError || error instanceof HcnNotFoundError) return undefined;
      throw error;
    }
  }

  /** Where pods get their addresses is told to the plugins by `subnet.env`. */
  joined(file: ClusterFile): void {
    this.file = file;
  }

  async startNetworks(): Promise<void> {
    if (this.docker === undefined) return;
    await this.docker.start();
    this.addresses = addressBooks(this.file, this.node.spec);
  }

  /** What plugins remember lies on the disk. */
  rebooted(): void {
    return;
  }

  foresight(): PodForesight | undefined {
    const { file, node, leases, files } = this;
    const { network } = file;
    const book = this.addresses.get(network.name);
    if (network.plugin === "hns") return book === undefined ? undefined : new AddressForesight(book);
    return new PluginForesight({ file, spec: node.spec, hns: observerOf(node), leases, files });
  }

  /** Gives the pod a sandbox and a network. */
  async addPod(pod: FilePodSpec, { dns, containers }: PodStart = { containers: [] }): Promise<ClusterPod> {
    // HostProcess containers are job objects of the host, and no compute systems (hcsshim, internal/jobcontainers).
    if (pod.network === "host") return addHostPod(this.file, this.node, pod);
    const namespace = await createNamespace(this.client);
    const namespaceId = defined(namespace.ID, "a namespace has an id");
    const { address, address6 } = await this.attach(pod, namespaceId, { dns, containers });
    const compartment = await this.compartmentOf(namespaceId);
    compartment.name = `pod ${pod.namespace}/${pod.name}`;
    this.ovn?.limitMtu(compartment);
    const server = new IdentificationServer(compartment, podReference(pod));
    return { spec: pod, node: this.node, compartment, address, address6, namespaceId, server };
  }

  /**
   * Takes the pod's network and sandbox away, as a runtime does: CNI DEL, then the namespace.
   * @throws HcnError or CniError when HNS or a plugin refuses; the server is closed then, the sandbox may be left.
   */
  async removePod(pod: ClusterPod): Promise<void> {
    pod.server.close();
    const { namespaceId } = pod;
    if (namespaceId === undefined) return;
    await stopContainers(this.client, namespaceId);
    await this.detach(pod.spec, namespaceId);
    this.addresses.get(pod.spec.podNetwork)?.release(pod.address);
    this.further.release(namespaceId, this.addresses);
    await deleteNamespace(this.client, namespaceId);
  }

  /** A sandbox without a network is of no use to anybody: what stands of it goes, DEL included, as with containerd. */
  private async attach(pod: FilePodSpec, namespaceId: string, start: PodStart): Promise<PodIps> {
    try {
      const ips = await this.attachWith(pod, namespaceId, start);
      const sandbox = { pod, namespaceId, compartment: await this.compartmentOf(namespaceId) };
      await this.further.attach(this.file, sandbox, { docker: this.docker, books: this.addresses });
      await startContainers(this.client, namespaceId, { sandbox: sandboxIdOf(pod), names: start.containers });
      return ips;
    } catch (error) {
      await stopContainers(this.client, namespaceId);
      this.further.release(namespaceId, this.addresses);
      // What DEL says of a network that was never complete is no news.
      await this.detach(pod, namespaceId).catch(() => undefined);
      await deleteNamespace(this.client, namespaceId);
      throw error;
    }
  }

  private attachWith(pod: FilePodSpec, namespaceId: string, start: PodStart): Promise<PodIps> {
    const { docker } = this;
    if (docker !== undefined) return this.attachByDocker(docker, pod, namespaceId, start);
    return this.isAttachedByHcn(pod)
      ? this.attachByHcn(pod, namespaceId, start.dns)
      : this.attachByPlugin(pod, namespaceId, start.dns);
  }

  /** A container of Docker: one endpoint, and no container beside it that could share its address. */
  private async attachByDocker(
    docker: DockerNode,
    pod: FilePodSpec,
    namespaceId: string,
    { containers, dns }: PodStart,
  ): Promise<PodIps> {
    if (containers.length > 1) {
      const message = WORDS.dockerContainersApart({ names: containers.join(", ") });
      throw new CniError(CNI_CODES.internal, message, { knowledge: "docker-address-per-container" });
    }
    docker.readNodeServers();
    const book = this.addresses.get(pod.podNetwork);
    const wanted = book?.take(pod.address) ?? pod.address;
    try {
      return await this.connectByDocker(docker, pod, { namespaceId, wanted, dns });
    } catch (error) {
      if (book !== undefined && wanted !== undefined) book.release(wanted);
      throw error;
    }
  }

  private async connectByDocker(
    docker: DockerNode,
    pod: FilePodSpec,
    sandbox: {
      readonly namespaceId: string;
      readonly wanted: Ipv4 | undefined;
      readonly dns: DnsSettings | undefined;
    },
  ): Promise<PodIps> {
    const { file, node } = this;
    const { namespaceId, wanted, dns } = sandbox;
    const container: DockerContainerRequest = {
      name: containerName(pod),
      address: wanted,
      mac: pod.mac,
      ports: pod.ports.flatMap(({ protocol, port, hostPort }) =>
        hostPort === undefined ? [] : [{ protocol: protocol === "TCP" ? "tcp" : "udp", hostPort, port }],
      ),
    };
    const compartment = await this.compartmentOf(namespaceId);
    if (file.network.plugin === "acs-2017") {
      const inside = { namespaceId, compartment, dns };
      const address = await connectTwice({ docker, node, file }, this.client, container, inside);
      return { address, address6: undefined };
    }
    const { hnsId, address } = await docker.engine.connect(this.client, pod.podNetwork, container);
    await addNamespaceEndpoint(this.client, namespaceId, hnsId);
    // What its engine writes into the container's document for networks of driver nat (windows.go, EndpointOperInfo).
    if (networkNamed(this.file, pod.podNetwork).driver === "NAT")
      compartment.dns = { ...compartment.namesOfMachine, asksSingleLabels: true };
    return {
      address: address ?? waitForLease(compartment, this.clock, this.dhcpServers),
      address6: undefined,
    };
  }

  /** A plugin knows the network of its configuration alone. */
  private isAttachedByHcn({ podNetwork }: FilePodSpec): boolean {
    const { network } = this.file;
    return network.plugin === "hns" || podNetwork !== network.name;
  }

  private async detach(pod: FilePodSpec, namespaceId: string): Promise<void> {
    const { docker } = this;
    if (docker !== undefined) {
      for (const network of docker.networkNames)
        await docker.engine.disconnect(this.client, network, containerName(pod));
      return;
    }
    if (this.isAttachedByHcn(pod)) {
      for (const id of await getNamespaceEndpointIds(this.client, namespaceId))
        await deleteEndpoint(this.client, id);
      return;
    }
    const text = JSON.stringify(networkConfigurationList(this.file, this.node.spec, pod));
    await this.runtime.del(parseNetworkList(text), attachmentOf(this.file, pod, namespaceId, undefined));
    this.ovn?.release(pod);
  }

  private async attachByPlugin(pod: FilePodSpec, namespaceId: string, dns?: DnsSettings): Promise<PodIps> {
    const { plugin, cni } = this.file.network;
    // CNS of a configuration that the user wrote is asked as it is.
    if (plugin === "azure-vnet" && cni.conflist === undefined) this.azure.restore(pod);
    this.ovn?.annotate(pod);
    const text = JSON.stringify(networkConfigurationList(this.file, this.node.spec, pod));
    const result = await this.runtime.add(
      parseNetworkList(text),
      attachmentOf(this.file, pod, namespaceId, dns),
    );
    return podIpsOf(result, pod);
  }

  /** The same objects without a plugin, as the driver of the network has them. */
  private async attachByHcn(pod: FilePodSpec, namespaceId: string, dns?: DnsSettings): Promise<PodIps> {
    const network = networkNamed(this.file, pod.podNetwork);
    const made = await getNetworkByName(this.client, network.name);
    const networkId = defined(made.ID, "a network has an id");
    const name = `${sandboxIdOf(pod)}_${network.name}`;
    const request = (address: Ipv4 | undefined): HostComputeEndpoint =>
      endpointDocument(this.file, network, this.node.spec, { name, spec: pod, address, dns });
    if (network.ipam === "dhcp") {
      await this.addEndpoint(networkId, namespaceId, request(undefined));
      const leased = waitForLease(await this.compartmentOf(namespaceId), this.clock, this.dhcpServers);
      return { address: leased, address6: undefined };
    }
    const addresses = defined(this.addresses.get(network.name), "a pod is on a node with its network");
    const address = addresses.take(pod.address);
    try {
      await this.addEndpoint(networkId, namespaceId, request(address));
    } catch (error) {
      addresses.release(address);
      throw error;
    }
    const wanted = pod.address6;
    return { address, address6: secondAddress(this.file, network, this.node.spec, { address, wanted }) };
  }

  private async addEndpoint(
    networkId: string,
    namespaceId: string,
    request: HostComputeEndpoint,
  ): Promise<void> {
    const endpoint = await createEndpoint(this.client, networkId, request);
    const id = defined(endpoint.ID, "an endpoint has an id");
    try {
      await addNamespaceEndpoint(this.client, namespaceId, id);
    } catch (error) {
      await deleteEndpoint(this.client, id);
      throw error;
    }
  }

  private async compartmentOf(namespaceId: string): Promise<Compartment> {
    const made = await this.client.query("Namespace", namespaceId, { SchemaVersion: { Major: 2, Minor: 0 } });
    const compartment = this.node.host.getCompartment(Number(made["NamespaceId"]));
    return defined(compartment, "a namespace has a compartment");
  }
}
