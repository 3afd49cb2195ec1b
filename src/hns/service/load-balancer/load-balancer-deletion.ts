/** Deleting a load balancer, and what defects leave of it (hcn.md §4.7). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type EndpointRecord, isRemoteEndpoint } from "../endpoint/endpoint-record.ts";
import { removeEndpoint } from "../endpoint/endpoints.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";
import { removeLoadBalancer, requireLoadBalancer } from "./load-balancers.ts";
import type { ServiceContext } from "../service-context.ts";

export function deleteLoadBalancer(context: ServiceContext, id: Guid): void {
  const loadBalancer = requireLoadBalancer(context, id);
  const { endpoints } = context.state;
  const isDegraded = !loadBalancer.endpointIds.some((endpointId) => endpoints.has(endpointId));
  if (isDegraded && context.hasQuirk("degraded-load-balancer-not-deleted")) {
    throw new HcnError("HCN_E_DEGRADED_OPERATION", {
      detail: `Load balancer ${id} has no back end any more; the defect degraded-load-balancer-not-deleted strikes`,
      explanation: "hns-object-degraded",
    });
  }
  // The next one there is refused, until the service restarts (hcn.md §4.7).
  const isFrontEndLeft = context.hasQuirk("front-end-stale-after-delete");
  // The rules stay and lead where they led (dataplane.md §9, F-16).
  if (context.hasQuirk("load-balancer-rules-stale"))
    context.state.membersOf(loadBalancer.networkId).services.leave(id);
  if (context.quirks.mayStrike("front-end-keeps-back-ends")) context.state.formerBackEnds.note(loadBalancer);
  const shared = sharedRemoteBackEnds(context, loadBalancer);
  removeLoadBalancer(context, loadBalancer, isFrontEndLeft);
  for (const endpoint of shared) removeEndpoint(context, endpoint);
  context.ports.reprogram(loadBalancer.networkId);
}

/** With `shared-back-ends-removed`: remote back ends that others lead to, too (dataplane.md §9, F-20). */
function sharedRemoteBackEnds(
  context: ServiceContext,
  loadBalancer: LoadBalancerRecord,
): readonly EndpointRecord[] {
  if (!context.hasQuirk("shared-back-ends-removed")) return [];
  return loadBalancer.endpointIds.flatMap((id) => {
    const endpoint = context.state.endpoints.get(id);
    const isShared = context.state.loadBalancersOfEndpoint(id).length > 1;
    return endpoint !== undefined && isShared && isRemoteEndpoint(endpoint) ? [endpoint] : [];
  });
}
