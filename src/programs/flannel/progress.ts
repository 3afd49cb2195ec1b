/**
 * Work that waits for others. Nothing here sleeps: a step goes as far as it can, says when it wants to be called again,
 * and keeps where it stands as plain data. So the same code runs as a program and on emulated nodes under virtual time.
 */
import type { FlannelFinding } from "./reports.ts";

/** Call again after that time. */
export interface Waiting {
  readonly state: "waiting";
  readonly retryAfterMs: number;
  readonly finding: FlannelFinding;
}

/** For good. */
export interface Failed {
  readonly state: "failed";
  readonly finding: FlannelFinding;
}

export type Progress<T> = { readonly state: "done"; readonly value: T } | Waiting | Failed;

export function done<T>(value: T): Progress<T> {
  return { state: "done", value };
}

export function failed(finding: FlannelFinding): Failed {
  return { state: "failed", finding };
}

/** Looks again and again, for a limited time: the first time at once, as upstream's polls. */
export class Poll {
  private readonly everyMs: number;
  private readonly timeoutMs: number;
  private beganMs: number | undefined;

  constructor(everyMs: number, timeoutMs: number) {
    this.everyMs = everyMs;
    this.timeoutMs = timeoutMs;
  }

  /** How long to wait for the next look; undefined: the time is over, and the next call begins anew. */
  next(nowMs: number): number | undefined {
    // A clock that was set back must not make the wait longer than it is.
    if (this.beganMs === undefined || nowMs < this.beganMs) this.beganMs = nowMs;
    const leftMs = this.beganMs + this.timeoutMs - nowMs;
    if (leftMs > 0) return Math.min(this.everyMs, leftMs);
    this.beganMs = undefined;
    return undefined;
  }

  /** What was waited for is there. */
  reset(): void {
    this.beganMs = undefined;
  }
}

/** Waits that double with each failure. */
export class Backoff {
  private readonly firstMs: number;
  private readonly mostMs: number;
  private nextMs: number;

  constructor(firstMs: number, mostMs: number) {
    this.firstMs = firstMs;
    this.mostMs = mostMs;
    this.nextMs = firstMs;
  }

  /** The wait after one more failure. */
  next(): number {
    const waitMs = this.nextMs;
    this.nextMs = Math.min(this.nextMs * 2, this.mostMs);
    return waitMs;
  }

  reset(): void {
    this.nextMs = this.firstMs;
  }
}

/** What is done again and again. A clock that is set back puts nothing off: it is done at once. */
export class Recurring {
  private readonly everyMs: number;
  private atMs: number | undefined;

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** The next time is so long from now; a period by default. */
  next(nowMs: number, afterMs: number = this.everyMs): void {
    this.atMs = nowMs + afterMs;
  }

  /** True when its time has come. Never before `next`. */
  isDue(nowMs: number): boolean {
    if (this.atMs === undefined) return false;
    if (this.atMs > nowMs + this.everyMs) this.atMs = nowMs;
    return nowMs >= this.atMs;
  }

  /** How long until then; undefined: never. */
  waitMs(nowMs: number): number | undefined {
    return this.atMs === undefined ? undefined : Math.max(this.atMs - nowMs, 0);
  }
}
