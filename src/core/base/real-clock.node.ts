/** The machine's time, for a service that runs by itself. */
import { assert } from "./assert.ts";
import type { Clock, Task, Timer } from "./clock.ts";

/** Longer waits than this overflow a timer of Node's; they are cut into pieces. */
const WAIT_MAX_MS = 2 ** 31 - 1;

export interface RealClockOptions {
  /** Called after each task, so that what the task did can be stored and reported. */
  readonly afterTask?: () => void;
}

/**
 * A clock that starts at zero and moves by itself; it never goes back. Timers do not keep the process alive, and a
 * task that throws is a fault of its own, as a listener's is.
 */
export class RealClock implements Clock {
  private readonly startedAtMs = performance.now();
  private readonly afterTask: () => void;
  private readonly waiting = new Map<Timer, NodeJS.Timeout>();
  private sequence = 0;

  constructor(options: RealClockOptions = {}) {
    this.afterTask = options.afterTask ?? ((): void => undefined);
  }

  get nowMs(): number {
    return performance.now() - this.startedAtMs;
  }

  schedule(afterMs: number, task: Task): Timer {
    assert(afterMs >= 0, "a task cannot be scheduled in the past");
    const timer: Timer = { atMs: this.nowMs + afterMs, sequence: this.sequence++, task };
    this.wait(timer);
    return timer;
  }

  cancel(timer: Timer): void {
    timer.task = undefined;
    clearTimeout(this.waiting.get(timer));
    this.waiting.delete(timer);
  }

  /** Nothing of real time happens at one moment. */
  isLast(): boolean {
    return false;
  }

  /** Forgets all timers. */
  stop(): void {
    for (const timer of this.waiting.keys()) this.cancel(timer);
  }

  private wait(timer: Timer): void {
    const leftMs = Math.min(Math.max(timer.atMs - this.nowMs, 0), WAIT_MAX_MS);
    // Node cuts fractions off, so a timer may come a moment early; then it waits again.
    const handle = setTimeout(() => this.wake(timer), Math.ceil(leftMs));
    handle.unref();
    this.waiting.set(timer, handle);
  }

  private wake(timer: Timer): void {
    if (timer.atMs > this.nowMs) {
      this.wait(timer);
      return;
    }
    this.waiting.delete(timer);
    const { task } = timer;
    timer.task = undefined;
    task?.run(this.nowMs);
    this.afterTask();
  }
}
