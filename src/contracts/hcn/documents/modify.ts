/** The envelope of modify requests (hcn.md §5.2). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "../error.ts";
import { GUEST_NETWORK_SERVICE_RESOURCE_TYPES } from "./guest-network-service.ts";
import { type Enumeration, JsonReader } from "../description/json-reader.ts";
import { NAMESPACE_RESOURCE_TYPES } from "./namespace.ts";

export const MODIFY_REQUEST_TYPES = ["Add", "Remove", "Update", "Refresh", "Reset"] as const;
export type ModifyRequestType = (typeof MODIFY_REQUEST_TYPES)[number];

export const NETWORK_RESOURCE_TYPES = ["DNS", "Extension", "Policy", "Subnet", "IPSubnet"] as const;

export const ENDPOINT_RESOURCE_TYPES = ["Port", "Policy"] as const;

/** What each kind of object lets requests change. */
export interface ResourceTypes {
  readonly Network: (typeof NETWORK_RESOURCE_TYPES)[number];
  readonly Endpoint: (typeof ENDPOINT_RESOURCE_TYPES)[number];
  readonly Namespace: (typeof NAMESPACE_RESOURCE_TYPES)[number];
  readonly GuestNetworkService: (typeof GUEST_NETWORK_SERVICE_RESOURCE_TYPES)[number];
}

const RESOURCE_TYPES: { readonly [K in keyof ResourceTypes]: Enumeration<ResourceTypes[K]> } = {
  Network: NETWORK_RESOURCE_TYPES,
  Endpoint: ENDPOINT_RESOURCE_TYPES,
  Namespace: NAMESPACE_RESOURCE_TYPES,
  GuestNetworkService: GUEST_NETWORK_SERVICE_RESOURCE_TYPES,
};

export interface ModifyRequest<Kind extends keyof ResourceTypes> {
  readonly requestType: ModifyRequestType;
  /** Absent in `Refresh` (hcn.md §5.2). */
  readonly resourceType: ResourceTypes[Kind] | undefined;
  readonly settings: JsonObject;
}

const NO_SETTINGS: JsonObject = Object.freeze({});

/**
 * Checks the envelope of a request that changes an object of `kind`.
 * @throws HcnError HCN_E_INVALID_JSON for a bad shape, HCN_E_REQUEST_UNSUPPORTED for types nobody knows.
 */
export function parseModifyRequest<Kind extends keyof ResourceTypes>(
  kind: Kind,
  document: JsonValue,
): ModifyRequest<Kind> {
  const reader = JsonReader.of(document, "request", "HCN_E_INVALID_JSON");
  const types = new JsonReader(reader.whole(), "request", "HCN_E_REQUEST_UNSUPPORTED");
  const requestType = types.enumeration("RequestType", MODIFY_REQUEST_TYPES);
  const resourceType = types.enumeration<ResourceTypes[Kind]>("ResourceType", RESOURCE_TYPES[kind]);
  if (requestType === undefined) {
    throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
      detail: `The request has no RequestType; write one of ${MODIFY_REQUEST_TYPES.join(", ")}`,
    });
  }
  return { requestType, resourceType, settings: reader.object("Settings")?.whole() ?? NO_SETTINGS };
}
