/**
 * Which objects a query's filter lets through (hcn.md §5.1). All pairs have to hold; values are compared as whole
 * JSON values, so that `Flags` is not a mask and a list is found by the whole list. GUIDs compare without letter case.
 * Inferred (hcn.md §11.10): an unknown key matches nothing. Inferred: so does `Flags` as a mask.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { equalGuids, parseGuid } from "#contracts/hcn/guid.ts";
import { equalJson } from "#contracts/hcn/description/json.ts";

function equalValues(wanted: JsonValue | undefined, actual: JsonValue | undefined): boolean {
  if (typeof wanted === "string" && typeof actual === "string" && parseGuid(actual) !== undefined)
    return equalGuids(wanted, actual);
  return equalJson(wanted, actual);
}

/** `fields` are those of the object that can be asked for. */
export function matchesFilter(filter: JsonObject, fields: JsonObject): boolean {
  return Object.entries(filter).every(
    ([key, wanted]) => fields[key] !== undefined && equalValues(wanted, fields[key]),
  );
}
