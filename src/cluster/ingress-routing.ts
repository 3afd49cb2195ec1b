/**
 * Keeps the router's routes to the addresses of Services: see load-balancer-routes.ts. Where nodes hang on a physical host's
 * switch, that has to know them as well.
 */
import type { Underlay } from "../fabric/underlay.ts";
import type { StaticRoute } from "../fabric/router.ts";
import type { Ipv4 } from "../net/ip.ts";
import type { Cluster } from "./cluster.ts";
import { type ClusterObjects, slicesByService } from "./cluster-objects.ts";
import { ingressRoutes } from "./load-balancer-routes.ts";

const HOST_LENGTH = 32;

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
