/** What both systems' back ends host-gw have in common: which routes there should be, which are missing, which are left over. */
import { type Ip, type Prefix, equalPrefixes, formatIp, formatPrefix } from "#core/net/ip.ts";
import type { FlannelFinding, FlannelLog } from "../reports.ts";
import { messageOf } from "#core/base/thrown.ts";
import {
  type Backend,
  type BackendParts,
  LeaseRequest,
  type Registration,
  refuseTranslation,
} from "./backend.ts";
import type { LeaseEvent } from "../leases/lease.ts";
import { type Progress, Recurring } from "../progress.ts";

export interface GatewayRoute {
  readonly prefix: Prefix;
  readonly nextHop: Ip;
}

interface RouteTable<R> {
  removeRoute(route: R): Promise<void>;
}

/** Plain data; each system says what a route is to it. */
export abstract class KeptRoutes<R extends GatewayRoute, H extends RouteTable<R>> {
  protected readonly host: H;
  protected readonly log: FlannelLog;
  private kept: readonly R[] = [];
  private troubles: readonly { readonly prefix: Prefix; readonly finding: FlannelFinding }[] = [];

  constructor(host: H, log: FlannelLog) {
    this.host = host;
    this.log = log;
  }

  abstract isSame(a: R, b: R): boolean;
  abstract describe(route: R): string;
  protected abstract make(route: R): Promise<void>;
  protected abstract reportRecovered(route: R): void;
  protected abstract reportMissing(route: R, error: unknown): void;

  findings(): readonly FlannelFinding[] {
    return this.troubles.map(({ finding }) => finding);
  }

  /** The only one to its prefix from now on. */
  keep(route: R): void {
    this.kept = [...this.kept.filter(({ prefix }) => !equalPrefixes(prefix, route.prefix)), route];
  }

  /** Beside others to its prefix, as upstream's list on Windows has it. */
  keepBeside(route: R): void {
    if (!this.kept.some((other) => this.isSame(other, route))) this.kept = [...this.kept, route];
  }

  forget(isMeant: (route: R) => boolean): void {
    this.kept = this.kept.filter((route) => !isMeant(route));
  }

  /** Every route as it is from now on. */
  change(changed: (route: R) => R): void {
    this.kept = this.kept.map(changed);
  }

  /** A route could not be made. */
  failed(route: R, error: unknown): void {
    const { prefix, nextHop } = route;
    const finding: FlannelFinding = {
      code: "flannel-route-not-programmed",
      message: `the route to ${formatPrefix(prefix)} via ${formatIp(nextHop)} is not made: ${messageOf(error)}`,
    };
    const others = this.troubles.filter((trouble) => !equalPrefixes(trouble.prefix, prefix));
    this.troubles = [...others, { prefix, finding }];
  }

  /** What failed before is seen anew. */
  clearFindings(): void {
    this.troubles = [];
  }

  /** Makes those of the kept routes that are not there. */
  async restore(present: readonly R[], isMeant: (route: R) => boolean): Promise<void> {
    for (const route of this.kept) {
      if (!isMeant(route) || present.some((other) => this.isSame(other, route))) continue;
      try {
        await this.make(route);
        this.reportRecovered(route);
      } catch (error) {
        this.reportMissing(route, error);
        this.failed(route, error);
      }
    }
  }

  /** Takes away what is ours and left over: routes to nodes that have gone while flanneld did not run. */
  async clean(present: readonly R[], isOurs: (route: R) => boolean): Promise<void> {
    for (const route of present) {
      if (!isOurs(route) || this.kept.some((other) => this.isSame(other, route))) continue;
      try {
        await this.host.removeRoute(route);
        this.log.write("I", `Removed stale route to ${this.describe(route)}`);
      } catch (error) {
        this.log.write("E", `Error removing route: ${messageOf(error)}`);
      }
    }
  }
}

/** How often the routes are looked at. */
const CHECK_MS = 10_000;

/** Plain data; each system says how it registers, and how it makes and checks routes. */
export abstract class HostGwBackend<P extends BackendParts> implements Backend {
  protected readonly parts: P;
  protected readonly request: LeaseRequest;
  protected readonly look: Recurring = new Recurring(CHECK_MS);
  protected isSynced = false;

  /** @throws FlannelError behind a NAT. */
  constructor(parts: P) {
    refuseTranslation(parts.external);
    this.parts = parts;
    this.request = new LeaseRequest(parts.store);
  }

  abstract register(nowMs: number): Promise<Progress<Registration>>;
  abstract handle(events: readonly LeaseEvent[]): Promise<void>;
  abstract findings(): readonly FlannelFinding[];
  /** Looks at the routes, and puts the next look off. */
  protected abstract check(nowMs: number): Promise<void>;

  async synced(nowMs: number): Promise<void> {
    this.isSynced = true;
    if (this.parts.differences.keepsWays) await this.check(nowMs);
  }

  async tick(nowMs: number): Promise<number | undefined> {
    if (this.look.isDue(nowMs)) await this.check(nowMs);
    return this.look.waitMs(nowMs);
  }
}
