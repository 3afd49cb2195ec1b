/** Objects in a list without a kind: what `jq .items` and filters that write a new mapping leave of a list. */
import { type Fields, isFields } from "#core/base/json.ts";

/** What is said of the items: each has its own kind. */
export const BARE_LIST: { readonly apiVersion: string; readonly kind: string } = Object.freeze({
  apiVersion: "v1",
  kind: "List",
});

function hasKind(item: unknown): boolean {
  return isFields(item) && typeof item["kind"] === "string" && item["kind"] !== "";
}

/** True for a mapping that has items and no kind, whatever the items are. */
export function isBareList(value: unknown): value is Fields {
  return isFields(value) && (value["kind"] ?? "") === "" && Array.isArray(value["items"]);
}

/** The items of a list without a kind, or of an array, where some of them are objects; undefined for anything else. */
export function bareItems(value: unknown): readonly unknown[] | undefined {
  const items: unknown = isBareList(value) ? value["items"] : value;
  return Array.isArray(items) && items.some(hasKind) ? items : undefined;
}
