import { expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { SyncRunner, burstOf } from "./sync-runner.ts";

interface Bench {
  readonly clock: VirtualClock;
  readonly runner: SyncRunner;
  /** When syncs began, in seconds; `p` behind those that nobody asked for. */
  readonly runs: string[];
  readonly advanceTo: (seconds: number) => Promise<void>;
}

/** Syncs of `durationMs`; the first `failures` ask for another try after 2 s. */
function bench(burst: number, { durationMs = 0, failures = 0 } = {}): Bench {
  const clock = new VirtualClock();
  const runs: string[] = [];
  let left = failures;
  const runner = new SyncRunner({
    clock,
    minIntervalMs: 1_000,
    maxIntervalMs: 30_000,
    burst,
    run: async (isPeriodic) => {
      runs.push(`${clock.nowMs / 1_000}${isPeriodic ? "p" : ""}`);
      if (durationMs > 0)
        await new Promise<void>((resolve) => void clock.schedule(durationMs, { run: () => resolve() }));
      return left-- > 0 ? 2_000 : undefined;
    },
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    clock,
    runner,
    runs,
    advanceTo: async (seconds) => {
      await settle();
      for (
        let atMs = clock.nextAtMs();
        atMs !== undefined && atMs <= seconds * 1_000;
        atMs = clock.nextAtMs()
      ) {
        clock.step();
        await settle();
      }
      clock.runUntil(seconds * 1_000);
    },
  };
}

it("runs when asked, and every 30 s when nobody asks (kube-proxy.md §2.6)", async () => {
  const { runner, runs, advanceTo } = bench(0);
  runner.start();
  await advanceTo(10);
  runner.request();
  await advanceTo(75);
  expect(runs).toEqual(["10", "40p", "70p"]);
});

it("1.34 and later: time passes between the end of one and the beginning of the next", async () => {
  const { runner, runs, advanceTo } = bench(burstOf(34), { durationMs: 500 });
  runner.start();
  runner.request();
  await advanceTo(0.1);
  runner.request();
  runner.request();
  await advanceTo(1.2);
  expect(runs).toEqual(["0"]);
  await advanceTo(1.6);
  expect(runs).toEqual(["0", "1.5"]);
});

it("1.33 and earlier: two at once, then one a second", async () => {
  const { runner, runs, advanceTo } = bench(burstOf(33));
  runner.start();
  for (const seconds of [0, 0.1, 0.2, 0.3]) {
    await advanceTo(seconds);
    runner.request();
  }
  await advanceTo(5);
  expect(runs).toEqual(["0", "0.1", "1"]);
});

it("what failed is tried again when it asks for it", async () => {
  const { runner, runs, advanceTo } = bench(0, { failures: 2 });
  runner.start();
  runner.request();
  await advanceTo(20);
  expect(runs).toEqual(["0", "2p", "4p"]);
});

it("begins nothing after stop, and waits for what runs", async () => {
  const { runner, runs, advanceTo } = bench(0, { durationMs: 5_000 });
  runner.start();
  runner.request();
  await advanceTo(1);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    await runner.stop();
    isStopped = true;
  };
  const stopped = stop();
  await advanceTo(4);
  expect(isStopped).toBe(false);
  await advanceTo(100);
  await stopped;
  expect(runs).toEqual(["0"]);
});
