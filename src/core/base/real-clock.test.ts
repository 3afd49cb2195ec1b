import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RealClock } from "./real-clock.node.ts";

const DAY_MS = 86_400_000;

describe("RealClock", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("starts at zero and moves with the machine", () => {
    const clock = new RealClock();
    expect(clock.nowMs).toBe(0);
    vi.advanceTimersByTime(250);
    expect(clock.nowMs).toBe(250);
  });

  it("runs tasks at their time, never early, and tells after each", () => {
    const ran: string[] = [];
    const clock = new RealClock({ afterTask: () => ran.push("told") });
    clock.schedule(100.5, { run: () => ran.push("late") });
    clock.schedule(20, { run: () => ran.push("soon") });
    vi.advanceTimersByTime(100);
    expect(ran).toEqual(["soon", "told"]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(["soon", "told", "late", "told"]);
  });

  it("forgets what is cancelled, and all of it when it stops", () => {
    let count = 0;
    const clock = new RealClock();
    const task = { run: () => count++ };
    clock.cancel(clock.schedule(10, task));
    clock.schedule(20, task);
    clock.stop();
    vi.advanceTimersByTime(100);
    expect(count).toBe(0);
  });

  it("waits longer than a timer of Node can", () => {
    let ranAtMs = 0;
    const clock = new RealClock();
    clock.schedule(30 * DAY_MS, { run: (nowMs) => (ranAtMs = nowMs) });
    vi.advanceTimersByTime(29 * DAY_MS);
    expect(ranAtMs).toBe(0);
    vi.advanceTimersByTime(DAY_MS);
    expect(ranAtMs).toBe(30 * DAY_MS);
  });
});
