import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Clock, type Task, type Timer, VirtualClock } from "./clock.ts";
import { fork } from "./fork.ts";

/** Notes its name and the time at which it ran. */
class Note implements Task {
  private readonly notes: string[];
  private readonly name: string;

  constructor(notes: string[], name: string) {
    this.notes = notes;
    this.name = name;
  }

  run(nowMs: number): void {
    this.notes.push(`${this.name}@${nowMs}`);
  }
}

/** Runs again and again until a time. */
class Repeat implements Task {
  readonly times: number[] = [];
  private readonly clock: Clock;
  private readonly everyMs: number;
  private readonly untilMs: number;

  constructor(clock: Clock, everyMs: number, untilMs: number) {
    this.clock = clock;
    this.everyMs = everyMs;
    this.untilMs = untilMs;
  }

  run(nowMs: number): void {
    this.times.push(nowMs);
    if (nowMs + this.everyMs <= this.untilMs) this.clock.schedule(this.everyMs, this);
  }
}

describe("VirtualClock", () => {
  it("runs tasks in order of time, then of scheduling", () => {
    const clock = new VirtualClock();
    const notes: string[] = [];
    for (const [name, at] of [
      ["b", 5],
      ["c", 5],
      ["a", 1],
      ["d", 7],
    ] as const)
      clock.schedule(at, new Note(notes, name));
    clock.runUntil(5);
    expect(notes).toEqual(["a@1", "b@5", "c@5"]);
    expect(clock.nowMs).toBe(5);
    expect(clock.nextAtMs()).toBe(7);
  });

  it("a task without delay runs behind those that are due already, never at once", () => {
    const clock = new VirtualClock();
    const notes: string[] = [];
    clock.schedule(0, new Note(notes, "a"));
    clock.schedule(0, new Note(notes, "b"));
    expect(notes).toEqual([]);
    clock.runUntil(0);
    expect(notes).toEqual(["a@0", "b@0"]);
  });

  it("a task can schedule itself again, within the same run", () => {
    const clock = new VirtualClock();
    const repeat = new Repeat(clock, 10, 35);
    clock.schedule(10, repeat);
    expect(clock.runUntilIdle(1000)).toBe(true);
    expect(repeat.times).toEqual([10, 20, 30]);
    expect(clock.nowMs).toBe(30);
  });

  it("runUntilIdle stops at a time limit and says so", () => {
    const clock = new VirtualClock();
    const repeat = new Repeat(clock, 10, Number.POSITIVE_INFINITY);
    clock.schedule(10, repeat);
    expect(clock.runUntilIdle(25)).toBe(false);
    expect(repeat.times).toEqual([10, 20]);
    expect(clock.nowMs).toBe(20);
  });

  it("never goes back", () => {
    const clock = new VirtualClock();
    clock.runUntil(10);
    clock.runUntil(5);
    expect(clock.nowMs).toBe(10);
    expect(() => clock.schedule(-1, new Note([], "x"))).toThrow(/past/);
    expect(() => clock.schedule(Number.NaN, new Note([], "x"))).toThrow(/past/);
  });

  it("cancelled tasks do not run, and cancelling twice or too late does nothing", () => {
    const clock = new VirtualClock();
    const notes: string[] = [];
    const early = clock.schedule(1, new Note(notes, "early"));
    const gone = clock.schedule(2, new Note(notes, "gone"));
    clock.schedule(3, new Note(notes, "kept"));
    clock.cancel(gone);
    clock.cancel(gone);
    clock.runUntil(1);
    clock.cancel(early);
    expect(clock.nextAtMs()).toBe(3);
    expect(clock.step()).toBe(true);
    expect(clock.step()).toBe(false);
    expect(notes).toEqual(["early@1", "kept@3"]);
  });

  it("does not keep cancelled timers until their time: a world with many timers stays small", () => {
    const clock = new VirtualClock();
    const notes: string[] = [];
    clock.schedule(500, new Note(notes, "kept"));
    for (let i = 0; i < 10_000; i++) clock.cancel(clock.schedule(240_000, new Note(notes, "never")));
    const { heap } = clock as unknown as { heap: readonly Timer[] };
    expect(heap.length).toBeLessThan(200);
    expect(clock.runUntilIdle(Number.MAX_SAFE_INTEGER)).toBe(true);
    expect(notes).toEqual(["kept@500"]);
  });

  it("equals a sorted list, with any mix of scheduling, cancelling and stepping", () => {
    const operation = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("schedule" as const), afterMs: fc.nat(50) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("cancel" as const), which: fc.nat(200) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("step" as const) }) },
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 400 }), (operations) => {
        const clock = new VirtualClock();
        const notes: string[] = [];
        const expected: string[] = [];
        const timers: Timer[] = [];
        let pending: { name: string; atMs: number; order: number }[] = [];
        const runNaively = (): void => {
          const [next] = pending.toSorted((a, b) => a.atMs - b.atMs || a.order - b.order);
          if (next === undefined) return;
          pending = pending.filter((task) => task !== next);
          expected.push(`${next.name}@${next.atMs}`);
        };
        for (const [index, item] of operations.entries()) {
          if (item.kind === "schedule") {
            timers.push(clock.schedule(item.afterMs, new Note(notes, String(index))));
            pending.push({ name: String(index), atMs: clock.nowMs + item.afterMs, order: index });
          } else if (item.kind === "cancel") {
            const timer = timers[item.which % Math.max(1, timers.length)];
            if (timer === undefined) continue;
            const order = operations.flatMap(({ kind }, at) => (kind === "schedule" ? [at] : []))[
              timers.indexOf(timer)
            ];
            clock.cancel(timer);
            pending = pending.filter((task) => task.order !== order);
          } else {
            clock.step();
            runNaively();
          }
        }
        while (pending.length > 0) runNaively();
        clock.runUntilIdle(Number.MAX_SAFE_INTEGER);
        expect(notes).toEqual(expected);
      }),
    );
  });

  it("a fork has its own time and its own tasks", () => {
    const clock = new VirtualClock();
    const world = { clock, repeat: new Repeat(clock, 10, 100) };
    clock.schedule(10, world.repeat);
    const copy = fork(world);
    copy.clock.runUntil(30);
    expect(copy.repeat.times).toEqual([10, 20, 30]);
    expect(world.repeat.times).toEqual([]);
    expect(clock.nowMs).toBe(0);
  });
});
