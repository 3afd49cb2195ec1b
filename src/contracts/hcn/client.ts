/**
 * The HCN line: everything above it (plugins, proxies, agents) sees HNS only through this interface, and
 * everything below it serves it. Implementations: in process (`hns/`), over HTTP (`http-client.node.ts`).
 * The calls are those of `computenetwork.dll` (hcn.md §1.2, §1.5) with GUIDs in place of handles.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { PortRangeEntry, PortRangeReservation, PortRequest } from "./documents/port-reservation.ts";
import type { ComputeSystems } from "./compute-systems.ts";
import { type Guid, checkGuid } from "./guid.ts";

export type { Guid } from "./guid.ts";

const KINDS = [
  "Network",
  "Endpoint",
  "Namespace",
  "LoadBalancer",
  "SdnRoute",
  "GuestNetworkService",
] as const;
/** The kinds of objects, named as in the exports `HcnCreateNetwork`, `HcnCreateEndpoint` … */
export type HcnObjectKind = (typeof KINDS)[number];
export const HCN_KINDS: readonly HcnObjectKind[] = Object.freeze(KINDS);

/** `HostComputeQuery` (hcn.md §5.1). */
export interface HostComputeQuery {
  readonly SchemaVersion?: { readonly Major: number; readonly Minor: number };
  /** 0 none, 1 detailed. */
  readonly Flags?: number;
  /** A JSON object as text inside the JSON: `"{\"Name\":\"cbr0\"}"`. */
  readonly Filter?: string;
}

/** The query that hcsshim sends when it wants everything in v2 shape. */
export const DEFAULT_QUERY: HostComputeQuery = Object.freeze({
  SchemaVersion: Object.freeze({ Major: 2, Minor: 0 }),
});

/** A notification (hcn.md §1.4). */
export interface HcnNotification {
  readonly type: number;
  readonly status: number;
  /** `NotificationBase`. */
  readonly data: { readonly ID: Guid; readonly Flags: number; readonly Data?: JsonValue };
  /** The network or guest network service whose registrations hear it; absent: those of the service. */
  readonly scope?: Guid;
  /** The compute system that it is about. `type` is then one of `HCS_NOTIFICATION_TYPES`. */
  readonly computeSystem?: string;
}

/**
 * What a registration hears (hcn.md §1.4): `service` as `HcnRegisterServiceCallback`, a network as
 * `HcnRegisterNetworkCallback`, a guest network service as `HcnRegisterGuestNetworkServiceCallback`. `all` is
 * Mullion's own, for those who watch: all of HNS. Every registration hears that the service disconnected. A compute
 * system is HCS's, as `HcsRegisterComputeSystemCallback`: its registrations outlive a restart of HNS.
 */
export type NotificationScope =
  | "service"
  | "all"
  | { readonly network: Guid }
  | { readonly guestNetworkService: Guid }
  | { readonly computeSystem: string };

export interface HcnCreateOptions {
  /** The identifier to use; absent, zero: the service chooses. */
  readonly id?: Guid;
  /** For endpoints: the network whose handle the call gets. */
  readonly network?: Guid;
}

/** What `HcnQueryFeatures` and `HcnQueryMetrics` tell of the service as a whole. */
export type ServiceProperties = "Features" | "Metrics";

