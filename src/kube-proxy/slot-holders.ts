/** Which load balancers of HNS are this proxier's, for the temper `better`. Plain data. */
import type { Guid } from "../hcn/client.ts";
import { type LoadBalancerIdentity, frontEndOf } from "./load-balancer-identity.ts";

/** Identifiers of load balancers that are not there any more are remembered up to this many. */
const OWNED_MAX = 16_384;

export class SlotHolders {
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
