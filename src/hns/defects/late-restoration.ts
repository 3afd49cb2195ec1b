/**
 * `load-balancers-restored-late`: after a restart of the service the load balancers are gone and come back from its own
 * backup, while their owner makes new ones (kube-proxy.md §7 row 14).
 */
import { removeLoadBalancer } from "../load-balancers.ts";
import type { ServiceContext } from "../service-context.ts";

/** Inferred: how long it takes. */
const RESTORATION_MS = 10_000;

/**
 * The service has restarted: its load balancers come later, and so do those that it had not yet restored. Their front ends
 * stay taken, and they stay stored: the backup that they come back from outlives the service.
 */
export function beginRestoration(context: ServiceContext): void {
  const { state } = context;
  const there = [...state.loadBalancers.values()];
  const loadBalancers = [...(state.restoration?.loadBalancers ?? []), ...there];
  if (loadBalancers.length === 0) return;
  for (const each of there) removeLoadBalancer(context, each, true);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
  const atMs = context.nowMs + RESTORATION_MS;
  state.restoration = Object.freeze({ atMs, loadBalancers: Object.freeze(loadBalancers) });
  context.changesAt(atMs);
}

/** Brings them back when their time has come. */
export function endRestoration(context: ServiceContext): void {
  const { restoration } = context.state;
  if (restoration !== undefined && restoration.atMs <= context.nowMs) restoreNow(context);
}

/** Nothing comes back any more: what was to be restored is lost. */
export function forgetRestoration(context: ServiceContext): void {
  const lost = context.state.restoration?.loadBalancers ?? [];
  context.state.restoration = undefined;
  for (const { id } of lost) context.changed("LoadBalancer", id);
}

/** Brings back what was to come later. */
export function restoreNow(context: ServiceContext): void {
  const { state } = context;
  const { restoration } = state;
  if (restoration === undefined) return;
  state.restoration = undefined;
  for (const each of restoration.loadBalancers) {
    // Its network or all of its back ends may be gone by now.
    context.changed("LoadBalancer", each.id);
    if (!state.networks.has(each.networkId) || state.loadBalancers.has(each.id)) continue;
    state.addLoadBalancer(each);
    context.ports.reprogram(each.networkId);
  }
}
