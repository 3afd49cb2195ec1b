/**
 * What HNS 9.1 makes of endpoints in v2 form: it does not process them (hcn.md §1.2). Inferred: as all fields that
 * it does not know, those of v2 are ignored (hcn.md §1.6), so that the endpoint gets an address of the service's choice,
 * no policies and no flags. What both forms write in the same way stays: id, owner, name, MAC address.
 */
import type { JsonObject } from "#core/base/json.ts";
import type { EndpointRecord } from "./endpoint/endpoint-record.ts";
import type { NotEnforced } from "./enforcement.ts";
import type { ServiceContext } from "./service-context.ts";

const V2_FIELDS: readonly string[] = ["IpConfigurations", "Dns", "Routes", "Policies", "Flags"];

/** The HCN calls came with HNS 9: what stands for an older version here has nothing to ignore. */
const FIRST_MAJOR = 9;

function isProcessing(context: ServiceContext): boolean {
  return context.has("ApiV2") || context.version.Major < FIRST_MAJOR;
}

/** An endpoint's document in v2 form as this version of HNS reads it. */
export function asProcessed(context: ServiceContext, document: JsonObject): JsonObject {
  if (isProcessing(context)) return document;
  return Object.fromEntries(Object.entries(document).filter(([field]) => !V2_FIELDS.includes(field)));
}

const NOT_PROCESSED: readonly NotEnforced[] = Object.freeze([
  Object.freeze({
    Type: "SchemaVersion",
    Reason: `HNS before 9.2 does not process endpoints in v2 form; ${V2_FIELDS.join(", ")} were ignored (overlay-needs-windows-update)`,
  }),
]);

/** What of an endpoint was ignored because of its form. */
export function notProcessed(context: ServiceContext, endpoint: EndpointRecord): readonly NotEnforced[] {
  return isProcessing(context) || endpoint.schemaVersion.Major < 2 ? [] : NOT_PROCESSED;
}
