/** SDN routes in stored form. */
import type { Guid } from "#contracts/hcn/guid.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { parseSdnRoute, routesOfSdnRoute } from "#contracts/hcn/documents/sdn-route.ts";
import type { SdnRouteRecord } from "../service/sdn-route-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { sdnRouteDocument } from "../view/sdn-route-view.ts";
import { readBaseFields } from "./base-fields.ts";
import type { LenientReader } from "./lenient-reader.ts";
import { networkOfBackEnds } from "./network-of-back-ends.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";

function read(context: ServiceContext, reader: LenientReader): SdnRouteRecord {
  const { Routes = null, Setting = null } = reader.document;
  const routes = reader.attempt(() => routesOfSdnRoute(parseSdnRoute({ Routes, Setting })));
  const endpointIds = reader.texts("HostComputeEndpoints").map(parseGuid);
  return {
    ...readBaseFields(context, reader),
    networkId: reader.guid("HostComputeNetwork") ?? "",
    endpointIds: Object.freeze(endpointIds.filter((id): id is Guid => id !== undefined)),
    routes: Object.freeze([...(routes ?? [])]),
  };
}

export const STORED_SDN_ROUTE: StoredKindRow = storedKind<SdnRouteRecord>({
  kind: "SdnRoute",
  records: (state) => state.sdnRoutes,
  document: sdnRouteDocument,
  documentV1: sdnRouteDocument,
  replace: (state, route) => state.setSdnRoute(route),
  read,
  enter: (context, given, report) => {
    const route = Object.freeze({ ...given, networkId: networkOfBackEnds(context, given) });
    if (!context.state.networks.has(route.networkId))
      report(`There is no network ${route.networkId}; the route has no effect`);
    context.state.setSdnRoute(route);
  },
});