/** Failing calls reject with `HcnError`. */
export interface HcnClient {
  /**
   * Goes up with every change of an object, whoever makes it: equal numbers, equal objects. Known where the service is
   * at hand, and then a call has made its change when it returns its promise; undefined elsewhere.
   */
  readonly revision?: number | undefined;
  /**
   * The node's compute systems, where whoever serves HNS keeps them, too; undefined elsewhere: on Windows the Host
   * Compute Service has them.
   */
  readonly computeSystems?: ComputeSystems | undefined;
  /** GUIDs of the objects that match; all without a filter. Never null. */
  enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]>;
  /** Creates an object and returns its GUID. */
  create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid>;
  /** The object's document in the dialect of the query's schema version. */
  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject>;
  /** `settings` is the envelope of hcn.md §5.2 (for load balancers the whole document). */
  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void>;
  delete(kind: HcnObjectKind, id: Guid): Promise<void>;
  /** `HcnQueryEndpointStats`: what has passed the endpoint's switch port since it was made. */
  queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject>;
  /** `HcnQueryEndpointAddresses`. */
  queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject>;
  /** `HcnReserveGuestNetworkServicePort`, and with a number of ports `…PortRange`. */
  reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation>;
  /** `HcnReleaseGuestNetworkServicePortReservationHandle`. */
  releasePorts(reservation: Guid): Promise<void>;
  /** `HcnEnumerateGuestNetworkPortReservations`. */
  listPortReservations(): Promise<readonly PortRangeEntry[]>;
  /** `HcnQueryFeatures`, `HcnQueryMetrics`. */
  queryService(properties: ServiceProperties): Promise<JsonObject>;
  /** HNS v1: `vmcompute.dll!HNSCall`. Returns the response envelope (hcn.md §1.7). */
  call(method: string, path: string, body: string): Promise<JsonObject>;
  /**
   * Hears notifications until the returned function is called; those of the service unless `scope` says otherwise.
   * An object that is not there is silent. @throws HcnError HCN_E_GUID_CONVERSION_FAILURE.
   */
  subscribe(listener: (notification: HcnNotification) => void, scope?: NotificationScope): () => void;
  close(): Promise<void>;
}

// The service's notifications: their numbers, and which registration hears which (hcn.md §1.4).

/** Numbers of the service's notifications (hcn.md §1.4). The numbering jumps from 9 to hexadecimal 10. */
export const NOTIFICATION_TYPES = {
  NetworkPreCreate: 0x0000_0001,
  NetworkCreate: 0x0000_0002,
  NetworkPreDelete: 0x0000_0003,
  NetworkDelete: 0x0000_0004,
  NamespaceCreate: 0x0000_0005,
  NamespaceDelete: 0x0000_0006,
  GuestNetworkServiceCreate: 0x0000_0007,
  GuestNetworkServiceDelete: 0x0000_0008,
  NetworkEndpointAttached: 0x0000_0009,
  NetworkEndpointDetached: 0x0000_0010,
  GuestNetworkServiceStateChanged: 0x0000_0011,
  GuestNetworkServiceInterfaceStateChanged: 0x0000_0012,
  ServiceDisconnect: 0x0100_0000,
} as const;

/** Numbers of notifications of the Host Compute Service that a network meets, as `vmcompute.dll` reports them. */
export const HCS_NOTIFICATION_TYPES = {
  SystemExited: 0x0000_0001,
} as const;

/** A scope whose GUID is one, in lower case. @throws HcnError HCN_E_GUID_CONVERSION_FAILURE. */
export function checkScope(scope: NotificationScope): NotificationScope {
  if (typeof scope === "string") return scope;
  if ("computeSystem" in scope) return scope;
  if ("network" in scope) return { network: checkGuid(scope.network) };
  return { guestNetworkService: checkGuid(scope.guestNetworkService) };
}

/** True when a registration of `scope`, a checked one, hears `notification`. */
export function isHeardBy(scope: NotificationScope, notification: HcnNotification): boolean {
  const { computeSystem } = notification;
  if (typeof scope === "object" && "computeSystem" in scope) return computeSystem === scope.computeSystem;
  if (computeSystem !== undefined) return false;
  if (scope === "all" || notification.type === NOTIFICATION_TYPES.ServiceDisconnect) return true;
  if (scope === "service") return notification.scope === undefined;
  return notification.scope === ("network" in scope ? scope.network : scope.guestNetworkService);
}

/** The scope as the query of `GET /hcn/notifications`. */
export function formatScope(scope: NotificationScope): string {
  if (scope === "service") return "";
  if (scope === "all") return "?scope=all";
  if ("computeSystem" in scope) return `?computeSystem=${encodeURIComponent(scope.computeSystem)}`;
  return "network" in scope
    ? `?network=${encodeURIComponent(scope.network)}`
    : `?guestNetworkService=${encodeURIComponent(scope.guestNetworkService)}`;
}
