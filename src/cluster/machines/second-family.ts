/** IPv6 of the machines of a dual-stack cluster: addresses of nodes, their default route, and the router's routes to pods. */
import { defined } from "#core/base/assert.ts";
import type { Router } from "#dataplane/fabric/router.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { ANY_IPV6 } from "#core/net/ip.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import { FABRIC_GATEWAY_IPV6 } from "../networks/networks-of-node.ts";

const ROUTE_METRIC = 0;

/** Gives a node its second address and the way out. Nothing in a cluster of IPv4 alone. */
export function addSecondFamily(
  file: ClusterFile,
  root: Compartment,
  adapter: Interface,
  { name }: NodeSpec,
): void {
  const { ipv6 } = file;
  if (ipv6 === undefined) return;
  const { address } = defined(ipv6.nodes[name], "every node has a second address");
  root.addAddress(adapter, { ip: address, length: ipv6.subnet.length });
  const nextHop = file.network.routes === "fabric" ? FABRIC_GATEWAY_IPV6 : ipv6.router;
  root.addRoute({ prefix: ANY_IPV6, nextHop, interface: adapter, metric: ROUTE_METRIC });
}

/** What the router knows of pods: their ranges, by way of their nodes. */
export function addSecondFamilyRoutes({ ipv6 }: ClusterFile, router: Router): void {
  if (ipv6?.hasPodRoutes !== true) return;
  for (const [node, { address, podRange }] of Object.entries(ipv6.nodes)) {
    const further = Object.values(ipv6.further).flatMap((ranges) => ranges[node] ?? []);
    for (const prefix of [podRange, ...further]) router.addRoute({ prefix, nextHop: address });
  }
}
