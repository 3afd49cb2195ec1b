/** Makes, changes and deletes load balancers of HNS with the least that has to be done (kube-proxy.md §3.6, §3.7). */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  createLoadBalancerOnly,
  deleteLoadBalancer,
  getLoadBalancerById,
  modifyLoadBalancer,
} from "#contracts/hcn/operations.ts";
import type { Behaviour } from "../behaviour.ts";
import {
  type Attempt,
  type HnsFailure,
  attempt,
  isAlreadyThere,
  isNotFound,
  isNotImplemented,
} from "./hns-failure.ts";
import {
  type LoadBalancerIdentity,
  frontEndOf,
  identityOf,
  mappingOf,
  readFrontEnd,
} from "./load-balancer-identity.ts";
import type { HnsRecords } from "./hns-records.ts";
import type { LoadBalancerSlot, ServiceEntry } from "./service-entry.ts";
import { type WantedLoadBalancer, loadBalancerDocument } from "./wanted-load-balancers.ts";

const GONE: Attempt<true> = Object.freeze({ ok: true, value: true });

/** Identifiers of load balancers that are not there any more are remembered up to this many. */
const OWNED_MAX = 16_384;

/** Which load balancers of HNS are this proxier's, for `hardened` mode. Plain data. */
class SlotHolders {
  /** How many slots hold one: two Services may want the very same. */
  private readonly counts: Map<Guid, number> = new Map();
  /** All that this process has made or claimed, oldest first: HNS may bring them back (kube-proxy.md §7 row 14). */
  private readonly owned: Set<Guid> = new Set();
  /**
   * Front ends that were asked for and refused: something may have been made all the same. Its back ends may be others,
   * since some builds keep those of an earlier load balancer.
   */
  private readonly doubtful: Set<string> = new Set();
  /** Those of them that were asked for before HNS was last read for a comparison. */
  private readonly suspected: Set<string> = new Set();

  countOf(id: Guid): number {
    return this.counts.get(id) ?? 0;
  }

  /** A slot that held `before` holds `after` now; empty: none. */
  move(before: Guid, after: Guid): void {
    if (before === after) return;
    const rest = this.countOf(before) - 1;
    if (rest > 0) this.counts.set(before, rest);
    else this.counts.delete(before);
    if (after !== "") this.counts.set(after, this.countOf(after) + 1);
  }

  /** Nothing was made or claimed. */
  get isBlank(): boolean {
    return this.owned.size + this.doubtful.size + this.suspected.size === 0;
  }

  own(id: Guid): void {
    this.owned.add(id);
    if (this.owned.size <= OWNED_MAX) return;
    for (const oldest of this.owned) {
      this.owned.delete(oldest);
      return;
    }
  }

  /** A load balancer was refused. */
  doubt(identity: LoadBalancerIdentity): void {
    this.doubtful.add(frontEndOf(identity));
  }

  /** HNS is read now: what was made in secret will show. */
  beginComparison(): void {
    for (const frontEnd of this.doubtful) this.suspected.add(frontEnd);
    this.doubtful.clear();
  }

  /** What was made in secret has been dealt with. */
  endComparison(): void {
    this.suspected.clear();
  }

