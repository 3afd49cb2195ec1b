/**
 * Fields of imported documents that HNS does not know. They are kept with the object, and results show them unchanged
 * behind the fields that HNS has. Where both have a field, HNS's own value stands.
 */
import type { JsonObject, JsonValue } from "../../hcn/client.ts";
import { equalJson, isJsonObject } from "../../hcn/json-value.ts";

/** What an entry of a list is known by. */
const IDENTITIES = ["ID", "Id", "Tag"] as const;

function identityOf(entry: JsonObject): string | undefined {
  for (const field of IDENTITIES) {
    const value = entry[field];
    if (typeof value === "string" && value !== "") return `${field.toLowerCase()}|${value.toLowerCase()}`;
  }
  return undefined;
}

/** The entry of `list` that is the same as `entry`: by its identity, or as the only one of both lists. */
function partnerOf(entry: JsonValue, list: readonly JsonValue[], isOnly: boolean): JsonObject | undefined {
  if (!isJsonObject(entry)) return undefined;
  const identity = identityOf(entry);
  if (identity === undefined) {
    const [only] = list;
    return isOnly && list.length === 1 && isJsonObject(only) && identityOf(only) === undefined
      ? only
      : undefined;
  }
  return list.filter(isJsonObject).find((other) => identityOf(other) === identity);
}

function keptOfList(original: readonly JsonValue[], shown: readonly JsonValue[]): JsonValue | undefined {
  const left: JsonValue[] = [];
  for (const entry of original) {
    if (shown.some((other) => equalJson(entry, other))) continue;
    const partner = partnerOf(entry, shown, original.length === 1);
    if (partner === undefined || !isJsonObject(entry)) {
      left.push(entry);
      continue;
    }
    const rest = keptOf(entry, partner);
    if (rest === undefined) continue;
    const named = IDENTITIES.filter((field) => entry[field] !== undefined);
    left.push({ ...Object.fromEntries(named.map((field) => [field, entry[field]])), ...rest });
  }
  return left.length === 0 ? undefined : left;
}

function keptOfValue(original: JsonValue, shown: JsonValue | undefined): JsonValue | undefined {
  if (shown === undefined) return original;
  if (isJsonObject(original)) return isJsonObject(shown) ? keptOf(original, shown) : undefined;
  if (Array.isArray(original) && Array.isArray(shown))
    return keptOfList(original as readonly JsonValue[], shown as readonly JsonValue[]);
  return undefined;
}

/** What of `original` does not stand in `shown`; undefined when nothing is lost. */
export function keptOf(original: JsonObject, shown: JsonObject): JsonObject | undefined {
  const kept: Record<string, JsonValue> = {};
  for (const [field, value] of Object.entries(original)) {
    const rest = value === undefined ? undefined : keptOfValue(value, shown[field]);
    if (rest !== undefined) kept[field] = rest;
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

function mergeList(shown: readonly JsonValue[], kept: readonly JsonValue[]): readonly JsonValue[] {
  const used = new Set<JsonValue>();
  const merged = shown.map((entry) => {
    const partner = partnerOf(entry, kept, shown.length === 1);
    if (partner === undefined || !isJsonObject(entry)) return entry;
    used.add(partner);
    return withKept(entry, partner);
  });
  const others = kept.filter((entry) => !used.has(entry) && !shown.some((other) => equalJson(entry, other)));
  return [...merged, ...others];
}

function mergeValue(shown: JsonValue | undefined, kept: JsonValue): JsonValue {
  if (shown === undefined) return kept;
  if (isJsonObject(shown) && isJsonObject(kept)) return withKept(shown, kept);
  if (Array.isArray(shown) && Array.isArray(kept))
    return mergeList(shown as readonly JsonValue[], kept as readonly JsonValue[]);
  return shown;
}

/** A document with the kept fields in their places. */
export function withKept(shown: JsonObject, kept: JsonObject | undefined): JsonObject {
  if (kept === undefined) return shown;
  const merged: Record<string, JsonValue | undefined> = { ...shown };
  for (const [field, value] of Object.entries(kept))
    if (value !== undefined) merged[field] = mergeValue(shown[field], value);
  return merged;
}
