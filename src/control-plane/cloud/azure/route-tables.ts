/**
 * Azure's route tables as its API has them: read whole, written whole, with an entity tag (control-planes.md §6.4, §6.6);
 * and the names of their routes, which hold whose they are (§6.6; cloud-provider-azure `azure_routes.go`).
 */
import { DONE, type Outcome, failedWith } from "../cloud-route.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

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
export const ROUTE_NAME_SEPARATOR = "____";

/** One route per node; with two families one per node and range. */
export function routeNameOf(nodeName: string, cidr: string, isDualStack: boolean): string {
  return isDualStack ? `${nodeName}${ROUTE_NAME_SEPARATOR}${cidr.replaceAll(/[.:/]/g, "")}` : nodeName;
}

/** The reverse, for any route of the table. */
export function nodeNameOf(routeName: string, isDualStack: boolean): string {
  return isDualStack ? (routeName.split(ROUTE_NAME_SEPARATOR)[0] ?? "") : routeName;
}
