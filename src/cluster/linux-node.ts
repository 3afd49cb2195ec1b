/** A Linux node: one stack, a bridge for its pods, static routes to the pods of the others. */
import { defined } from "../base/assert.ts";
import type { Environment } from "../base/environment.ts";
import type { Device } from "../device/device.ts";
import { LinuxBridge } from "../fabric/linux-bridge.ts";
import { Host } from "../host/host.ts";
import { type Ip, type Ipv4, addToIp } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { ANY_IPV4, prefixContains } from "../net/prefix.ts";
import type { ClusterNode, ClusterPod } from "./cluster.ts";
import type { ClusterFile, NodeSpec, PodSpec } from "./file/cluster-file.ts";
import { addressIn } from "./windows-node.ts";

/** The bridge has `.1` of the pod range; pods follow. */
const BRIDGE_OFFSET = 1;
const FIRST_POD_OFFSET = 2;

/** `0a-58-` and the address, as the CNI bridge plugin long gave MACs to its bridge and pods. */
function macOf(ip: Ip): Mac {
  return (0x0a58_0000_0000 + Number(ip)) as Mac;
}

/** Boots the node with its address and a default route; it forwards, as a Kubernetes node does. */
export function bootLinuxNode(
  env: Environment,
  file: ClusterFile,
  spec: NodeSpec,
  uplink: { readonly device: Device; readonly mac: Mac },
): ClusterNode {
  const host = new Host(env, { name: spec.name, os: "linux" });
  const { root } = host;
  root.setForwarding(true);
  const adapter = root.addInterface({ name: "eth0", ...uplink });
  root.addAddress(adapter, { ip: spec.address, length: file.underlay.subnet.length });
  root.addRoute({ prefix: ANY_IPV4, nextHop: file.underlay.router, interface: adapter, metric: 0 });
  return { spec, host, hns: undefined };
}

/** The pods of one Linux node on its bridge. */
export class LinuxKubelet {
  private readonly node: ClusterNode;
  private readonly bridge: LinuxBridge;
  private readonly gateway: Ip;
  private readonly taken = new Set<Ip>();

  constructor(env: Environment, file: ClusterFile, node: ClusterNode) {
    this.node = node;
    const { podCIDR } = node.spec;
    this.gateway = addressIn(podCIDR, BRIDGE_OFFSET);
    this.bridge = new LinuxBridge(env, {
      name: file.network.name,
      compartment: node.host.root,
      mac: macOf(this.gateway),
      address: { ip: this.gateway, length: podCIDR.length },
    });
    for (const pod of file.pods) if (pod.address !== undefined) this.taken.add(pod.address);
  }

  addPod(pod: PodSpec): ClusterPod {
    const compartment = this.node.host.createCompartment(`pod ${pod.namespace}/${pod.name}`);
    const address = pod.address ?? this.nextAddress();
    const device = this.bridge.connect(`veth ${pod.namespace}/${pod.name}`);
    const eth0 = compartment.addInterface({ name: "eth0", mac: macOf(address), device });
    compartment.addAddress(eth0, { ip: address, length: this.node.spec.podCIDR.length });
    compartment.addRoute({ prefix: ANY_IPV4, nextHop: this.gateway, interface: eth0, metric: 0 });
    return { spec: pod, node: this.node, compartment, address, namespaceId: undefined };
  }

  private nextAddress(): Ipv4 {
    const { podCIDR } = this.node.spec;
    let ip: Ip = addressIn(podCIDR, FIRST_POD_OFFSET);
    while (this.taken.has(ip)) ip = defined(addToIp(ip, 1), "a pod range ends before the address space");
    if (typeof ip !== "number" || !prefixContains(podCIDR, ip)) throw new RangeError("the pod range is full");
    this.taken.add(ip);
    return ip;
  }
}
