/** Azure's route tables, and the orders for one, which are gathered and carried out in one write. */
import { DONE, type Outcome, type RouteOperation, failedWith } from "../cloud-route.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

// Azure's route tables as its API has them: read whole, written whole, with an entity tag (control-planes.md §6.4, §6.6);
// and the names of their routes, which hold whose they are (§6.6; cloud-provider-azure `azure_routes.go`).

/** Row A15: routes of one table. */
const ROUTES_MAX = 400;
const MS_PER_SECOND = 1_000;

export interface AzureRoute {
  readonly name: string;
  readonly addressPrefix: string;
  readonly nextHopType: "VirtualAppliance" | "VirtualNetworkGateway" | "VnetLocal" | "Internet" | "None";
  /** Of a virtual appliance. */
  readonly nextHopIpAddress?: string;
}

export interface RouteTable {
  readonly name: string;
  readonly location: string;
  readonly routes: readonly AzureRoute[];
  /** Changes with each write; a write that names another one is refused. */
  readonly etag: string;
}

/** The calls that the provider makes. */
export interface RouteTablesApi {
  get(name: string): RouteTable | undefined;
  /** @param table With an empty `etag` it replaces whatever is there. */
  put(table: RouteTable, nowMs: number): Outcome;
}

/** The tables of one resource group. Plain data. */
export class MemoryRouteTables implements RouteTablesApi {
  /** Writes that were asked for. */
  putCount = 0;
  private readonly tables = new Map<string, RouteTable>();
  private version = 0;
  private readonly throttledUntilMs: number;

  /** Until then writes are refused: the subscription has made more than it may in an hour. */
  constructor(throttledUntilMs = 0) {
    this.throttledUntilMs = throttledUntilMs;
  }

  get(name: string): RouteTable | undefined {
    return this.tables.get(name.toLowerCase());
  }

  put(table: RouteTable, nowMs: number): Outcome {
    this.putCount++;
    const { name, etag, routes } = table;
    if (nowMs < this.throttledUntilMs) {
      const waitSeconds = Math.ceil((this.throttledUntilMs - nowMs) / MS_PER_SECOND);
      return failedWith({
        code: "route-api-throttled",
        message: WORDS.routeApiThrottled({ name, waitSeconds }),
      });
    }
    const present = this.get(name);
    if (etag !== "" && etag !== present?.etag)
      return failedWith({
        code: "route-table-changed",
        message: WORDS.routeTableChanged({ name, etag }),
      });
    if (routes.length > ROUTES_MAX)
      return failedWith({
        code: "route-table-full",
        message: WORDS.routeTableFull({ name, routesCount: routes.length, routesMax: ROUTES_MAX }),
      });
    this.version++;
    this.tables.set(name.toLowerCase(), Object.freeze({ ...table, etag: `W/"${this.version}"` }));
    return DONE;
  }
}

/** `RouteNameSeparator`. */
const ROUTE_NAME_SEPARATOR = "____";

/** One route per node; with two families one per node and range. */
export function routeNameOf(nodeName: string, cidr: string, isDualStack: boolean): string {
  return isDualStack ? `${nodeName}${ROUTE_NAME_SEPARATOR}${cidr.replaceAll(/[.:/]/g, "")}` : nodeName;
}

/** The reverse, for any route of the table. */
export function nodeNameOf(routeName: string, isDualStack: boolean): string {
  return isDualStack ? (routeName.split(ROUTE_NAME_SEPARATOR)[0] ?? "") : routeName;
}

// `delayedRouteUpdater` of cloud-provider-azure (control-planes.md §6.6).

/** `routeUpdateInterval`. */
const INTERVAL_MS = 30_000;
/** `routeUpdateWaitingInSeconds`: `defaultRouteUpdateWaitingInSeconds` of `azure.go`. */
const WAIT_MS = 30_000;
/** `routeTableCacheTTLInSeconds`: what was read is taken for true that long. */
const CACHE_MS = 120_000;

export interface RouteUpdaterOptions {
  readonly tables: RouteTablesApi;
  readonly tableName: string;
  readonly location: string;
  readonly isDualStack: boolean;
  readonly intervalMs?: number;
  /** After a write, until it has taken effect: whoever waits for it waits so long, too. */
  readonly waitMs?: number;
}

interface QueuedOperation extends RouteOperation {
  readonly routeName: string;
  /** Undefined: the route is to be deleted. */
  readonly wanted: AzureRoute | undefined;
}

function isSameText(a: string | undefined, b: string | undefined): boolean {
  return a?.toLowerCase() === b?.toLowerCase();
}

function isSameRoute(a: AzureRoute, b: AzureRoute): boolean {
  return isSameText(a.addressPrefix, b.addressPrefix) && isSameText(a.nextHopIpAddress, b.nextHopIpAddress);
}

