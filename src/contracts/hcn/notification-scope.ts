/** Which registration hears which notification (hcn.md §1.4). */
import type { HcnNotification, NotificationScope } from "./client.ts";
import { checkGuid } from "./guid.ts";
import { NOTIFICATION_TYPES } from "./notification.ts";

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
