/** Takes away what stands for a Service before it changes (kube-proxy.md §3.2). */
import type { BoundEndpoints } from "../load-balancers/bound-endpoints.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import { decrement } from "../load-balancers/reference-counts.ts";
import { deleteProxyEndpoint } from "../load-balancers/remote-endpoints.ts";
import { type ServiceEntry, compareEntries, reopen } from "../load-balancers/service-entry.ts";

/** Gives up the counts of endpoints on remote endpoints, and deletes those that nobody counts on any more. */
export async function releaseEndpoints(
  configuration: ProxierConfiguration,
  state: ProxierState,
  bound: BoundEndpoints | undefined,
): Promise<void> {
  const { hostname } = configuration;
  if (bound === undefined) return;
  for (const [index, endpoint] of bound.on(hostname).entries()) {
    if (endpoint.nodeName === hostname) continue;
    const id = bound.release(index);
    if (id !== undefined && (await deleteProxyEndpoint(configuration, state, id))) bound.unbind(index);
  }
}

function decrementEndpoints({ hostname }: ProxierConfiguration, bound: BoundEndpoints | undefined): void {
  for (const [index, endpoint] of bound?.on(hostname).entries() ?? [])
    if (endpoint.nodeName !== hostname) bound?.decrement(index);
}

/** On overlay networks the endpoint of the ClusterIP goes with its Service. */
async function releaseVipEndpoint(
  configuration: ProxierConfiguration,
  state: ProxierState,
  entry: ServiceEntry,
): Promise<void> {
  const owned = entry.vipEndpoint;
  if (owned?.counter === undefined) return;
  decrement(owned.counter);
  if (owned.counter.count === 0) await deleteProxyEndpoint(configuration, state, owned.id);
  owned.counter = undefined;
}

/**
 * Takes away what stands for a service port. After a change of its endpoints alone, and unless the annotation
 * switches it off, load balancers stay, for the sync to change what differs.
 */
export async function cleanUpEntry(
  configuration: ProxierConfiguration,
  state: ProxierState,
  entry: ServiceEntry,
  reason: "service" | "endpoints",
): Promise<void> {
  const bound = state.bound.get(entry.port.key);
  if (reason === "endpoints" && entry.port.isOptimised) {
    decrementEndpoints(configuration, bound);
  } else {
    await state.loadBalancers.deleteAllOf(entry);
    await releaseEndpoints(configuration, state, bound);
  }
  // Upstream takes it away whatever changed, and makes it again in the same sync.
  if (reason === "service" || !configuration.behaviour.repairs)
    await releaseVipEndpoint(configuration, state, entry);
  reopen(entry);
  state.pending.add(entry);
}

/** As after a change of every Service: the network is gone. */
export async function cleanUpAll(configuration: ProxierConfiguration, state: ProxierState): Promise<void> {
  for (const entry of [...state.entries.values()].sort(compareEntries))
    await cleanUpEntry(configuration, state, entry, "service");
}
