/** The envelopes of requests as checked values: `HostComputeQuery` (hcn.md §5.1) and what modifies (hcn.md §5.2). */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { HcnError } from "../error.ts";
import { type Enumeration, JsonReader, parseJsonText } from "../description/json.ts";
import { type Dialect, dialectOf, readSchemaVersion } from "../description/object-json.ts";
import { GUEST_NETWORK_SERVICE_RESOURCE_TYPES } from "./guest-network-service.ts";
import { NAMESPACE_RESOURCE_TYPES } from "./namespace.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** Adds the switch layer and the allocators of resources to the result. */
const DETAILED = 1;

export interface CheckedQuery {
  /** The dialect of the result. */
  readonly dialect: Dialect;
  readonly isDetailed: boolean;
  /** Field name → wanted value; all pairs have to hold. Empty: everything. */
  readonly filter: JsonObject;
}

const NO_FILTER: JsonObject = Object.freeze({});

/** Everything, in v1 shape: what a NULL query asks for. */
export const NULL_QUERY: CheckedQuery = Object.freeze({
  dialect: "v1",
  isDetailed: false,
  filter: NO_FILTER,
});

function parseFilter(text: string): JsonObject {
  if (text.trim() === "") return NO_FILTER;
  const filter = parseJsonText(text);
  if (isJsonObject(filter)) return filter;
  throw new HcnError("HCN_E_INVALID_JSON", {
    detail: WORDS.queryFilterNotJson({ text }),
  });
}

const QUERY_FIELDS: readonly string[] = ["SchemaVersion", "Flags", "Filter"];

/** Older samples pass the filter itself where the query belongs (hcn.md §1.1). */
function isBareFilter(query: JsonObject): boolean {
  const fields = Object.keys(query);
  return fields.length > 0 && fields.every((field) => !QUERY_FIELDS.includes(field));
}

/**
 * Checks a query; undefined, an empty object and a bare filter are queries too, and so are an empty text and a query
 * written as text, as the native calls take it (hcn.md §1.1).
 * @throws HcnError HCN_E_INVALID_JSON when it is none.
 */
export function parseQuery(query: JsonValue | undefined): CheckedQuery {
  if (query === undefined || query === null) return NULL_QUERY;
  if (typeof query === "string") return query.trim() === "" ? NULL_QUERY : parseQuery(parseJsonText(query));
  if (!isJsonObject(query))
    throw new HcnError("HCN_E_INVALID_JSON", { detail: "A query must be a JSON object" });
  if (isBareFilter(query)) return { ...NULL_QUERY, filter: query };
  const reader = new JsonReader(query, "query", "HCN_E_INVALID_JSON");
  return {
    dialect: dialectOf(readSchemaVersion(reader)),
    isDetailed: ((reader.u32("Flags") ?? 0) & DETAILED) !== 0,
    filter: parseFilter(reader.text("Filter") ?? ""),
  };
}

/** Writes a filter as the text that a query carries. */
export function formatFilter(filter: JsonObject): string {
  return JSON.stringify(filter);
}

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

/** The refusal of a request that `objects` have no answer to. */
export function requestUnsupported(
  { requestType, resourceType }: ModifyRequest<keyof ResourceTypes>,
  objects: string,
): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
    appendix: `${requestType} of ${resourceType ?? "nothing"} is not served for ${objects}`,
  });
}

/**
 * Checks the envelope of a request that changes an object of `kind`.
 * @throws HcnError HCN_E_INVALID_JSON for a bad shape, HCN_E_REQUEST_UNSUPPORTED for unknown types.
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
