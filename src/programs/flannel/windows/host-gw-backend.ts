/** The back end host-gw on Windows: an L2Bridge network, and a route of the host for each other node (control-planes.md §1.9). */
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type Prefix,
  equalPrefixes,
  formatIp,
  formatPrefix,
  prefixContains,
  prefixCovers,
} from "#core/net/ip.ts";
import type { BackendParts, Registration } from "../backends/backend.ts";
import { type FlannelFinding, findingOf } from "../reports.ts";
import type { FlannelInterface, WindowsHost, WindowsRoute } from "../node/flannel-host.ts";
import { type Lease, type LeaseEvent, makeAttributes } from "../leases/lease.ts";
import { HostGwBackend, KeptRoutes } from "../backends/kept-routes.ts";
import { type Progress, done, failed } from "../progress.ts";
import { BridgeSetup, type WindowsHostGwOptions, readWindowsHostGwOptions } from "./bridge-setup.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface WindowsHostGwParts extends BackendParts {
  readonly host: WindowsHost;
  readonly client: HcnClient;
}

class WindowsKeptRoutes extends KeptRoutes<WindowsRoute, WindowsHost> {
  /** The interface does not count, as upstream has it. */
  isSame(a: WindowsRoute, b: WindowsRoute): boolean {
    return equalPrefixes(a.prefix, b.prefix) && a.nextHop === b.nextHop;
  }

  describe({ prefix, nextHop }: WindowsRoute): string {
    return `${formatPrefix(prefix)} via ${formatIp(nextHop)}`;
  }

  protected make(route: WindowsRoute): Promise<void> {
    return this.host.addRoute(route);
  }

  protected reportRecovered(route: WindowsRoute): void {
    this.log.write("I", `Recovered route to ${this.describe(route)} on ${route.interfaceIndex}.`);
  }

  protected reportMissing(route: WindowsRoute, error: unknown): void {
    this.log.write(
      "W",
      `Error recovering route to ${this.describe(route)} on ${route.interfaceIndex} (${messageOf(error)}).`,
    );
  }
}

/** Plain data. */
export class WindowsHostGwBackend extends HostGwBackend<WindowsHostGwParts> {
  private readonly options: WindowsHostGwOptions;
  private lease: Lease | undefined;
  private setup: BridgeSetup | undefined;
  /** Of the interface that leads to the others. */
  private linkIndex: number;
  /** Routes that are put back when they have gone. */
  private readonly routes: WindowsKeptRoutes;
  /** Of the network. */
  private trouble: FlannelFinding | undefined;

  /** @throws FlannelError behind a NAT, and for a bad configuration. */
  constructor(parts: WindowsHostGwParts) {
    super(parts);
    this.options = readWindowsHostGwOptions(parts.config);
    this.routes = new WindowsKeptRoutes(parts.host, parts.log);
    this.linkIndex = parts.external.interface.index;
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    if (this.lease === undefined) {
      this.parts.log.write("I", `HOST-GW config: ${JSON.stringify(this.options)}`);
      const { publicIp } = this.parts.external;
      const attributes = makeAttributes({ publicIp, backendType: "host-gw" });
      const progress = await this.request.acquire(attributes, nowMs);
      if (progress.state !== "done") return progress;
      this.lease = progress.value;
    }
    const { subnet } = this.lease;
    if (subnet === undefined)
      return failed({
        code: "flannel-node-without-range",
        message: WORDS.ipv4SubnetMissing,
      });
    const progress = await this.makeNetwork(subnet, nowMs);
    if (progress.state !== "done") return progress;
    this.look.next(nowMs);
    return done({ lease: this.lease, mtuBytes: this.parts.external.interface.mtuBytes });
  }

  async handle(events: readonly LeaseEvent[]): Promise<void> {
    for (const { type, lease } of events) {
      const route = this.routeOf(lease);
      if (route === undefined) continue;
      if (type === "added") await this.add(route);
      else await this.remove(route);
    }
  }

  findings(): readonly FlannelFinding[] {
    return [...(this.trouble === undefined ? [] : [this.trouble]), ...this.routes.findings()];
  }

  private async makeNetwork(subnet: Prefix, nowMs: number): Promise<Progress<undefined>> {
    this.setup ??= new BridgeSetup(this.parts, this.options, subnet);
    const progress = await this.setup.advance(nowMs);
    if (progress.state !== "waiting") this.setup = undefined;
    if (progress.state !== "done") return progress;
    this.linkIndex = progress.value.index;
    return done(undefined);
  }

  private routeOf({ subnet, attributes }: Lease): WindowsRoute | undefined {
    const { backendType, publicIp } = attributes;
    if (backendType.toLowerCase() !== "host-gw") {
      const shown = subnet === undefined ? "" : formatPrefix(subnet);
      this.parts.log.write("W", `Ignoring non-host-gw subnet(${shown}): type=${backendType}`);
      return undefined;
    }
    if (subnet === undefined || publicIp === undefined) return undefined;
    return Object.freeze({ interfaceIndex: this.linkIndex, prefix: subnet, nextHop: publicIp });
  }

