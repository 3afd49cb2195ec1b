// Guards, limits, rates, marks, mirrors, TCP states and counters: the rows of dataplane.md §10 "Pipeline engine".
import { beforeEach, describe, expect, it, vi } from "vitest";
import { readU8 } from "#core/base/bytes.ts";
import { Prng } from "#core/base/prng.ts";
import { fork } from "#core/base/fork.ts";
import {
  MACS,
  ends,
  group,
  headersOf,
  ip,
  ip4,
  ip6,
  layer,
  link,
  mac,
  makePort,
  rule,
  send,
  tcp,
  udp,
} from "#test/support/dataplane/engine-kit.ts";
import { buildArpFrame, buildEthernetFrame, buildIpFrame, buildNdFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { NatPool } from "./actions/nat-pool.ts";
import { FlowTable } from "./flows/flow-table.ts";
import type { Action } from "./rule.ts";
import type { VfpPort } from "./vfp-port.ts";

const A = "10.244.1.10";
const C = "10.244.2.10";
const LAYER = "ACL_ENDPOINT_LAYER";
const { syn, ack, fin, rst } = TcpFlag;

let port: VfpPort;
/** One stateful allow rule for what goes out. */
beforeEach(() => {
  port = makePort([layer(LAYER, 15, { isDefaultAllow: false })]);
  port.setGroups(LAYER, [group([rule("allow", { type: "allow" }, { isStateful: true })])]);
});
const out = (flags: number, client = 5000): Packet => tcp([A, client], [C, 80], flags);
const back = (flags: number, client = 5000): Packet => tcp([C, 80], [A, client], flags);

describe("TCP states", () => {
  const connect = (nowMs: number, client = 5000): void => {
    send(port, "out", out(syn, client), nowMs);
    send(port, "in", back(syn | ack, client), nowMs);
    send(port, "out", out(ack, client), nowMs);
  };

  it("DT-019 FIN both ways, then a late RST: the entry goes on in TIME_WAIT for 240 s, then it is gone", () => {
    connect(0);
    send(port, "out", out(fin | ack), 1_000);
    send(port, "in", back(fin | ack), 1_000);
    expect(port.census.tcp.closedByFin).toBe(1);
    expect(send(port, "in", back(rst), 100_000)).toBe("pass");
    expect(send(port, "in", back(ack), 339_000)).toBe("pass");
    expect(send(port, "in", back(rst), 579_001)).toBe("drop");
    expect(port.census.tcp.expiredToTimeWait).toBe(1);
    expect(port.getLayer(LAYER)!.flowCount).toBe(0);
  });

  it("counts handshakes, resets, SYNs on living connections and idle ends as they are told by vfpctrl", () => {
    connect(0);
    expect(port.census.tcp).toMatchObject({ verified: 1, resetBySyn: 0 });
    send(port, "out", out(syn), 10);
    expect(port.census.tcp.resetBySyn).toBe(1);
    send(port, "in", back(rst | ack), 20);
    expect(port.census.tcp.reset).toBe(1);
    connect(0, 6000);
    send(port, "in", back(ack, 6000), 240_000);
    expect(port.census.tcp.timedOut).toBe(1);
    send(port, "out", out(syn, 7000), 0);
    send(port, "in", back(ack, 7000), 240_000);
    expect(port.census.tcp.halfOpenTimeouts).toBe(1);
    expect(port.counters.out).toMatchObject({ synPackets: 4, synAckPackets: 0 });
    expect(port.counters.in).toMatchObject({ synAckPackets: 2, rstPackets: 1 });
  });

  it("counts a connection once, and its two entries, in the class of its protocol (dataplane.md §1.10, §7.7)", () => {
    const counted = (count: number, maximum = count): object => ({ count, maximum, created: maximum });
    const none = counted(0);
    send(port, "out", out(syn), 0);
    expect(port.census.classes).toEqual({
      total: counted(1),
      entries: counted(2),
      tcp: counted(1),
      "half-open": counted(1),
      udp: none,
      other: none,
    });
    send(port, "in", back(syn | ack), 0);
    send(port, "out", udp([A, 5000], [C, 53]), 0);
    expect(port.census.classes).toEqual({
      total: counted(2),
      entries: counted(4),
      tcp: counted(1),
      "half-open": counted(0, 1),
      udp: counted(1),
      other: none,
    });
  });

  it("half-open and TIME_WAIT entries live as long as the port is set to", () => {
    port.flowSettings = { ...port.flowSettings, halfOpenTtlMs: 15_000, timeWaitTtlMs: 5_000 };
    send(port, "out", out(syn), 0);
    expect(send(port, "in", back(syn | ack), 15_000)).toBe("drop");
    connect(20_000);
    expect(send(port, "in", back(ack), 200_000)).toBe("pass");
    send(port, "in", back(rst), 200_000);
    expect(send(port, "in", back(ack), 204_999)).toBe("pass");
    expect(send(port, "in", back(ack), 209_999)).toBe("drop");
  });

  it("F-01 the TTL of idle flows can be set, on the port and on a rule", () => {
    port.flowSettings = { ...port.flowSettings, defaultTtlMs: 600_000, halfOpenTtlMs: 600_000 };
    connect(0);
    expect(send(port, "in", back(ack), 599_999)).toBe("pass");
    const short = rule("allow", { type: "allow" }, { isStateful: true, flowTtlMs: 1_000 });
    port.setGroups(LAYER, [group([short])]);
    connect(1_000_000, 6000);
    expect(send(port, "in", back(ack, 6000), 1_001_000)).toBe("drop");
  });

  it("F-02 flows that are forgotten when rules change: the answer of a connection finds nothing", () => {
    connect(0);
    port.forgetFlows(LAYER);
    expect(send(port, "in", back(ack))).toBe("drop");
    expect(port.census.classes.total.count).toBe(0);
  });
});

describe("limits of flows", () => {
  it("DT-020 the limit for TCP is reached: a new SYN is dropped, known connections and UDP go on", () => {
    port.flowSettings = { ...port.flowSettings, limits: { tcp: 2 } };
    for (const client of [5000, 5001]) expect(send(port, "out", out(syn, client))).toBe("pass");
    expect(send(port, "out", out(syn, 5002))).toBe("drop");
    expect(port.drops.get("flow-limit-reached")).toBe(1);
    expect(send(port, "out", out(ack, 5001))).toBe("pass");
    expect(send(port, "out", udp([A, 5000], [C, 53]))).toBe("pass");
    expect(port.census.classes.tcp).toEqual({ count: 2, maximum: 2, created: 2 });
    // Idle ones make room.
    expect(send(port, "out", out(syn, 5002), 240_001)).toBe("pass");
  });

  it("ports that share a room hold so many connections together; idle and forgotten ones make room, copies have their own", () => {
    const flowRoom = { max: 3, held: 0 };
    const [first, second] = [1, 2].map(() => {
      const made = makePort([layer(LAYER, 15, { isDefaultAllow: false })], { flowRoom });
      made.setGroups(LAYER, [group([rule("allow", { type: "allow" }, { isStateful: true })])]);
      return made;
    }) as [VfpPort, VfpPort];
    for (const client of [5000, 5001]) expect(send(first, "out", out(syn, client))).toBe("pass");
    expect(send(second, "out", out(syn, 5000))).toBe("pass");
    expect([send(second, "out", out(syn, 5001)), second.lastDropCode]).toEqual(["drop", "flow-table-full"]);
    expect(send(first, "in", back(syn | ack, 5000))).toBe("pass");
    const copies = fork({ first, second, flowRoom });
    copies.first.forgetAllFlows();
    expect([copies.flowRoom.held, flowRoom.held]).toEqual([1, 3]);
    expect(send(copies.second, "out", out(syn, 5001))).toBe("pass");
    expect(send(second, "out", out(syn, 5002), 240_001)).toBe("pass");
    expect(flowRoom.held).toBe(3);
  });

  it("a flood that finds no room costs one search of the flows, and none for a second after that", () => {
    const connections = 3_000;
    const flowRoom = { max: connections, held: 0 };
    const made = makePort([layer(LAYER, 15, { isDefaultAllow: false })], { flowRoom });
    made.setGroups(LAYER, [group([rule("allow", { type: "allow" }, { isStateful: true })])]);
    for (let client = 0; client < connections; client++) send(made, "out", out(syn, 5_000 + client));
    const searches = vi.spyOn(FlowTable.prototype, "sample");
    for (let client = 0; client < 2_000; client++)
      expect(send(made, "out", out(syn, 10_000 + client), 500)).toBe("drop");
    // 1 024 slots at a time, of a table that has at most four for each of two entries.
    const whole = Math.ceil((connections * 2 * 4) / 1_024);
    expect(searches.mock.calls.length).toBeLessThanOrEqual(whole);
    searches.mockClear();
    expect(send(made, "out", out(syn, 20_000), 1_501)).toBe("drop");
    expect(searches).toHaveBeenCalled();
    searches.mockRestore();
    expect(send(made, "out", out(syn, 20_000), 240_001)).toBe("pass");
  });

  it("DT-021 the limit for half-open connections is reached: a SYN is dropped until one is answered", () => {
    port.flowSettings = { ...port.flowSettings, limits: { "half-open": 1 } };
    send(port, "out", out(syn, 5000));
    expect(send(port, "out", out(syn, 5001))).toBe("drop");
    send(port, "in", back(syn | ack, 5000));
    expect(port.census.classes["half-open"].count).toBe(0);
    expect(send(port, "out", out(syn, 5001))).toBe("pass");
  });

  it.each(["total", "udp", "other"] as const)("holds the class %s, too", (name) => {
    port.flowSettings = { ...port.flowSettings, limits: { [name]: 0 } };
    const packet =
      name === "other"
        ? buildIpFrame({
            link: { sourceMac: MACS.Am, destinationMac: MACS.W1dr },
            ip: { source: ip(A), destination: ip(C), ttl: 9, identification: 1, isDontFragment: false },
            protocol: 132,
            payload: new Uint8Array(12),
          })
        : udp([A, 1], [C, 53]);
    expect(send(port, "out", packet)).toBe("drop");
    expect(port.drops.get("flow-limit-reached")).toBe(1);
  });
});

describe("fragments", () => {
  const fragment = (offset: number): Packet =>
    buildIpFrame({
      link: { sourceMac: MACS.Am, destinationMac: MACS.W1dr },
      ip: { source: ip(A), destination: ip(C), ttl: 9, identification: 7, isDontFragment: false },
      protocol: 17,
      payload: Uint8Array.of(0, 80, 31, 144, 0, 40, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9),
      fragment: { offset, hasMore: offset === 0 },
    });

  it("DT-024, F-04: with the fault on, a later fragment is lost at the given rate, the same for the same seed", () => {
    const lost = (seed: number): boolean[] => {
      port.fragmentCollisions = { rate: 0.5, random: new Prng(seed) };
      return Array.from({ length: 32 }, () => {
        send(port, "out", fragment(0));
        return send(port, "out", fragment(16)) === "drop";
      });
    };
    const first = lost(1);
    expect(new Set(first)).toEqual(new Set([true, false]));
    expect(lost(1)).toEqual(first);
    expect(port.drops.get("fragment-cache-collision")).toBe(first.filter(Boolean).length * 2);
  });

  it("a first fragment is remembered for 30 s", () => {
    send(port, "out", fragment(0), 0);
    expect(send(port, "out", fragment(16), 29_999)).toBe("pass");
    expect(send(port, "out", fragment(16), 30_000)).toBe("drop");
  });
});

describe("mirror, mark and qos", () => {
  it("DT-025 mirror: the packet, and a copy to the target, on both paths", () => {
    const copies: [string, string][] = [];
    port.mirrorSink = { mirror: (target, copy) => copies.push([target, ends(copy)]) };
    port.setGroups(LAYER, [group([rule("allow", { type: "allow" }, { isStateful: true, mirrorTo: "ids" })])]);
    for (const flags of [syn, ack, ack]) expect(send(port, "out", out(flags))).toBe("pass");
    expect(copies).toEqual(Array.from({ length: 3 }, () => ["ids", "10.244.1.10:5000 > 10.244.2.10:80"]));
    expect(port.counters.out.unifiedFlowMatch).toBe(2);
  });

  it.each([
    { family: "IPv4", from: A, to: C },
    { family: "IPv6", from: "fd00::a", to: "fd00::b" },
  ])("DT-027 mark DSCP 46 in $family: ToS 0xb8, checksums right, ECN kept", ({ from, to }) => {
    port = makePort([layer("MARK", 15, { isStateful: false })]);
    const mark = rule("mark", { type: "mark", dscp: 46 });
    port.setGroups("MARK", [group([mark]), group([mark], { family: 6, name: "six" })]);
    for (const round of [1, 2]) {
      const packet = tcp([from, 5000], [to, 80], ack);
      const isIpv4 = from === A;
      if (isIpv4) packet.bytes[packet.start + 15] = 0;
      expect(send(port, "out", packet, round)).toBe("pass");
      const tos = isIpv4
        ? readU8(packet.bytes, packet.start + 15)
        : ((readU8(packet.bytes, packet.start + 14) << 4) | (readU8(packet.bytes, packet.start + 15) >>> 4)) &
          0xff;
      expect(tos).toBe(0xb8);
      expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
    }
  });

  /** Bytes that leave within `ms` when frames of 1000 bytes come every `everyMs`. */
  function passed(action: Action, ms: number, everyMs: number): { bytes: number; dropped: number } {
    port = makePort([layer("QOS", 15, { isStateful: false })]);
    port.setGroups("QOS", [group([rule("qos", action)])]);
    let bytes = 0;
    let dropped = 0;
    for (let nowMs = 0; nowMs < ms; nowMs += everyMs) {
      const packet = udp([A, 5000], [C, 53], new Uint8Array(958));
      const verdict = send(port, "out", packet, nowMs);
      if (verdict === "drop") dropped++;
      else if (verdict === "pass" || port.delay.untilMs < ms) bytes += packet.length;
    }
    return { bytes, dropped };
  }

  it("DT-026 10 Mbit/s: a stream at line rate leaves at the rate, the excess waits, then is dropped", () => {
    const action: Action = { type: "qos", bytesPerSecond: 1_250_000, burstBytes: 10_000, queueBytes: 50_000 };
    const { bytes, dropped } = passed(action, 1_000, 0.1);
    // One second of the rate, and the burst.
    expect(bytes).toBeGreaterThan(1_250_000);
    expect(bytes).toBeLessThanOrEqual(1_262_000);
    expect(dropped).toBeGreaterThan(8_000);
    expect(port.drops.get("bandwidth-exceeded")).toBe(dropped);
  });

  it("DT-026 below the rate nothing waits", () => {
    const action: Action = { type: "qos", bytesPerSecond: 1_250_000, burstBytes: 2_000, queueBytes: 0 };
    expect(passed(action, 1_000, 1)).toEqual({ bytes: 1_000_000, dropped: 0 });
  });

  it.each([true, false])(
    "what waits is turned when its time has come; unified flows: %s",
    (usesUnifiedFlows) => {
      for (const isHairpin of [true, false]) {
        port = makePort([layer("QOS", 15), layer("TURN", 20, { isStateful: false, isHairpin })]);
        port.flowSettings = { ...port.flowSettings, usesUnifiedFlows };
        const slow: Action = { type: "qos", bytesPerSecond: 1_000, burstBytes: 1_000, queueBytes: 10_000 };
        port.setGroups("QOS", [group([rule("qos", slow, { isStateful: true })])]);
        port.setGroups("TURN", [group([rule("turn", { type: "allow" })])]);
        const verdicts = [0, 1, 2].map((nowMs) =>
          send(port, "out", udp([A, 53], [C, 53], new Uint8Array(858)), nowMs),
        );
        expect(verdicts).toEqual([isHairpin ? "hairpin" : "pass", "delayed", "delayed"]);
        // Frames of 900 bytes: the burst has 100 left after the first, and each millisecond brings one.
        expect(port.delay.isHairpin).toBe(isHairpin);
        expect(port.delay.untilMs).toBeGreaterThan(1_600);
      }
    },
  );

  it("DT-178 1 250 000 bytes/s on the way out: 10 Mbit/s there, no limit on the way in", () => {
    port = makePort([layer("QOS", 15)]);
    const qos: Action = { type: "qos", bytesPerSecond: 1_250_000, burstBytes: 1_000, queueBytes: 0 };
    port.setGroups("QOS", [group([rule("qos", qos, { isStateful: true })])]);
    const verdicts = (direction: "out" | "in"): string[] =>
      [1, 2, 3].map(() => {
        const [from, to] = direction === "out" ? [A, C] : [C, A];
        return send(port, direction, udp([from, 53], [to, 53], new Uint8Array(900)), 5);
      });
    expect(verdicts("out")).toEqual(["pass", "drop", "drop"]);
    expect(verdicts("in")).toEqual(["pass", "pass", "pass"]);
  });

  it("a rule that changes its rate goes on with what it had let in", () => {
    const at = (burstBytes: number): void =>
      port.setGroups(LAYER, [
        group([rule("qos", { type: "qos", bytesPerSecond: 1_000, burstBytes, queueBytes: 0 })]),
      ]);
    at(60);
    expect(send(port, "out", out(ack))).toBe("pass");
    expect(send(port, "out", out(ack))).toBe("drop");
    at(120);
    expect(send(port, "out", out(ack))).toBe("pass");
    expect(send(port, "out", out(ack))).toBe("drop");
  });
});

describe("redirect", () => {
  it("sends elsewhere, answers come from where the client asked, and the proxy can ask for that", () => {
    const action: Action = { type: "redirect", ip: ip(A), port: 15_001, mac: MACS.Cm };
    port.setGroups(LAYER, [group([rule("proxy", action, { isStateful: true })])]);
    const request = tcp([A, 5000], ["203.0.113.10", 443], syn);
    expect(send(port, "out", request)).toBe("pass");
    expect(ends(request)).toBe("10.244.1.10:5000 > 10.244.1.10:15001");
    expect(link(request)).toContain("> 0E-2A-0A-F4-02-0A");
    const original = port.findOriginalDestination(LAYER, "out", request, headersOf(request), 0);
    expect(original).toEqual({ ip: ip("203.0.113.10"), port: 443 });
    const answer = tcp([A, 15_001], [A, 5000], syn | ack);
    expect(send(port, "in", answer)).toBe("pass");
    expect(ends(answer)).toBe("203.0.113.10:443 > 10.244.1.10:5000");
    const other = tcp([A, 5001], [A, 15_001], ack);
    expect(port.findOriginalDestination(LAYER, "out", other, headersOf(other), 0)).toBeUndefined();
  });
});

describe("NAT pools", () => {
  it("DT-142 excluded ports are never given: UDP 65330 on Azure", () => {
    const blocks = { acquire: () => ({ first: 65_328, last: 65_335 }), release: () => undefined };
    const pool = new NatPool({
      name: "udp",
      ip: ip4("10.0.0.11"),
      protocol: 17,
      blocks,
      portsMax: 8,
      excluded: [{ first: 65_330, last: 65_330 }],
    });
    const given = Array.from({ length: 8 }, () => pool.allocate());
    expect(given).toEqual([65_328, 65_329, 65_331, 65_332, 65_333, 65_334, 65_335, undefined]);
  });

  it("DT-138, DT-141: behind the last port that the pool may have, a SYN is dropped and counted", () => {
    let next = 50_048;
    const blocks = { acquire: () => ({ first: next, last: (next += 64) - 1 }), release: () => undefined };
    port.addNatPool(new NatPool({ name: "tcp", ip: ip4("10.0.0.11"), protocol: 6, blocks, portsMax: 64 }));
    port.setGroups(LAYER, [group([rule("snat", { type: "dynnat", pool: "tcp" }, { isStateful: true })])]);
    const verdicts = Array.from({ length: 65 }, (_, i) => send(port, "out", out(syn, 5000 + i)));
    expect(verdicts.filter((verdict) => verdict === "pass")).toHaveLength(64);
    expect(verdicts.at(-1)).toBe("drop");
    expect(port.drops.get("nat-port-pool-exhausted")).toBe(1);
  });
});

describe("guards", () => {
  const LINK = { sourceMac: MACS.Am, destinationMac: MACS.W1dr };
  beforeEach(() => {
    port = makePort([layer(LAYER, 15)]);
    port.address = { customerAddresses: [ip(A), ip("fd00::a")], mac: MACS.Am, flags: 336 };
  });
  const arp = (senderIp: string, senderMac = MACS.Am): Packet =>
    buildArpFrame({
      link: LINK,
      arp: { operation: "request", senderMac, senderIp: ip4(senderIp), targetIp: ip4("10.244.1.1") },
    });
  const advertisement = (target: string): Packet =>
    buildNdFrame({
      link: LINK,
      ip: {
        source: ip("fe80::a"),
        destination: ip("ff02::1"),
        ttl: 255,
        identification: 0,
        isDontFragment: false,
      },
      nd: {
        type: "neighbor-advertisement",
        target: ip6(target),
        isRouter: false,
        isSolicited: false,
        isOverride: true,
        options: [],
      },
    });
  const routerAdvertisement = (): Packet =>
    buildNdFrame({
      link: LINK,
      ip: {
        source: ip("fe80::a"),
        destination: ip("ff02::1"),
        ttl: 255,
        identification: 0,
        isDontFragment: false,
      },
      nd: {
        type: "router-advertisement",
        hopLimit: 64,
        isManaged: false,
        isOtherConfigured: false,
        lifetimeSeconds: 1800,
        reachableMs: 0,
        retransmitMs: 0,
        options: [],
      },
    });
  const foreign = (): Packet => {
    const packet = out(ack);
    packet.bytes[packet.start + 11] = 0xff;
    return packet;
  };
  const broadcast = (): Packet => {
    const packet = udp([A, 1], ["255.255.255.255", 9]);
    packet.bytes.fill(0xff, packet.start, packet.start + 6);
    return packet;
  };
  const lldp = (): Packet =>
    buildEthernetFrame({ link: LINK, etherType: 0x88cc, payload: new Uint8Array(46) });

  it.each([
    {
      what: "MAC: another source MAC",
      guards: { mac: true },
      bad: foreign,
      code: "mac-spoofing-refused",
      good: () => out(ack),
    },
    {
      what: "ARP: another's address",
      guards: { arp: true },
      bad: () => arp(C),
      code: "arp-spoofing-refused",
      good: () => arp(A),
    },
    {
      what: "ARP: another's MAC",
      guards: { arp: true },
      bad: () => arp(A, mac("02-00-00-00-00-01")),
      code: "arp-spoofing-refused",
      good: () => arp("0.0.0.0"),
    },
    {
      what: "DHCP: a server's answer",
      guards: { dhcp: true },
      bad: () => udp([A, 67], [C, 68]),
      code: "dhcp-server-refused",
      good: () => udp([A, 68], [C, 67]),
    },
    {
      what: "DHCPv6: a server's answer",
      guards: { dhcp: true },
      bad: () => udp(["fd00::a", 547], ["fd00::b", 546]),
      code: "dhcp-server-refused",
      good: () => udp(["fd00::a", 546], ["fd00::b", 547]),
    },
    {
      what: "NDP: a router's advertisement",
      guards: { ndp: true },
      bad: routerAdvertisement,
      code: "router-advertisement-refused",
      good: () => advertisement("fd00::a"),
    },
    {
      what: "NDP: an advertisement for others",
      guards: { ndp: true },
      bad: () => advertisement("fd00::b"),
      code: "router-advertisement-refused",
      good: () => advertisement("fe80::1"),
    },
    {
      what: "IPv4: another's address",
      guards: { ipv4: true },
      bad: () => udp([C, 1], [A, 2]),
      code: "address-spoofing-refused",
      good: () => udp(["0.0.0.0", 68], ["255.255.255.255", 67]),
    },
    {
      what: "IPv6: another's address",
      guards: { ipv6: true },
      bad: () => udp(["fd00::b", 1], ["fd00::c", 2]),
      code: "address-spoofing-refused",
      good: () => udp(["fe80::b", 1], ["fd00::c", 2]),
    },
    {
      what: "broadcasts",
      guards: { broadcast: true },
      bad: broadcast,
      code: "broadcast-not-delivered",
      good: () => out(ack),
    },
    { what: "not IP", guards: { nonIp: true }, bad: lldp, code: "non-ip-frame-refused", good: () => arp(A) },
  ] as const)("$what is refused with $code", ({ guards, bad, code, good }) => {
    expect(send(port, "out", bad())).toBe("pass");
    port.guards = guards;
    expect(send(port, "out", good())).toBe("pass");
    expect(send(port, "out", bad())).toBe("drop");
    expect(port.drops.get(code)).toBe(1);
    expect(port.counters.out.droppedPackets).toBe(1);
  });

  it("the guards that are about the vNIC let everything in", () => {
    port.guards = { mac: true, arp: true, dhcp: true, ndp: true, ipv4: true, ipv6: true };
    for (const packet of [foreign(), arp(C), routerAdvertisement(), udp([C, 67], [A, 68])])
      expect(send(port, "in", packet)).toBe("pass");
  });

  it("the ARP filter keeps questions about others from the vNIC", () => {
    port.guards = { arpFilter: true };
    expect(send(port, "in", arp(C))).toBe("drop");
    expect(send(port, "out", arp(C))).toBe("pass");
  });

  it("limits count by the second", () => {
    port.guards = { arpPerSecond: 2 };
    const verdicts = [0, 1, 2, 999, 1_000].map((nowMs) => send(port, "out", arp(A), nowMs));
    expect(verdicts).toEqual(["pass", "pass", "drop", "drop", "pass"]);
    expect(port.drops.get("rate-limit-exceeded")).toBe(2);
  });

  it("DSCP zeroing clears it on the way it is set for", () => {
    port.setGroups(LAYER, []);
    port.guards = { zeroDscpOut: true };
    const packet = out(ack);
    packet.bytes[packet.start + 15] = 0xb9;
    const headers = headersOf(packet);
    port.process("out", packet, headers, 0);
    expect(readU8(packet.bytes, packet.start + 15)).toBe(0x01);
  });

  it("are part of a forked port", () => {
    port.guards = { arpPerSecond: 1 };
    send(port, "out", arp(A));
    const twin = fork(port);
    expect(send(twin, "out", arp(A))).toBe("drop");
    expect(port.drops.size).toBe(0);
  });
});

describe("counters of layers and rules", () => {
  it("tell matches, drops, misses and flows by direction", () => {
    const blocked = rule(
      "block",
      { type: "block", code: "acl-rule-blocked" },
      {
        priority: 1,
        condition: { destinationPorts: [{ first: 81, last: 81 }] },
      },
    );
    const allowed = rule("allow", { type: "allow" }, { isStateful: true });
    port.setGroups(LAYER, [group([blocked, allowed])]);
    send(port, "out", out(syn));
    send(port, "in", back(syn | ack));
    send(port, "in", back(ack, 6000));
    send(port, "out", tcp([A, 5000], [C, 81], syn));
    const acl = port.getLayer(LAYER)!;
    expect(acl.counters.out).toMatchObject({ ruleMatch: 2, ruleDrop: 1, noMatch: 0, flowMatch: 0 });
    expect(acl.counters.in).toMatchObject({ flowMatch: 1, noMatch: 1, ruleMatch: 0 });
    expect(acl.countersOf(blocked)).toMatchObject({ matchedPackets: 1, droppedPackets: 1 });
    expect(acl.countersOf(allowed)).toMatchObject({ matchedPackets: 1, droppedPackets: 0 });
    expect(port.counters.out).toMatchObject({ droppedPackets: 1, droppedAcl: 1, synPackets: 2 });
    expect(port.counters.in).toMatchObject({ droppedPackets: 1, droppedAcl: 1 });
    // A rule that changes what it does takes its flows with it.
    port.setGroups(LAYER, [group([rule("allow", { type: "mark", dscp: 1 }, { isStateful: true })])]);
    send(port, "out", out(ack));
    expect(acl.countersOf(allowed)?.droppedFlows).toBe(1);
  });
});
