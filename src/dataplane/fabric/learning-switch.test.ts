import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { memoryPair } from "../device/memory-pair.ts";
import { BROADCAST_MAC, type Mac, formatMac } from "#core/net/mac.ts";
import {
  EventList,
  type TestEnvironment,
  mac,
  makeEnvironment,
} from "#test/support/dataplane/stack-world.ts";
import { buildEthernetFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { LearningSwitch } from "./learning-switch.ts";

const [A, B, C] = ["02-00-00-00-00-0A", "02-00-00-00-00-0B", "02-00-00-00-00-0C"].map(mac) as [Mac, Mac, Mac];

class Ear {
  readonly got: Packet[] = [];

  receive(packet: Packet): void {
    this.got.push(packet);
  }
}

function makeSegment(env: TestEnvironment = makeEnvironment()) {
  const segment = new LearningSwitch(env, { node: "underlay", place: "segment", kind: "wire" });
  const ears = ["a", "b", "c"].map((name) => {
    const device = segment.connect(name);
    const ear = new Ear();
    device.attach(ear);
    return { name, device, ear };
  });
  /** Sends a frame into a port; tells which ports gave it out. */
  const send = (port: string, sourceMac: Mac, destinationMac: Mac): string => {
    for (const { ear } of ears) ear.got.length = 0;
    const packet = buildEthernetFrame({
      link: { sourceMac, destinationMac },
      etherType: 0x88b5,
      payload: new Uint8Array(46),
    });
    packet.tag = 1;
    ears.find(({ name }) => name === port)!.device.transmit(packet);
    env.clock.runUntilIdle(env.clock.nowMs + 10);
    return ears.flatMap(({ name, ear }) => ear.got.map(() => name)).join("");
  };
  return { env, segment, send, ears };
}

describe("a learning switch", () => {
  it("floods what it does not know, and learns who sent", () => {
    const { send, segment } = makeSegment();
    const steps = [
      ["a", A, B, "bc", "B is unknown: everywhere but back"],
      ["b", B, A, "a", "A was learned"],
      ["a", A, B, "b", "B was learned"],
      ["a", A, BROADCAST_MAC, "bc", "broadcast goes everywhere"],
      ["a", A, mac("01-00-5E-00-00-FB"), "bc", "so does multicast"],
      ["a", A, A, "", "A is behind the same port"],
      ["a", A, mac("01-80-C2-00-00-00"), "", "bridges keep reserved addresses to themselves"],
      ["c", A, B, "b", "A moved to another port"],
      ["b", B, A, "c", "and is found there"],
    ] as const;
    for (const [port, source, destination, expected, why] of steps)
      expect(send(port, source, destination), why).toBe(expected);
    expect(
      segment.listMacs().map(({ mac: address, port }) => `${formatMac(address).slice(-2)} ${port}`),
    ).toEqual(["0A c", "0B b"]);
  });

  it("forgets an address 300 s after its last frame", () => {
    const { env, send } = makeSegment();
    send("b", B, A);
    env.clock.runUntil(299_000);
    expect(send("a", A, B)).toBe("b");
    env.clock.runUntil(301_000);
    expect(send("a", A, B)).toBe("bc");
  });

  it("refuses frames from group addresses and frames that are no frames", () => {
    const { send, segment, ears } = makeSegment();
    expect(send("a", BROADCAST_MAC, B)).toBe("");
    const packet = buildEthernetFrame({
      link: { sourceMac: A, destinationMac: B },
      etherType: 0,
      payload: new Uint8Array(0),
    });
    packet.end = packet.start + 10;
    ears[0]!.device.transmit(packet);
    expect(segment.listMacs()).toEqual([]);
  });

  it("remembers 16384 addresses; more are flooded, until old ones are forgotten", () => {
    const { env, send, segment, ears } = makeSegment();
    for (let index = 0; index < 16_400; index++) {
      const link = { sourceMac: (0x0200_0001_0000 + index) as Mac, destinationMac: C };
      ears[0]!.device.transmit(buildEthernetFrame({ link, etherType: 0x88b5, payload: new Uint8Array(0) }));
    }
    env.clock.runUntilIdle(1_000);
    expect(segment.listMacs()).toHaveLength(16_384);
    send("b", B, A);
    expect(send("a", A, B)).toBe("bc");
    env.clock.runUntil(400_000);
    send("b", B, A);
    expect(send("a", A, B)).toBe("b");
  });

  it("loses ports with what was learned from them", () => {
    const { send, segment } = makeSegment();
    send("b", B, A);
    segment.removePort("b");
    expect(segment.listPorts()).toEqual(["a", "c"]);
    expect(send("a", A, B)).toBe("c");
  });

  it("counts what a pulled cable lost", () => {
    const env = makeEnvironment();
    const segment = new LearningSwitch(env, { node: "n", place: "cbr0", kind: "switch" });
    const sender = segment.connect("a");
    const [near] = memoryPair(env.clock, { delayMs: 1 });
    segment.addPort("b", near);
    near.isUp = false;
    sender.transmit(
      buildEthernetFrame({
        link: { sourceMac: A, destinationMac: B },
        etherType: 0x88b5,
        payload: new Uint8Array(46),
      }),
    );
    env.clock.runUntilIdle(10);
    expect(segment.drops.get("interface-down")).toBe(1);
  });

  it("tells a trace where a frame went", () => {
    const env = makeEnvironment();
    const events = new EventList();
    env.recorder = events;
    const { send } = makeSegment(env);
    send("a", A, B);
    send("b", B, A);
    send("a", A, A);
    expect(
      events.events.map(({ event }) => `${event.kind} ${event.node}/${event.place}: ${event.text}`),
    ).toEqual([
      "wire underlay/segment: from a to all other ports, since 02-00-00-00-00-0B is unknown",
      "wire underlay/segment: from b to a",
      "drop underlay/segment: 02-00-00-00-00-0A is not behind another port",
    ]);
  });

  it("is copied with what it learned", () => {
    const { send, segment } = makeSegment();
    send("a", A, B);
    const copy = fork({ segment });
    send("b", B, A);
    expect([copy.segment.listMacs().length, segment.listMacs().length]).toEqual([1, 2]);
  });
});