  /** The first route to the prefix on the node's interface. What cannot be listed is not there, as upstream has it. */
  private async findRoute(wanted: WindowsRoute): Promise<WindowsRoute | "unknown" | undefined> {
    const { host, log, differences } = this.parts;
    try {
      const routes = await host.routesTo(wanted.prefix);
      return routes.find((route) => route.interfaceIndex === wanted.interfaceIndex);
    } catch (error) {
      log.write("E", `Error enumerating routes: ${messageOf(error)}`);
      if (!differences.readsAgain) return undefined;
      this.routes.failed(wanted, error);
      return "unknown";
    }
  }

  private async add(route: WindowsRoute): Promise<void> {
    const { host, log, differences } = this.parts;
    const shown = formatPrefix(route.prefix);
    log.write("I", `Subnet added: ${shown} via ${formatIp(route.nextHop)}`);
    // Upstream keeps a route to where the node was before, and puts it back.
    if (differences.keepsWays) this.routes.keep(route);
    const existing = await this.findRoute(route);
    // It is left to the next check, which sees all routes.
    if (existing === "unknown") return;
    // Upstream does not keep a route that is there already, and so never puts it back.
    if (existing !== undefined && this.routes.isSame(existing, route)) return;
    if (existing !== undefined) {
      log.write(
        "W",
        `Replacing existing route ${shown} via ${formatIp(existing.nextHop)} with ${shown} via ${formatIp(route.nextHop)}`,
      );
      try {
        await host.removeRoute(existing);
      } catch (error) {
        log.write("E", `Error removing route: ${messageOf(error)}`);
        return;
      }
    }
    try {
      await host.addRoute(route);
    } catch (error) {
      log.write("E", `Error creating route: ${messageOf(error)}`);
      this.routes.failed(route, error);
      return;
    }
    if (!differences.keepsWays) this.routes.keepBeside(route);
  }

  private async remove(route: WindowsRoute): Promise<void> {
    const { host, log, differences } = this.parts;
    const shown = formatPrefix(route.prefix);
    log.write("I", `Subnet removed: ${shown}`);
    const existing = await this.findRoute(route);
    const isThere = existing !== undefined && existing !== "unknown" && this.routes.isSame(existing, route);
    if (isThere) {
      log.write("I", `Removing existing route ${shown} via ${formatIp(existing.nextHop)}`);
      try {
        await host.removeRoute(existing);
      } catch (error) {
        log.write("W", `Error removing route: ${messageOf(error)}`);
      }
    }
    this.routes.forget((kept) =>
      differences.keepsWays ? equalPrefixes(kept.prefix, route.prefix) : this.routes.isSame(kept, route),
    );
  }

  protected async check(nowMs: number): Promise<void> {
    this.look.next(nowMs);
    const { host, log, differences, config } = this.parts;
    if (differences.keepsWays && !(await this.keepNetwork(nowMs))) return;
    let present: readonly WindowsRoute[];
    try {
      present = await host.listRoutes();
    } catch (error) {
      log.write("E", `Error enumerating routes: ${messageOf(error)}`);
      return;
    }
    this.trouble = undefined;
    this.routes.clearFindings();
    const { network } = config;
    if (differences.keepsWays && this.isSynced && network !== undefined)
      // On-link routes have no next hop.
      await this.routes.clean(
        present,
        ({ prefix, interfaceIndex, nextHop }) =>
          prefixCovers(network, prefix) && interfaceIndex === this.linkIndex && nextHop !== 0,
      );
    await this.routes.restore(present, () => true);
  }

  /** Finds the network or makes it again; routes follow the interface. @returns false while it is not there. */
  private async keepNetwork(nowMs: number): Promise<boolean> {
    const subnet = this.lease?.subnet;
    if (subnet === undefined) return false;
    const isThere = this.setup === undefined ? await this.isNetworkThere() : false;
    if (isThere === true) return true;
    const progress = isThere === false ? await this.makeNetwork(subnet, nowMs) : failed(isThere);
    if (progress.state === "done") {
      this.routes.change((route) => Object.freeze({ ...route, interfaceIndex: this.linkIndex }));
      return true;
    }
    this.trouble = progress.finding;
    this.parts.log.write("W", progress.finding.message);
    if (progress.state === "waiting") this.look.next(nowMs, progress.retryAfterMs);
    return false;
  }

  /** The node's leg in the pods' subnet is there as long as network and endpoint are. @returns why nobody can say. */
  private async isNetworkThere(): Promise<boolean | FlannelFinding> {
    const subnet = this.lease?.subnet;
    let interfaces: readonly FlannelInterface[];
    try {
      interfaces = await this.parts.host.listInterfaces();
    } catch (error) {
      return findingOf(error, "flannel-network-not-ready");
    }
    const hasLeg = interfaces.some(({ addresses }) =>
      addresses.some(({ ip }) => subnet !== undefined && prefixContains(subnet, ip)),
    );
    return hasLeg && interfaces.some(({ index }) => index === this.linkIndex);
  }
}
