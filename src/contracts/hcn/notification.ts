/** The service's notifications: their numbers, and which registration hears which (hcn.md §1.4). */
import type { HcnNotification, NotificationScope } from "./client.ts";
import { checkGuid } from "./guid.ts";

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