export class DelayedRouteUpdater {
  private readonly options: RouteUpdaterOptions;
  private queue: QueuedOperation[] = [];
  /** Written, and not yet told: the write has to take effect first. */
  private settling: QueuedOperation[] = [];
  private settledAtMs = 0;
  /** Of the first tick; the others keep in step with it. */
  private firstTickAtMs: number | undefined;
  private tickAtMs = 0;
  private cached: { readonly table: RouteTable; readonly untilMs: number } | undefined;

  constructor(options: RouteUpdaterOptions) {
    this.options = options;
  }

  add(routeName: string, wanted: AzureRoute | undefined): RouteOperation {
    const operation: QueuedOperation = { routeName, wanted, outcome: undefined };
    this.queue.push(operation);
    return operation;
  }

  /** The table as it was when it was last read. */
  read(nowMs: number): RouteTable | undefined {
    const { tables, tableName } = this.options;
    if (this.cached !== undefined && nowMs < this.cached.untilMs) return this.cached.table;
    const table = tables.get(tableName);
    this.cached = table === undefined ? undefined : { table, untilMs: nowMs + CACHE_MS };
    return table;
  }

  /** @returns how long until it is wanted again; undefined: nothing waits. */
  advance(nowMs: number, nodeNames: ReadonlySet<string>): number | undefined {
    const { intervalMs = INTERVAL_MS, waitMs = WAIT_MS } = this.options;
    if (this.settling.length > 0 && nowMs >= this.settledAtMs) this.settle(DONE);
    if (this.firstTickAtMs === undefined) {
      this.firstTickAtMs = nowMs;
      this.tickAtMs = nowMs;
    }
    if (nowMs >= this.tickAtMs && this.settling.length === 0) {
      const hasWritten = this.update(nowMs, nodeNames);
      const busyUntilMs = hasWritten ? nowMs + waitMs : nowMs;
      const ticks = Math.floor((nowMs - this.firstTickAtMs) / intervalMs) + 1;
      // Of the ticks that fall into the wait one is kept: the ticker below `wait.PollUntilContextCancel` holds no more.
      this.tickAtMs = Math.max(this.firstTickAtMs + ticks * intervalMs, busyUntilMs);
      this.settledAtMs = busyUntilMs;
      if (this.settling.length > 0 && waitMs === 0) this.settle(DONE);
    }
    if (this.settling.length > 0) return this.settledAtMs - nowMs;
    return this.queue.length > 0 ? this.tickAtMs - nowMs : undefined;
  }

  private settle(outcome: Outcome): void {
    for (const operation of this.settling) operation.outcome = outcome;
    this.settling = [];
  }

  /** @returns true when the table was written. */
  private update(nowMs: number, nodeNames: ReadonlySet<string>): boolean {
    if (this.queue.length === 0) return false;
    this.settling = this.queue;
    this.queue = [];
    const { tableName: name, location } = this.options;
    if (this.read(nowMs) === undefined) {
      const created = this.write({ name, location, routes: [], etag: "" }, nowMs);
      if (created.state === "failed") {
        this.settle(created);
        return false;
      }
    }
    const table = this.read(nowMs) ?? { name, location, routes: [], etag: "" };
    const { routes, isDirty } = this.changed(table.routes, nodeNames);
    const outcome = isDirty ? this.write({ ...table, routes }, nowMs) : DONE;
    if (isDirty && outcome.state === "done") return true;
    this.settle(outcome);
    return false;
  }

  /** What was read is not believed any more after a write, nor after one that met somebody else's. */
  private write(table: RouteTable, nowMs: number): Outcome {
    const outcome = this.options.tables.put(table, nowMs);
    if (outcome.state === "done" || outcome.fault.code === "route-table-changed") this.cached = undefined;
    return outcome;
  }

  private changed(
    present: readonly AzureRoute[],
    nodeNames: ReadonlySet<string>,
  ): { readonly routes: readonly AzureRoute[]; readonly isDirty: boolean } {
    const routes = present.filter(({ name }) => !this.isOutdated(name, nodeNames));
    let isDirty = routes.length < present.length;
    for (const { routeName, wanted } of this.settling) {
      const index = routes.findIndex(({ name }) => isSameText(name, routeName));
      const [removed] = index < 0 ? [] : routes.splice(index, 1);
      if (wanted === undefined) {
        isDirty ||= removed !== undefined;
        continue;
      }
      routes.push(wanted);
      isDirty ||= removed === undefined || !isSameRoute(removed, wanted);
    }
    return { routes, isDirty };
  }

  /** A name from before two families were switched on, or off. Only those of known nodes are taken for the provider's. */
  private isOutdated(routeName: string, nodeNames: ReadonlySet<string>): boolean {
    const parts = routeName.split(ROUTE_NAME_SEPARATOR);
    if (!nodeNames.has((parts[0] ?? "").toLowerCase())) return false;
    return parts.length === (this.options.isDualStack ? 1 : 2);
  }
}
