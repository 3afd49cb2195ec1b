// A flow cache answers as the tables do. What the twins send and change is chance with a fixed seed; the long test goes on with others.
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { TWIN_TOPOLOGIES } from "#test/support/dataplane/twin-topologies.ts";
import { TwinWorld } from "#test/support/dataplane/logical-twins.ts";
import { headersOf } from "#test/support/dataplane/engine-kit.ts";
import { frameOf } from "#test/support/dataplane/logical-world.ts";
import { KnownPorts } from "#test/support/dataplane/switch-kit.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Packet } from "#core/wire/packet.ts";
import { Chassis } from "./chassis.ts";
import { FlowCache } from "./flow-cache.ts";
import type { FlowOrigin } from "./frame-key.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { PassageConditions } from "./passage-conditions.ts";

const PACKETS = 120;

describe("with and without a flow cache, frames and connections are the same", () => {
  it.each(TWIN_TOPOLOGIES)("%s", (name, options) => {
    const told = new TwinWorld(options(), new Prng(`cache ${name}`)).run(PACKETS);
    expect(told.hits).toBeGreaterThan(PACKETS / 40);
    expect(told.delivered).toBeGreaterThan(PACKETS / 10);
    expect(told.dropped).toBeGreaterThan(PACKETS / 20);
  });
});

describe("ways with one hash", () => {
  /** Both words that the hash mixes by XOR change alike: as many frames with one hash as there are words. */
  function frameOfOneHash(index: number): Packet {
    const packet = frameOf({
      inport: "a",
      from: "02:00:00:00:00:01",
      to: "02:00:00:00:00:02",
      source: "10.0.0.2",
      destination: "10.0.0.3",
      protocol: "udp",
    });
    for (const at of [4, 8])
      packet.view.setInt32(packet.start + at, packet.view.getInt32(packet.start + at) ^ index);
    return packet;
  }

  function cacheOf() {
    const southbound = {
      datapaths: [],
      ports: [],
      flows: [],
      groups: [],
      addressSets: [],
      portGroups: [],
      macBindings: [],
      loadBalancers: [],
      fdb: [],
      chassis: [],
      dns: [],
    };
    const network = new LogicalNetwork(southbound);
    const chassis = new Chassis(new Set(), new VirtualClock());
    const { tables } = new KnownPorts({ a: { kind: "container", mac: 1 as Mac } });
    const cache = new FlowCache();
    cache.settle(network, chassis, tables);
    const settled = { network, chassis, tables };
    const remember = (origin: FlowOrigin, packet: Packet): void =>
      cache.remember(
        origin,
        packet,
        headersOf(packet),
        new PassageConditions(),
        { kind: "output", port: "b" },
        packet,
        settled,
      );
    const knows = (origin: FlowOrigin, packet: Packet): boolean =>
      cache.find(origin, packet, headersOf(packet), 0) !== undefined;
    return { remember, knows };
  }

  it("are few at a time, so that nobody who makes frames of one hash slows the others: the oldest go", () => {
    const { remember, knows } = cacheOf();
    const frames = Array.from({ length: 100 }, (_, index) => frameOfOneHash(index));
    for (const frame of frames) remember("wire", frame);
    const known = frames.map((frame) => knows("wire", frame));
    expect(known.filter(Boolean).length).toBeLessThanOrEqual(16);
    expect(known.slice(-16)).toEqual(Array.from({ length: 16 }, () => true));
    expect(known[0]).toBe(false);
  });

  it("are known by their whole key, each by the tunnel that it came from", () => {
    const { remember, knows } = cacheOf();
    const [one, other] = [frameOfOneHash(0), frameOfOneHash(1)];
    const keys = { datapath: 1, ingressPort: 2, egressPort: 3 };
    remember(keys, one);
    expect(knows({ ...keys }, one)).toBe(true);
    expect(knows(keys, other)).toBe(false);
    for (const changed of [{ datapath: 2 }, { ingressPort: 3 }, { egressPort: 4 }])
      expect(knows({ ...keys, ...changed }, one)).toBe(false);
  });
});
