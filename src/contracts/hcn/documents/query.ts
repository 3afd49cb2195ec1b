/** `HostComputeQuery` as checked values (hcn.md §5.1). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "../error.ts";
import { JsonReader } from "../description/json-reader.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseJsonText } from "../description/json-value.ts";
import { type Dialect, dialectOf, readSchemaVersion } from "./schema-version.ts";

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
    detail: `Filter is ${text}; it must be a JSON object written as text`,
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
