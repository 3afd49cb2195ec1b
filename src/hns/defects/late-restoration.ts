/**
 * `load-balancers-restored-late`: after a restart of the service the load balancers are gone and come back from its own
 * backup, while their owner makes new ones (kube-proxy.md §7 row 14).
 */
import { removeLoadBalancer } from "../load-balancers.ts";
import type { ServiceContext } from "../service-context.ts";

/** Inferred: how long it takes. */
const RESTORATION_MS = 10_000;

/** The service has restarted: its load balancers come later. Their front ends stay taken. */
export function beginRestoration(context: ServiceContext): void {
  const { state } = context;
  const loadBalancers = [...state.loadBalancers.values()];
  if (loadBalancers.length === 0) return;
  for (const each of loadBalancers) removeLoadBalancer(context, each, true);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
  const atMs = context.nowMs + RESTORATION_MS;
  state.restoration = Object.freeze({ atMs, loadBalancers: Object.freeze(loadBalancers) });
  context.changesAt(atMs);
}

/** Brings them back when their time has come. */
export function endRestoration(context: ServiceContext): void {
  const { state } = context;
  const { restoration } = state;
  if (restoration === undefined || restoration.atMs > context.nowMs) return;
  state.restoration = undefined;
  for (const each of restoration.loadBalancers) {
    // Its network or all of its back ends may be gone by now.
    if (!state.networks.has(each.networkId) || state.loadBalancers.has(each.id)) continue;
    state.addLoadBalancer(each);
    context.changed("LoadBalancer", each.id);
    context.ports.reprogram(each.networkId);
  }
}
