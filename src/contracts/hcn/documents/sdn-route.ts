/** `HostComputeRoute`, the SDN route object (hcn.md §2.8, §9.20). */
import type { BaseDocument } from "./base-document.ts";
import { readBase } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { JsonReader, present } from "../description/json.ts";
import { type SdnRoutePolicySetting, readSdnRoute } from "./endpoint-policy.ts";

export interface HostComputeRoute extends BaseDocument {
  /** Output: the network of its endpoints. */
  readonly HostComputeNetwork?: Guid;
  /** At least one. */
  readonly HostComputeEndpoints?: readonly Guid[];
  readonly Routes?: readonly SdnRoutePolicySetting[];
  /** The same list under the name that hcsshim writes and reads. */
  readonly Setting?: readonly SdnRoutePolicySetting[];
}

/** What is wrong in a route is a bad policy, as it is in an SDNRoute policy. */
function readRoute(reader: JsonReader): SdnRoutePolicySetting {
  return readSdnRoute(new JsonReader(reader.whole(), reader.where, "HCN_E_INVALID_POLICY"));
}

/**
 * Checks the shape of an SDN route document.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type, HCN_E_INVALID_POLICY for a bad route.
 */
export function parseSdnRoute(document: JsonValue): HostComputeRoute {
  const reader = JsonReader.of(document, "SDN route", "HCN_E_INVALID_JSON");
  return present<HostComputeRoute>({
    ...readBase(reader),
    HostComputeNetwork: reader.guid("HostComputeNetwork"),
    HostComputeEndpoints: reader.texts("HostComputeEndpoints"),
    Routes: reader.list("Routes", readRoute),
    Setting: reader.list("Setting", readRoute),
  });
}

/** The routes of a document, by whichever of the two names it has them. */
export function routesOfSdnRoute(document: HostComputeRoute): readonly SdnRoutePolicySetting[] {
  const { Routes: routes = [], Setting: setting = [] } = document;
  return routes.length > 0 ? routes : setting;
}
