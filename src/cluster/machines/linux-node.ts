/** A Linux node: one stack, a bridge for its pods, static routes to the pods of the others. */
import type { Environment } from "#core/base/environment.ts";
import type { Device } from "#dataplane/device/device.ts";
import type { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { LinuxBridge } from "#dataplane/fabric/linux-bridge.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { Host } from "#dataplane/host/host.ts";
import { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { defined } from "#core/base/assert.ts";
import {
  ANY_IPV4,
  ANY_IPV6,
  type Ip,
  type Ipv4,
  type Ipv6,
  formatIp,
  hostPrefix,
  parseIpv4,
} from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { ClusterNode, ClusterPod } from "../cluster.ts";
import type { ClusterFile, NodeSpec, FilePodSpec } from "../file/cluster-file.ts";
import { ACS_POD_LEG } from "../file/driver-traits.ts";
import { type Kubelet, type PodStart, addHostPod, podReference } from "./kubelet.ts";
import { flannelRules, hostPortRules, kubenetRules, portMapRules } from "../services/linux-masquerade.ts";
import { PodAddresses } from "../pods/pod-addresses.ts";
import { addressIn, podAddressRanges, secondAddress, secondFamily } from "../networks/networks-of-node.ts";
import { addSecondFamily } from "./second-family.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Room for the headers of tunnels (dataplane.md §5.4). */
const OVERLAY_MTU_BYTES = 1_450;
/** As flannel's plugin has the bridge plugin make it. */
const FLANNEL_BRIDGE = "cni0";
/** The node's own port on OVN's switch of it. */
const OVN_PORT = "ovn-k8s-mp0";
/** Of kubenet. */
const KUBENET_BRIDGE = "cbr0";
/** The bridge has `.1` of the pod range; pods follow. */
const BRIDGE_OFFSET = 1;
const FIRST_POD_OFFSET = 2;
/** With OVN the node itself has `.2`, and the port into the hybrid overlay `.3` (control-planes.md §4.1). */
const OVN_NODE_OFFSET = 2;
const OVN_FIRST_POD_OFFSET = 4;
/** The gateway of pods that have no subnet. */
const ROUTED_GATEWAY: Ip = defined(parseIpv4("169.254.1.1"), "an address");

/** `0a-58-` and the address, as the CNI bridge plugin long gave MACs to its bridge and pods. */
function macOf(ip: Ip): Mac {
  return (0x0a58_0000_0000 + Number(ip)) as Mac;
}

/** What traces call the pod's cable to the bridge. */
function cableOf(pod: FilePodSpec): string {
  return `veth ${pod.namespace}/${pod.name}`;
}

/** The bridge of the node's pods. */
function bridgeNameOf({ plugin, name }: ClusterFile["network"]): string {
  if (plugin === "flannel") return FLANNEL_BRIDGE;
  if (plugin === "acs-2017") return KUBENET_BRIDGE;
  return plugin === "ovn-hybrid-overlay" ? OVN_PORT : name;
}

/** Boots the node with its address and a default route; it forwards, as a Kubernetes node does. */
export function bootLinuxNode(
  env: Environment,
  file: ClusterFile,
  spec: NodeSpec,
  uplink: { readonly device: MemoryDevice; readonly mac: Mac },
): ClusterNode {
  const host = new Host(env, { name: spec.name, os: "linux" });
  const { root } = host;
  root.setForwarding(true);
  const adapter = root.addInterface({ name: "eth0", ...uplink });
  root.addAddress(adapter, { ip: spec.address, length: file.underlay.subnet.length });
  root.addRoute({ prefix: ANY_IPV4, nextHop: file.underlay.router, interface: adapter, metric: 0 });
  addSecondFamily(file, root, adapter, spec);
  // Pods with addresses of the nodes' subnet are asked for on the segment itself; Inferred: the node answers for them.
  adapter.isProxyArp = file.network.shape !== "own-subnet";
  return { spec, host, hns: undefined, uplink: uplink.device };
}

/** The pods of one Linux node on its bridge. */
export class LinuxKubelet implements Kubelet {
  private file: ClusterFile;
  private readonly node: ClusterNode;
  private readonly bridge: LinuxBridge;
  private gateway: Ip;
  /** Of the node's network programs. */
  private readonly rules = new RuleSet();
  private addresses: PodAddresses;
  /** Pods have single addresses: see `routePod`. */
  private readonly isRouted: boolean;

  constructor(env: Environment, file: ClusterFile, node: ClusterNode) {
    this.node = node;
    const { name, podCIDR } = node.spec;
    const isFlannel = file.network.plugin === "flannel";
    this.isRouted = node.spec.podAddresses !== undefined;
    this.gateway = this.isRouted ? ROUTED_GATEWAY : addressIn(podCIDR, BRIDGE_OFFSET);
    const address = { ip: this.gateway, length: podCIDR.length };
    const isOvn = file.network.plugin === "ovn-hybrid-overlay";
    this.bridge = new LinuxBridge(env, {
      name: bridgeNameOf(file.network),
      compartment: node.host.root,
      mac: macOf(this.gateway),
      ...(!this.isRouted && {
        address: isOvn ? { ...address, ip: addressIn(podCIDR, OVN_NODE_OFFSET) } : address,
      }),
      ...(file.network.driver === "Overlay" && { mtuBytes: OVERLAY_MTU_BYTES }),
    });
    this.file = file;
    this.bridge.interface.isProxyArp = this.isRouted;
    // The node speaks with its own address, `.2`; the router's, `.1`, is what pods send to.
    if (isOvn) node.host.root.addAddress(this.bridge.interface, address);
    const second = secondFamily(file, file.network, node.spec);
    if (second !== undefined)
      node.host.root.addAddress(this.bridge.interface, {
        ip: addressIn(second.podRange, BRIDGE_OFFSET),
        length: second.podRange.length,
      });
    this.rules.set("portmap", portMapRules(name));
    // Where flanneld runs, it writes its rules itself.
    if (file.network.plugin === "acs-2017") this.rules.set(name, kubenetRules(name, ACS_POD_LEG));
    else if (!isFlannel) this.rules.set(name, flannelRules(name, podCIDR, file.network.clusterCIDR));
    if (second !== undefined && file.ipv6 !== undefined)
      this.rules.set(`${name} IPv6`, flannelRules(name, second.podRange, file.ipv6.clusterCIDR));
    node.host.root.enableNetfilter().use(this.rules);
    this.addresses = this.addressesOf(node.spec);
  }

  /** The node's own interface among its pods. */
  get bridgeInterface(): Interface {
    return this.bridge.interface;
  }

  /** A port for what joins the pods' switch to an overlay. @returns the other end of its cable. */
  connectOverlay(name: string): Device {
    return this.bridge.connect(name);
  }

  /** The bridge is the plugin's: nobody changes it before the next pod comes, or before the kernel goes. */
  joined(file: ClusterFile): void {
    this.file = file;
    if (this.node.spec.compat === "hardened") this.renumberBridge();
  }

  /** The bridge has gone with the kernel; the plugin makes it anew for the first pod. */
  rebooted(): void {
    this.renumberBridge();
  }

  startNetworks(): Promise<void> {
    return Promise.resolve();
  }

  async addPod(pod: FilePodSpec, start?: PodStart): Promise<ClusterPod> {
    if (pod.network === "host") return Promise.resolve(addHostPod(this.file, this.node, pod));
    this.checkBridge();
    return Promise.resolve(this.connect(pod, start?.dns));
  }

  removePod(pod: ClusterPod): Promise<void> {
    pod.server.close();
    if (pod.spec.network === "host") return Promise.resolve();
    this.node.host.removeCompartment(pod.compartment.id);
    this.bridge.disconnect(cableOf(pod.spec));
    this.rules.remove(cableOf(pod.spec));
    this.rules.remove(`${cableOf(pod.spec)} IPv6`);
    this.addresses.release(pod.address);
    if (this.isRouted)
      this.node.host.root.removeRoute({
        prefix: hostPrefix(pod.address),
        interface: this.bridge.interface,
      });
    return Promise.resolve();
  }

  reserveSourceVip(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  private addressesOf(spec: NodeSpec): PodAddresses {
    return new PodAddresses({
      ranges: podAddressRanges(
        this.file.network,
        spec,
        this.file.network.plugin === "ovn-hybrid-overlay" ? OVN_FIRST_POD_OFFSET : FIRST_POD_OFFSET,
      ),
      kept: this.file.pods.flatMap((pod) => pod.address ?? []),
    });
  }

  /** The address that the node's range asks of the bridge, where that has another one. */
  private missingGateway(): Ip | undefined {
    const wanted = addressIn(this.node.spec.podCIDR, BRIDGE_OFFSET);
    return this.isRouted || wanted === this.gateway ? undefined : wanted;
  }

  private renumberBridge(): void {
    const wanted = this.missingGateway();
    if (wanted === undefined) return;
    const { root } = this.node.host;
    root.removeAddress(this.bridge.interface, this.gateway);
    root.addAddress(this.bridge.interface, { ip: wanted, length: this.node.spec.podCIDR.length });
    this.gateway = wanted;
    this.addresses = this.addressesOf(this.node.spec);
  }

  /** The bridge plugin takes no address from a bridge (`ensureAddr` without `forceAddress`, containernetworking/plugins). */
  private checkBridge(): void {
    const wanted = this.missingGateway();
    if (wanted === undefined) return;
    throw new CniError(
      CNI_CODES.internal,
      WORDS.bridgeAddressConflict({
        name: JSON.stringify(this.bridge.name),
        wanted: formatIp(wanted),
        podCIDRLength: this.node.spec.podCIDR.length,
      }),
    );
  }

  private connect(pod: FilePodSpec, dns: DnsSettings | undefined): ClusterPod {
    const address = this.addresses.take(pod.address);
    const compartment = this.node.host.createCompartment(`pod ${pod.namespace}/${pod.name}`);
    // flannel's configuration of the bridge plugin has hairpinMode.
    const device = this.bridge.connect(cableOf(pod), { isHairpin: true });
    const eth0 = compartment.addInterface({
      name: "eth0",
      mac: macOf(address),
      device,
      isDuplicateChecked: false,
    });
    if (this.isRouted) this.routePod(compartment, eth0, address);
    else compartment.addAddress(eth0, { ip: address, length: this.node.spec.podCIDR.length });
    compartment.addRoute({ prefix: ANY_IPV4, nextHop: this.gateway, interface: eth0, metric: 0 });
    const address6 = this.addSecondAddress(compartment, eth0, { address, wanted: pod.address6 });
    if (dns !== undefined) compartment.dns = dns;
    const hostPorts = hostPortRules(pod, address, this.node.spec.podCIDR);
    if (hostPorts !== undefined) this.rules.set(cableOf(pod), hostPorts);
    const range6 = this.file.ipv6?.nodes[this.node.spec.name]?.podRange;
    const hostPorts6 =
      address6 === undefined || range6 === undefined ? undefined : hostPortRules(pod, address6, range6);
    if (hostPorts6 !== undefined) this.rules.set(`${cableOf(pod)} IPv6`, hostPorts6);
    const server = new IdentificationServer(compartment, podReference(pod));
    return { spec: pod, node: this.node, compartment, address, address6, namespaceId: undefined, server };
  }

  /**
   * A pod with an address between those of other nodes has no subnet with its node: the node has a route to the one
   * address, and the pod a gateway that the node answers for (azure-vnet in its transparent mode, and
   * aws/amazon-vpc-cni-k8s, docs/cni-proposal.md: 169.254.1.1).
   * Inferred: the pods' cables end on one bridge here, and ARP finds the gateway; those plugins have a cable each and a
   * fixed neighbour.
   */
  private routePod(compartment: Compartment, eth0: Interface, address: Ipv4): void {
    const { root } = this.node.host;
    compartment.addAddress(eth0, { ip: address, length: 32 });
    compartment.addRoute({ prefix: hostPrefix(ROUTED_GATEWAY), interface: eth0, metric: 0 });
    root.addRoute({
      prefix: hostPrefix(address),
      interface: this.bridge.interface,
      metric: 0,
    });
  }

  /** A bridge plugin does not ask whether somebody has a pod's address (its `enabledad` is off). */
  private addSecondAddress(
    compartment: Compartment,
    eth0: Interface,
    addresses: { readonly address: Ipv4; readonly wanted: Ipv6 | undefined },
  ): Ipv6 | undefined {
    const { file, node } = this;
    const second = secondFamily(file, file.network, node.spec);
    const ip = secondAddress(file, file.network, node.spec, addresses);
    if (second === undefined || ip === undefined) return undefined;
    compartment.addAddress(eth0, { ip, length: second.podRange.length });
    const nextHop = addressIn(second.podRange, BRIDGE_OFFSET);
    compartment.addRoute({ prefix: ANY_IPV6, nextHop, interface: eth0, metric: 0 });
    return ip;
  }
}