  /** True for one that this process has made, or may have. */
  isOwn(id: Guid, identity: LoadBalancerIdentity): boolean {
    const frontEnd = frontEndOf(identity);
    return this.owned.has(id) || this.doubtful.has(frontEnd) || this.suspected.has(frontEnd);
  }
}

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
  /** The reading of HNS that the cache is from. */
  private reading = 0;
  /** Whose load balancers there are: `hardened` alone asks. */
  readonly holders: SlotHolders = new SlotHolders();

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
    // What this proxier has changed itself is in the cache already.
    if (this.behaviour.repairs && this.reading === this.records.reading) return;
    this.reading = this.records.reading;
    this.cache.clear();
    for (const [id, identity] of this.records.loadBalancers)
      if (identity !== undefined) this.cache.set(identity, id);
  }

  /** Brings the slot of `wanted` to what is wanted. @returns why it could not. */
  async program(wanted: WantedLoadBalancer, isOptimised: boolean): Promise<HnsFailure | undefined> {
    const { slot, backEnds, isAllowed } = wanted;
    if (this.behaviour.repairs) {
      // A deletion that was tried again has taken it.
      if (slot.id !== "" && !this.records.loadBalancers.has(slot.id)) this.giveUp(slot);
      if (!isAllowed || backEnds.length === 0) return this.empty(slot);
    }
    // The other Service keeps what it has.
    if (this.isShared(slot) && !this.cache.has(identityOf(wanted, this.behaviour.identity)))
      this.assign(slot, "");
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
    this.assign(slot, made.value);
    return undefined;
  }

  /** Leaves nothing in a slot: what could not be deleted is remembered. */
  async empty(slot: LoadBalancerSlot): Promise<undefined> {
    if (slot.id === "") return;
    const { id } = slot;
    if (!this.isShared(slot) && !(await this.delete(id))) this.remember(id);
    this.holders.move(id, "");
    slot.id = "";
  }

  /** Gives up what the slot holds without a call: it is not there any more. */
  giveUp(slot: LoadBalancerSlot): void {
    this.stale.delete(slot.id);
    this.assign(slot, "");
  }

  /** Deletes one that no slot holds. @returns true when it is gone. */
  async deleteLeft(id: Guid): Promise<boolean> {
    const isGone = await this.delete(id);
    if (!isGone) this.remember(id);
    return isGone;
  }

  /** True for one whose deletion will be tried again. */
  isStale(id: Guid): boolean {
    return this.stale.has(id);
  }

  /** Load balancers that kube-proxy removed at its start, or should have. */
  tookOverAtStart(ids: Iterable<Guid>): void {
    for (const id of ids) this.holders.own(id);
  }

  /**
   * Deletes every load balancer of a Service. What cannot be deleted keeps its identifier and is remembered; up to 1.36
   * an external address is remembered in any case, and the next clean-up finds nothing (kube-proxy.md §3.7).
   */
  async deleteAllOf(entry: ServiceEntry): Promise<void> {
    for (const slot of entry.slots) {
      if (slot.id === "") continue;
      if (this.behaviour.repairs) {
        await this.empty(slot);
        continue;
      }
      if (slot.kind === "ExternalIP" && this.behaviour.remembersDeletedExternal) this.remember(slot.id);
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

  /** `hardened`: another Service has the same front end with the same back ends, and keeps it. */
  private isShared(slot: LoadBalancerSlot): boolean {
    return this.behaviour.repairs && this.holders.countOf(slot.id) > 1;
  }

  private assign(slot: LoadBalancerSlot, id: Guid): void {
    if (this.behaviour.repairs) {
      this.holders.move(slot.id, id);
      // Wanted again before it could be deleted.
      this.stale.delete(id);
    }
    slot.id = id;
  }

  private remember(id: Guid): void {
    if (this.behaviour.staleDeletionsMax > 0) this.stale.add(id);
  }

  /** @returns true when it is gone. */
  private async delete(id: Guid): Promise<boolean> {
    const deleted = await this.tryDelete(id);
    return deleted.ok && deleted.value;
  }

  /** @returns that it is gone, or why it may not be. */
  private async tryDelete(id: Guid): Promise<Attempt<true>> {
    const seen = this.behaviour.repairs ? undefined : await this.look(id);
    if (seen !== undefined) return seen;
    const call = (): Promise<void> => this.records.make(() => deleteLoadBalancer(this.client, id));
    let deleted = await attempt(call);
    // Windows Server 2019 sometimes needs a second try.
    if (!deleted.ok && this.behaviour.retriesDeletion) deleted = await attempt(call);
    const isGone = deleted.ok || (this.behaviour.repairs && isNotFound(deleted.failure));
    if (isGone && this.behaviour.identity.forgetsDeleted) this.forget(id);
    if (isGone) this.records.loadBalancers.delete(id);
    return isGone || deleted.ok ? GONE : deleted;
  }

  /** Upstream asks for it before it deletes. @returns how that ends the deletion; undefined: it is there. */
  private async look(id: Guid): Promise<Attempt<true> | undefined> {
    const found = await attempt(() => getLoadBalancerById(this.client, id));
    if (found.ok) return undefined;
    return this.behaviour.takesUnreadForDeleted || isNotFound(found.failure) ? GONE : found;
  }

  private forget(id: Guid): void {
    const identity = this.records.loadBalancers.get(id);
    if (identity !== undefined && this.cache.get(identity) === id) this.cache.delete(identity);
  }

  /** Deletes what the slot holds unless HNS has just what is wanted. */
  private async deleteOutdated(
    { slot, deletionCheck }: WantedLoadBalancer,
    isOptimised: boolean,
  ): Promise<void> {
    // Without the optimisation it is gone already, unless a comparison has found it wanting.
    if ((!isOptimised && !this.behaviour.repairs) || slot.id === "") return;
    if (this.cache.has(identityOf(deletionCheck, this.behaviour.identity))) return;
    await this.empty(slot);
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
    const identity = frontEnd && identityOf(frontEnd, this.behaviour.identity);
    if (this.behaviour.repairs) {
      this.forget(id);
      if (identity !== undefined) this.cache.set(identity, id);
    }
    this.records.loadBalancers.set(id, identity);
    return undefined;
  }

  private async findOrCreate(wanted: WantedLoadBalancer): Promise<Attempt<Guid>> {
    const identity = identityOf(wanted, this.behaviour.identity);
    const known = this.cache.get(identity);
    if (known !== undefined) return { ok: true, value: known };
    let made = await this.create(wanted);
    if (!made.ok && this.behaviour.removesConflicts && isAlreadyThere(made.failure)) {
      const freed = this.behaviour.repairs
        ? await this.removeKnownConflict(identity)
        : await this.removeConflict(identity);
      if (!freed.ok) made = freed;
      else if (freed.value) made = await this.create(wanted);
    }
    if (!made.ok && this.behaviour.repairs) {
      // It may be there all the same.
      this.holders.doubt(identity);
      this.records.effectUnclear();
    }
    if (made.ok) {
      if (this.behaviour.repairs) this.holders.own(made.value);
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

  /**
   * Deletes the one load balancer that this sync knows at the same front end and port of the back ends
   * (`findExistingLBIdByFrontend` of winkernel/hns.go). What came after the reading is not known; what was deleted since
   * is. Of several none is deleted. @returns why it could not be deleted; undefined when there is none.
   */
  private async removeConflict(identity: LoadBalancerIdentity): Promise<Attempt<boolean>> {
    const wanted = mappingOf(identity);
    const [conflict, ...others] = [...this.cache].filter(([known]) => mappingOf(known) === wanted);
    if (conflict === undefined || others.length > 0) return { ok: true, value: false };
    return this.tryDelete(conflict[1]);
  }

  /**
   * The same, after HNS has been read for what is new. What another Service of this node stands at stays: the two of them want one
   * front end, and the first one has it.
   */
  private async removeKnownConflict(identity: LoadBalancerIdentity): Promise<Attempt<boolean>> {
    const none: Attempt<boolean> = { ok: true, value: false };
    const unread = await this.records.readLoadBalancers(this.behaviour.identity);
    if (unread !== undefined) return none;
    const wanted = frontEndOf(identity);
    for (const [id, known] of this.records.loadBalancers) {
      if (known === undefined || frontEndOf(known) !== wanted) continue;
      if (this.holders.countOf(id) > 0 && !this.stale.has(id)) return none;
      return { ok: true, value: await this.delete(id) };
    }
    return none;
  }
}
