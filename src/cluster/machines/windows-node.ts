/** A Windows node from bare metal to HNS without networks: stack, adapter, service; and its routes. */
import { defined } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import type { Device } from "#dataplane/device/device.ts";
import { type MemoryDevice, memoryPair } from "#dataplane/device/memory-pair.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HnsService } from "#hns/service/hns-service.ts";
import { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import type { NetworkingOptions } from "#hns/service/service-context.ts";
import type { PhysicalAdapter } from "#hns/ports/adapter-description.ts";
import { SwitchDatapath } from "#hns/ports/switch-datapath.ts";
import { Host } from "#dataplane/host/host.ts";
import { SharedRoutes } from "#dataplane/host/ip/route-table.ts";
import type { Mac } from "#core/net/mac.ts";
import { ANY_IPV4, type InterfaceAddress, type Prefix } from "#core/net/ip.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, NodeSpec, PodNetworkSpec } from "../file/cluster-file.ts";
import { ADAPTER_NAME } from "../networks/network-document.ts";
import { secondFamily } from "../networks/networks-of-node.ts";
import type { SharedValues } from "#hns/compile/compile-cache.ts";
import { addSecondFamily } from "./second-family.ts";

const ROUTE_METRIC = 0;

/** MACs of further cards count up from here. */
const FIRST_SPARE_MAC = 0x0015_5d00_f001;

/** How a node is equipped otherwise than all others. */
export interface NodeEquipment {
  /** Its cards as Windows lists them. The one with the node's address hangs on the underlay, the others on nothing. */
  readonly adapters: readonly { readonly name: string; readonly address: InterfaceAddress }[];
  readonly networking?: NetworkingOptions;
}

/** Gives the host an interface for each card. */
function plugAdapters(
  env: Environment,
  host: Host,
  spec: NodeSpec,
  uplink: { readonly device: Device; readonly mac: Mac },
  adapters: NodeEquipment["adapters"],
): readonly PhysicalAdapter[] {
  return adapters.map(({ name, address }, index) => {
    const isUplink = address.ip === spec.address;
    const spare = (): typeof uplink => ({
      device: memoryPair(env.clock, { delayMs: 0 })[0],
      mac: (FIRST_SPARE_MAC + index) as Mac,
    });
    const card = isUplink ? uplink : spare();
    host.root.addAddress(host.root.addInterface({ name, ...card }), address);
    return { name, ...card, addresses: [address] };
  });
}

/** Boots the node: its adapter has the node's address, and HNS runs with no networks. */
export function bootWindowsNode(
  env: Environment,
  file: ClusterFile,
  spec: NodeSpec,
  uplink: { readonly device: MemoryDevice; readonly mac: Mac; readonly shared: SharedValues },
  equipment?: NodeEquipment,
): ClusterNode {
  const host = new Host(env, { name: spec.name, os: "windows" });
  const address = { ip: spec.address, length: file.underlay.subnet.length };
  const only = [{ name: ADAPTER_NAME, address }];
  const adapters = plugAdapters(env, host, spec, uplink, equipment?.adapters ?? only);
  const adapter = defined(host.root.interfaceOf(spec.address), "one of the cards has the node's address");
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
    adapters,
    quirks: spec.quirks,
    shared: uplink.shared,
    networking: { addressDelayMs: spec.addressDelayMs, ...equipment?.networking },
  });
  return { spec, host, hns, uplink: uplink.device, faults: new Map() };
}

/** The client of a Windows node's HNS as its programs have it: with the faults of the node. */
export function faultingClientOf({ hns, faults }: ClusterNode): InProcessHcnClient {
  return new InProcessHcnClient(defined(hns, "only Windows nodes have HNS"), undefined, faults);
}

/** The client of a Windows node's HNS. */
export function hcnClientOf(node: ClusterNode): HcnClient {
  return faultingClientOf(node);
}

/** For who looks at what HNS holds: no fault strikes it. */
export function observerOf({ hns }: ClusterNode): HcnClient {
  return new InProcessHcnClient(defined(hns, "only Windows nodes have HNS"));
}

/** A machine of the underlay that knows the ways to pods. */
export interface RoutedMachine {
  readonly host: Host;
  readonly spec: Pick<NodeSpec, "name" | "address">;
}

function isShared({ routes }: PodNetworkSpec, { address }: Prefix): boolean {
  return routes === "static" && typeof address === "number";
}

/** Static routes to the pods of all nodes, over their addresses: what each node has to all others. */
export class PodRoutes {
  private readonly file: ClusterFile;
  /** Of the network that kube-proxy serves. */
  private readonly shared: SharedRoutes;

  constructor(file: ClusterFile) {
    const { network, nodes } = file;
    this.file = file;
    const ways = nodes.flatMap(({ name, address }) => {
      const prefix = network.ranges[name];
      return prefix === undefined || !isShared(network, prefix) ? [] : { prefix, nextHop: address };
    });
    this.shared = new SharedRoutes(ways);
  }

  addTo({ host, spec }: RoutedMachine): void {
    const { file, shared } = this;
    const { root } = host;
    const outgoing = defined(root.interfaceOf(spec.address), "a node keeps its address");
    root.addSharedRoutes(shared, { interface: outgoing, metric: ROUTE_METRIC, self: spec.address });
    const hasFurther = file.networks.length > 0 || file.ipv6 !== undefined;
    if (!hasFurther) return;
    for (const network of [file.network, ...file.networks]) {
      if (network.routes !== "static") continue;
      for (const peer of file.nodes) {
        const prefix = network.ranges[peer.name];
        if (peer.name === spec.name || prefix === undefined) continue;
        if (network !== file.network || !isShared(network, prefix))
          root.addRoute({ prefix, nextHop: peer.address, interface: outgoing, metric: ROUTE_METRIC });
        const second = secondFamily(file, network, peer);
        const nextHop = file.ipv6?.nodes[peer.name]?.address;
        if (second === undefined || nextHop === undefined) continue;
        root.addRoute({ prefix: second.podRange, nextHop, interface: outgoing, metric: ROUTE_METRIC });
      }
    }
  }
}
