/** `proxy-policy-limit`: beyond about 15 L4WFPPROXY policies of a node further ones have no effect (dataplane.md §9, F-31). */
import type { FilterProgram } from "../../host/windows-filtering/filter-program.ts";
import { hostFiltersOf } from "../compile/host-filters.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import { frameOf } from "../network/network-frame.ts";
import type { NetworkRecord } from "../network-record.ts";
import type { ServiceContext } from "../service-context.ts";

const PROXIES_MAX = 15;

/** Inferred: policies count in the order in which their endpoints were made. */
function proxiesBefore(context: ServiceContext, endpoint: EndpointRecord): number {
  let count = 0;
  for (const other of context.state.localEndpoints()) {
    if (other.id === endpoint.id) break;
    count += other.policies.filter((policy) => policy.Type === "L4WFPPROXY").length;
  }
  return count;
}

/** What WFP does for an endpoint on this node. */
export function filtersOf(
  context: ServiceContext,
  network: NetworkRecord,
  endpoint: EndpointRecord,
): FilterProgram | undefined {
  const program = hostFiltersOf(context.cache, frameOf(network), endpoint);
  const isLimited = context.quirks.strikes("proxy-policy-limit", network.id);
  if (program === undefined || program.redirections.length === 0 || !isLimited) return program;
  const room = Math.max(0, PROXIES_MAX - proxiesBefore(context, endpoint));
  if (room >= program.redirections.length) return program;
  return Object.freeze({ ...program, redirections: Object.freeze(program.redirections.slice(0, room)) });
}
