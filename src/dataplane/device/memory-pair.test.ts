import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { fork } from "#core/base/fork.ts";
import { Packet } from "#core/wire/packet.ts";
import { describeDevice } from "#test/support/dataplane/device-contract.ts";
import type { Receiver } from "./device.ts";
import { type MemoryDevice, memoryPair } from "./memory-pair.ts";

/** Notes when which frame arrived, by its first byte. */
class Notebook implements Receiver {
  readonly notes: string[] = [];
  private readonly clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  receive(packet: Packet): void {
    this.notes.push(`${this.clock.nowMs}: ${packet.frame[0]}`);
  }
}

function frame(first: number): Packet {
  return Packet.fromFrame(Uint8Array.of(first, 0));
}

interface Scene {
  readonly clock: VirtualClock;
  readonly left: MemoryDevice;
  readonly right: MemoryDevice;
  readonly atLeft: Notebook;
  readonly atRight: Notebook;
}

function scene(delayMs: number): Scene {
  const clock = new VirtualClock();
  const [left, right] = memoryPair(clock, { delayMs });
  const atLeft = new Notebook(clock);
  const atRight = new Notebook(clock);
  left.attach(atLeft);
  right.attach(atRight);
  return { clock, left, right, atLeft, atRight };
}

describeDevice("a cable in memory", () => {
  const clock = new VirtualClock();
  const [left, right] = memoryPair(clock, { delayMs: 1 });
  return {
    left,
    right,
    run: async () => Promise.resolve(clock.runUntil(clock.nowMs + 10)),
    cut: () => (left.isUp = false),
    close: async () => Promise.resolve(),
  };
});

describeDevice("a cable whose frames travel by the burst", () => {
  const clock = new VirtualClock();
  const [left, right] = memoryPair(clock, { delayMs: 1 });
  left.joinFrames();
  return {
    left,
    right,
    run: async () => Promise.resolve(clock.runUntil(clock.nowMs + 10)),
    cut: () => (left.isUp = false),
    close: async () => Promise.resolve(),
  };
});

describe("frames that travel by the burst", () => {
  it("are one task, in their order among all others", () => {
    const { clock, left, right, atLeft, atRight } = scene(2);
    left.joinFrames();
    left.transmit(frame(1));
    left.transmit(frame(2));
    clock.schedule(2, { run: () => atRight.notes.push("a task between") });
    left.transmit(frame(3));
    right.transmit(frame(4));
    clock.step();
    expect(atRight.notes).toEqual(["2: 1", "2: 2"]);
    clock.runUntil(10);
    expect(atRight.notes).toEqual(["2: 1", "2: 2", "a task between", "2: 3"]);
    expect(atLeft.notes).toEqual(["2: 4"]);
  });

  it("what is sent while they arrive comes later", () => {
    const { clock, left, right, atRight } = scene(0);
    left.joinFrames();
    right.attach({
      receive: (packet) => {
        atRight.receive(packet);
        if (packet.frame[0] === 1) left.transmit(frame(3));
      },
    });
    left.transmit(frame(1));
    left.transmit(frame(2));
    clock.runUntil(1);
    expect(atRight.notes).toEqual(["0: 1", "0: 2", "0: 3"]);
  });
});

describe("memoryPair", () => {
  it("carries frames both ways, in order, after its delay", () => {
    const { clock, left, right, atLeft, atRight } = scene(2);
    expect(left.transmit(frame(1))).toBe(true);
    expect(left.transmit(frame(2))).toBe(true);
    right.transmit(frame(3));
    expect(atRight.notes).toEqual([]);
    clock.runUntil(10);
    expect(atRight.notes).toEqual(["2: 1", "2: 2"]);
    expect(atLeft.notes).toEqual(["2: 3"]);
  });

  it("never calls the receiver while the sender is still in transmit, not even without delay", () => {
    const { clock, left, atRight } = scene(0);
    left.transmit(frame(1));
    expect(atRight.notes).toEqual([]);
    clock.runUntil(0);
    expect(atRight.notes).toEqual(["0: 1"]);
  });

  it("has an MTU of 1500 bytes unless told otherwise", () => {
    const clock = new VirtualClock();
    expect(memoryPair(clock, { delayMs: 0 }).map((end) => end.mtuBytes)).toEqual([1500, 1500]);
    expect(memoryPair(clock, { delayMs: 0, mtuBytes: 9000 })[1].mtuBytes).toBe(9000);
  });

  it("loses frames when the cable is pulled, also those under way", () => {
    const { clock, left, right, atRight } = scene(5);
    left.transmit(frame(1));
    right.isUp = false;
    clock.runUntil(10);
    left.isUp = false;
    expect(left.transmit(frame(2))).toBe(false);
    right.isUp = true;
    left.isUp = true;
    left.transmit(frame(3));
    clock.runUntil(20);
    expect(atRight.notes).toEqual(["15: 3"]);
  });

  it("is data: a fork delivers its own copy of a frame under way", () => {
    const world = scene(5);
    world.left.transmit(frame(1));
    const copy = fork(world);
    copy.clock.runUntil(10);
    expect(copy.atRight.notes).toEqual(["5: 1"]);
    expect(world.atRight.notes).toEqual([]);
    world.clock.runUntil(10);
    expect(world.atRight.notes).toEqual(["5: 1"]);
  });
});
