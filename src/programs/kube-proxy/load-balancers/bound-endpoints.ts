/**
 * What one node has made of the endpoints of one service port: their HNS endpoints, and how many service ports use each of
 * these (kube-proxy.md §3.1, §3.2).
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type TrackedEndpoint, endpointOn } from "../tracking/tracked-endpoints.ts";

/** Shared by all that point at the same endpoint. */
export interface ReferenceCount {
  /** 16 bits, unsigned, as upstream's: it wraps. */
  count: number;
}

const U16 = 0xffff;
/** Counts of endpoints that are gone, beside as many as there are. */
const GONE_MAX = 64;

export class ReferenceCounts {
  private readonly counts: Map<Guid, ReferenceCount> = new Map();

  /** The count of an endpoint, zero when it was not counted before. */
  of(id: Guid): ReferenceCount {
    const known = this.counts.get(id);
    if (known !== undefined) return known;
    const fresh = { count: 0 };
    this.counts.set(id, fresh);
    return fresh;
  }

  /** Zero for endpoints that are not counted. */
  countOf(id: Guid): number {
    return this.counts.get(id)?.count ?? 0;
  }

  forget(id: Guid): void {
    this.counts.delete(id);
  }

  /**
   * Forgets endpoints that HNS no longer has, when there are many. Upstream keeps them as long as it runs; their ids do not
   * come again, so nobody asks for their counts.
   */
  forgetGone(present: ReadonlyMap<Guid, unknown>): void {
    if (this.counts.size <= 2 * present.size + GONE_MAX) return;
    for (const id of this.counts.keys()) if (!present.has(id)) this.counts.delete(id);
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

/**
 * The endpoints of a service port on one node. A change of the endpoints brings a new value, so that HNS endpoints are
 * found again by address (kube-proxy.md §3.1). Two arrays in place of objects: a large cluster has millions of these.
 */
export class BoundEndpoints {
  /** Shared by all nodes. */
  private readonly tracked: readonly TrackedEndpoint[];
  private readonly ids: (Guid | undefined)[];
  private readonly counters: (ReferenceCount | undefined)[];

  constructor(tracked: readonly TrackedEndpoint[]) {
    this.tracked = tracked;
    // As long as they will be: arrays that grow take half as much again.
    this.ids = Array.from({ length: tracked.length });
    this.counters = Array.from({ length: tracked.length });
  }

  get size(): number {
    return this.tracked.length;
  }

  /** The endpoints as they count on `hostname`. */
  on(hostname: string): readonly TrackedEndpoint[] {
    return this.tracked.map((endpoint) => endpointOn(endpoint, hostname));
  }

  /** The HNS endpoint that was last used for the one at `index`. */
  idOf(index: number): Guid | undefined {
    return this.ids[index];
  }

  bind(index: number, id: Guid): void {
    this.ids[index] = id;
  }

  unbind(index: number): void {
    this.ids[index] = undefined;
  }

  /**
   * Counts on the remote endpoint of `index`. Every pass counts again, unless `once` (kube-proxy.md §3.4 c.8: the
   * counts of a Service that keeps failing grow).
   */
  count(index: number, counter: ReferenceCount, once: boolean): void {
    if (once && this.counters[index] === counter) return;
    this.counters[index] = counter;
    increment(counter);
  }

  /** One less for `index`, not below zero; the endpoint keeps pointing at the counter. */
  decrement(index: number): void {
    const counter = this.counters[index];
    if (counter !== undefined && counter.count > 0) decrement(counter);
  }

  /**
   * One less for `index`, for good.
   * @returns the HNS endpoint that no port counts on any more.
   */
  release(index: number): Guid | undefined {
    const counter = this.counters[index];
    if (counter === undefined) return undefined;
    this.counters[index] = undefined;
    decrement(counter);
    return counter.count === 0 ? this.ids[index] : undefined;
  }

  /** Lets go of endpoints that are gone from HNS. @returns those of them that were used here. */
  giveUp(gone: { has(id: Guid): boolean }): readonly Guid[] {
    const lost: Guid[] = [];
    for (const [index, id] of this.ids.entries()) {
      if (id === undefined || !gone.has(id)) continue;
      lost.push(id);
      this.ids[index] = undefined;
      this.counters[index] = undefined;
    }
    return lost;
  }
}
