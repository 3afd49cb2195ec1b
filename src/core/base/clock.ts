/**
 * Time as a value. The core asks a `Clock` and hands it tasks; it never reads the machine's time.
 *
 * A task is an object with a `run` method, not a closure, so that a whole simulated world is data that
 * `fork()` can copy (docs/decisions/0003-forkable-state.md).
 */
import { assert } from "./assert.ts";

/** Something that happens at a time. */
export interface Task {
  run(nowMs: number): void;
}

/** A scheduled task; keep it to cancel. */
export interface Timer {
  readonly atMs: number;
  /** Order of scheduling: tasks of one moment run in this order. */
  readonly sequence: number;
  task: Task | undefined;
}

/** A source of time in milliseconds since the clock was made; fractions are allowed. */
export interface Clock {
  readonly nowMs: number;
  /** Runs `task` once, `afterMs` from now (0 or more). */
  schedule(afterMs: number, task: Task): Timer;
  /** Forgets a timer; a timer that ran already is ignored. */
  cancel(timer: Timer): void;
  /** True for a timer that will run `afterMs` from now, and after which nothing was scheduled: what joins it keeps its order. */
  isLast(timer: Timer, afterMs: number): boolean;
}

/** Below this many, cancelled timers may wait for their time in the heap. */
const CANCELLED_MIN = 64;

/**
 * A clock that moves only when told, and then from one due task to the next.
 * Tasks run in order of time, then of scheduling, so equal runs give equal results.
 */
export class VirtualClock implements Clock {
  nowMs = 0;
  private sequence = 0;
  /** Binary heap; the earliest timer is first. */
  private readonly heap: Timer[] = [];
  /** Timers of the heap that were cancelled. */
  private cancelledCount = 0;

  schedule(afterMs: number, task: Task): Timer {
    assert(afterMs >= 0, "a task cannot be scheduled in the past");
    const timer: Timer = { atMs: this.nowMs + afterMs, sequence: this.sequence++, task };
    this.heap.push(timer);
    this.siftUp(this.heap.length - 1);
    return timer;
  }

  cancel(timer: Timer): void {
    if (timer.task === undefined) return;
    timer.task = undefined;
    this.cancelledCount++;
    // Most timers of a network are cancelled long before their time: they must not fill the heap until then.
    if (this.cancelledCount > CANCELLED_MIN && this.cancelledCount * 2 > this.heap.length) this.compact();
  }

  isLast({ task, atMs, sequence }: Timer, afterMs: number): boolean {
    return task !== undefined && atMs === this.nowMs + afterMs && sequence === this.sequence - 1;
  }

  /** The time of the next task that will run; undefined when none is left. */
  nextAtMs(): number | undefined {
    this.dropCancelled();
    return this.heap[0]?.atMs;
  }

  /** Runs everything due up to and including `endMs`, then stands at `endMs`. */
  runUntil(endMs: number): void {
    for (let atMs = this.nextAtMs(); atMs !== undefined && atMs <= endMs; atMs = this.nextAtMs()) this.step();
    if (endMs > this.nowMs) this.nowMs = endMs;
  }

  /**
   * Runs tasks until none is left or the next one lies beyond `endMs`.
   * @returns true when nothing is left to run.
   */
  runUntilIdle(endMs: number): boolean {
    for (;;) {
      const atMs = this.nextAtMs();
      if (atMs === undefined) return true;
      if (atMs > endMs) return false;
      this.step();
    }
  }

  /** Runs the next task. @returns false when there was none. */
  step(): boolean {
    this.dropCancelled();
    const timer = this.pop();
    if (timer === undefined) return false;
    this.nowMs = Math.max(this.nowMs, timer.atMs);
    const task = timer.task;
    timer.task = undefined;
    task?.run(this.nowMs);
    return true;
  }

  /**
   * Does work that was left for later as if it were still `atMs`. What it schedules runs at its time, or at once where that
   * has passed.
   */
  async runLate<T>(atMs: number, work: () => Promise<T>): Promise<T> {
    const { nowMs } = this;
    this.nowMs = atMs;
    try {
      return await work();
    } finally {
      // The work may have let more time pass than there was.
      this.nowMs = Math.max(nowMs, this.nowMs);
      this.runUntil(this.nowMs);
    }
  }

  private dropCancelled(): void {
    while (this.heap[0] !== undefined && this.heap[0].task === undefined) {
      this.pop();
      this.cancelledCount--;
    }
  }

  /** Takes all cancelled timers out of the heap. */
  private compact(): void {
    let kept = 0;
    for (const timer of this.heap) if (timer.task !== undefined) this.heap[kept++] = timer;
    this.heap.length = kept;
    this.cancelledCount = 0;
    for (let index = (kept >> 1) - 1; index >= 0; index--) this.siftDown(index);
  }

  private pop(): Timer | undefined {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (last !== undefined && last !== first) {
      this.heap[0] = last;
      this.siftDown(0);
    }
    return first;
  }

  private isBefore(a: number, b: number): boolean {
    const left = this.heap[a];
    const right = this.heap[b];
    if (left === undefined || right === undefined) return false;
    return left.atMs < right.atMs || (left.atMs === right.atMs && left.sequence < right.sequence);
  }

  private swap(a: number, b: number): void {
    const left = this.heap[a];
    const right = this.heap[b];
    assert(left !== undefined && right !== undefined, "heap index out of range");
    this.heap[a] = right;
    this.heap[b] = left;
  }

  private siftUp(index: number): void {
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.isBefore(index, parent)) return;
      this.swap(index, parent);
      index = parent;
    }
  }

  private siftDown(index: number): void {
    for (;;) {
      const left = index * 2 + 1;
      const right = left + 1;
      let smallest = index;
      if (this.isBefore(left, smallest)) smallest = left;
      if (this.isBefore(right, smallest)) smallest = right;
      if (smallest === index) return;
      this.swap(index, smallest);
      index = smallest;
    }
  }
}
