/** What the rules of a network's ports depend on. */
import { type Ip, type Ipv4, type Ipv6, type Prefix, formatPrefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import type { LoadBalancerTable } from "./load-balancer/load-balancer-table.ts";
import type { OverlayPlan } from "./overlay/overlay-plan.ts";
import type { RemoteSubnets } from "./overlay/remote-subnets.ts";
import { type RoutedEndpoint, sdnRouteSources } from "./provenance.ts";
import { prefixIn } from "#contracts/hcn/documents/address-list.ts";

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

// The two ways in which an L2Bridge network is used (dataplane.md §2.4), told apart endpoint by endpoint.
//
// `own-subnet`: the endpoint's gateway is an endpoint of the same network that is attached to the host; the host
// routes. `node-subnet`: it is not; frames go to the wire with the host's MAC. `host`: the endpoint is the host's own
// leg in the network. Inferred: HNS has no field for this; the rules that a node shows differ with it.

export type Shape = "own-subnet" | "node-subnet" | "host";

/** The shape of `endpoint`; `hostLegs` are the endpoints of its network that are attached to the host. */
export function shapeOf(endpoint: EndpointRecord, hostLegs: readonly EndpointRecord[]): Shape {
  if (endpoint.attachment?.kind === "host") return "host";
  const gateways = endpoint.routes
    .filter((route) => route.destination.length === 0)
    .map((route) => route.nextHop);
  const isRoutedByHost = hostLegs.some((leg) => leg.ipConfigs.some((config) => gateways.includes(config.ip)));
  return isRoutedByHost ? "own-subnet" : "node-subnet";
}

// The ranges of service addresses that endpoints' policies name: SDNRoutes to more than one address.

/** Network configurations route the service range over the host and the node's address besides (cni.md §2.10). */
function rangeOf(prefix: string): Prefix | undefined {
  const range = prefixIn(prefix, 4);
  return range !== undefined && range.length < 32 ? range : undefined;
}

/** Without repetition, in the order of the endpoints. Costs a look at each list of policies that differs. */
export function serviceRangesOf(endpoints: readonly RoutedEndpoint[]): readonly Prefix[] {
  const ranges = new Map<string, Prefix>();
  const texts = new Set<string>();
  for (const endpoint of endpoints)
    for (const { setting } of sdnRouteSources(endpoint))
      if (setting.NeedEncap === true) texts.add(setting.DestinationPrefix);
  for (const text of texts) {
    const range = rangeOf(text);
    if (range !== undefined) ranges.set(formatPrefix(range), range);
  }
  return [...ranges.values()];
}
