/** `HostComputeRoute`, the SDN route object (hcn.md §2.8, §9.20). */
import { BASE } from "./base-document.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { ObjectOf } from "../description/description.ts";
import { JsonReader } from "../description/json.ts";

/** Also the settings of an SDNRoute policy. What is wrong in one is a bad policy in either place. */
export const SDN_ROUTE_SETTING = {
  text: "A route that endpoints have beside those of their network.",
  name: "SdnRoutePolicySetting",
  code: "HCN_E_INVALID_POLICY",
  fields: {
    DestinationPrefix: { is: "prefix", text: "Where it leads. Bits of the host are allowed." },
    NextHop: { is: "address", text: "The address of the gateway.", absent: "none" },
    NeedEncap: { is: "boolean", text: "What goes there is encapsulated.", absent: "false" },
    AutomaticEndpointMonitor: {
      is: "boolean",
      text: "Taken and shown; nothing follows from it.",
      absent: "false",
    },
  },
  needs: ["DestinationPrefix"],
} as const;
export type SdnRoutePolicySetting = ObjectOf<typeof SDN_ROUTE_SETTING>;

/** The one place that names the fields of an SDN route; `description.ts` says what comes from it. */
export const SDN_ROUTE = {
  text: "An SDN route.",
  name: "HostComputeRoute",
  base: (): typeof BASE => BASE,
  fields: {
    HostComputeNetwork: {
      is: "guid",
      text: "The network of its endpoints.",
      by: "service",
      since: "2.5",
    },
    HostComputeEndpoints: { is: "texts", text: "Whose route it is: at least one." },
    Routes: {
      is: "list",
      of: (): typeof SDN_ROUTE_SETTING => SDN_ROUTE_SETTING,
      text: "Where it leads.",
      absent: "those of `Setting`",
    },
    Setting: {
      is: "list",
      of: (): typeof SDN_ROUTE_SETTING => SDN_ROUTE_SETTING,
      text: "The same list under the name that hcsshim writes and reads.",
      absent: "those of `Routes`",
    },
  },
  always: ["ID", "SchemaVersion"],
} as const;
export type HostComputeRoute = ObjectOf<typeof SDN_ROUTE>;

const READER: ObjectReader<HostComputeRoute> = readerOf(SDN_ROUTE);
/** Of the settings of an SDNRoute policy. */
export const SDN_ROUTE_SETTING_READER: ObjectReader<SdnRoutePolicySetting> = readerOf(SDN_ROUTE_SETTING);

/**
 * Checks the shape of an SDN route document.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type, HCN_E_INVALID_POLICY for a bad route.
 */
export function parseSdnRoute(document: JsonValue): HostComputeRoute {
  return READER.read(JsonReader.of(document, "SDN route", "HCN_E_INVALID_JSON"));
}

/** The routes of a document, by whichever of the two names it has them. */
export function routesOfSdnRoute(document: HostComputeRoute): readonly SdnRoutePolicySetting[] {
  const { Routes: routes = [], Setting: setting = [] } = document;
  return routes.length > 0 ? routes : setting;
}
