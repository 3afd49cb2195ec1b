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

/** A way to one prefix, over whatever interface. */
export interface Way {
  readonly prefix: Prefix;
  readonly nextHop: Ip;
}

/**
 * Static routes of IPv4 that many machines have, each over its own interface. Frozen, so that all of them share one: with
 * a route to each other, 5 000 nodes have 25 million.
 */
export class SharedRoutes {
  /** By network address; index: prefix length. */
  private readonly ways: readonly (ReadonlyMap<Ip, Way> | undefined)[];

  /** Of two ways to one prefix the later counts. */
  constructor(ways: Iterable<Way>) {
    const byLength: (Map<Ip, Way> | undefined)[] = [];
    for (const way of ways)
      (byLength[way.prefix.length] ??= new Map<Ip, Way>()).set(way.prefix.address, Object.freeze(way));
    this.ways = Object.freeze(byLength);
    Object.freeze(this);
  }

  get lengthMax(): number {
    return this.ways.length - 1;
  }

  get(address: Ip, length: number): Way | undefined {
    return this.ways[length]?.get(address);
  }

  /** The ways to prefixes of one length. */
  listOf(length: number): readonly Way[] {
    return [...(this.ways[length]?.values() ?? [])];
  }
}

/** Shared routes as one machine has them. */
interface OwnShare {
  readonly routes: SharedRoutes;
  readonly interface: StackInterface;
  readonly metric: number;
  /** The machine's own address: no way leads over itself. */
  readonly self: Ip;
}

export class RouteTable {
  /** Index: prefix length. Absent where no route has that length. */
  private readonly ipv4: (LengthTable | undefined)[] = [];
  private readonly ipv6: (LengthTable | undefined)[] = [];
  /** To prefixes to which no other route leads; what changes one of them makes all of them the machine's own. */
  private share: OwnShare | undefined;

  /** Adds static routes to prefixes to which nothing leads yet. */
  addShared(share: OwnShare): void {
    this.ownAll();
    this.share = share;
    const isTaken = this.ipv4.some((table, length) =>
      [...(table?.keys() ?? [])].some((address) => this.sharedTo(address, length) !== undefined),
    );
    if (isTaken) this.ownAll();
  }

  /** Adds `route`; a route with the same prefix, next hop and interface is replaced. */
  add(route: Route): void {
    const { address, length } = route.prefix;
    if (this.sharedTo(address, length) !== undefined) this.ownAll();
    this.insert(route);
  }

  private insert(route: Route): void {
    const tables = this.tablesOf(route.prefix.address);
    const table = (tables[route.prefix.length] ??= new Map<Ip, Route[]>());
    const routes = table.get(route.prefix.address);
    if (routes === undefined) {
      table.set(route.prefix.address, [route]);
      return;
    }
    const kept = routes.filter((other) => !isSameRoute(other, route) || other.origin !== route.origin);
    kept.push(route);
    // A stable sort: the older of equal routes stays first.
    kept.sort((a, b) => effectiveMetric(a) - effectiveMetric(b));
    table.set(route.prefix.address, kept);
  }

  /** Removes the route with that prefix, next hop and interface. @returns false when there is none. */
  remove(options: Pick<RouteOptions, "prefix" | "nextHop" | "interface">, origin: Route["origin"]): boolean {
    const { address, length } = options.prefix;
    const shared = this.sharedTo(address, length);
    if (shared !== undefined && isSameRoute(shared, options) && shared.origin === origin) this.ownAll();
    const table = this.tablesOf(address)[length];
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
    const lengthMax = Math.max(tables.length - 1, this.share?.routes.lengthMax ?? 0);
    for (let length = Math.min(lengthMax, bitsOf(familyOf(destination))); length >= 0; length--) {
      const network = maskIp(destination, length);
      const shared = this.sharedTo(network, length);
      if (shared !== undefined && (only === undefined || shared.interface === only)) return shared;
      const routes = tables[length]?.get(network);
      const best = only === undefined ? routes?.[0] : routes?.find((route) => route.interface === only);
      if (best !== undefined) return best;
    }
    return undefined;
  }

  /** The routes with exactly this prefix, the best first. */
  to(prefix: Prefix): readonly Route[] {
    const shared = this.sharedTo(prefix.address, prefix.length);
    if (shared !== undefined) return [shared];
    const routes = this.tablesOf(prefix.address)[prefix.length]?.get(prefix.address);
    return routes === undefined ? [] : [...routes];
  }

  /** All routes: IPv4 first, then by falling prefix length, address and metric. */
  list(): Route[] {
    const routes: Route[] = [];
    for (const tables of [this.ipv4, this.ipv6]) {
      const share = tables === this.ipv4 ? this.share : undefined;
      const lengthMax = Math.max(tables.length - 1, share?.routes.lengthMax ?? 0);
      for (let length = lengthMax; length >= 0; length--) {
        const entries: (readonly [Ip, readonly Route[]])[] = [...(tables[length]?.entries() ?? [])];
        if (share !== undefined)
          for (const route of this.sharedOf(length)) entries.push([route.prefix.address, [route]]);
        entries.sort(([a], [b]) => (a < b ? -1 : 1));
        for (const [, group] of entries) routes.push(...group);
      }
    }
    return routes;
  }

  private sharedTo(address: Ip, length: number): Route | undefined {
    const way = this.share?.routes.get(address, length);
    if (this.share === undefined || way === undefined || way.nextHop === this.share.self) return undefined;
    const { interface: netInterface, metric } = this.share;
    return { ...way, interface: netInterface, metric, origin: "static" };
  }

  /** Shared routes to prefixes of one length. */
  private sharedOf(length: number): readonly Route[] {
    const ways = this.share?.routes.listOf(length) ?? [];
    return ways.flatMap(({ prefix }) => this.sharedTo(prefix.address, length) ?? []);
  }

  /** Shared routes become the machine's own. */
  private ownAll(): void {
    const { share } = this;
    if (share === undefined) return;
    const own: Route[] = [];
    for (let length = 0; length <= share.routes.lengthMax; length++) own.push(...this.sharedOf(length));
    this.share = undefined;
    for (const route of own) this.insert(route);
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
