/**
 * The two ways in which an L2Bridge network is used (dataplane.md §2.4), told apart endpoint by endpoint.
 *
 * `own-subnet`: the endpoint's gateway is an endpoint of the same network that is attached to the host; the host
 * routes. `node-subnet`: it is not; frames go to the wire with the host's MAC. `host`: the endpoint is the host's own
 * leg in the network. Inferred: HNS has no field for this; the rules that a node shows differ with it.
 */
import type { EndpointRecord } from "../endpoint-record.ts";

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
