/** How many service ports use a remote endpoint of HNS (kube-proxy.md §3.2). */
import type { Guid } from "#contracts/hcn/guid.ts";

/** Shared by all that point at the same endpoint. */
export interface ReferenceCount {
  /** 16 bits, unsigned, as upstream's: it wraps. */
  count: number;
}

const U16 = 0xffff;

export class ReferenceCounts {
  private readonly counts: Map<Guid, ReferenceCount> = new Map();

  /** The count of an endpoint, zero when nobody counted before. */
  of(id: Guid): ReferenceCount {
    const known = this.counts.get(id);
    if (known !== undefined) return known;
    const fresh = { count: 0 };
    this.counts.set(id, fresh);
    return fresh;
  }

  /** Zero for endpoints that nobody counts. */
  countOf(id: Guid): number {
    return this.counts.get(id)?.count ?? 0;
  }

  forget(id: Guid): void {
    this.counts.delete(id);
  }

  /** Endpoints whose count is zero. */
  unreferenced(): readonly Guid[] {
    return [...this.counts].filter(([, { count }]) => count === 0).map(([id]) => id);
  }
}

export function increment(counter: ReferenceCount): void {
  counter.count = (counter.count + 1) & U16;
}

/** One less; below zero it wraps. */
export function decrement(counter: ReferenceCount): void {
  counter.count = (counter.count - 1) & U16;
}
