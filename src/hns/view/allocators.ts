/**
 * `Resources` of an object: what the service set aside for it, as a list of tagged allocators (hcn.md §2.9).
 * Inferred: the times that operations took are zero, because a simulated operation takes none.
 */
import { Prng } from "#core/base/prng.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import type { RecordBase } from "../service/network/network-record.ts";
import type { ServiceContext } from "../service/service-context.ts";

/** State of a working allocator, and of resources (hcn.md §2.10). */
const ALLOCATOR_STATE = 3;
const RESOURCES_STATE = 1;

/** The id of an allocator: one of its own, and the same in each view of the object. */
export function allocatorId(activityId: Guid, tag: string): Guid {
  return new Prng(`allocator/${activityId}/${tag}`).guid();
}

function health(context: ServiceContext, record: RecordBase): JsonObject {
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
    Health: health(context, record),
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
    Health: health(context, record),
    ID: formatUpperGuid(record.activityId),
    PortOperationTime: 0,
    State: RESOURCES_STATE,
    SwitchOperationTime: 0,
    VfpOperationTime: 0,
  };
}
