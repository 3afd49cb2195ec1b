/** Upstream's sync: what was programmed is taken to be there, and what failed is tried again in every sync. */
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import { HnsRecords } from "../load-balancers/hns-records.ts";
import type { Repair } from "../report.ts";
import { Proxier, noState } from "./proxier.ts";
import type { ProxierConfiguration } from "./proxier-state.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { getLoadBalancerById } from "#contracts/hcn/operations.ts";
import { type Attempt, attempt, isNotFound } from "../load-balancers/hns-failure.ts";
import { type LoadBalancerIdentity, mappingOf } from "../load-balancers/load-balancer-identity.ts";
import { GONE, LoadBalancers } from "../load-balancers/load-balancers.ts";
import type { LoadBalancerSlot, ServiceEntry } from "../load-balancers/service-entry.ts";

// Load balancers as upstream handles them (`pkg/proxy/winkernel/hns.go`, `proxier.go`; kube-proxy.md §3.6, §3.7).

class UpstreamLoadBalancers extends LoadBalancers {
  /**
   * What cannot be deleted keeps its identifier and is remembered; up to 1.36 an external address is remembered in any
   * case, and the next clean-up finds nothing.
   */
  override async deleteAllOf(entry: ServiceEntry): Promise<void> {
    for (const slot of entry.slots) {
      if (slot.id === undefined) continue;
      if (slot.kind === "ExternalIP" && this.behaviour.remembersDeletedExternal) this.remember(slot.id);
      const isGone = await this.delete(slot.id);
      if (!isGone) this.remember(slot.id);
      if (isGone || !this.behaviour.retriesDeletion) slot.id = undefined;
    }
  }

  /** It keeps what it holds. */
  override async leaveOut(): Promise<void> {}

  protected override async empty(slot: LoadBalancerSlot): Promise<undefined> {
    if (slot.id !== undefined && !(await this.delete(slot.id))) this.remember(slot.id);
    slot.id = undefined;
  }

  /** It is asked for first. */
  protected override async tryDelete(id: Guid): Promise<Attempt<true>> {
    const found = await attempt(() => getLoadBalancerById(this.client, id));
    if (found.ok) return super.tryDelete(id);
    return this.behaviour.takesUnreadForDeleted || isNotFound(found.failure) ? GONE : found;
  }

  protected override wasGone(): boolean {
    return false;
  }

  /**
   * Deletes the one load balancer that this sync knows at the same front end and port of the back ends
   * (`findExistingLBIdByFrontend` of winkernel/hns.go). What came after the reading is not known; what was deleted since
   * is. Of several none is deleted. @returns why it could not be deleted; false when there is none.
   */
  protected override async removeConflict(identity: LoadBalancerIdentity): Promise<Attempt<boolean>> {
    const wanted = mappingOf(identity);
    const [conflict, ...others] = [...this.cache].filter(([known]) => mappingOf(known) === wanted);
    if (conflict === undefined || others.length > 0) return { ok: true, value: false };
    return this.tryDelete(conflict[1]);
  }
}

export class UpstreamProxier extends Proxier {
  constructor(configuration: ProxierConfiguration, network: ProxyNetwork, canModify: boolean) {
    const { client, behaviour, reads } = configuration;
    const records = new HnsRecords(client, reads, false);
    const loadBalancers = new UpstreamLoadBalancers(client, behaviour, canModify, records);
    super(configuration, noState(network, records, loadBalancers));
  }

  override tookOverAtStart(): void {}

  protected override isDue(): boolean {
    return true;
  }

  protected override isCleanUpDue(): boolean {
    return true;
  }

  protected override retryAfterMs(): undefined {}

  protected override beginsComparison(): boolean {
    return false;
  }

  protected override async tookOverReading(): Promise<void> {}

  protected override isStuck(): boolean {
    return false;
  }

  protected override removedEndpoints(): void {}

  protected override async finish(): Promise<readonly Repair[]> {
    return [];
  }

  protected override ended(): void {}
}
