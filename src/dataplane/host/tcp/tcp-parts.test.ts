/** The parts of TCP on their own, each against a simpler twin or a table of its RFC. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { RoundTripEstimator } from "./tcp-timers.ts";
import { CongestionWindow, SendBuffer, TcpSender } from "./tcp-sender.ts";
import { ReceiveSequence, addSequence, isAfter, isBefore, sequenceDistance } from "./tcp-segment.ts";
import { readSynOptions, synWindow } from "./tcp-negotiation.ts";

describe("sequence numbers", () => {
  it.each([
    [0, 1, -1],
    [1, 0, 1],
    [0, 0xffff_ffff, 1],
    [0xffff_ffff, 0, -1],
    [0x7fff_ffff, 0, 0x7fff_ffff],
    [5, 5, 0],
  ])("from %i to %i is %i", (a, b, distance) => {
    expect(sequenceDistance(a, b)).toBe(distance);
    expect([isAfter(a, b), isBefore(a, b)]).toEqual([distance > 0, distance < 0]);
  });

  it("wrap at 2^32", () => {
    expect(addSequence(0xffff_ffff, 2)).toBe(1);
  });
});

describe("the byte stream", () => {
  const stream = Uint8Array.from({ length: 400 }, (_value, index) => index & 0xff);
  const pieces = fc.array(
    fc.record({ start: fc.integer({ min: 0, max: 399 }), length: fc.integer({ min: 0, max: 80 }) }),
    { maxLength: 60 },
  );

  it("comes out in order whatever order, overlap and repetition it came in", () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 0, max: 0xffff_ffff }), (list, base) => {
        const sequence = new ReceiveSequence(base);
        const out: number[] = [];
        const has = new Set<number>();
        for (const { start, length } of list) {
          const bytes = stream.subarray(start, start + length);
          for (let index = start; index < start + bytes.length; index++) has.add(index);
          for (const ready of sequence.accept(addSequence(base, start), bytes)) out.push(...ready);
        }
        let expected = 0;
        while (has.has(expected)) expected++;
        expect(out).toEqual([...stream.subarray(0, expected)]);
        expect(sequenceDistance(sequence.next, base)).toBe(expected);
        expect(sequence.hasGap).toBe([...has].some((index) => index > expected));
      }),
    );
  });

  it("keeps a bounded amount of what came early", () => {
    const sequence = new ReceiveSequence(0);
    for (let index = 0; index < 60_000; index++) sequence.accept(1 + index, new Uint8Array(1_400));
    expect(sequence.accept(0, new Uint8Array(1)).reduce((sum, bytes) => sum + bytes.length, 0)).toBeLessThan(
      300_000,
    );
  });

  it("is what a send buffer gives back, from any place, after any acknowledgement", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("append" as const), length: fc.integer({ min: 0, max: 50 }) }),
      fc.record({ kind: fc.constant("discard" as const), length: fc.integer({ min: 0, max: 60 }) }),
      fc.record({ kind: fc.constant("read" as const), length: fc.integer({ min: 0, max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const buffer = new SendBuffer();
        let twin: number[] = [];
        let nextByte = 0;
        for (const { kind, length } of steps) {
          if (kind === "append") {
            const bytes = Uint8Array.from({ length }, () => nextByte++ & 0xff);
            buffer.append(bytes);
            twin.push(...bytes);
          } else if (kind === "discard") {
            const count = Math.min(length, twin.length);
            buffer.discard(count);
            twin = twin.slice(count);
          } else {
            const offset = Math.min(length, twin.length);
            const target = new Uint8Array(twin.length - offset);
            buffer.read(offset, target);
            expect([...target]).toEqual(twin.slice(offset));
          }
          expect(buffer.length).toBe(twin.length);
        }
      }),
    );
  });
});

describe("the retransmission time-out (RFC 6298)", () => {
  const bounds = { retransmissionInitialMs: 1_000, retransmissionMinMs: 200, retransmissionMaxMs: 60_000 };

  it.each([
    [[], 1_000, "the initial one"],
    [[100], 300, "a first measure: itself and four times half of it"],
    [[100, 100], 250, "the same again: the variation falls to three quarters"],
    [[10], 200, "never below the minimum"],
  ])("after round trips %j is %i ms: %s", (trips, expected) => {
    const estimator = new RoundTripEstimator(bounds);
    for (const trip of trips) estimator.measure(trip);
    expect(estimator.timeoutMs).toBe(expected);
  });

  it("doubles up to the maximum, and falls back with new data acknowledged", () => {
    const estimator = new RoundTripEstimator(bounds);
    const times = Array.from({ length: 8 }, () => {
      estimator.backOffOnce();
      return estimator.timeoutMs;
    });
    expect(times).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    estimator.resetBackOff();
    expect(estimator.timeoutMs).toBe(1_000);
  });
});

describe("the congestion window (RFC 5681, RFC 6582)", () => {
  it("doubles per round trip in slow start, then grows by a segment", () => {
    const window = new CongestionWindow(1_000, 2);
    for (const acknowledged of [1_000, 2_000]) window.acknowledge(1_000, acknowledged);
    expect(window.bytes).toBe(4_000);
    window.timeOut(8_000, 100_000);
    expect(window.bytes).toBe(1_000);
    for (let count = 1; count <= 3; count++) window.acknowledge(1_000, 2_000 + count * 1_000);
    expect(window.bytes).toBe(4_000);
    window.acknowledge(1_000, 6_000);
    expect(window.bytes).toBe(4_250);
  });

  it("sends again on the third duplicate, and on partial acknowledgements until all of it is there", () => {
    const window = new CongestionWindow(1_000, 10);
    expect([1, 2, 3, 4].map(() => window.duplicate(10_000, 10_000))).toEqual([false, false, true, false]);
    expect(window.bytes).toBe(5_000 + 3_000 + 1_000);
    expect(window.acknowledge(2_000, 3_000)).toBe(true);
    expect(window.acknowledge(7_000, 10_000)).toBe(false);
    expect([window.bytes, window.isRecovering]).toEqual([5_000, false]);
    // RFC 5681 §3.1: behind the recovery it grows by a segment in a round trip.
    window.acknowledge(5_000, 15_000);
    expect(window.bytes).toBe(5_200);
  });

  it("what was sent before the timer ran out begins no recovery (RFC 6675 §5.1)", () => {
    const window = new CongestionWindow(1_000, 10);
    expect(window.mayRecover(1)).toBe(true);
    window.timeOut(10_000, 10_000);
    expect([9_999, 10_000].map((at) => window.mayRecover(at))).toEqual([false, true]);
    window.recover(8_000, 18_000);
    expect([17_999, 18_000].map((at) => window.mayRecover(at))).toEqual([false, true]);
    expect([window.bytes, window.isRecovering]).toEqual([4_000, true]);
  });
});

describe("the sending half", () => {
  class Sink {
    readonly sent: string[] = [];
    readonly extraOptionBytes = 0;
    isGivenUp = false;

    emitSegment(sequence: number, flags: number, payload: Uint8Array): void {
      this.sent.push(`${sequence}+${payload.length}${(flags & TcpFlag.fin) === 0 ? "" : " FIN"}`);
    }

    retransmissionsFailed(): void {
      this.isGivenUp = true;
    }
  }

  function make(windowBytes: number) {
    const clock = new VirtualClock();
    const sink = new Sink();
    const estimator = new RoundTripEstimator({
      retransmissionInitialMs: 1_000,
      retransmissionMinMs: 300,
      retransmissionMaxMs: 60_000,
    });
    const sender = new TcpSender({
      sink,
      clock,
      estimator,
      start: 100,
      segmentBytes: 1_000,
      initialWindowSegments: 10,
      retriesMax: 5,
      nagle: "any",
    });
    sender.setWindow(1, 100, windowBytes);
    const acknowledge = (acknowledgment: number, window: number): void => {
      sender.acknowledge({ acknowledgment, sequence: 1, windowBytes: window, isPure: true, sacked: [] });
    };
    return { clock, sink, sender, acknowledge };
  }

  it("stays inside the peer's window", () => {
    const { sink, sender, acknowledge } = make(2_500);
    sender.append(new Uint8Array(5_000));
    sender.pump();
    // The half segment that would fit waits (silly window avoidance).
    expect(sink.sent).toEqual(["100+1000", "1100+1000"]);
    acknowledge(1_100, 2_500);
    expect(sink.sent.slice(2)).toEqual(["2100+1000"]);
  });

  // RFC 5681 §2: what says nothing new, holds no data, and has the window of the one before, while data are under way.
  it.each([
    ["three that are equal are of a lost segment", [9_000, 9_000, 9_000], ["100+1000"]],
    ["another window is no duplicate", [9_001, 9_002, 9_003], []],
    ["nor are two of them", [9_000, 9_000], []],
    ["nor a closed window", [0, 0, 0], []],
  ] as const)("acknowledgements: %s", (_title, windows, resent) => {
    const { sink, sender, acknowledge } = make(9_000);
    sender.append(new Uint8Array(9_000));
    sender.pump();
    expect(sink.sent).toHaveLength(9);
    sink.sent.length = 0;
    for (const window of windows) acknowledge(100, window);
    expect(sink.sent).toEqual(resent);
  });

  it("probes a closed window with one byte, for ever, and goes on when it opens", () => {
    const { clock, sink, sender, acknowledge } = make(0);
    sender.append(new Uint8Array(1_500));
    sender.pump();
    expect(sink.sent).toEqual([]);
    for (let count = 0; count < 20; count++) {
      clock.runUntil(clock.nowMs + 60_000);
      acknowledge(100, 0);
    }
    expect(new Set(sink.sent)).toEqual(new Set(["100+1"]));
    expect(sink.isGivenUp).toBe(false);
    sink.sent.length = 0;
    acknowledge(100, 5_000);
    expect(sink.sent).toEqual(["100+1000"]);
  });

  it("puts FIN on the last segment, and sends it again with it", () => {
    const { clock, sink, sender, acknowledge } = make(5_000);
    sender.append(new Uint8Array(1_200));
    sender.finish();
    sender.pump();
    expect(sink.sent).toEqual(["100+1000", "1100+200 FIN"]);
    acknowledge(1_100, 5_000);
    sink.sent.length = 0;
    clock.runUntil(2_000);
    expect(sink.sent).toEqual(["1100+200 FIN", "1100+200 FIN"]);
    expect(sender.isFinishAcknowledged).toBe(false);
    acknowledge(1_301, 5_000);
    expect(sender.isFinishAcknowledged).toBe(true);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  it("gives up after as many retries as it is told", () => {
    const { clock, sink, sender } = make(5_000);
    sender.append(new Uint8Array(10));
    sender.pump();
    clock.runUntil(1_000_000);
    expect([sink.sent.length, sink.isGivenUp]).toEqual([6, true]);
  });

  it("takes at most 4 MiB, and nothing after finish", () => {
    const { sender } = make(0);
    expect(sender.append(new Uint8Array(4_194_304))).toBe(true);
    expect(sender.append(new Uint8Array(1))).toBe(false);
  });
});

describe("SYN options and windows", () => {
  it.each([
    ["windows", 1_410, false, false, 64_860],
    ["windows", 1_460, false, false, 64_240],
    ["windows", 1_410, true, false, 65_535],
    ["linux", 1_460, false, true, 64_240],
    ["linux", 1_460, true, true, 65_160],
    ["linux", 1_460, true, false, 64_240],
  ] as const)(
    "%s, MSS %i, answer %s, timestamps %s: window %i",
    (style, mss, isAnswer, hasTimestamps, window) => {
      expect(synWindow(style, mss, isAnswer, hasTimestamps)).toBe(window);
    },
  );

  it("a peer that says nothing gets 536 bytes; nonsense is bounded", () => {
    expect(readSynOptions(new Uint8Array(0)).mssBytes).toBe(536);
    expect(readSynOptions(Uint8Array.of(2, 4, 0, 1)).mssBytes).toBe(88);
    expect(readSynOptions(Uint8Array.of(3, 3, 200, 0)).windowScale).toBe(14);
    expect(readSynOptions(Uint8Array.of(2, 40, 5, 180))).toEqual({
      mssBytes: 536,
      windowScale: undefined,
      isSackPermitted: false,
      timestamp: undefined,
    });
  });
});
