/** An endpoint that is listed and not found: which enumerations list it. */
import type { Guid, HostComputeQuery, JsonObject } from "../../hcn/client.ts";
import { equalGuids } from "../../hcn/guid.ts";
import { isJsonObject, parseJsonText } from "../../hcn/json-value.ts";

function filterOf(query: HostComputeQuery | undefined): JsonObject {
  const text = query?.Filter ?? "";
  if (text === "") return {};
  const filter = parseJsonText(text);
  return isJsonObject(filter) ? filter : {};
}

/** True when an enumeration of endpoints lists `id`, of `network`: by its id, by its network, or without a filter. */
export function listsGhost(
  query: HostComputeQuery | undefined,
  id: Guid,
  network: Guid | undefined,
): boolean {
  return Object.entries(filterOf(query)).every(([key, value]) => {
    if (typeof value !== "string") return false;
    if (key === "ID") return equalGuids(value, id);
    const isNetwork = key === "VirtualNetwork" || key === "HostComputeNetwork";
    return isNetwork && network !== undefined && equalGuids(value, network);
  });
}
