/** Makes, changes and deletes load balancers of HNS with the least that has to be done (kube-proxy.md §3.6, §3.7). */
import type { Guid, HcnClient } from "../hcn/client.ts";
import {
  createLoadBalancerOnly,
  deleteLoadBalancer,
  getLoadBalancerById,
  listLoadBalancers,
  modifyLoadBalancer,
} from "../hcn/operations.ts";
import type { Behaviour } from "./behaviour.ts";
import {
  type Attempt,
  type HnsFailure,
  attempt,
  isAlreadyThere,
  isNotFound,
  isNotImplemented,
} from "./hns-failure.ts";
import { type LoadBalancerIdentity, identityOf, readFrontEnd } from "./load-balancer-identity.ts";
import type { HnsRecords } from "./hns-records.ts";
import type { ServiceEntry } from "./service-entry.ts";
import { type WantedLoadBalancer, loadBalancerDocument } from "./wanted-load-balancers.ts";

export class LoadBalancers {
  private readonly client: HcnClient;
  private readonly behaviour: Behaviour;
  /** True until HNS says that it has no such call. */
  private canModify: boolean;
  /** Load balancers that should be gone: in order of the failed deletions. */
  private readonly stale: Set<Guid> = new Set();
  /** What HNS has, as read at the start of the sync and added to since. */
  private readonly cache: Map<LoadBalancerIdentity, Guid> = new Map();
  private readonly records: HnsRecords;

  constructor(client: HcnClient, behaviour: Behaviour, canModify: boolean, records: HnsRecords) {
    this.records = records;
    this.client = client;
    this.behaviour = behaviour;
    this.canModify = canModify && behaviour.canModify;
  }

  get staleCount(): number {
    return this.stale.size;
  }

  /** Takes what HNS has now for the cache of this sync. */
  takeOver(): void {
    this.cache.clear();
    for (const [id, identity] of this.records.loadBalancers)
      if (identity !== undefined) this.cache.set(identity, id);
  }

  /** Brings the slot of `wanted` to what is wanted. @returns why it could not. */
  async program(wanted: WantedLoadBalancer, isOptimised: boolean): Promise<HnsFailure | undefined> {
    const { slot, backEnds, isAllowed } = wanted;
    const mayUpdate = (): boolean => this.canModify && slot.id !== "" && backEnds.length > 0;
    if (mayUpdate() && isAllowed) {
      const failure = await this.update(wanted);
      if (failure === undefined || !isNotImplemented(failure)) return failure;
      this.canModify = false;
    }
    if (mayUpdate()) return undefined;
    await this.deleteOutdated(wanted, isOptimised);
    if (!isAllowed || (backEnds.length === 0 && this.behaviour.skipsEmptyLists)) return undefined;
    const made = await this.findOrCreate(wanted);
    if (!made.ok) return made.failure;
    slot.id = made.value;
    return undefined;
  }

  /**
   * Deletes every load balancer of a Service. What cannot be deleted keeps its identifier and is remembered; an
   * external address is remembered in any case, and the next clean-up finds nothing (kube-proxy.md §3.7).
   */
  async deleteAllOf(entry: ServiceEntry): Promise<void> {
    for (const slot of entry.slots) {
      if (slot.id === "") continue;
      if (slot.kind === "ExternalIP") this.remember(slot.id);
      if (await this.delete(slot.id)) slot.id = "";
      else this.remember(slot.id);
      if (!this.behaviour.retriesDeletion) slot.id = "";
    }
  }

  /** Tries the remembered deletions again, a bounded number of them. */
  async deleteStale(): Promise<void> {
    for (const id of [...this.stale].slice(0, this.behaviour.staleDeletionsMax))
      if (await this.delete(id)) this.stale.delete(id);
  }

  private remember(id: Guid): void {
    if (this.behaviour.staleDeletionsMax > 0) this.stale.add(id);
  }

  /** @returns true when it is gone. */
  private async delete(id: Guid): Promise<boolean> {
    const found = await attempt(() => getLoadBalancerById(this.client, id));
    // Up to 1.36 any failure to read counts as "gone".
    if (!found.ok) return !this.behaviour.toleratesHnsFailure || isNotFound(found.failure);
    const call = (): Promise<void> => this.records.make(() => deleteLoadBalancer(this.client, id));
    let deleted = await attempt(call);
    // Windows Server 2019 sometimes needs a second try.
    if (!deleted.ok && this.behaviour.retriesDeletion) deleted = await attempt(call);
    if (deleted.ok) this.records.loadBalancers.delete(id);
    if (deleted.ok && this.behaviour.identity.forgetsDeleted) this.forget(id);
    return deleted.ok;
  }

  private forget(id: Guid): void {
    for (const [identity, known] of this.cache) if (known === id) this.cache.delete(identity);
  }

  /** Deletes what the slot holds unless HNS has just what is wanted. */
  private async deleteOutdated(
    { slot, deletionCheck }: WantedLoadBalancer,
    isOptimised: boolean,
  ): Promise<void> {
    if (!isOptimised || slot.id === "") return;
    if (this.cache.has(identityOf(deletionCheck, this.behaviour.identity))) return;
    if (!(await this.delete(slot.id))) this.remember(slot.id);
    slot.id = "";
  }

  private async update(wanted: WantedLoadBalancer): Promise<HnsFailure | undefined> {
    if (this.cache.has(identityOf(wanted, this.behaviour.identity))) return undefined;
    const { id } = wanted.slot;
    const updated = await attempt(() =>
      this.records.make(() => modifyLoadBalancer(this.client, id, loadBalancerDocument(wanted))),
    );
    if (!updated.ok) {
      this.records.loadBalancerUnclear(id);
      return updated.failure;
    }
    // As it was read back: not every version of HNS carries out what it takes.
    const frontEnd = readFrontEnd(updated.value);
    this.records.loadBalancers.set(id, frontEnd && identityOf(frontEnd, this.behaviour.identity));
    return undefined;
  }

  private async findOrCreate(wanted: WantedLoadBalancer): Promise<Attempt<Guid>> {
    const identity = identityOf(wanted, this.behaviour.identity);
    const known = this.cache.get(identity);
    if (known !== undefined) return { ok: true, value: known };
    let made = await this.create(wanted);
    if (!made.ok && this.behaviour.removesConflicts && isAlreadyThere(made.failure)) {
      if (await this.removeConflict(wanted)) made = await this.create(wanted);
    }
    if (made.ok) {
      this.cache.set(identity, made.value);
      this.records.loadBalancers.set(made.value, identity);
    }
    return made;
  }

  private create(wanted: WantedLoadBalancer): Promise<Attempt<Guid>> {
    return attempt(() =>
      this.records.make(() => createLoadBalancerOnly(this.client, loadBalancerDocument(wanted))),
    );
  }

  /** Deletes the one load balancer that stands at the same front end. @returns true when it is gone. */
  private async removeConflict(wanted: WantedLoadBalancer): Promise<boolean> {
    const listed = await attempt(() => listLoadBalancers(this.client));
    if (!listed.ok) return false;
    const [conflict, ...others] = listed.value.filter((document) => {
      const frontEnd = readFrontEnd(document);
      return (
        frontEnd?.vip === wanted.vip &&
        frontEnd.protocol === wanted.protocol &&
        frontEnd.externalPort === wanted.externalPort &&
        frontEnd.internalPort === wanted.internalPort &&
        frontEnd.isIpv6 === wanted.isIpv6
      );
    });
    return conflict?.ID !== undefined && others.length === 0 && this.delete(conflict.ID);
  }
}
