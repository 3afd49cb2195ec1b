/**
 * How packets to the address of a Service of type LoadBalancer get to a node: the router leads each address to one
 * node, as a load balancer that announces addresses from nodes does (MetalLB's layer 2 mode). Where nodes hang on a
 * physical host's switch, that has to know them as well.
 */
import type { Underlay } from "#dataplane/fabric/underlay.ts";
import type { StaticRoute } from "#dataplane/fabric/router.ts";
import type { EndpointSlice, Node, Service } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, parseIpv4 } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { type ClusterObjects, slicesByService } from "../cluster-objects.ts";

/** An address and the node it leads to. */
export interface IngressRoute {
  readonly address: Ipv4;
  readonly node: string;
}

/** Addresses of the Service that are reached from outside over a node. */
function ingressAddresses(service: Service): readonly Ipv4[] {
  const ingress = (service.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return [...ingress, ...(service.spec?.externalIPs ?? [])].flatMap((text) =>
    text === undefined ? [] : (parseIpv4(text) ?? []),
  );
}

/** Nodes with a ready endpoint of the Service. */
function nodesWithEndpoints(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  const names = slices.flatMap((slice) =>
    (slice.endpoints ?? []).flatMap(({ nodeName, conditions }) =>
      nodeName === undefined || conditions?.ready === false ? [] : [nodeName],
    ),
  );
  return new Set(names);
}

/**
 * The route of each ingress address: the first node that has an endpoint; with `externalTrafficPolicy: Cluster` and
 * none, the first node there is.
 */
export function ingressRoutes(
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
  nodes: readonly Node[],
): readonly IngressRoute[] {
  const routes = new Map<Ipv4, string>();
  for (const service of services) {
    const addresses = ingressAddresses(service);
    if (addresses.length === 0) continue;
    const serving = nodesWithEndpoints(slicesOf(service));
    const isLocal = service.spec?.externalTrafficPolicy === "Local";
    const chosen =
      nodes.find(({ metadata }) => serving.has(metadata.name)) ?? (isLocal ? undefined : nodes[0]);
    if (chosen === undefined) continue;
    for (const address of addresses) if (!routes.has(address)) routes.set(address, chosen.metadata.name);
  }
  return [...routes].map(([address, node]) => ({ address, node }));
}

const HOST_LENGTH = 32;

/** Keeps the router's routes to the addresses of Services. */
export class IngressRouting {
  private readonly underlay: Underlay;
  private readonly addresses: ReadonlyMap<string, Ipv4>;
  private readonly names: ReadonlyMap<Ipv4, string>;
  private readonly routes = new Map<Ipv4, StaticRoute>();

  constructor(cluster: Cluster) {
    this.underlay = cluster.underlay;
    this.addresses = new Map(cluster.nodes.map(({ spec }) => [spec.name, spec.address]));
    this.names = new Map(cluster.nodes.map(({ spec }) => [spec.address, spec.name]));
  }

  sync(objects: ClusterObjects): void {
    const slices = slicesByService(objects.EndpointSlice);
    const wanted = new Map<Ipv4, Ipv4>();
    const found = ingressRoutes(
      objects.Service,
      ({ metadata }) => slices.get(`${metadata.namespace}/${metadata.name}`) ?? [],
      objects.Node,
    );
    for (const { address, node } of found) {
      const nextHop = this.addresses.get(node);
      if (nextHop !== undefined) wanted.set(address, nextHop);
    }
    for (const [address, route] of this.routes) {
      if (wanted.get(address) === route.nextHop) continue;
      this.underlay.router.removeRoute(route);
      this.underlay.physicalHost?.setFloating(address, undefined);
      this.routes.delete(address);
    }
    for (const [address, nextHop] of wanted) {
      if (this.routes.has(address)) continue;
      const route = { prefix: { address, length: HOST_LENGTH }, nextHop };
      this.underlay.router.addRoute(route);
      this.underlay.physicalHost?.setFloating(address, this.names.get(nextHop));
      this.routes.set(address, route);
    }
  }
}
