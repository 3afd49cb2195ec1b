// A cluster's clock that follows the machine's; the machine's is a fake one here.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import type { ClusterSession } from "../session/session.ts";
import { RealTime } from "./real-time.node.ts";

let clock: VirtualClock;
let time: RealTime;
const ran: string[] = [];
const failures: unknown[] = [];
const session = {
  passTime: async () => Promise.resolve(ran.push("programs")),
} as unknown as ClusterSession;

function schedule(afterMs: number): void {
  clock.schedule(afterMs, { run: () => void ran.push(`${afterMs} ms`) });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  ran.length = 0;
  failures.length = 0;
  clock = new VirtualClock();
  clock.runUntil(60_000);
  time = new RealTime({
    clock,
    inTurn: async (work) => {
      try {
        return await work(session);
      } finally {
        time.arm();
      }
    },
    failed: (error) => failures.push(error),
  });
});

afterEach(() => {
  time.stop();
  vi.useRealTimers();
});

describe("a clock in real time", () => {
  it("does what is due when it is due, and sleeps until then", async () => {
    schedule(5);
    schedule(5_000);
    time.arm();
    await vi.advanceTimersByTimeAsync(3);
    expect(ran).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(ran).toEqual(["5 ms"]);
    expect(vi.getTimerCount()).toBe(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ran).toEqual(["5 ms", "5000 ms"]);
  });

  it("takes a frame through cables that are faster than a timer at once", () => {
    schedule(0.0625);
    time.catchUp();
    expect(ran).toEqual(["0.0625 ms"]);
  });

  it("takes frames through that come one after the other in one moment", () => {
    for (let index = 0; index < 8; index++) {
      schedule(0.0625);
      time.catchUp();
      expect(ran).toHaveLength(index + 1);
    }
  });

  it("does not run ahead of the machine's clock by more than a timer's length, however many frames come", () => {
    for (let index = 0; index < 100; index++) {
      schedule(0.0625);
      time.catchUp();
    }
    expect(clock.nowMs - 60_000).toBeLessThanOrEqual(1);
  });

  it("goes on from where a change has run ahead to", async () => {
    clock.runUntil(clock.nowMs + 5_000);
    time.catchUp();
    const aheadMs = clock.nowMs;
    schedule(10);
    await vi.advanceTimersByTimeAsync(8);
    time.catchUp();
    expect([ran, clock.nowMs - aheadMs]).toEqual([[], 8]);
    await vi.advanceTimersByTimeAsync(2);
    time.catchUp();
    expect(ran).toEqual(["10 ms"]);
  });

  it("lets programs do what they do without being told, every 10 s", async () => {
    await vi.advanceTimersByTimeAsync(25_000);
    expect(ran).toEqual(["programs", "programs"]);
  });

  it("tells of what goes wrong, and stops when it is told to", async () => {
    clock.schedule(1, {
      run: () => {
        throw new Error("a fault");
      },
    });
    schedule(3);
    time.arm();
    await vi.advanceTimersByTimeAsync(1);
    expect(failures).toEqual([new Error("a fault")]);
    time.stop();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([ran, vi.getTimerCount()]).toEqual([[], 0]);
  });
});
