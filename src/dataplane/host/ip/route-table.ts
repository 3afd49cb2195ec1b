/**
 * IPv4 and IPv6 routes of one compartment: the longest prefix wins, then the lowest metric, then the older route.
 */
import {
  type Ip,
  type Prefix,
  bitsOf,
  equalPrefixes,
  familyOf,
  formatIp,
  formatPrefix,
  maskIp,
} from "#core/net/ip.ts";
import type { RouteOptions, Route, StackInterface } from "../stack.ts";

/** Routes of one family with one prefix length, by network address. */
type LengthTable = Map<Ip, Route[]>;

export class RouteTable {
  /** Index: prefix length. Absent where no route has that length. */
  private readonly ipv4: (LengthTable | undefined)[] = [];
  private readonly ipv6: (LengthTable | undefined)[] = [];

  /** Adds `route`; a route with the same prefix, next hop and interface is replaced. */
  add(route: Route): void {
    const tables = this.tablesOf(route.prefix.address);
    const table = (tables[route.prefix.length] ??= new Map<Ip, Route[]>());
    const routes = table.get(route.prefix.address) ?? [];
    const kept = routes.filter((other) => !isSameRoute(other, route) || other.origin !== route.origin);
    kept.push(route);
    // A stable sort: the older of equal routes stays first.
    kept.sort((a, b) => effectiveMetric(a) - effectiveMetric(b));
    table.set(route.prefix.address, kept);
  }

  /** Removes the route with that prefix, next hop and interface. @returns false when there is none. */
  remove(options: Pick<RouteOptions, "prefix" | "nextHop" | "interface">, origin: Route["origin"]): boolean {
    const table = this.tablesOf(options.prefix.address)[options.prefix.length];
    const routes = table?.get(options.prefix.address);
    const index = routes?.findIndex((route) => isSameRoute(route, options) && route.origin === origin) ?? -1;
    if (table === undefined || routes === undefined || index < 0) return false;
    routes.splice(index, 1);
    if (routes.length === 0) table.delete(options.prefix.address);
    return true;
  }

  /** Removes all routes over `netInterface`. */
  removeInterface(netInterface: StackInterface): void {
    for (const route of this.list()) if (route.interface === netInterface) this.remove(route, route.origin);
  }

  /**
   * The best route to `destination`; undefined when there is none.
   * With `only`, routes over other interfaces do not count (a constrained lookup of a strong host).
   */
  lookup(destination: Ip, only?: StackInterface): Route | undefined {
    const tables = this.tablesOf(destination);
    for (let length = Math.min(tables.length - 1, bitsOf(familyOf(destination))); length >= 0; length--) {
      const routes = tables[length]?.get(maskIp(destination, length));
      const best = only === undefined ? routes?.[0] : routes?.find((route) => route.interface === only);
      if (best !== undefined) return best;
    }
    return undefined;
  }

  /** The routes with exactly this prefix, the best first. */
  to(prefix: Prefix): readonly Route[] {
    const routes = this.tablesOf(prefix.address)[prefix.length]?.get(prefix.address);
    return routes === undefined ? [] : [...routes];
  }

  /** All routes: IPv4 first, then by falling prefix length, address and metric. */
  list(): Route[] {
    const routes: Route[] = [];
    for (const tables of [this.ipv4, this.ipv6]) {
      for (let length = tables.length - 1; length >= 0; length--) {
        const entries = [...(tables[length]?.entries() ?? [])];
        entries.sort(([a], [b]) => (a < b ? -1 : 1));
        for (const [, group] of entries) routes.push(...group);
      }
    }
    return routes;
  }

  private tablesOf(ip: Ip): (LengthTable | undefined)[] {
    return familyOf(ip) === 4 ? this.ipv4 : this.ipv6;
  }
}

function effectiveMetric(route: Route): number {
  return route.metric + route.interface.metric;
}

function isSameRoute(
  a: Pick<RouteOptions, "prefix" | "nextHop" | "interface">,
  b: Pick<RouteOptions, "prefix" | "nextHop" | "interface">,
): boolean {
  return equalPrefixes(a.prefix, b.prefix) && a.nextHop === b.nextHop && a.interface === b.interface;
}

/** Formats a route for people: `10.244.2.0/24 via 10.0.0.12 on eth0` or `10.0.0.0/24 on-link on eth0`. */
export function formatRoute(route: RouteOptions): string {
  const way = route.nextHop === undefined ? "on-link" : `via ${formatIp(route.nextHop)}`;
  return `${formatPrefix(route.prefix)} ${way} on ${route.interface.name}`;
}
