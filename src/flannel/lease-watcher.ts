/** Which leases of others a node knows, and what a change of the store means to it (control-planes.md §1.6). */
import type { Compat } from "../cni/parameters.ts";
import { type Lease, type LeaseEvent, equalAttributes, formatSubnets, hasSameSubnets } from "./lease.ts";
import { leaseKey } from "./peers.ts";

/** Plain data: a part of a forkable world. */
export class LeaseWatcher {
  private readonly own: Lease;
  private readonly compat: Compat;
  /** By their subnets. */
  private leases = new Map<string, Lease>();

  constructor(own: Lease, compat: Compat) {
    this.own = own;
    this.compat = compat;
  }

  list(): readonly Lease[] {
    return [...this.leases.values()];
  }

  /** Takes single changes over. @returns what the back end has to do. */
  update(events: readonly LeaseEvent[]): readonly LeaseEvent[] {
    return events.filter(({ lease }) => !this.isOwn(lease)).map((event) => this.take(event));
  }

  /** Takes the whole list over. @returns what the back end has to do. */
  reset(snapshot: readonly Lease[]): readonly LeaseEvent[] {
    const known = this.leases;
    const isBetter = this.compat === "better";
    const events: LeaseEvent[] = [];
    const kept = new Map<string, Lease>();
    for (const lease of snapshot) {
      const key = this.keyOf(lease);
      const isOwn = this.isOwn(lease);
      // The reference keeps its own lease, too, and takes it for one that has gone in the next snapshot.
      if (!isOwn || !isBetter) kept.set(key, lease);
      if (isOwn) continue;
      const before = known.get(key);
      known.delete(key);
      // The reference does not look whether address or MAC are still the same.
      const isChanged =
        isBetter && before !== undefined && !equalAttributes(before.attributes, lease.attributes);
      if (before === undefined || isChanged) events.push({ type: "added", lease });
    }
    for (const lease of known.values()) events.push({ type: "removed", lease });
    this.leases = kept;
    return events;
  }

  /** By its subnets. `better` does not take another node's lease for its own, so that the conflict is told. */
  private isOwn(lease: Lease): boolean {
    const isOwners = this.compat === "reference" || lease.owner === this.own.owner;
    return isOwners && hasSameSubnets(lease, this.own);
  }

  /** The reference knows one lease for each subnet, whoever has it. */
  private keyOf(lease: Lease): string {
    return this.compat === "better" ? leaseKey(lease) : formatSubnets(lease);
  }

  private take({ type, lease }: LeaseEvent): LeaseEvent {
    const key = this.keyOf(lease);
    if (type === "added") {
      this.leases.set(key, lease);
      return { type, lease };
    }
    // What was known is what was programmed: the event may say less.
    const known = this.leases.get(key) ?? lease;
    this.leases.delete(key);
    return { type, lease: known };
  }
}
