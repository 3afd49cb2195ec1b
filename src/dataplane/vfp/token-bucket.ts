/**
 * A `qos` rule's rate on one port: bytes flow off at the rate, a burst passes at once, what exceeds it waits for its turn,
 * and what would wait behind a full queue is dropped (dataplane.md §1.6).
 */
import { LIMITS } from "#core/base/limits.ts";

/** What a `qos` rule grants. */
export interface RateLimit {
  readonly bytesPerSecond: number;
  /** Bytes that pass without waiting after a pause. */
  readonly burstBytes: number;
  /** Bytes that may wait; 0 drops what cannot pass at once. */
  readonly queueBytes: number;
}

/** What was let in so far. Plain data, one number of state; the limit is that of the rule that asks. */
export class TokenBucket {
  /** When everything that was let in has flowed off. */
  private emptyAtMs = 0;

  /** True when `bytes` would be let in. */
  hasRoom(limit: RateLimit, bytes: number, nowMs: number): boolean {
    return this.backlogBytes(limit, bytes, nowMs) <= limit.queueBytes;
  }

  /** Lets `bytes` in. @returns how many milliseconds they wait; -1 when the queue is full. */
  admit(limit: RateLimit, bytes: number, nowMs: number): number {
    const waiting = this.backlogBytes(limit, bytes, nowMs);
    if (waiting > limit.queueBytes) return -1;
    const perMs = limit.bytesPerSecond / 1_000;
    this.emptyAtMs = Math.max(this.emptyAtMs, nowMs) + bytes / perMs;
    return Math.max(0, waiting / perMs);
  }

  /** How much would have to flow off before the last of `bytes` may go. */
  private backlogBytes({ bytesPerSecond, burstBytes }: RateLimit, bytes: number, nowMs: number): number {
    const owed = (Math.max(this.emptyAtMs, nowMs) - nowMs) * (bytesPerSecond / 1_000);
    return owed + bytes - burstBytes;
  }
}

/** A port's buckets by the names of their rules. */
export class TokenBuckets {
  private readonly byName = new Map<string, TokenBucket>();

  get(name: string): TokenBucket {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    const oldest = this.byName.keys().next();
    if (this.byName.size >= LIMITS.ratesPerPortMax && oldest.done !== true) this.byName.delete(oldest.value);
    const made = new TokenBucket();
    this.byName.set(name, made);
    return made;
  }
}

/** A bucket, and the rule's limit that holds for who asks. */
export interface Charge {
  readonly bucket: TokenBucket;
  readonly limit: RateLimit;
}

/** Lets `bytes` into all buckets, or into none. @returns how many milliseconds they wait; -1 when a queue is full. */
export function admitAll(charges: readonly Charge[], bytes: number, nowMs: number): number {
  for (const { bucket, limit } of charges) if (!bucket.hasRoom(limit, bytes, nowMs)) return -1;
  let delayMs = 0;
  for (const { bucket, limit } of charges) delayMs = Math.max(delayMs, bucket.admit(limit, bytes, nowMs));
  return delayMs;
}
