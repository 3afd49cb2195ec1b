// What a switch does with a frame that a port's pipeline delays, turns round, or cannot decide about; and with super frames.
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import { Prng } from "#core/base/prng.ts";
import { fork } from "#core/base/fork.ts";
import type { Device } from "../device/device.ts";
import type { Mac } from "#core/net/mac.ts";
import { MACS, W1, W2, group, headersOf, ip, layer, rule, tcp } from "#test/support/dataplane/engine-kit.ts";
import type { Action, LayerDefinition } from "../vfp/rule.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { type Decision, toPorts } from "./decision.ts";
import type { SwitchPort, SwitchPortKind } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";
import { VirtualSwitch } from "./virtual-switch.ts";

const A = "10.244.1.10";
const C = "10.244.2.10";

class TimedDevice implements Device {
  readonly mtuBytes = 1500;
  readonly sent: { readonly atMs: number; readonly packet: Packet }[] = [];
  private readonly clock: VirtualClock;
  constructor(clock: VirtualClock) {
    this.clock = clock;
  }
  attach(): void {}
  transmit(packet: Packet): boolean {
    this.sent.push({ atMs: this.clock.nowMs, packet });
    return true;
  }
}

let clock: VirtualClock;
let virtualSwitch: VirtualSwitch;
let wires: Map<string, TimedDevice>;

beforeEach(() => {
  clock = new VirtualClock();
  virtualSwitch = new VirtualSwitch(
    { clock, prng: new Prng(1), recorder: undefined },
    { node: "w1", id: "s", name: "s" },
  );
  wires = new Map();
});

function port(
  name: string,
  kind: SwitchPortKind,
  mac: Mac,
  layers: readonly LayerDefinition[] = [],
): SwitchPort {
  const device = new TimedDevice(clock);
  wires.set(name, device);
  return virtualSwitch.addPort({ id: name, name, kind, mac, device, layers });
}

/** When which wire got what, in order of time: `2.5 uplink`. */
function arrivals(): string[] {
  return [...wires]
    .flatMap(([name, { sent }]) => sent.map(({ atMs }) => ({ atMs, name })))
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, name }) => `${atMs} ${name}`);
}

/** 1 000 bytes with all headers, from A to C's MAC. */
function segment(sequence = 1, payloadBytes = 946): Packet {
  return tcp([A, 5000], [C, 80], TcpFlag.ack, { sequence, payload: new Uint8Array(payloadBytes) });
}

/** 1 byte per microsecond; the first 1 000 bytes go at once, 3 000 may wait. */
const RATE: Action = { type: "qos", bytesPerSecond: 1_000_000, burstBytes: 1_000, queueBytes: 3_000 };

