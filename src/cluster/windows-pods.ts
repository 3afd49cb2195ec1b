/**
 * The kubelet's and the runtime's part on a Windows node: a sandbox is an HCN namespace, and a plugin, or the cluster
 * itself, gives it a network.
 */
import { defined } from "../base/assert.ts";
import { InProcessRunner } from "../cni/in-process-runner.ts";
import { parseNetworkList } from "../cni/conflist.ts";
import { RunnerDelegate } from "../cni/delegate.ts";
import type { CniPlugin } from "../cni/plugin.ts";
import { MemoryResultCache } from "../cni/result-cache.ts";
import { type Attachment, CniRuntime } from "../cni/runtime.ts";
import type { HcnClient } from "../hcn/client.ts";
import { type HostComputeEndpoint, parseEndpoint } from "../hcn/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  deleteEndpoint,
  deleteNamespace,
  getNamespaceEndpointIds,
  getNetworkByName,
} from "../hcn/operations.ts";
import type { DnsSettings } from "../host/compartment.ts";
import { IdentificationServer } from "../host/services/identification-server.ts";
import { type Ipv4, formatIp } from "../net/ip.ts";
import { ANY_IPV4, formatPrefix } from "../net/prefix.ts";
import { HostLocal } from "../plugins/host-local/plugin.ts";
import { MemoryLeaseStore } from "../plugins/host-local/memory-lease-store.ts";
import { WinBridge } from "../plugins/win-bridge/plugin.ts";
import type { ClusterNode, ClusterPod } from "./cluster.ts";
import type { ClusterFile, PodSpec } from "./file/cluster-file.ts";
import { type Kubelet, addHostPod, podReference } from "./kubelet.ts";
import { endpointPolicies, networkConfigurationList } from "./network-configuration.ts";
import { PodAddresses } from "./pod-addresses.ts";
import { addressIn, hcnClientOf } from "./windows-node.ts";

/** Where containerd looks for plugins on Windows; here they run in process, but the contract asks for it. */
const CNI_PATH = String.raw`C:\Program Files\containerd\cni\bin`;
/** Pods of plugin `hns` begin where host-local's do. */
const FIRST_POD_OFFSET = 3;

/** Sets up the pods of one Windows node, one after the other. */
export class WindowsKubelet implements Kubelet {
  private readonly file: ClusterFile;
  private readonly node: ClusterNode;
  private readonly client: HcnClient;
  private readonly runtime: CniRuntime;
  /** What host-local remembers on the node's disk. */
  readonly leases: MemoryLeaseStore = new MemoryLeaseStore();
  /** Of plugin `hns`. */
  private readonly addresses: PodAddresses;

