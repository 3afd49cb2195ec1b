/**
 * A `qos` rule's rate on one port: bytes flow off at the rate, a burst passes at once, what exceeds it waits for its turn,
 * and what would wait behind a full queue is dropped (dataplane.md §1.6, DT-026).
 */

/** What a `qos` rule grants. */
export interface RateLimit {
  readonly bytesPerSecond: number;
  /** Bytes that pass without waiting after a pause. */
  readonly burstBytes: number;
  /** Bytes that may wait; 0 drops what cannot pass at once. */
  readonly queueBytes: number;
}

/** Virtual scheduling: plain data, one number of state. */
export class TokenBucket {
  limit: RateLimit;
  /** When everything that was let in so far has flowed off. */
  private emptyAtMs = 0;

  constructor(limit: RateLimit) {
    this.limit = limit;
  }

  /** True when `bytes` would be let in. */
  hasRoom(bytes: number, nowMs: number): boolean {
    return this.backlogBytes(bytes, nowMs) <= this.limit.queueBytes;
  }

  /** Lets `bytes` in. @returns how many milliseconds they wait; -1 when the queue is full. */
  admit(bytes: number, nowMs: number): number {
    const waiting = this.backlogBytes(bytes, nowMs);
    if (waiting > this.limit.queueBytes) return -1;
    const perMs = this.limit.bytesPerSecond / 1_000;
    this.emptyAtMs = Math.max(this.emptyAtMs, nowMs) + bytes / perMs;
    return Math.max(0, waiting / perMs);
  }

  /** How much would have to flow off before the last of `bytes` may go. */
  private backlogBytes(bytes: number, nowMs: number): number {
    const { bytesPerSecond, burstBytes } = this.limit;
    const owed = (Math.max(this.emptyAtMs, nowMs) - nowMs) * (bytesPerSecond / 1_000);
    return owed + bytes - burstBytes;
  }
}
