/** What the views of all objects share: base fields in the schema's order, defaults left out (hcn.md §1.6). */
import type { BASE, PolicyDocument, ROUTE } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { policyDocument } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { PrintableOf } from "#contracts/hcn/description/object-json.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { NotEnforced } from "../service/enforcement.ts";
import type { RecordBase, RouteRecord } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { Prng } from "#core/base/prng.ts";
import { type Guid, formatUpperGuid } from "#contracts/hcn/guid.ts";

/** `Health.Data` of v2 documents, `Health` of v1 documents. */
export function healthData(
  context: ServiceContext,
  record: RecordBase,
  notEnforced: readonly NotEnforced[],
  errorCode = 0,
): JsonObject {
  return {
    LastErrorCode: errorCode,
    LastUpdateTime: context.fileTime(record.changedAtMs),
    // A field of Mullion's own: Windows has no policy that it takes and does not act on.
    ...(notEnforced.length > 0 && { NotEnforced: notEnforced.map((each) => ({ ...each })) }),
  };
}

/** The base fields that a record knows. */
export function baseValues(record: RecordBase, state: number): PrintableOf<typeof BASE> {
  return {
    ID: record.id,
    Owner: record.owner,
    Name: record.name,
    Version: record.version,
    AdditionalParams: record.additionalParams,
    SchemaVersion: { Major: record.schemaVersion.Major, Minor: record.schemaVersion.Minor },
    State: state,
  };
}

/** The fields of a route. */
export function routeValues(route: RouteRecord): PrintableOf<typeof ROUTE> {
  return {
    NextHop: route.nextHop === undefined ? unspecified(route) : formatIp(route.nextHop),
    DestinationPrefix: formatPrefix(route.destination),
    Metric: route.metric,
  };
}

function unspecified(route: RouteRecord): string {
  return typeof route.destination.address === "number" ? "0.0.0.0" : "::";
}

/** Policies as documents. */
export function policyDocuments(
  policies: readonly { readonly Type: string; readonly Settings: object }[],
): readonly JsonObject[] {
  return policies.map((policy) => {
    const document: PolicyDocument = policyDocument(policy);
    return { Type: document.Type, Settings: document.Settings ?? {} };
  });
}

/** Sorts the keys of a v1 document, as Windows prints them (hcn.md §1.7). */
export function sortFields(document: JsonObject): JsonObject {
  const sorted: Record<string, JsonValue> = {};
  for (const field of Object.keys(document).sort()) {
    const value = document[field];
    if (value !== undefined) sorted[field] = value;
  }
  return sorted;
}

// `Resources` of an object: what the service set aside for it, as a list of tagged allocators (hcn.md §2.9).
// Inferred: the times that operations took are zero, because a simulated operation takes none.

/** State of a working allocator, and of resources (hcn.md §2.10). */
export const ALLOCATOR_STATE = 3;
const RESOURCES_STATE = 1;

/** The id of an allocator: one of its own, and the same in each view of the object. */
export function allocatorId(activityId: Guid, tag: string): Guid {
  return new Prng(`allocator/${activityId}/${tag}`).guid();
}

function resourceHealth(context: ServiceContext, record: RecordBase): JsonObject {
  return { LastErrorCode: 0, LastUpdateTime: context.fileTime(record.changedAtMs) };
}

/** An allocator with the fields that all have, and those of its tag. */
export function allocator(
  context: ServiceContext,
  record: RecordBase,
  tag: string,
  fields: JsonObject,
): JsonObject {
  return {
    AdditionalParams: {},
    AllocationOrder: 0,
    ...fields,
    Flags: 0,
    Health: resourceHealth(context, record),
    ID: formatUpperGuid(allocatorId(record.activityId, tag)),
    IsPolicy: false,
    State: ALLOCATOR_STATE,
    Tag: tag,
  };
}

/** The resources of an object. Whose resources `parentId` names is not known, so it stands in imported ones only. */
export function resourcesDocument(
  context: ServiceContext,
  record: RecordBase,
  allocators: readonly JsonObject[],
): JsonObject {
  return {
    AdditionalParams: {},
    AllocationOrder: allocators.length,
    ...(allocators.length > 0 && { Allocators: allocators }),
    CompartmentOperationTime: 0,
    Flags: 0,
    Health: resourceHealth(context, record),
    ID: formatUpperGuid(record.activityId),
    PortOperationTime: 0,
    State: RESOURCES_STATE,
    SwitchOperationTime: 0,
    VfpOperationTime: 0,
  };
}
