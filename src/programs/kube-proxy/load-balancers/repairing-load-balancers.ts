/**
 * Load balancers of a proxier that knows which of HNS's are its own, so that it can put right what is wrong with them and
 * leave alone what is another's.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type Attempt, type HnsFailure, isNotFound } from "./hns-failure.ts";
import { type LoadBalancerIdentity, frontEndOf, identityOf } from "./load-balancer-identity.ts";
import { LoadBalancers } from "./load-balancers.ts";
import type { LoadBalancerSlot, ServiceEntry } from "./service-entry.ts";
import type { WantedLoadBalancer } from "./wanted-load-balancers.ts";

/** Identifiers of load balancers that are not there any more are remembered up to this many. */
const OWNED_MAX = 16_384;

/** Which load balancers of HNS are this proxier's. Plain data. */
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

  /** A slot that held `before` holds `after` now; undefined: none. */
  move(before: Guid | undefined, after: Guid | undefined): void {
    if (before === after) return;
    if (before !== undefined) {
      const rest = this.countOf(before) - 1;
      if (rest > 0) this.counts.set(before, rest);
      else this.counts.delete(before);
    }
    if (after !== undefined) this.counts.set(after, this.countOf(after) + 1);
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

export class RepairingLoadBalancers extends LoadBalancers {
  readonly holders: SlotHolders = new SlotHolders();
  /** The reading of HNS that the cache is from. */
  private reading = 0;

  /** What this proxier has changed itself is in the cache already. */
  override takeOver(): void {
    if (this.reading === this.records.reading) return;
    this.reading = this.records.reading;
    super.takeOver();
  }

  /** With or without the optimisation: a comparison may have found wanting what is there. */
  override async program(wanted: WantedLoadBalancer): Promise<HnsFailure | undefined> {
    const { slot, backEnds, isAllowed } = wanted;
    // A deletion that was tried again has taken it.
    if (slot.id !== undefined && !this.records.loadBalancers.has(slot.id)) this.giveUp(slot);
    if (!isAllowed || backEnds.length === 0) return this.empty(slot);
    // The other Service keeps what it has.
    if (this.isShared(slot) && !this.cache.has(identityOf(wanted, this.behaviour.identity)))
      this.assign(slot, undefined);
    return super.program(wanted, true);
  }

  override async deleteAllOf(entry: ServiceEntry): Promise<void> {
    for (const slot of entry.slots) await this.empty(slot);
  }

  override leaveOut(slot: LoadBalancerSlot): Promise<void> {
    return this.empty(slot);
  }

  /** Gives up what the slot holds without a call: it is not there any more. */
  giveUp(slot: LoadBalancerSlot): void {
    if (slot.id !== undefined) this.stale.delete(slot.id);
    this.assign(slot, undefined);
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

  /** What another Service has with the same front end and the same back ends stays. */
  protected override async empty(slot: LoadBalancerSlot): Promise<undefined> {
    const { id } = slot;
    if (id === undefined) return;
    if (!this.isShared(slot) && !(await this.delete(id))) this.remember(id);
    this.holders.move(id, undefined);
    slot.id = undefined;
  }

  protected override assign(slot: LoadBalancerSlot, id: Guid | undefined): void {
    this.holders.move(slot.id, id);
    // Wanted again before it could be deleted.
    if (id !== undefined) this.stale.delete(id);
    super.assign(slot, id);
  }

  protected override wasGone(failure: HnsFailure): boolean {
    return isNotFound(failure);
  }

  protected override updated(id: Guid, identity: LoadBalancerIdentity | undefined): void {
    this.forget(id);
    if (identity !== undefined) this.cache.set(identity, id);
    super.updated(id, identity);
  }

  protected override async make(
    wanted: WantedLoadBalancer,
    identity: LoadBalancerIdentity,
  ): Promise<Attempt<Guid>> {
    const made = await super.make(wanted, identity);
    if (made.ok) this.holders.own(made.value);
    else {
      // It may be there all the same.
      this.holders.doubt(identity);
      this.records.effectUnclear();
    }
    return made;
  }

  /**
   * After HNS has been read for what is new. What another Service of this node stands at stays: the two of them want one
   * front end, and the first one has it.
   */
  protected override async removeConflict(identity: LoadBalancerIdentity): Promise<Attempt<boolean>> {
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

  private isShared(slot: LoadBalancerSlot): boolean {
    return slot.id !== undefined && this.holders.countOf(slot.id) > 1;
  }
}
