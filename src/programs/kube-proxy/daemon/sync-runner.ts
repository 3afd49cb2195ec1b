/**
 * When syncs run (kube-proxy.md §2.6): soon after a change, not too often, and at least once in a while. Up to 1.33 a
 * bucket of two tokens lets two syncs follow each other at once; from 1.34 on some time passes between the end of one and
 * the beginning of the next.
 */
import type { Clock, Timer } from "#core/base/clock.ts";

export interface SyncRunnerOptions {
  readonly clock: Clock;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Syncs that may follow each other at once; 0: the time between end and beginning counts. */
  readonly burst: number;
  /**
   * One sync. `isPeriodic`: only the time asked for it.
   * @returns the time after which something should be tried again.
   */
  readonly run: (isPeriodic: boolean) => Promise<number | undefined>;
}

/** Upstream's burst until 1.33. */
const BURST_UNTIL_33 = 2;

/** The burst of a version of kube-proxy. */
export function burstOf(minor: number): number {
  return minor <= 33 ? BURST_UNTIL_33 : 0;
}

export class SyncRunner {
  private readonly options: SyncRunnerOptions;
  private isStarted = false;
  private isRunning = false;
  private isAsked = false;
  private timer: Timer | undefined;
  private startedAtMs = 0;
  private endedAtMs = Number.NEGATIVE_INFINITY;
  private retryAtMs = Number.POSITIVE_INFINITY;
  private tokens: number;
  private tokensAtMs = 0;
  private current: Promise<void> = Promise.resolve();

  constructor(options: SyncRunnerOptions) {
    this.options = options;
    this.tokens = options.burst;
  }

  /** The first sync that is not asked for comes after `maxIntervalMs`. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.startedAtMs = this.options.clock.nowMs;
    this.tokensAtMs = this.options.clock.nowMs;
    this.plan();
  }

  /** Asks for a sync; several requests before it are one. */
  request(): void {
    this.isAsked = true;
    if (this.isStarted && !this.isRunning) this.plan();
  }

  /** No sync begins any more; resolves when a running one has ended. */
  async stop(): Promise<void> {
    this.isStarted = false;
    this.cancel();
    await this.current;
  }

  private cancel(): void {
    if (this.timer !== undefined) this.options.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private refill(): void {
    const { clock, minIntervalMs, burst } = this.options;
    const nowMs = clock.nowMs;
    this.tokens =
      minIntervalMs === 0 ? burst : Math.min(burst, this.tokens + (nowMs - this.tokensAtMs) / minIntervalMs);
    this.tokensAtMs = nowMs;
  }

  /** The first moment at which a sync may begin. */
  private allowedAtMs(): number {
    const { clock, minIntervalMs, burst } = this.options;
    if (burst === 0) return this.endedAtMs + minIntervalMs;
    this.refill();
    return this.tokens >= 1 ? clock.nowMs : clock.nowMs + (1 - this.tokens) * minIntervalMs;
  }

  private plan(): void {
    const { clock, maxIntervalMs } = this.options;
    this.cancel();
    const dueMs = Math.min(Math.max(this.startedAtMs, this.endedAtMs) + maxIntervalMs, this.retryAtMs);
    const atMs = this.isAsked ? this.allowedAtMs() : Math.max(dueMs, this.allowedAtMs());
    this.timer = clock.schedule(Math.max(0, atMs - clock.nowMs), { run: () => this.begin() });
  }

  private begin(): void {
    this.timer = undefined;
    this.refill();
    this.tokens -= 1;
    const isPeriodic = !this.isAsked;
    this.isAsked = false;
    this.isRunning = true;
    this.current = this.sync(isPeriodic);
  }

  private async sync(isPeriodic: boolean): Promise<void> {
    const { clock, run } = this.options;
    try {
      const retryAfterMs = await run(isPeriodic);
      this.retryAtMs = retryAfterMs === undefined ? Number.POSITIVE_INFINITY : clock.nowMs + retryAfterMs;
    } finally {
      this.endedAtMs = clock.nowMs;
      this.isRunning = false;
      if (this.isStarted) this.plan();
    }
  }
}
