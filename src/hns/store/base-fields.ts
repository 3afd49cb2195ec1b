/** What all records have, as it stands in a stored document. */
import type { JsonValue } from "../../hcn/client.ts";
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
    id: reader.guid("ID") ?? "",
    owner: reader.text("Owner"),
    name: reader.text("Name"),
    additionalParams: reader.document["AdditionalParams"] ?? undefined,
    schemaVersion: reader.schemaVersion(),
    version: reader.number("Version"),
    changedAtMs: changedAt(context, reader),
    activityId: reader.guidAt("Health", "Extra", "Resources", "ID") ?? reader.guid("ActivityId") ?? "",
  };
}
