/** What the rules of a network's ports depend on. */
import type { Ip, Ipv4, Ipv6 } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { NetworkFrame } from "../network/network-frame.ts";
import type { LoadBalancerTable } from "./load-balancer-table.ts";
import type { OverlayPlan } from "./overlay-plan.ts";
import type { RemoteSubnets } from "./remote-subnets.ts";
import type { RoutedEndpoint } from "./sdn-routes.ts";

/** The node as rules see it. */
export interface NodeFacts {
  /** Addresses on the adapter; the first IPv4 one is the management address. */
  readonly addresses: readonly Ip[];
  /** MAC of the host's vNIC, which is the adapter's. */
  readonly hostMac: Mac;
}

/** What there is besides on an overlay network. */
export interface OverlayView {
  readonly plan: OverlayPlan;
  readonly remoteSubnets: RemoteSubnets;
  /** Local endpoints without a vNIC whose address the host's load balancers send from: they have the host's MAC. */
  readonly sourceVips: readonly EndpointRecord[];
  /** Bits of `AddressFlag` on the ports of endpoints and of the router. */
  readonly addressFlags: number;
}

/** A network with its attached endpoints and its load balancers: all that the rules of its ports depend on. */
export interface NetworkView {
  /** Stands for all of the view but the load balancers and the routes to other nodes' subnets. */
  readonly base: object;
  readonly network: NetworkFrame;
  /** In order of creation. */
  readonly attached: readonly RoutedEndpoint[];
  readonly node: NodeFacts;
  /** The load balancers, compiled. */
  readonly services: LoadBalancerTable;
  /** Undefined: the network has no tunnels. */
  readonly overlay: OverlayView | undefined;
}

export function managementIpOf(node: NodeFacts): Ipv4 | undefined {
  return node.addresses.find((address) => typeof address === "number");
}

/** Its address of the second family; undefined while it has none. */
export function managementIpv6Of(node: NodeFacts): Ipv6 | undefined {
  return node.addresses.find((address) => typeof address === "bigint");
}

export function hostLegsOf(view: NetworkView): readonly EndpointRecord[] {
  return view.attached.filter((endpoint) => endpoint.attachment?.kind === "host");
}

/** What tells two lists of addresses of attached endpoints apart. */
export function attachedKey(view: NetworkView): readonly unknown[] {
  return view.attached.flatMap((endpoint) => [endpoint.id, endpoint.ipConfigs, endpoint.mac]);
}