describe("a rate", () => {
  it("DT-026: lets frames go one after the other on the way out; what finds the queue full is dropped", () => {
    const a = port("a", "container", MACS.Am, [layer("QOS", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("QOS", [group([rule("qos", RATE)])]);
    for (let i = 0; i < 6; i++) virtualSwitch.handleFrame(a, segment());
    clock.runUntil(100);
    expect(arrivals()).toEqual(["0 uplink", "1 uplink", "2 uplink", "3 uplink"]);
    expect(a.vfp.drops.get("bandwidth-exceeded")).toBe(2);
    expect(a.counters.out).toEqual({ packets: 4, bytes: 4_000, drops: 2 });
  });

  it("holds on the way in as well, and to those that follow a flow", () => {
    const a = port("a", "container", MACS.W1dr, [layer("QOS", 1)]);
    const uplink = port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("QOS", [group([rule("qos", RATE)], { direction: "in" })]);
    for (let i = 0; i < 3; i++) virtualSwitch.handleFrame(uplink, segment());
    clock.runUntil(100);
    expect(arrivals()).toEqual(["0 a", "1 a", "2 a"]);
  });

  it("a copy of the world goes on with what waits", () => {
    const a = port("a", "container", MACS.Am, [layer("QOS", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("QOS", [group([rule("qos", RATE)])]);
    for (let i = 0; i < 3; i++) virtualSwitch.handleFrame(a, segment());
    const copy = fork({ clock, wires });
    copy.clock.runUntil(100);
    expect(copy.wires.get("uplink")!.sent.map(({ atMs }) => atMs)).toEqual([0, 1, 2]);
    expect(arrivals()).toEqual(["0 uplink"]);
  });

  it("what waits at a port that goes is dropped and counted", () => {
    const a = port("a", "container", MACS.Am, [layer("QOS", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("QOS", [group([rule("qos", RATE)])]);
    for (let i = 0; i < 2; i++) virtualSwitch.handleFrame(a, segment());
    virtualSwitch.removePort("a");
    clock.runUntil(100);
    expect(arrivals()).toEqual(["0 uplink"]);
    expect(virtualSwitch.drops.get("switch-port-unknown")).toBe(1);
  });
});

describe("a hairpin layer", () => {
  const hairpin = [layer("HAIRPIN", 1, { isHairpin: true })];

  it("on the way out gives the frame back to its sender", () => {
    const a = port("a", "container", MACS.Am, hairpin);
    port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("HAIRPIN", [group([rule("turn", { type: "allow" })])]);
    virtualSwitch.handleFrame(a, segment());
    expect(arrivals()).toEqual(["0 a"]);
  });

  it("ports that turn a frame to each other for ever: it is dropped with a code, and nothing throws", () => {
    const to = (mac: Mac): Action => ({ type: "transpose", destinationMac: mac, sourceMac: MACS.Rm });
    const h = port("h", "host", MACS.W1m, hairpin);
    const a = port("a", "container", MACS.Am, hairpin);
    const uplink = port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("HAIRPIN", [group([rule("to h", to(MACS.W1m))], { direction: "in" })]);
    h.vfp.setGroups("HAIRPIN", [group([rule("to a", to(MACS.Am))], { direction: "in" })]);
    const frame = segment();
    frame.bytes.set([0x0e, 0x2a, 0x0a, 0xf4, 0x01, 0x0a], frame.start);
    virtualSwitch.handleFrame(uplink, frame);
    expect(arrivals()).toEqual([]);
    expect(virtualSwitch.drops.get("forwarding-loop")).toBe(1);
    expect(uplink.counters.out.packets).toBe(1);
  });
});

describe("a next hop that never comes", () => {
  it("PendingTimeout: what waits is dropped after 15 s, each frame at its own time", () => {
    const a = port("a", "container", MACS.Am, [layer("PA_ROUTE", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.nextHopResolver = { resolve: () => "pending" };
    a.vfp.setGroups("PA_ROUTE", [group([rule("route", { type: "paroute" })])]);
    virtualSwitch.handleFrame(a, segment());
    clock.runUntil(5_000);
    virtualSwitch.handleFrame(a, segment());
    clock.runUntil(15_000);
    expect(virtualSwitch.drops.get("next-hop-unresolved")).toBe(1);
    clock.runUntil(20_000);
    expect(virtualSwitch.drops.get("next-hop-unresolved")).toBe(2);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  it("keeps 2000 packets at most", () => {
    const a = port("a", "container", MACS.Am, [layer("PA_ROUTE", 1)]);
    a.vfp.nextHopResolver = { resolve: () => "pending" };
    a.vfp.setGroups("PA_ROUTE", [group([rule("route", { type: "paroute" })])]);
    for (let i = 0; i < 2_003; i++) virtualSwitch.handleFrame(a, segment());
    expect(virtualSwitch.drops.get("pending-packets-full")).toBe(3);
    expect(LIMITS.pendingPacketsPerPortMax).toBe(2_000);
  });
});

describe("a super frame", () => {
  /** 3 000 bytes of a connection whose MSS is 1 410, as dataplane.md §6.10 has it. */
  function superFrame(flags: number = TcpFlag.ack | TcpFlag.psh | TcpFlag.fin): Packet {
    const packet = tcp([A, 5000], [C, 80], flags, { sequence: 0x1000, payload: new Uint8Array(3_000) });
    packet.segmentBytes = 1_410;
    return packet;
  }
  const onUplink = (name: string): (string | undefined)[] =>
    wires
      .get("uplink")!
      .sent.map(({ packet }) => listFields(packet.frame).find(({ field }) => field === name)?.value);

  it("is rewritten whole and cut for the wire: one rewrite, three segments", () => {
    const a = port("a", "container", MACS.Am, [layer("NAT", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.setGroups("NAT", [
      group([rule("nat", { type: "nat", side: "source", ip: W1 }, { isStateful: true })]),
    ]);
    virtualSwitch.handleFrame(a, superFrame());
    expect(a.vfp.packets.out).toBe(1);
    expect(wires.get("uplink")!.sent.map(({ packet }) => describeFrame(packet.frame))).toEqual([
      "TCP 10.0.0.11:5000 → 10.244.2.10:80 ACK 1410 bytes",
      "TCP 10.0.0.11:5000 → 10.244.2.10:80 ACK 1410 bytes",
      "TCP 10.0.0.11:5000 → 10.244.2.10:80 FIN PSH ACK 180 bytes",
    ]);
    expect(onUplink("tcp.seq_raw")).toEqual(["4096", "5506", "6916"]);
    const isSound = ({ packet }: { packet: Packet }): boolean =>
      verifyChecksums(packet.bytes, headersOf(packet)) === undefined;
    expect(wires.get("uplink")!.sent.every(isSound)).toBe(true);
  });

  it("DT-184: gets outer headers once, and on the wire each segment has them and fits", () => {
    const a = port("a", "container", MACS.Am, [layer("ENCAP", 1)]);
    port("uplink", "external", MACS.W1m);
    a.vfp.address = { providerIpv4: W1, customerAddresses: [ip(A)], fakeMac: MACS.W1m, flags: 336 };
    const destinations = [{ providerAddress: W2, providerMac: MACS.W2m }];
    a.vfp.setGroups("ENCAP", [
      group([rule("encap", { type: "routeencap", encapsulation: "vxlan", tni: 4096, destinations })]),
    ]);
    virtualSwitch.handleFrame(a, superFrame());
    expect(a.vfp.packets.out).toBe(1);
    expect(onUplink("ip.len")).toEqual(["1500", "1500", "270"]);
    for (const { packet } of wires.get("uplink")!.sent)
      expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
    expect(onUplink("inner.tcp.flags")).toEqual(["ACK", "ACK", "FIN PSH ACK"]);
  });

  it("stays whole on the way to a port of the same switch", () => {
    const a = port("a", "container", MACS.Am);
    port("b", "container", MACS.W1dr);
    virtualSwitch.handleFrame(a, superFrame());
    expect(wires.get("b")!.sent.map(({ packet }) => packet.length)).toEqual([3_054]);
  });

  it.each([
    ["stays whole", undefined, [3_104]],
    ["is cut before an extension, in which tunnels of OVN end", "hub", [1_514, 1_514, 284]],
  ])("in a tunnel from the wire %s", (_, name, lengths) => {
    const uplink = port("uplink", "external", MACS.W1m);
    port("b", "container", MACS.W2m);
    if (name !== undefined) {
      const decide = ({ ports }: SwitchTables): Decision =>
        toPorts(
          ports.filter((each) => each !== uplink),
          name,
        );
      virtualSwitch.extension = { name, decide };
    }
    const packet = superFrame();
    encapsulateVxlan(packet, {
      link: { sourceMac: MACS.W1m, destinationMac: MACS.W2m },
      ip: { source: W1, destination: W2, ttl: 64, identification: 0, isDontFragment: true },
      sourcePort: 50_000,
      vni: 4_096,
    });
    packet.outerBytes = 50;
    virtualSwitch.handleFrame(uplink, packet);
    expect(wires.get("b")!.sent.map(({ packet: { length } }) => length)).toEqual(lengths);
  });

  it("that cannot be one, as a SYN, is too long for the wire", () => {
    const a = port("a", "container", MACS.Am);
    port("uplink", "external", MACS.W1m);
    virtualSwitch.handleFrame(a, superFrame(TcpFlag.syn));
    expect(arrivals()).toEqual([]);
    expect(virtualSwitch.drops.get("mtu-exceeded")).toBe(1);
  });
});
