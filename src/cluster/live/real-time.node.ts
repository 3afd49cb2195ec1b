/**
 * Lets the clock of a cluster follow the clock of this machine, without a thread that asks for the time: it runs when
 * something is due, and when somebody comes with a frame.
 */
import type { VirtualClock } from "#core/base/clock.ts";
import type { ClusterSession } from "../session/session.ts";

/**
 * So far the cluster may be ahead: Node's timers are no finer, and a frame that crosses simulated cables in less is through
 * at once.
 */
const AHEAD_MS = 1;
/** How often programs do what they do without being told. */
const PROGRAMS_EVERY_MS = 10_000;
/** Node takes no longer timers. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Works on the cluster when everything asked before has ended. */
export type InTurn = <T>(work: (session: ClusterSession) => T | Promise<T>) => Promise<T>;

export interface RealTimeOptions {
  readonly clock: VirtualClock;
  readonly inTurn: InTurn;
  /** Told of what goes wrong when nobody waits for it. */
  readonly failed: (error: unknown) => void;
}

export class RealTime {
  private readonly clock: VirtualClock;
  private readonly inTurn: InTurn;
  private readonly failed: (error: unknown) => void;
  /** Where the cluster's time began on the machine's clock. */
  private originMs: number;
  private timer: NodeJS.Timeout | undefined;
  private readonly programs: NodeJS.Timeout;
  private isOver = false;

  constructor({ clock, inTurn, failed }: RealTimeOptions) {
    this.clock = clock;
    this.inTurn = inTurn;
    this.failed = failed;
    this.originMs = performance.now() - clock.nowMs;
    this.programs = setInterval(
      () => this.work(async (session) => void (await session.passTime(0))),
      PROGRAMS_EVERY_MS,
    );
  }

  /** Does what is due by now. To be called in a turn. */
  catchUp(): void {
    const nowMs = performance.now();
    const dueMs = nowMs - this.originMs + AHEAD_MS;
    // A change that settled has run ahead: time goes on from there.
    if (this.clock.nowMs > dueMs) this.originMs = nowMs - this.clock.nowMs;
    else {
      // Ahead by what frames took, and no further: the next frame would wait for a timer until the machine's clock is there.
      this.clock.runUntilIdle(dueMs);
      this.clock.runUntil(nowMs - this.originMs);
    }
  }

  /** To be called when a turn has ended: what is due next may have changed. */
  arm(): void {
    clearTimeout(this.timer);
    const nextMs = this.isOver ? undefined : this.clock.nextAtMs();
    if (nextMs === undefined) return;
    const waitMs = Math.ceil(this.originMs + nextMs - performance.now());
    this.timer = setTimeout(
      () => this.work(() => this.catchUp()),
      Math.min(Math.max(waitMs, 0), TIMER_MAX_MS),
    );
  }

  stop(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    clearInterval(this.programs);
  }

  private work(work: (session: ClusterSession) => void | Promise<void>): void {
    this.inTurn((session) => (this.isOver ? undefined : work(session))).catch((error: unknown) => {
      if (!this.isOver) this.failed(error);
    });
  }
}
