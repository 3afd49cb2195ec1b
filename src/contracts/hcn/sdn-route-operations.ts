/** The calls about SDN routes, in the order in which hcsshim's helpers make them (hcn.md §1.5, §2.8). */
import { DEFAULT_QUERY, type HcnClient, type HostComputeQuery } from "./client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Stored, storedOf } from "./description/object-json.ts";
import { type Guid, parseGuid } from "./guid.ts";
import { HcnError } from "./error.ts";
import { firstFound, listDocuments, queryBy, requestDocument } from "./operations.ts";
import { SCHEMA_V2_0 } from "./documents/base-document.ts";
import { type HostComputeRoute, type SdnRoutePolicySetting, parseSdnRoute } from "./documents/sdn-route.ts";

/** As a service answers it. */
export type StoredRoute = Stored<HostComputeRoute>;

function routeFrom(document: JsonObject): StoredRoute {
  return storedOf(parseSdnRoute(document), "SDN route");
}

export async function listSdnRoutes(
  client: HcnClient,
  query: HostComputeQuery = DEFAULT_QUERY,
): Promise<readonly StoredRoute[]> {
  return (await listDocuments(client, "SdnRoute", query)).map(routeFrom);
}

/** @throws HcnNotFoundError `SDN Route "x" not found`. */
export async function getSdnRouteById(client: HcnClient, id: Guid): Promise<StoredRoute> {
  return firstFound(await listSdnRoutes(client, queryBy({ ID: id })), "SDN Route", id);
}

/** Creates an SDN route and reads it back. The document gets schema version 2.0 when it has none. */
export async function createSdnRoute(client: HcnClient, route: HostComputeRoute): Promise<StoredRoute> {
  const document = requestDocument({ SchemaVersion: SCHEMA_V2_0, ...route });
  const id = await client.create("SdnRoute", document);
  return routeFrom(await client.query("SdnRoute", id, DEFAULT_QUERY));
}

/**
 * A route of some endpoints to a prefix, as hcsshim's `AddRoute` makes it.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE before any call when there is no endpoint.
 */
export async function addSdnRoute(
  client: HcnClient,
  endpoints: readonly Guid[],
  setting: SdnRoutePolicySetting,
): Promise<StoredRoute> {
  if (endpoints.length === 0)
    throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", { detail: "missing endpoints" });
  return createSdnRoute(client, { HostComputeEndpoints: endpoints, Setting: [setting] });
}

/** Replaces what a route says: the request carries the whole document. */
export async function modifySdnRoute(
  client: HcnClient,
  id: Guid,
  route: HostComputeRoute,
): Promise<StoredRoute> {
  await client.modify("SdnRoute", id, requestDocument({ SchemaVersion: SCHEMA_V2_0, ...route, ID: id }));
  return routeFrom(await client.query("SdnRoute", id, DEFAULT_QUERY));
}

export async function deleteSdnRoute(client: HcnClient, id: Guid): Promise<void> {
  await client.delete("SdnRoute", id);
}

/** Deletes the route and creates it again with other endpoints, under the id that its document holds. */
async function remakeSdnRoute(
  client: HcnClient,
  route: StoredRoute,
  endpoints: readonly Guid[],
): Promise<StoredRoute> {
  await deleteSdnRoute(client, route.ID);
  return createSdnRoute(client, { ...route, HostComputeEndpoints: endpoints });
}

/** hcsshim's `AddEndpoint` of a route. */
export async function addSdnRouteEndpoint(
  client: HcnClient,
  route: StoredRoute,
  endpoint: Guid,
): Promise<StoredRoute> {
  return remakeSdnRoute(client, route, [...(route.HostComputeEndpoints ?? []), endpoint]);
}

/** hcsshim's `RemoveEndpoint` of a route. */
export async function removeSdnRouteEndpoint(
  client: HcnClient,
  route: StoredRoute,
  endpoint: Guid,
): Promise<StoredRoute> {
  const left = (route.HostComputeEndpoints ?? []).filter((id) => parseGuid(id) !== parseGuid(endpoint));
  return remakeSdnRoute(client, route, left);
}
