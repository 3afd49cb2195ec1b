/**
 * How packets to the address of a Service of type LoadBalancer get to a node: the router leads each address to one
 * node, as a load balancer that announces addresses from nodes does (MetalLB's layer 2 mode). Where nodes hang on a
 * physical host's switch, that has to know them as well.
 */
import type { Underlay } from "#dataplane/fabric/underlay.ts";
import type { StaticRoute } from "#dataplane/fabric/router.ts";
import type { EndpointSlice, Node, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, type IpFamily, familyOf, hostPrefix, parseIp } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { type ClusterObjects, slicesByService } from "../cluster-objects.ts";

/** An address and the node it leads to. */
export interface IngressRoute {
  readonly address: Ip;
  readonly node: string;
}

/** Addresses of the Service that are reached from outside over a node. */
function ingressAddresses(service: Service): readonly Ip[] {
  const ingress = (service.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return [...ingress, ...(service.spec?.externalIPs ?? [])].flatMap((text) =>
    text === undefined ? [] : (parseIp(text) ?? []),
  );
}

/** Nodes with a ready endpoint of the Service in one family. */
function nodesWithEndpoints(slices: readonly EndpointSlice[], family: IpFamily): ReadonlySet<string> {
  const own = slices.filter(({ addressType }) => (addressType === "IPv6") === (family === 6));
  const names = own.flatMap((slice) =>
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
  const routes = new Map<Ip, string>();
  for (const service of services) {
    const isLocal = service.spec?.externalTrafficPolicy === "Local";
    for (const address of ingressAddresses(service)) {
      const serving = nodesWithEndpoints(slicesOf(service), familyOf(address));
      const chosen =
        nodes.find(({ metadata }) => serving.has(metadata.name)) ?? (isLocal ? undefined : nodes[0]);
      if (chosen !== undefined && !routes.has(address)) routes.set(address, chosen.metadata.name);
    }
  }
  return [...routes].map(([address, node]) => ({ address, node }));
}

/** Keeps the router's routes to the addresses of Services. */
export class IngressRouting {
  private readonly underlay: Underlay;
  /** Of the nodes, by name. */
  private readonly addresses: ReadonlyMap<string, readonly Ip[]>;
  private readonly names: ReadonlyMap<Ip, string>;
  private readonly routes = new Map<Ip, StaticRoute>();

  constructor({ underlay, nodes, file }: Cluster) {
    this.underlay = underlay;
    const own = nodes.map(({ spec }) => {
      const second = file.ipv6?.nodes[spec.name]?.address;
      return [spec.name, second === undefined ? [spec.address] : [spec.address, second]] as const;
    });
    this.addresses = new Map(own);
    this.names = new Map(own.flatMap(([name, ips]) => ips.map((ip) => [ip, name] as const)));
  }

  sync(objects: ClusterObjects): void {
    const slices = slicesByService(objects.EndpointSlice);
    const wanted = new Map<Ip, Ip>();
    const found = ingressRoutes(
      objects.Service,
      ({ metadata }) => slices.get(`${metadata.namespace}/${metadata.name}`) ?? [],
      objects.Node,
    );
    for (const { address, node } of found) {
      // An external address that is a node's own is on the segment already, and leads to that node.
      if (this.names.has(address)) continue;
      const nextHop = this.addresses.get(node)?.find((ip) => familyOf(ip) === familyOf(address));
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
      const route = { prefix: hostPrefix(address), nextHop };
      this.underlay.router.addRoute(route);
      this.underlay.physicalHost?.setFloating(address, this.names.get(nextHop));
      this.routes.set(address, route);
    }
  }
}
