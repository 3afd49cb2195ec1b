/** The ranges of service addresses that endpoints' policies name: SDNRoutes to more than one address. */
import { parseAddressOrPrefix, prefixOfAddress } from "../../hcn/address-list.ts";
import { type Prefix, formatPrefix, prefixFamily } from "../../net/prefix.ts";
import { type RoutedEndpoint, sdnRouteSources } from "./sdn-routes.ts";

/** Network configurations route the service range over the host and the node's address besides (cni.md §2.10). */
function rangeOf(prefix: string): Prefix | undefined {
  const parsed = parseAddressOrPrefix(prefix);
  const range = parsed === undefined ? undefined : prefixOfAddress(parsed);
  return range !== undefined && prefixFamily(range) === 4 && range.length < 32 ? range : undefined;
}

/** Without repetition, in the order of the endpoints. Costs a look at each list of policies that differs. */
export function serviceRangesOf(endpoints: readonly RoutedEndpoint[]): readonly Prefix[] {
  const ranges = new Map<string, Prefix>();
  const texts = new Set<string>();
  for (const endpoint of endpoints)
    for (const { setting } of sdnRouteSources(endpoint))
      if (setting.NeedEncap === true) texts.add(setting.DestinationPrefix);
  for (const text of texts) {
    const range = rangeOf(text);
    if (range !== undefined) ranges.set(formatPrefix(range), range);
  }
  return [...ranges.values()];
}
