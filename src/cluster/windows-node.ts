/** A Windows node from bare metal to a pod network: stack, adapter, HNS, the L2Bridge network, routes. */
import { defined } from "../base/assert.ts";
import type { Environment } from "../base/environment.ts";
import type { Device } from "../device/device.ts";
import type { HcnClient } from "../hcn/client.ts";
import { createEndpoint, createNetwork } from "../hcn/operations.ts";
import { HnsService } from "../hns/hns-service.ts";
import { InProcessHcnClient } from "../hns/in-process-client.ts";
import { SwitchDatapath } from "../hns/switch-datapath.ts";
import { Host } from "../host/host.ts";
import { type Ip, addToIp, formatIp } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { ANY_IPV4, formatPrefix } from "../net/prefix.ts";
import type { ClusterNode } from "./cluster.ts";
import type { ClusterFile, NodeSpec } from "./file/cluster-file.ts";

/** The adapter's friendly name on a node with one (windows-networking-documentation.md §9, item 9). */
const ADAPTER_NAME = "Ethernet";
/** The network's gateway and the bridge endpoint: `.1` and `.2` (dataplane.md §2.4, hcn.md §4.4). */
const GATEWAY_OFFSET = 1;
const BRIDGE_OFFSET = 2;
const ROUTE_METRIC = 0;

/** An address of a range that is known to be long enough. */
export function addressIn(range: NodeSpec["podCIDR"], offset: number): Ip {
  return defined(addToIp(range.address, offset), "a pod range is at most a /29");
}

/** Boots the node: its adapter has the node's address, and HNS runs with no networks. */
export function bootWindowsNode(
  env: Environment,
  file: ClusterFile,
  spec: NodeSpec,
  uplink: { readonly device: Device; readonly mac: Mac },
): ClusterNode {
  const host = new Host(env, { name: spec.name, os: "windows" });
  const adapter = host.root.addInterface({ name: ADAPTER_NAME, ...uplink });
  const address = { ip: spec.address, length: file.underlay.subnet.length };
  host.root.addAddress(adapter, address);
  host.root.addRoute({
    prefix: ANY_IPV4,
    nextHop: file.underlay.router,
    interface: adapter,
    metric: ROUTE_METRIC,
  });
  const hns = new HnsService(env, {
    node: spec.name,
    windows: defined(spec.build, "a Windows node has a build"),
    datapath: new SwitchDatapath(env, host),
    adapters: [{ name: ADAPTER_NAME, ...uplink, addresses: [address] }],
  });
  return { spec, host, hns };
}

/** The client of a Windows node's HNS. */
export function hcnClientOf(node: ClusterNode): HcnClient {
  return new InProcessHcnClient(defined(node.hns, "only Windows nodes have HNS"));
}

/** Makes the node's L2Bridge network in the shape that the cluster file asks for. */
export async function createL2Bridge(file: ClusterFile, node: ClusterNode): Promise<void> {
  const client = hcnClientOf(node);
  const { network, underlay } = file;
  const isOwnSubnet = network.shape === "own-subnet";
  const range = isOwnSubnet ? node.spec.podCIDR : underlay.subnet;
  const gateway = isOwnSubnet ? addressIn(range, GATEWAY_OFFSET) : underlay.router;
  const created = await createNetwork(client, {
    Name: network.name,
    Type: "L2Bridge",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: ADAPTER_NAME } }],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: formatPrefix(range),
            Routes: [{ NextHop: formatIp(gateway), DestinationPrefix: formatPrefix(ANY_IPV4) }],
          },
        ],
      },
    ],
  });
  if (isOwnSubnet) await createBridgeEndpoint(client, file, node, defined(created.ID, "a network has an id"));
}

/**
 * The host's leg in the pod network: `<network>_ep` at `.2` in compartment 1, with forwarding on it and on the host's
 * vNIC, as flanneld's host-gw backend arranges it (dataplane.md §2.4, cni.md §2.2).
 */
async function createBridgeEndpoint(
  client: HcnClient,
  file: ClusterFile,
  node: ClusterNode,
  network: string,
): Promise<void> {
  const endpoint = await createEndpoint(client, network, {
    Name: `${file.network.name}_ep`,
    IpConfigurations: [{ IpAddress: formatIp(addressIn(node.spec.podCIDR, BRIDGE_OFFSET)) }],
  });
  const attach = JSON.stringify({ SystemType: "Host", CompartmentId: 1 });
  const answer = await client.call("POST", `/endpoints/${endpoint.ID ?? ""}/attach`, attach);
  if (answer["Success"] !== true)
    throw new Error(`the bridge endpoint cannot be attached: ${JSON.stringify(answer)}`);
  for (const each of node.host.root.listInterfaces()) each.isForwarding = true;
}

/** Static routes to the pods of all other nodes, over their addresses. */
export function addPodRoutes(file: ClusterFile, node: ClusterNode): void {
  if (file.network.routes !== "static") return;
  const { root } = node.host;
  for (const peer of file.nodes) {
    if (peer.name === node.spec.name) continue;
    const outgoing = defined(root.interfaceOf(node.spec.address), "a node keeps its address");
    root.addRoute({ prefix: peer.podCIDR, nextHop: peer.address, interface: outgoing, metric: ROUTE_METRIC });
  }
}
