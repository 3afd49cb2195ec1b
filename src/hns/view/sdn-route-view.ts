/** An SDN route as results show it (hcn.md §2.8). HNS v1 has no shape for it: both dialects show this one. */
import type { JsonObject } from "#core/base/json.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import { notEnforcedOnSdnRoute } from "../service/enforcement.ts";
import type { SdnRouteRecord } from "../service/sdn-route-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import { baseFields, healthData, withoutDefaults } from "./document-fields.ts";

/** hcn.md §2.10 has no row for routes. Inferred: applied is 2, as for the load balancers that they are kept with. */
const STATE_APPLIED = 2;
/** The schema that has the field `HostComputeNetwork` (hcn.md §2.8). */
const SCHEMA_WITH_NETWORK = 5;

function routeDocument(route: SdnRoutePolicySetting): JsonObject {
  return { ...route };
}

/**
 * Inferred (hcn.md §11.24): the routes come back under both names, `Routes` as the schema has it and `Setting` as
 * hcsshim reads it, so that a client which writes back what it read loses none.
 */
export function sdnRouteDocument(context: ServiceContext, route: SdnRouteRecord): JsonObject {
  const routes = route.routes.map(routeDocument);
  const network = context.state.networks.get(route.networkId);
  const health: JsonObject = { Data: healthData(context, route, notEnforcedOnSdnRoute(route, network)) };
  const hasNetwork = context.windows.profile.schemaMinor >= SCHEMA_WITH_NETWORK;
  const document = withoutDefaults({
    ...baseFields(route, health, STATE_APPLIED),
    HostComputeNetwork: hasNetwork ? route.networkId : undefined,
    HostComputeEndpoints: route.endpointIds,
    Routes: routes,
    Setting: routes,
  });
  return withKept(document, route.kept?.v2);
}

/** The fields that filters compare (hcn.md §5.1). */
export function sdnRouteFilterFields(route: SdnRouteRecord): JsonObject {
  return {
    ID: route.id,
    Name: route.name,
    Owner: route.owner,
    HostComputeNetwork: route.networkId,
    State: STATE_APPLIED,
  };
}
