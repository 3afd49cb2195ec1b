/** Makes, changes and deletes load balancers of HNS with the least that has to be done (kube-proxy.md §3.6, §3.7). */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { createLoadBalancerOnly, deleteLoadBalancer, modifyLoadBalancer } from "#contracts/hcn/operations.ts";
import type { Behaviour } from "../behaviour.ts";
import { type Attempt, type HnsFailure, attempt, isAlreadyThere, isNotImplemented } from "./hns-failure.ts";
import { type LoadBalancerIdentity, identityOf, readFrontEnd } from "./load-balancer-identity.ts";
import type { HnsRecords } from "./hns-records.ts";
import type { LoadBalancerSlot, ServiceEntry } from "./service-entry.ts";
import { type WantedLoadBalancer, loadBalancerDocument } from "./wanted-load-balancers.ts";

/** A deletion that has nothing left to do. */
export const GONE: Attempt<true> = Object.freeze({ ok: true, value: true });

/** What is the same in both modes; `UpstreamLoadBalancers` and `RepairingLoadBalancers` say what is not. */
export abstract class LoadBalancers {
  protected readonly client: HcnClient;
  protected readonly behaviour: Behaviour;
  /** True until HNS says that it has no such call. */
  private canModify: boolean;
  /** Load balancers that should be gone: in order of the failed deletions. */
  protected readonly stale: Set<Guid> = new Set();
  /** What HNS has, as read at the start of the sync and added to since. */
  protected readonly cache: Map<LoadBalancerIdentity, Guid> = new Map();
  protected readonly records: HnsRecords;

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
    if (this.canModify && slot.id !== undefined && backEnds.length > 0) {
      if (!isAllowed) return undefined;
      const failure = await this.update(wanted, slot.id);
      if (failure === undefined || !isNotImplemented(failure)) return failure;
      this.canModify = false;
    }
    await this.deleteOutdated(wanted, isOptimised);
    if (!isAllowed || (backEnds.length === 0 && this.behaviour.skipsEmptyLists)) return undefined;
    const made = await this.findOrCreate(wanted);
    if (!made.ok) return made.failure;
    this.assign(slot, made.value);
    return undefined;
  }

  /** Deletes every load balancer of a Service. */
  abstract deleteAllOf(entry: ServiceEntry): Promise<void>;

  /** A slot that is not to be programmed now. */
  abstract leaveOut(slot: LoadBalancerSlot): Promise<void>;

  /** Tries the remembered deletions again, a bounded number of them. */
  async deleteStale(): Promise<void> {
    for (const id of [...this.stale].slice(0, this.behaviour.staleDeletionsMax))
      if (await this.delete(id)) this.stale.delete(id);
  }

  /** Deletes what a slot holds: what could not be deleted is remembered. */
  protected abstract empty(slot: LoadBalancerSlot): Promise<undefined>;

  protected assign(slot: LoadBalancerSlot, id: Guid | undefined): void {
    slot.id = id;
  }

  protected remember(id: Guid): void {
    if (this.behaviour.staleDeletionsMax > 0) this.stale.add(id);
  }

  /** @returns true when it is gone. */
  protected async delete(id: Guid): Promise<boolean> {
    const deleted = await this.tryDelete(id);
    return deleted.ok && deleted.value;
  }

  /** @returns that it is gone, or why it may not be. */
  protected async tryDelete(id: Guid): Promise<Attempt<true>> {
    const call = (): Promise<void> => this.records.make(() => deleteLoadBalancer(this.client, id));
    let deleted = await attempt(call);
    // Windows Server 2019 sometimes needs a second try.
    if (!deleted.ok && this.behaviour.retriesDeletion) deleted = await attempt(call);
    if (!deleted.ok && !this.wasGone(deleted.failure)) return deleted;
    if (this.behaviour.identity.forgetsDeleted) this.forget(id);
    this.records.loadBalancers.delete(id);
    return GONE;
  }

  /** A deletion that failed so has nothing left to do. */
  protected abstract wasGone(failure: HnsFailure): boolean;

  protected forget(id: Guid): void {
    const identity = this.records.loadBalancers.get(id);
    if (identity !== undefined && this.cache.get(identity) === id) this.cache.delete(identity);
  }

  /** Deletes what the slot holds unless HNS has just what is wanted. */
  private async deleteOutdated(
    { slot, deletionCheck }: WantedLoadBalancer,
    isOptimised: boolean,
  ): Promise<void> {
    // Without the optimisation it is gone already.
    if (!isOptimised || slot.id === undefined) return;
    if (this.cache.has(identityOf(deletionCheck, this.behaviour.identity))) return;
    await this.empty(slot);
  }

  private async update(wanted: WantedLoadBalancer, id: Guid): Promise<HnsFailure | undefined> {
    if (this.cache.has(identityOf(wanted, this.behaviour.identity))) return undefined;
    const updated = await attempt(() =>
      this.records.make(() => modifyLoadBalancer(this.client, id, loadBalancerDocument(wanted))),
    );
    if (!updated.ok) {
      this.records.loadBalancerUnclear(id);
      return updated.failure;
    }
    // As it was read back: not every version of HNS carries out what it takes.
    const frontEnd = readFrontEnd(updated.value);
    const identity = frontEnd && identityOf(frontEnd, this.behaviour.identity);
    this.updated(id, identity);
    return undefined;
  }

  /** What HNS has made of an update; undefined: nothing that kube-proxy knows. */
  protected updated(id: Guid, identity: LoadBalancerIdentity | undefined): void {
    this.records.loadBalancers.set(id, identity);
  }

  private async findOrCreate(wanted: WantedLoadBalancer): Promise<Attempt<Guid>> {
    const identity = identityOf(wanted, this.behaviour.identity);
    const known = this.cache.get(identity);
    return known === undefined ? this.make(wanted, identity) : { ok: true, value: known };
  }

  protected async make(wanted: WantedLoadBalancer, identity: LoadBalancerIdentity): Promise<Attempt<Guid>> {
    let made = await this.create(wanted);
    if (!made.ok && this.behaviour.removesConflicts && isAlreadyThere(made.failure)) {
      const freed = await this.removeConflict(identity);
      if (!freed.ok) made = freed;
      else if (freed.value) made = await this.create(wanted);
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

  /** Makes room for a load balancer at whose front end another one stands. @returns whether there is room now. */
  protected abstract removeConflict(identity: LoadBalancerIdentity): Promise<Attempt<boolean>>;
}
