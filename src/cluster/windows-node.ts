/** A Windows node from bare metal to HNS without networks: stack, adapter, service; and its routes. */
import { defined } from "../base/assert.ts";
import type { Environment } from "../base/environment.ts";
import type { MemoryDevice } from "../device/memory-pair.ts";
import type { HcnClient } from "../hcn/client.ts";
import { HnsService } from "../hns/hns-service.ts";
import { InProcessHcnClient } from "../hns/in-process-client.ts";
import { SwitchDatapath } from "../hns/switch-datapath.ts";
import { Host } from "../host/host.ts";
import type { Mac } from "../net/mac.ts";
import { ANY_IPV4 } from "../net/prefix.ts";
import type { ClusterNode } from "./cluster.ts";
import type { ClusterFile, NodeSpec } from "./file/cluster-file.ts";
import { ADAPTER_NAME } from "./networks/network-document.ts";
import { secondFamily } from "./networks/networks-of-node.ts";
import { addSecondFamily } from "./second-family.ts";

const ROUTE_METRIC = 0;

/** Boots the node: its adapter has the node's address, and HNS runs with no networks. */
export function bootWindowsNode(
  env: Environment,
  file: ClusterFile,
  spec: NodeSpec,
  uplink: { readonly device: MemoryDevice; readonly mac: Mac },
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
  addSecondFamily(file, host.root, adapter, spec);
  const hns = new HnsService(env, {
    node: spec.name,
    windows: defined(spec.build, "a Windows node has a build"),
    datapath: new SwitchDatapath(env, host),
    adapters: [{ name: ADAPTER_NAME, ...uplink, addresses: [address] }],
    quirks: spec.quirks,
    networking: { addressDelayMs: spec.addressDelayMs },
  });
  return { spec, host, hns, uplink: uplink.device };
}

/** The client of a Windows node's HNS. */
export function hcnClientOf(node: ClusterNode): HcnClient {
  return new InProcessHcnClient(defined(node.hns, "only Windows nodes have HNS"));
}

/** Static routes to the pods of all other nodes, over their addresses. */
export function addPodRoutes(file: ClusterFile, node: ClusterNode): void {
  const { root } = node.host;
  for (const network of [file.network, ...file.networks]) {
    if (network.routes !== "static") continue;
    for (const peer of file.nodes) {
      const prefix = network.ranges[peer.name];
      if (peer.name === node.spec.name || prefix === undefined) continue;
      const outgoing = defined(root.interfaceOf(node.spec.address), "a node keeps its address");
      root.addRoute({ prefix, nextHop: peer.address, interface: outgoing, metric: ROUTE_METRIC });
      const second = secondFamily(file, network, peer);
      const nextHop = file.ipv6?.nodes[peer.name]?.address;
      if (second === undefined || nextHop === undefined) continue;
      root.addRoute({ prefix: second.podRange, nextHop, interface: outgoing, metric: ROUTE_METRIC });
    }
  }
}
