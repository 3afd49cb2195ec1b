/** What all records have, as it stands in a stored document. */
import { BASE_READER } from "#contracts/hcn/description/read-object.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { RecordBase } from "../service/network/network-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { LenientReader } from "./lenient-reader.ts";

/** The time of the last change, which v1 and v2 documents have in different places. */
function changedAt(context: ServiceContext, reader: LenientReader): number {
  const time: JsonValue | undefined =
    reader.at("Health", "Data", "LastUpdateTime") ?? reader.at("Health", "LastUpdateTime");
  return typeof time === "number" && time > 0 ? context.clockTime(time) : 0;
}

export function readBaseFields(context: ServiceContext, reader: LenientReader): RecordBase {
  return {
    id: reader.field(BASE_READER, "ID") ?? "",
    owner: reader.field(BASE_READER, "Owner") ?? "",
    name: reader.field(BASE_READER, "Name") ?? "",
    additionalParams: reader.field(BASE_READER, "AdditionalParams"),
    schemaVersion: reader.schemaVersion(),
    version: reader.field(BASE_READER, "Version") ?? 0,
    changedAtMs: changedAt(context, reader),
    activityId: reader.guidAt("Health", "Extra", "Resources", "ID") ?? reader.guid("ActivityId") ?? "",
  };
}
