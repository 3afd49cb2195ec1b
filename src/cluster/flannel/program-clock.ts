/**
 * The time of programs that belong to no world: what they have scheduled is kept apart from the world's clock, so that a
 * fork has none of it.
 */
import { type Clock, type Task, type Timer, VirtualClock } from "../../base/clock.ts";

/** Says the world's time, and runs what is due when somebody asks it to. */
export class ProgramClock implements Clock {
  private readonly world: Pick<Clock, "nowMs">;
  private readonly own = new VirtualClock();

  constructor(world: Pick<Clock, "nowMs">) {
    this.world = world;
  }

  get nowMs(): number {
    return this.world.nowMs;
  }

  /** When something is due next; undefined: nothing is. */
  get nextAtMs(): number | undefined {
    return this.own.nextAtMs();
  }

  schedule(afterMs: number, task: Task): Timer {
    this.runDue();
    return this.own.schedule(afterMs, task);
  }

  cancel(timer: Timer): void {
    this.own.cancel(timer);
  }

  /** Runs what the world's time has made due. */
  runDue(): void {
    if (this.own.nowMs < this.nowMs) this.own.runUntil(this.nowMs);
  }
}