  constructor(file: ClusterFile, node: ClusterNode) {
    this.file = file;
    this.node = node;
    this.client = hcnClientOf(node);
    const { compat } = node.spec;
    const plugins = new Map<string, CniPlugin>();
    const runner = new InProcessRunner(plugins, "win32");
    plugins.set("host-local", new HostLocal({ store: this.leases, compat }));
    plugins.set(
      "win-bridge",
      new WinBridge({ client: this.client, delegate: new RunnerDelegate(runner), compat }),
    );
    this.runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH } });
    this.addresses = new PodAddresses({
      range: node.spec.podCIDR,
      firstOffset: FIRST_POD_OFFSET,
      kept: file.pods.flatMap((pod) => pod.address ?? []),
    });
  }

  /** Gives the pod a sandbox and a network. */
  async addPod(pod: PodSpec, dns?: DnsSettings): Promise<ClusterPod> {
    if (pod.network === "host") return addHostPod(this.node, pod);
    const namespace = await createNamespace(this.client);
    const namespaceId = defined(namespace.ID, "a namespace has an id");
    const address = await this.attach(pod, namespaceId, dns);
    const made = await this.client.query("Namespace", namespaceId, { SchemaVersion: { Major: 2, Minor: 0 } });
    const compartment = this.node.host.getCompartment(Number(made["NamespaceId"]));
    if (compartment === undefined) throw new Error(`pod ${pod.name} has no compartment`);
    compartment.name = `pod ${pod.namespace}/${pod.name}`;
    const server = new IdentificationServer(compartment, podReference(pod));
    return { spec: pod, node: this.node, compartment, address, namespaceId, server };
  }

  /**
   * Takes the pod's network and sandbox away, as a runtime does: CNI DEL, then the namespace.
   * @throws HcnError or CniError when HNS or a plugin refuses; the server is closed then, the sandbox may be left.
   */
  async removePod(pod: ClusterPod): Promise<void> {
    pod.server.close();
    const { namespaceId } = pod;
    if (namespaceId === undefined) return;
    await this.detach(pod.spec, namespaceId);
    this.addresses.release(pod.address);
    await deleteNamespace(this.client, namespaceId);
  }

  /** A sandbox without a network is of no use to anybody: what stands of it goes, DEL included, as with containerd. */
  private async attach(pod: PodSpec, namespaceId: string, dns?: DnsSettings): Promise<Ipv4> {
    try {
      return this.file.network.plugin === "hns"
        ? await this.attachByHcn(pod, namespaceId, dns)
        : await this.attachByPlugin(pod, namespaceId, dns);
    } catch (error) {
      // What DEL says of a network that was never complete is no news.
      await this.detach(pod, namespaceId).catch(() => undefined);
      await deleteNamespace(this.client, namespaceId);
      throw error;
    }
  }

  private async detach(pod: PodSpec, namespaceId: string): Promise<void> {
    if (this.file.network.plugin === "hns") {
      for (const id of await getNamespaceEndpointIds(this.client, namespaceId))
        await deleteEndpoint(this.client, id);
      return;
    }
    const text = JSON.stringify(networkConfigurationList(this.file, this.node.spec, pod));
    await this.runtime.del(parseNetworkList(text), this.attachmentOf(pod, namespaceId, undefined));
  }

  private async attachByPlugin(pod: PodSpec, namespaceId: string, dns?: DnsSettings): Promise<Ipv4> {
    const text = JSON.stringify(networkConfigurationList(this.file, this.node.spec, pod));
    const result = await this.runtime.add(parseNetworkList(text), this.attachmentOf(pod, namespaceId, dns));
    const address = result.ips.map(({ address: each }) => each.ip).find((ip) => typeof ip === "number");
    return defined(address, "a pod gets an IPv4 address");
  }

  /** What the runtime tells plugins of one pod. */
  private attachmentOf(pod: PodSpec, namespaceId: string, dns: DnsSettings | undefined): Attachment {
    return {
      containerId: sandboxIdOf(pod),
      netns: namespaceId,
      ifName: "eth0",
      args: [
        ["IgnoreUnknown", "1"],
        ["K8S_POD_NAMESPACE", pod.namespace],
        ["K8S_POD_NAME", pod.name],
        ...(pod.address === undefined ? [] : ([["IP", formatIp(pod.address)]] as const)),
      ],
      capabilityArgs: {
        portMappings: pod.ports.flatMap(({ port, hostPort, protocol }) =>
          hostPort === undefined ? [] : [{ hostPort, containerPort: port, protocol: protocol.toLowerCase() }],
        ),
        ...(dns === undefined
          ? {}
          : {
              dns: { servers: dns.servers.map(formatIp), searches: dns.search, options: dns.options ?? [] },
            }),
      },
    };
  }

  /** The same objects without a plugin, with the gateway that the shape has. */
  private async attachByHcn(pod: PodSpec, namespaceId: string, dns?: DnsSettings): Promise<Ipv4> {
    const network = await getNetworkByName(this.client, this.file.network.name);
    const address = this.addresses.take(pod.address);
    try {
      const request = this.endpointOf(pod, address, dns);
      const endpoint = await createEndpoint(this.client, defined(network.ID, "a network has an id"), request);
      const id = defined(endpoint.ID, "an endpoint has an id");
      try {
        await addNamespaceEndpoint(this.client, namespaceId, id);
      } catch (error) {
        await deleteEndpoint(this.client, id);
        throw error;
      }
    } catch (error) {
      this.addresses.release(address);
      throw error;
    }
    return address;
  }

  private endpointOf(pod: PodSpec, address: Ipv4, dns: DnsSettings | undefined): HostComputeEndpoint {
    const isOwnSubnet = this.file.network.shape === "own-subnet";
    const gateway = isOwnSubnet ? addressIn(this.node.spec.podCIDR, 2) : this.file.underlay.router;
    return parseEndpoint({
      Name: `${sandboxIdOf(pod)}_${this.file.network.name}`,
      IpConfigurations: [{ IpAddress: formatIp(address) }],
      Routes: [{ NextHop: formatIp(gateway), DestinationPrefix: formatPrefix(ANY_IPV4) }],
      Policies: [...endpointPolicies(this.file, this.node.spec), ...pod.policies],
      ...(dns === undefined
        ? {}
        : { Dns: { Search: [...dns.search], ServerList: dns.servers.map(formatIp), Domain: dns.domain } }),
    });
  }
}

/** Stands for the sandbox's id: names of pods are unique in their namespace, and hold no underscore. */
function sandboxIdOf(pod: PodSpec): string {
  return `${pod.namespace}_${pod.name}`;
}
