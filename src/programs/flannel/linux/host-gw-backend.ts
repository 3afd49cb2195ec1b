/** The back end host-gw on Linux: a route for each other node, which has to be on the link (control-planes.md §1.9). */
import { messageOf } from "#core/base/thrown.ts";
import {
  type IpFamily,
  type Ipv6,
  equalPrefixes,
  formatIp,
  formatPrefix,
  prefixCovers,
  prefixFamily,
} from "#core/net/ip.ts";
import type { BackendParts, Registration } from "../backends/backend.ts";
import type { FlannelFinding } from "../reports.ts";
import type { LinuxHost, LinuxRoute } from "../node/flannel-host.ts";
import { type Lease, type LeaseEvent, makeAttributes } from "../leases/lease.ts";
import { HostGwBackend, KeptRoutes } from "../backends/kept-routes.ts";
import { type Progress, done } from "../progress.ts";

export interface LinuxHostGwParts extends BackendParts {
  readonly host: LinuxHost;
}

class LinuxKeptRoutes extends KeptRoutes<LinuxRoute, LinuxHost> {
  isSame(a: LinuxRoute, b: LinuxRoute): boolean {
    return equalPrefixes(a.prefix, b.prefix) && a.nextHop === b.nextHop && a.device === b.device;
  }

  describe({ prefix, nextHop, device }: LinuxRoute): string {
    return `${formatPrefix(prefix)} via ${formatIp(nextHop)} dev ${device}`;
  }

  protected make(route: LinuxRoute): Promise<void> {
    return this.host.replaceRoute(route);
  }

  protected reportRecovered(route: LinuxRoute): void {
    this.log.write("I", `Route recovered ${this.describe(route)}`);
  }

  protected reportMissing(route: LinuxRoute, error: unknown): void {
    this.log.write("E", `Error recovering route to ${this.describe(route)}: ${messageOf(error)}`);
  }
}

/** Plain data. */
export class LinuxHostGwBackend extends HostGwBackend<LinuxHostGwParts> {
  /** Routes that are put back when they have gone. */
  private readonly routes: LinuxKeptRoutes;

  /** @throws FlannelError behind a NAT. */
  constructor(parts: LinuxHostGwParts) {
    super(parts);
    this.routes = new LinuxKeptRoutes(parts.host, parts.log);
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    const { external } = this.parts;
    const { publicIp, publicIpv6 } = external;
    const attributes = makeAttributes({
      publicIp,
      publicIpv6: publicIpv6 as Ipv6 | undefined,
      backendType: "host-gw",
    });
    const progress = await this.request.acquire(attributes, nowMs);
    if (progress.state !== "done") return progress;
    this.look.next(nowMs);
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

  findings(): readonly FlannelFinding[] {
    return this.routes.findings();
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

  private async add(route: LinuxRoute): Promise<void> {
    const { host, log } = this.parts;
    log.write("I", `Subnet added: ${formatPrefix(route.prefix)} via ${formatIp(route.nextHop)}`);
    // Upstream keeps it before it has made it, and forgets the one that it replaces.
    this.routes.keep(route);
    try {
      const [existing] = await host.routesTo(route.prefix);
      if (existing !== undefined && this.routes.isSame(existing, route)) return;
      if (existing !== undefined) {
        log.write(
          "W",
          `Replacing existing route to ${this.routes.describe(existing)} with ${this.routes.describe(route)}`,
        );
        await host.removeRoute(existing);
      }
      await host.replaceRoute(route);
    } catch (error) {
      log.write("E", `Error adding route to ${this.routes.describe(route)}: ${messageOf(error)}`);
      this.routes.failed(route, error);
    }
  }

  private async remove(route: LinuxRoute): Promise<void> {
    const { host, log } = this.parts;
    log.write("I", `Subnet removed: ${formatPrefix(route.prefix)}`);
    this.routes.forget((kept) => this.routes.isSame(kept, route));
    try {
      await host.removeRoute(route);
    } catch (error) {
      log.write("E", `Error deleting route to ${formatPrefix(route.prefix)}: ${messageOf(error)}`);
    }
  }

  protected async check(nowMs: number): Promise<void> {
    this.look.next(nowMs);
    const { config } = this.parts;
    const families: readonly IpFamily[] = [
      ...(config.isIpv4Enabled ? ([4] as const) : []),
      ...(config.isIpv6Enabled ? ([6] as const) : []),
    ];
    this.routes.clearFindings();
    for (const family of families) await this.checkFamily(family);
  }

  private async checkFamily(family: IpFamily): Promise<void> {
    const { host, log, differences } = this.parts;
    let present: readonly LinuxRoute[];
    try {
      present = await host.listRoutes(family);
    } catch (error) {
      log.write("E", `Error fetching route list. Will automatically retry: ${messageOf(error)}`);
      return;
    }
    if (differences.keepsWays && this.isSynced) {
      const { config, external } = this.parts;
      const networks = [config.network, config.ipv6Network].filter((network) => network !== undefined);
      await this.routes.clean(
        present,
        ({ device, prefix }) =>
          device === external.interface.name && networks.some((network) => prefixCovers(network, prefix)),
      );
    }
    await this.routes.restore(present, ({ prefix }) => prefixFamily(prefix) === family);
  }
}
