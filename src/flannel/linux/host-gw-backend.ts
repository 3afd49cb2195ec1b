/** The back end host-gw on Linux: a route for each other node, which has to be on the link (control-planes.md §1.9). */
import { type IpFamily, type Ipv6, formatIp } from "../../net/ip.ts";
import { equalPrefixes, formatPrefix, prefixCovers, prefixFamily } from "../../net/prefix.ts";
import {
  type Backend,
  type BackendParts,
  LeaseRequest,
  type Registration,
  refuseTranslation,
} from "../backend.ts";
import { type Finding, messageOf } from "../flannel-error.ts";
import type { LinuxHost, LinuxRoute } from "../flannel-host.ts";
import type { Lease, LeaseEvent } from "../lease.ts";
import { type Progress, done } from "../progress.ts";

export interface LinuxHostGwParts extends BackendParts {
  readonly host: LinuxHost;
}

export const LINUX_HOST_GW_FIELDS: readonly string[] = ["Type"];

/** How often the routes are looked at. */
const CHECK_MS = 10_000;

function isSameRoute(a: LinuxRoute, b: LinuxRoute): boolean {
  return equalPrefixes(a.prefix, b.prefix) && a.nextHop === b.nextHop && a.device === b.device;
}

function formatRoute({ prefix, nextHop, device }: LinuxRoute): string {
  return `${formatPrefix(prefix)} via ${formatIp(nextHop)} dev ${device}`;
}

/** Plain data. */
export class LinuxHostGwBackend implements Backend {
  private readonly parts: LinuxHostGwParts;
  private readonly request: LeaseRequest;
  /** Routes that are put back when they have gone. */
  private routes: LinuxRoute[] = [];
  private isSynced = false;
  private checkAtMs: number | undefined;
  private troubles: readonly Finding[] = [];

  /** @throws FlannelError behind a NAT. */
  constructor(parts: LinuxHostGwParts) {
    refuseTranslation(parts.external);
    this.parts = parts;
    this.request = new LeaseRequest(parts.store);
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    const { external } = this.parts;
    const attributes = Object.freeze({
      publicIp: external.publicIp,
      publicIpv6: external.publicIpv6 as Ipv6 | undefined,
      backendType: "host-gw",
      backendData: undefined,
      backendV6Data: undefined,
    });
    const progress = await this.request.acquire(attributes, nowMs);
    if (progress.state !== "done") return progress;
    this.checkAtMs = nowMs + CHECK_MS;
    return done({ lease: progress.value, mtuBytes: external.interface.mtuBytes });
  }

  async handle(events: readonly LeaseEvent[]): Promise<void> {
    for (const { type, lease } of events) {
      if (lease.attributes.backendType !== "host-gw") {
        this.parts.log.write("W", `Ignoring non-host-gw subnet: type=${lease.attributes.backendType}`);
        continue;
      }
      for (const route of this.routesOf(lease))
        await (type === "added" ? this.add(route) : this.remove(route));
    }
  }

  async synced(nowMs: number): Promise<void> {
    this.isSynced = true;
    if (this.parts.compat === "better") await this.check(nowMs);
  }

  async tick(nowMs: number): Promise<number | undefined> {
    if (this.checkAtMs === undefined) return undefined;
    if (this.checkAtMs > nowMs + CHECK_MS) this.checkAtMs = nowMs;
    if (nowMs >= this.checkAtMs) await this.check(nowMs);
    return Math.max(this.checkAtMs - nowMs, 0);
  }

  findings(): readonly Finding[] {
    return this.troubles;
  }

  private routesOf({ subnet, ipv6Subnet, attributes }: Lease): readonly LinuxRoute[] {
    const device = this.parts.external.interface.name;
    const pairs = [
      { prefix: subnet, nextHop: attributes.publicIp },
      { prefix: ipv6Subnet, nextHop: attributes.publicIpv6 },
    ];
    return pairs.flatMap(({ prefix, nextHop }) =>
      prefix === undefined || nextHop === undefined
        ? []
        : [Object.freeze({ prefix, nextHop, device, isOnLink: false })],
    );
  }

