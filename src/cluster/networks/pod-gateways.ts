/**
 * What the network around the nodes does for pods that have their addresses from a cloud. Pods that share a subnet have
 * the underlay's router as their gateway. Pods of Azure CNI Overlay have a gateway in their node's range, of a routing
 * domain of its own that leads to the nodes, and that the outside does not enter
 * (https://learn.microsoft.com/en-us/azure/aks/azure-cni-overlay).
 * Inferred: Azure says what its fabric does and not how; here it is a router on the segment, with an address in the range
 * of each Windows node. Its gateway of IPv6 is one for all, fe80::1234:5678:9abc.
 */
import { defined } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { Router } from "#dataplane/fabric/router.ts";
import type { Underlay } from "#dataplane/fabric/underlay.ts";
import { ANY_IPV4, ANY_IPV6, type Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Host } from "#dataplane/host/host.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import { FABRIC_GATEWAY_IPV6, addressIn, fabricGateway, rangeOn } from "./networks-of-node.ts";

/** The MAC that Azure's fabric shows to its machines. */
const FABRIC_MAC = 0x1234_5678_9abc as Mac;

/** The gateway of a subnet that pods share is the router. */
function addSharedGateway({ network, underlay: { router } }: ClusterFile, underlay: Underlay): void {
  const { compartment } = underlay.router;
  const inside = defined(compartment.interfaceOf(router), "the router has its address");
  const { clusterCIDR } = network;
  compartment.addAddress(inside, { ip: addressIn(clusterCIDR, 1), length: clusterCIDR.length });
}

/** Gives pods the gateway that their addresses ask for; nothing where nodes have it. */
export function addPodGateways(file: ClusterFile, env: Environment, underlay: Underlay): void {
  const { network, nodes } = file;
  if (network.shape === "pod-subnet") addSharedGateway(file, underlay);
  const gateways = nodes.flatMap((spec) => {
    const ip = fabricGateway(network, spec);
    return ip === undefined ? [] : [{ ip, length: rangeOn(network, spec).length }];
  });
  const [first, ...others] = gateways;
  if (first === undefined) return;
  const fabric = new Router(env, "fabric");
  const { compartment } = fabric;
  const device = underlay.connect("fabric");
  const port = fabric.addInterface({ name: "eth0", mac: FABRIC_MAC, device, address: first });
  for (const address of others) compartment.addAddress(port, address);
  compartment.addRoute({ prefix: file.underlay.subnet, interface: port, metric: 0 });
  compartment.addRoute({ prefix: ANY_IPV4, nextHop: file.underlay.router, interface: port, metric: 0 });
  for (const spec of nodes)
    if (spec.os === "linux")
      compartment.addRoute({
        prefix: rangeOn(network, spec),
        nextHop: spec.address,
        interface: port,
        metric: 0,
      });
  addSecondGateway(file, compartment, port);
}

/** Length of a prefix of link-local addresses. */
const LINK_LENGTH = 64;

/**
 * The second family of the fabric: one gateway for nodes and pods, of which every pod of a Windows node is on the link.
 * Nothing in a cluster of IPv4 alone.
 */
function addSecondGateway({ ipv6, nodes }: ClusterFile, fabric: Compartment, port: Interface): void {
  if (ipv6 === undefined) return;
  fabric.addAddress(port, { ip: FABRIC_GATEWAY_IPV6, length: LINK_LENGTH });
  fabric.addRoute({ prefix: ipv6.subnet, interface: port, metric: 0 });
  fabric.addRoute({ prefix: ANY_IPV6, nextHop: ipv6.router, interface: port, metric: 0 });
  for (const { name, os } of nodes) {
    const { address, podRange } = defined(ipv6.nodes[name], "every node has a second address");
    const onLink = { prefix: podRange, interface: port, metric: 0 };
    fabric.addRoute(os === "windows" ? onLink : { ...onLink, nextHop: address });
  }
}

/**
 * Routes of a node to the pods of all Windows nodes, itself among them, over the fabric; to Linux nodes directly. The
 * second family needs none to Windows nodes: the default route leads to the fabric.
 */
export function addFabricRoutes(
  { network, nodes, ipv6 }: ClusterFile,
  { spec, host }: { readonly spec: Pick<NodeSpec, "name" | "address">; readonly host: Host },
): void {
  if (network.routes !== "fabric") return;
  const outgoing = defined(host.root.interfaceOf(spec.address), "a node keeps its address");
  for (const peer of nodes) {
    const gateway: Ip | undefined = fabricGateway(network, peer);
    if (peer.name === spec.name && gateway === undefined) continue;
    host.root.addRoute({
      prefix: rangeOn(network, peer),
      nextHop: gateway ?? peer.address,
      interface: outgoing,
      metric: 0,
    });
    const second = ipv6?.nodes[peer.name];
    if (second === undefined || gateway !== undefined) continue;
    host.root.addRoute({
      prefix: second.podRange,
      nextHop: second.address,
      interface: outgoing,
      metric: 0,
    });
  }
}
