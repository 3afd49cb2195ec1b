/**
 * A simulated Linux node of OVN, as far as the hybrid overlay changes it: the bridge `br-ext` on the switch of the node's pods,
 * and routes of the host.
 *
 * Inferred: the bridge of a simulated Linux node stands for OVN's switch of the node, and its stack for OVN's router and for
 * `ovn-k8s-mp0` (control-planes.md §4.1): one interface has the router's address, `.1`, and the node's, `.2`.
 */
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { RouteOptions } from "#dataplane/host/stack.ts";
import { OpenFlowBridge } from "#dataplane/fabric/openflow/openflow-bridge.ts";
import { type Ipv4, type Prefix, addToIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { EXT_BRIDGE, EXT_PORT, EXT_VXLAN_PORT } from "#programs/ovn/hybrid/bridge-flows.ts";
import type { HybridOverlayLinuxHost } from "#programs/ovn/hybrid/linux-node.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import type { LinuxKubelet } from "../machines/linux-node.ts";
import { rangeOn } from "../networks/networks-of-node.ts";

const MANAGEMENT_OFFSET = 2;

export interface SimulatedOvnHostParts {
  readonly spec: NodeSpec;
  /** Of the host itself. */
  readonly compartment: Compartment;
  /** Who has the switch of the node's pods. */
  readonly kubelet: LinuxKubelet;
  readonly vxlanPort: number;
}

/** Plain data: a part of the world. */
export class SimulatedOvnHost implements HybridOverlayLinuxHost {
  private readonly parts: SimulatedOvnHostParts;
  private bridge: OpenFlowBridge | undefined;
  private routes: readonly RouteOptions[] = [];

  constructor(parts: SimulatedOvnHostParts) {
    this.parts = parts;
  }

  get managementMac(): Mac {
    return this.parts.kubelet.bridgeInterface.mac;
  }

  /**
   * Routes to the pods of other nodes of OVN.
   * Inferred: they go from node to node by the underlay; OVN has tunnels of GENEVE (control-planes.md §4.3).
   */
  join({ nodes, network }: ClusterFile): void {
    const { compartment, spec } = this.parts;
    const adapter = compartment.interfaceOf(spec.address);
    if (adapter === undefined) return;
    for (const peer of nodes)
      if (peer.os === "linux" && peer.name !== spec.name)
        compartment.addRoute({
          prefix: rangeOn(network, peer),
          nextHop: peer.address,
          interface: adapter,
          metric: 0,
        });
  }

  replaceFlows(lines: readonly string[]): void {
    const { compartment, kubelet, spec, vxlanPort } = this.parts;
    this.bridge ??= new OpenFlowBridge({
      name: EXT_BRIDGE,
      compartment,
      cable: kubelet.connectOverlay(`int-${spec.name}`),
      cablePort: EXT_PORT,
      tunnelPort: EXT_VXLAN_PORT,
      local: spec.address,
      vxlanPort,
    });
    this.bridge.replaceFlows(lines);
  }

  replaceRoutes(ranges: readonly Prefix[], via: Ipv4): void {
    const { compartment, kubelet, spec } = this.parts;
    for (const route of this.routes) compartment.removeRoute(route);
    const source = addToIp(spec.podCIDR.address, MANAGEMENT_OFFSET);
    this.routes = ranges.map((prefix) => ({
      prefix,
      nextHop: via,
      interface: kubelet.bridgeInterface,
      metric: 0,
      ...(source !== undefined && { source }),
    }));
    for (const route of this.routes) compartment.addRoute(route);
  }

  /** What ends with the machine's kernel. Open vSwitch keeps its bridge and its ports, and no flows. */
  forgetKernelState(file: ClusterFile): void {
    const { compartment } = this.parts;
    this.bridge?.replaceFlows([]);
    for (const route of this.routes) compartment.removeRoute(route);
    this.routes = [];
    this.join(file);
  }
}