  private keep(route: LinuxRoute): void {
    this.routes = [...this.routes.filter(({ prefix }) => !equalPrefixes(prefix, route.prefix)), route];
  }

  private async add(route: LinuxRoute): Promise<void> {
    const { host, log } = this.parts;
    log.write("I", `Subnet added: ${formatPrefix(route.prefix)} via ${formatIp(route.nextHop)}`);
    // Upstream keeps it before it has made it, and forgets the one that it replaces.
    this.keep(route);
    try {
      const [existing] = await host.routesTo(route.prefix);
      if (existing !== undefined && isSameRoute(existing, route)) return;
      if (existing !== undefined) {
        log.write("W", `Replacing existing route to ${formatRoute(existing)} with ${formatRoute(route)}`);
        await host.removeRoute(existing);
      }
      await host.replaceRoute(route);
    } catch (error) {
      log.write("E", `Error adding route to ${formatRoute(route)}: ${messageOf(error)}`);
      this.note(route, error);
    }
  }

  private async remove(route: LinuxRoute): Promise<void> {
    const { host, log } = this.parts;
    log.write("I", `Subnet removed: ${formatPrefix(route.prefix)}`);
    this.routes = this.routes.filter((kept) => !isSameRoute(kept, route));
    try {
      await host.removeRoute(route);
    } catch (error) {
      log.write("E", `Error deleting route to ${formatPrefix(route.prefix)}: ${messageOf(error)}`);
    }
  }

  private note(route: LinuxRoute, error: unknown): void {
    this.troubles = [
      ...this.troubles.filter(({ message }) => !message.includes(formatRoute(route))),
      {
        code: "flannel-route-not-programmed",
        message: `the route ${formatRoute(route)} is not made: ${messageOf(error)}`,
      },
    ];
  }

  private async check(nowMs: number): Promise<void> {
    this.checkAtMs = nowMs + CHECK_MS;
    const { config } = this.parts;
    const families: readonly IpFamily[] = [
      ...(config.isIpv4Enabled ? ([4] as const) : []),
      ...(config.isIpv6Enabled ? ([6] as const) : []),
    ];
    this.troubles = [];
    for (const family of families) await this.checkFamily(family);
  }

  private async checkFamily(family: IpFamily): Promise<void> {
    const { host, log, compat } = this.parts;
    let present: readonly LinuxRoute[];
    try {
      present = await host.listRoutes(family);
    } catch (error) {
      log.write("E", `Error fetching route list. Will automatically retry: ${messageOf(error)}`);
      return;
    }
    if (compat === "better" && this.isSynced) await this.clean(present);
    for (const route of this.routes) {
      if (prefixFamily(route.prefix) !== family || present.some((other) => isSameRoute(other, route)))
        continue;
      try {
        await host.replaceRoute(route);
        log.write("I", `Route recovered ${formatRoute(route)}`);
      } catch (error) {
        log.write("E", `Error recovering route to ${formatRoute(route)}: ${messageOf(error)}`);
        this.note(route, error);
      }
    }
  }

  /** Routes into the cluster's network that nobody wants: of nodes that have gone while flanneld did not run. */
  private async clean(present: readonly LinuxRoute[]): Promise<void> {
    const { host, log, config, external } = this.parts;
    const networks = [config.network, config.ipv6Network].filter((network) => network !== undefined);
    for (const route of present) {
      const isOurs =
        route.device === external.interface.name &&
        networks.some((network) => prefixCovers(network, route.prefix));
      if (!isOurs || this.routes.some((kept) => isSameRoute(kept, route))) continue;
      try {
        await host.removeRoute(route);
        log.write("I", `Removed stale route ${formatRoute(route)}`);
      } catch (error) {
        log.write("E", `Error removing route: ${messageOf(error)}`);
      }
    }
  }
}
