/** The SDN routes of an endpoint: its own policies, and the route objects that name it (hcn.md §2.8, §3.3). */
import type { Provenance } from "#core/base/recorder.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { EndpointRecord } from "../service/endpoint/endpoint-record.ts";
import type { SdnRouteRecord } from "../service/sdn-route-record.ts";
import { endpointProvenance, sdnRouteProvenance, withPolicy } from "./provenance.ts";

/** An endpoint as the compiler sees it: with the route objects that name it; undefined: none does. */
export interface RoutedEndpoint extends EndpointRecord {
  readonly sdnRoutes?: readonly SdnRouteRecord[];
}

/** A route with the object that it stands in. */
export interface SdnRouteSource {
  readonly setting: SdnRoutePolicySetting;
  /** Position among all sources, for the ids of rules. */
  readonly index: number;
  readonly provenance: Provenance;
}

/** Own policies come first. A route object acts as an SDNRoute policy of the endpoint would. */
export function sdnRouteSources(endpoint: RoutedEndpoint): readonly SdnRouteSource[] {
  const sources: SdnRouteSource[] = [];
  for (const [index, policy] of endpoint.policies.entries()) {
    if (policy.Type !== "SDNRoute") continue;
    const provenance = withPolicy(endpointProvenance(endpoint), policy.Type, index);
    sources.push({ setting: policy.Settings, index, provenance });
  }
  let next = endpoint.policies.length;
  for (const object of endpoint.sdnRoutes ?? []) {
    for (const [index, setting] of object.routes.entries()) {
      const provenance = withPolicy(sdnRouteProvenance(object), "SDNRoute", index);
      sources.push({ setting, index: next, provenance });
      next++;
    }
  }
  return sources;
}
