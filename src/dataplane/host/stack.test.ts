/** ARP, routing, ICMP and fragments of whole stacks that talk over cables. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { memoryPair } from "../device/memory-pair.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { BROADCAST_MAC, formatMac } from "#core/net/mac.ts";
import {
  EchoLog,
  CaptureDevice,
  type CapturedFrame,
  cidr,
  findWrongFrames,
  ip,
  mac,
  makeEnvironment,
  prefix,
} from "#test/support/dataplane/stack-world.ts";
import {
  CLIENT_MAC,
  type RoutedPair,
  eventsOf,
  listPorts,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import { ArpView } from "#core/wire/arp.ts";
import { buildArpFrame, buildIcmpFrame, buildIpFrame, buildTcpFrame } from "#core/wire/build-frame.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { IcmpView } from "#core/wire/icmp.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { pushVlan } from "#core/wire/vlan.ts";
import type { EchoOptions } from "./probes/echo-request.ts";
import { Host } from "./host.ts";
import type { OperatingSystem } from "./stack-profile.ts";

function ping(
  pair: RoutedPair,
  destination: string,
  options: Partial<EchoOptions> = {},
  runMs = 10_000,
): EchoLog {
  const owner = new EchoLog();
  pair.client.compartment.icmp.echo({ destination: ip(destination), owner, ...options });
  pair.env.clock.runUntil(pair.env.clock.nowMs + runMs);
  return owner;
}

const SERVER = "10.0.2.20";

/** Ethernet and IP header fields of a frame, as the walks of the documents print them. */
function describeIp({ frame }: CapturedFrame): string {
  const ethernet = EthernetView.parse(frame) as EthernetView;
  const ipv4 = Ipv4View.parse(frame, 14) as Ipv4View;
  const macs = `${formatMac(ethernet.sourceMac).slice(-5)}→${formatMac(ethernet.destinationMac).slice(-5)}`;
  const flags = `${ipv4.isDontFragment ? " DF" : ""}${ipv4.hasMoreFragments ? " MF" : ""}`;
  return `${macs} ${formatIp(ipv4.source)}→${formatIp(ipv4.destination)} TTL ${ipv4.ttl} ${ipv4.totalLength}@${ipv4.fragmentOffset}${flags}`;
}

function ipFrames(capture: CaptureDevice): CapturedFrame[] {
  return capture.frames.filter(
    ({ frame }) => (EthernetView.parse(frame) as EthernetView).etherType === 0x0800,
  );
}

function arpLines(capture: CaptureDevice): string[] {
  return capture.frames.flatMap(({ atMs, frame }) => {
    const ethernet = EthernetView.parse(frame) as EthernetView;
    const arp = ArpView.parse(frame, 14);
    if (ethernet.etherType !== 0x0806 || typeof arp === "string") return [];
    const to =
      ethernet.destinationMac === BROADCAST_MAC ? "all" : formatMac(ethernet.destinationMac).slice(-5);
    const verb = arp.operation === 1 ? "who-has" : "is-at";
    return [`${atMs} ${to} ${verb} ${formatIp(arp.targetIp)} tell ${formatIp(arp.senderIp)}`];
  });
}

describe("echo over a router", () => {
  it("is answered, with MACs per hop and one TTL less per router (DT-162)", () => {
    const pair = makeRoutedPair();
    const log = ping(pair, SERVER);
    expect(log.failures).toEqual([]);
    // 2 cables each way at 1 ms, and each side of the router asks for a MAC: the server learns the router's from it.
    expect(log.replies).toEqual([{ source: ip(SERVER), ttl: 63, rttMs: 8, payloadBytes: 32 }]);
    expect(ipFrames(pair.client.capture).map(describeIp)).toEqual([
      "00-10→00-01 10.0.1.10→10.0.2.20 TTL 128 60@0",
    ]);
    expect(ipFrames(pair.routerToServer.capture).map(describeIp)).toEqual([
      "00-02→00-20 10.0.1.10→10.0.2.20 TTL 127 60@0",
    ]);
    expect(ipFrames(pair.server.capture).map(describeIp)).toEqual([
      "00-20→00-02 10.0.2.20→10.0.1.10 TTL 64 60@0",
    ]);
    expect(ipFrames(pair.routerToClient.capture).map(describeIp)).toEqual([
      "00-01→00-10 10.0.2.20→10.0.1.10 TTL 63 60@0",
    ]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("from Windows has identifier 1 whoever asks, and the letters as payload (DT-163, F-42)", () => {
    const pair = makeRoutedPair();
    ping(pair, SERVER);
    ping(pair, SERVER);
    const views = ipFrames(pair.client.capture).map(({ frame }) => IcmpView.parse(frame, 34) as IcmpView);
    expect(views.map((view) => [view.identifier, view.sequence])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    const text = String.fromCharCode(...ipFrames(pair.client.capture)[0]!.frame.subarray(42));
    expect(text).toBe("abcdefghijklmnopqrstuvwabcdefghi");
  });

  it("tells a trace who sent, routed and answered it; the answer has tag 2", () => {
    const pair = makeRoutedPair();
    ping(pair, SERVER, { tag: 1 });
    expect(eventsOf(pair).lines()).toEqual([
      "1 send client/host",
      "1 forward router/host",
      "1 deliver server/host",
      "2 send server/host",
      "2 forward router/host",
      "2 deliver client/host",
    ]);
    const forward = eventsOf(pair).events[1]!;
    expect(forward.event.text).toBe("from eth0 by route 10.0.2.0/24 on-link on eth1, TTL 128 to 127");
    expect(describeIp({ atMs: 0, frame: forward.frame })).toBe(
      "00-02→00-20 10.0.1.10→10.0.2.20 TTL 127 60@0",
    );
  });

  it("from a Windows host with several addresses says that the choice of the source is inferred (B-8)", () => {
    const inferred = (isMany: boolean): unknown => {
      const pair = makeRoutedPair();
      const { compartment, netInterface } = pair.client;
      if (isMany) compartment.addAddress(netInterface, cidr("10.0.9.9/24"));
      ping(pair, SERVER, { tag: 1 });
      return eventsOf(pair).events[0]!.event.inferred;
    };
    expect([inferred(false), inferred(true)]).toEqual([undefined, "dataplane.md §2.4 B-8"]);
  });

  it("to an own address never leaves the compartment", () => {
    const pair = makeRoutedPair();
    expect(ping(pair, "10.0.1.10").replies[0]).toMatchObject({ rttMs: 0, ttl: 128 });
    expect(ping(pair, "127.0.0.1").replies[0]).toMatchObject({ source: ip("127.0.0.1"), rttMs: 0 });
    expect(pair.client.capture.frames).toEqual([]);
  });

  it("without a route is refused at once", () => {
    const pair = makeRoutedPair();
    pair.client.compartment.removeRoute({
      prefix: prefix("0.0.0.0/0"),
      nextHop: ip("10.0.1.1"),
      interface: pair.client.netInterface,
    });
    expect(pair.client.compartment.icmp.echo({ destination: ip(SERVER), owner: new EchoLog() })).toBe(
      "no-route",
    );
  });
});

describe("ICMP errors", () => {
  const rows: [string, string, Partial<EchoOptions>, string, string, string][] = [
    ["the TTL runs out at the router", SERVER, { ttl: 1 }, "ttl-expired", "10.0.1.1", "ttl-expired"],
    ["the router has no route", "198.51.100.7", {}, "net-unreachable", "10.0.1.1", "no-route"],
    [
      "nothing answers the router's ARP",
      "10.0.2.99",
      {},
      "host-unreachable",
      "10.0.1.1",
      "neighbor-unresolved",
    ],
  ];
  it.each(rows)("%s: %s", (_name, destination, options, reason, reporter, code) => {
    const pair = makeRoutedPair();
    const log = ping(pair, destination, { ...options, tag: 1 });
    expect(log.failures).toEqual([{ reason, reporter: ip(reporter), mtuBytes: 0 }]);
    expect(eventsOf(pair).lines().slice(-3)).toEqual([
      `1 drop router/host ${code}`,
      "2 send router/host",
      "2 deliver client/host",
    ]);
    expect(pair.routerToClient.compartment.drops.list()).toEqual([{ code, count: 1 }]);
  });

  it("a packet with DF that does not fit the next cable is answered with that cable's MTU", () => {
    const pair = makeRoutedPair({ serverMtuBytes: 1400 });
    const log = ping(pair, SERVER, { payloadBytes: 1450, isDontFragment: true });
    expect(log.failures).toEqual([
      { reason: "fragmentation-needed", reporter: ip("10.0.1.1"), mtuBytes: 1400 },
    ]);
    expect(pair.routerToClient.compartment.drops.get("mtu-exceeded")).toBe(1);
    // The path's MTU is remembered: the next one is refused here.
    const again = pair.client.compartment.icmp.echo({
      destination: ip(SERVER),
      payloadBytes: 1450,
      isDontFragment: true,
      owner: new EchoLog(),
    });
    expect(again).toBe("message-too-long");
  });

  it("the own stack says so when a neighbour does not answer", () => {
    const pair = makeRoutedPair();
    const log = ping(pair, "10.0.1.99");
    expect(log.failures).toEqual([{ reason: "host-unreachable", reporter: undefined, mtuBytes: 0 }]);
    expect(pair.client.compartment.drops.list()).toEqual([{ code: "neighbor-unresolved", count: 1 }]);
  });

  it("an ICMP error is never answered with one", () => {
    const pair = makeRoutedPair();
    const link = {
      sourceMac: pair.client.netInterface.mac,
      destinationMac: pair.routerToClient.netInterface.mac,
    };
    const header = {
      source: ip("10.0.1.10"),
      destination: ip("198.51.100.7"),
      ttl: 64,
      identification: 1,
      isDontFragment: false,
    };
    const icmp = { type: "time-exceeded", code: 0, invoking: new Uint8Array(28) } as const;
    pair.routerToClient.netInterface.receive(buildIcmpFrame({ link, ip: header, icmp }));
    pair.env.clock.runUntil(5_000);
    expect(pair.routerToClient.compartment.drops.get("no-route")).toBe(1);
    expect(pair.routerToClient.capture.frames).toEqual([]);
  });

  it("an unknown IP protocol is answered with protocol unreachable", () => {
    const pair = makeRoutedPair();
    const link = {
      sourceMac: pair.routerToServer.netInterface.mac,
      destinationMac: pair.server.netInterface.mac,
    };
    const header = {
      source: ip("10.0.1.10"),
      destination: ip(SERVER),
      ttl: 64,
      identification: 1,
      isDontFragment: false,
    };
    pair.server.netInterface.receive(
      buildIpFrame({ link, ip: header, protocol: 132, payload: new Uint8Array(20) }),
    );
    pair.env.clock.runUntil(5_000);
    const [answer] = ipFrames(pair.server.capture);
    const view = IcmpView.parse(answer!.frame, 34) as IcmpView;
    expect([view.type, view.code]).toEqual([3, 2]);
    // Linux gives errors the precedence "internetwork control".
    expect(answer!.frame[15]).toBe(0xc0);
  });
});

describe("ARP", () => {
  it("asks 3 times, 1 s apart, then gives up; the next packet asks again", () => {
    const pair = makeRoutedPair();
    const startMs = pair.env.clock.nowMs;
    const log = ping(pair, "10.0.1.99");
    expect(arpLines(pair.client.capture)).toEqual(
      [0, 1000, 2000].map((atMs) => `${startMs + atMs} all who-has 10.0.1.99 tell 10.0.1.10`),
    );
    expect(log.failures).toHaveLength(1);
    ping(pair, "10.0.1.99");
    expect(arpLines(pair.client.capture)).toHaveLength(6);
  });

  it("repeats a lost request, and the packet goes out then", () => {
    const pair = makeRoutedPair();
    pair.client.lossy.loseNext = 2;
    const log = ping(pair, "10.0.1.1");
    expect(log.replies.map((reply) => reply.rttMs)).toEqual([2004]);
  });

  it("keeps 64 packets for a neighbour; the oldest gives way", () => {
    const pair = makeRoutedPair();
    const log = new EchoLog();
    for (let count = 0; count < 70; count++)
      pair.client.compartment.icmp.echo({ destination: ip(SERVER), owner: log });
    pair.env.clock.runUntil(5_000);
    expect(log.replies).toHaveLength(64);
    expect(pair.client.compartment.drops.get("neighbor-unresolved")).toBe(6);
  });

  it("believes an answer for 30 s; then goes on with it and asks the neighbour itself 5 s later", () => {
    const pair = makeRoutedPair();
    ping(pair, "10.0.1.1", {}, 31_000);
    pair.client.capture.frames.length = 0;
    const askedMs = pair.env.clock.nowMs + 5_000;
    expect(ping(pair, "10.0.1.1").replies.map((reply) => reply.rttMs)).toEqual([2]);
    const asked = arpLines(pair.client.capture).filter((line) => line.includes("who-has"));
    expect(asked).toEqual([`${askedMs} 00-01 who-has 10.0.1.1 tell 10.0.1.10`]);
    expect(pair.client.netInterface.neighbors.list()).toEqual([
      { ip: ip("10.0.1.1"), mac: pair.routerToClient.netInterface.mac, state: "reachable" },
    ]);
  });

  it("forgets a neighbour that went away, and finds its successor", () => {
    const pair = makeRoutedPair();
    ping(pair, "10.0.1.1", {}, 31_000);
    pair.routerToClient.lossy.loseNext = 1_000;
    ping(pair, "10.0.1.1", {}, 20_000);
    expect(pair.client.netInterface.neighbors.list()).toEqual([]);
    pair.routerToClient.lossy.loseNext = 0;
    expect(ping(pair, "10.0.1.1").replies).toHaveLength(1);
  });

  it("learns from who asks us, changes what it knows by gratuitous ARP, and learns nobody from it", () => {
    const pair = makeRoutedPair();
    const announce = (senderIp: string, senderMac: string): void => {
      const arp = {
        operation: "request",
        senderMac: mac(senderMac),
        senderIp: ip(senderIp) as Ipv4,
        targetIp: ip(senderIp) as Ipv4,
      } as const;
      const link = { sourceMac: mac(senderMac), destinationMac: BROADCAST_MAC };
      pair.server.netInterface.receive(buildArpFrame({ link, arp }));
    };
    ping(pair, SERVER);
    const learned = (): string[] =>
      pair.server.netInterface.neighbors
        .list()
        .map((entry) => `${formatIp(entry.ip)} ${formatMac(entry.mac!)}`);
    expect(learned()).toEqual(["10.0.2.1 52-54-00-00-00-02"]);
    announce("10.0.2.1", "02-00-00-00-00-77");
    announce("10.0.2.50", "02-00-00-00-00-88");
    expect(learned()).toEqual(["10.0.2.1 02-00-00-00-00-77"]);
  });

  it.each([
    ["windows", ["0 all who-has 10.0.0.5 tell 10.0.0.5"]],
    ["linux", []],
  ] as const)("a %s stack announces a new address: %s", (os, expected) => {
    const { env, capture, root, eth0 } = single(os);
    root.addAddress(eth0, cidr("10.0.0.5/24"));
    env.clock.runUntilIdle(10);
    expect(arpLines(capture)).toEqual(expected);
  });

  const hostModels: [OperatingSystem, number, string][] = [
    ["windows", 0, "strong host: an address is answered for on its own interface"],
    ["linux", 1, "weak host: on any"],
  ];
  it.each(hostModels)("%s answers for the address of another interface %i times: %s", (os, count) => {
    const { env, capture, root, eth0 } = single(os);
    root.addAddress(eth0, cidr("10.0.0.5/24"));
    const other = root.addInterface({
      name: "eth1",
      mac: mac("02-00-00-00-00-02"),
      device: memoryPair(env.clock, { delayMs: 1 })[0],
    });
    root.addAddress(other, cidr("10.9.0.5/24"));
    capture.frames.length = 0;
    const arp = {
      operation: "request",
      senderMac: mac("02-00-00-00-00-99"),
      senderIp: ip("10.0.0.9") as Ipv4,
      targetIp: ip("10.9.0.5") as Ipv4,
    } as const;
    eth0.receive(buildArpFrame({ link: { sourceMac: arp.senderMac, destinationMac: BROADCAST_MAC }, arp }));
    expect(arpLines(capture)).toHaveLength(count);
  });
});

describe("a flood of ARP (net/core/neighbour.c, neigh_forced_gc)", () => {
  const arpFrom = (pair: RoutedPair, number: number) => {
    const senderMac = mac("02-00-00-00-00-66");
    const senderIp = (Number(ip("10.0.1.0")) + (number << 8)) as Ipv4;
    const targetIp = ip("10.0.1.10") as Ipv4;
    const link = { sourceMac: senderMac, destinationMac: BROADCAST_MAC };
    pair.client.netInterface.receive(
      buildArpFrame({ link, arp: { operation: "request", senderMac, senderIp, targetIp } }),
    );
  };

  it.each(["windows", "linux"] as const)(
    "fills the table of %s with what is not confirmed, for 5 s, and takes nobody away who is in use",
    (clientOs) => {
      const pair = makeRoutedPair({ clientOs });
      const { neighbors } = pair.client.netInterface;
      ping(pair, "10.0.1.1");
      for (let number = 1; number <= 5_000; number++) arpFrom(pair, number);
      expect(neighbors.list()).toHaveLength(4_096);
      pair.client.capture.frames.length = 0;
      expect(ping(pair, SERVER).replies).toHaveLength(1);
      expect(arpLines(pair.client.capture).filter((line) => line.includes("who-has"))).toEqual([]);
      // The answer came 5 s later: half of the flood goes for the next that comes (dataplane.md §5.5).
      arpFrom(pair, 9_002);
      const known = neighbors.list().map((entry) => formatIp(entry.ip));
      expect(known.length).toBe(4_096 / 2 + 1);
      expect([known.includes("10.0.1.1"), known.at(-1)]).toEqual([
        true,
        formatIp(((Number(ip("10.0.1.0")) + (9_002 << 8)) >>> 0) as Ipv4),
      ]);
    },
  );

  it("packets to neighbours that do not exist fill it until they have failed; entries set by hand do not count", () => {
    const pair = makeRoutedPair();
    const { neighbors } = pair.client.netInterface;
    neighbors.setPermanent(ip("10.0.1.77"), mac("02-00-00-00-00-77"));
    ping(pair, "10.0.1.1");
    const waiter = { nextHopSettled: () => undefined };
    const ask = (number: number) => neighbors.resolve((Number(ip("10.1.0.0")) + number) as Ipv4, waiter);
    for (let number = 1; number <= 4_095; number++) expect(ask(number)).toBe("pending");
    expect([ask(5_000), neighbors.list().length]).toEqual(["unreachable", 4_097]);
    expect([neighbors.macOf(ip("10.0.1.77")), neighbors.macOf(ip("10.0.1.1")) !== undefined]).toEqual([
      mac("02-00-00-00-00-77"),
      true,
    ]);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 3_001);
    expect(ask(5_000)).toBe("pending");
    expect(neighbors.list().map((entry) => formatIp(entry.ip))).toEqual(
      expect.arrayContaining(["10.0.1.1", "10.0.1.77"]),
    );
  });
});

function single(os: "windows" | "linux") {
  const env = makeEnvironment();
  const { root } = new Host(env, { name: "n", os });
  const capture = new CaptureDevice(env.clock, memoryPair(env.clock, { delayMs: 1 })[0]);
  const eth0 = root.addInterface({ name: "eth0", mac: mac("02-00-00-00-00-01"), device: capture });
  return { env, root, capture, eth0 };
}

describe("resolve, as VFP asks it", () => {
  class Waiter {
    reported = 0;

    nextHopSettled(): void {
      this.reported++;
    }
  }

  it.each([
    ["10.0.1.1", "52-54-00-00-00-01", "a neighbour"],
    ["203.0.113.10", "52-54-00-00-00-01", "what is behind the router"],
  ])("finds the MAC for %s: %s, %s", (destination, expected) => {
    const { env, client } = makeRoutedPair();
    const waiter = new Waiter();
    expect(client.compartment.resolve(ip(destination), waiter)).toBe("pending");
    env.clock.runUntilIdle(500);
    expect(waiter.reported).toBe(1);
    const hop = { sourceMac: client.netInterface.mac, destinationMac: mac(expected) };
    expect(client.compartment.resolve(ip(destination), waiter)).toEqual(hop);
  });

  it.each([
    ["10.0.1.1", "an answer"],
    ["10.0.1.99", "no answer"],
  ])("tells once who has asked for %s before each frame that waits: %s", (destination) => {
    const { env, client } = makeRoutedPair();
    const [waiter, other] = [new Waiter(), new Waiter()];
    for (const asking of [waiter, waiter, other, waiter])
      expect(client.compartment.resolve(ip(destination), asking)).toBe("pending");
    env.clock.runUntil(env.clock.nowMs + 3_000);
    expect([waiter.reported, other.reported]).toEqual([1, 1]);
  });

  it("says unreachable without a route, and after nobody answered", () => {
    const { env, client } = makeRoutedPair();
    const waiter = new Waiter();
    expect(client.compartment.resolve(ip("10.0.1.99"), waiter)).toBe("pending");
    env.clock.runUntil(env.clock.nowMs + 3_000);
    expect(waiter.reported).toBe(1);
    expect(client.compartment.resolve(ip("10.0.1.99"), waiter)).toBe("unreachable");
    client.compartment.removeRoute({
      prefix: prefix("0.0.0.0/0"),
      nextHop: ip("10.0.1.1"),
      interface: client.netInterface,
    });
    expect(client.compartment.resolve(ip("203.0.113.10"), waiter)).toBe("unreachable");
  });

  it("names the own interface for an own address", () => {
    const { client } = makeRoutedPair();
    const own = client.netInterface.mac;
    expect(client.compartment.resolve(ip("10.0.1.10"), new Waiter())).toEqual({
      sourceMac: own,
      destinationMac: own,
    });
  });
});

describe("802.1Q tags", () => {
  const toServer = () =>
    buildIpFrame({
      link: { sourceMac: mac("52-54-00-00-00-10"), destinationMac: mac("52-54-00-00-00-01") },
      ip: {
        source: ip("10.0.1.10"),
        destination: ip(SERVER),
        ttl: 9,
        identification: 7,
        isDontFragment: false,
      },
      protocol: 253,
      payload: new Uint8Array(20),
    });

  it.each([
    { tags: "no tag", ids: [], arrived: 1, drops: [] },
    { tags: "a priority alone", ids: [0], arrived: 1, drops: [] },
    { tags: "a VLAN", ids: [7], arrived: 0, drops: ["mac-not-local"] },
    { tags: "a VLAN behind a priority", ids: [7, 0], arrived: 0, drops: ["mac-not-local"] },
    { tags: "two priorities", ids: [0, 0], arrived: 0, drops: ["mac-not-local"] },
  ])("with $tags a router forwards $arrived", ({ ids, arrived, drops }) => {
    const pair = makeRoutedPair();
    ping(pair, SERVER);
    const before = ipFrames(pair.routerToServer.capture).length;
    const packet = toServer();
    for (const id of ids) pushVlan(packet, { id });
    pair.routerToClient.netInterface.receive(packet);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 1_000);
    expect(ipFrames(pair.routerToServer.capture)).toHaveLength(before + arrived);
    expect(pair.routerToClient.compartment.drops.list().map(({ code }) => code)).toEqual(drops);
  });
});

describe("fragments", () => {
  it("an echo of 4000 bytes goes in fragments both ways and is one datagram at each end", () => {
    const pair = makeRoutedPair();
    expect(ping(pair, SERVER, { payloadBytes: 4000 }).replies[0]).toMatchObject({
      ttl: 63,
      payloadBytes: 4000,
    });
    expect(ipFrames(pair.client.capture).map(describeIp)).toEqual([
      "00-10→00-01 10.0.1.10→10.0.2.20 TTL 128 1500@0 MF",
      "00-10→00-01 10.0.1.10→10.0.2.20 TTL 128 1500@1480 MF",
      "00-10→00-01 10.0.1.10→10.0.2.20 TTL 128 1068@2960",
    ]);
    expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  it("of a datagram that nobody follows are none that is followed", () => {
    const pair = makeRoutedPair();
    ping(pair, SERVER, { payloadBytes: 4000 });
    expect(eventsOf(pair).lines()).toEqual([]);
    ping(pair, SERVER, { payloadBytes: 4000, tag: 1 });
    expect(
      eventsOf(pair)
        .lines()
        .filter((line) => line.includes("deliver")),
    ).toEqual(["1 deliver server/host", "2 deliver client/host"]);
  });

  it("a router cuts fragments further for a smaller cable", () => {
    const pair = makeRoutedPair({ serverMtuBytes: 1400 });
    expect(ping(pair, SERVER, { payloadBytes: 2000 }).replies[0]).toMatchObject({ payloadBytes: 2000 });
    expect(ipFrames(pair.routerToServer.capture).map(describeIp)).toEqual([
      "00-02→00-20 10.0.1.10→10.0.2.20 TTL 127 1396@0 MF",
      "00-02→00-20 10.0.1.10→10.0.2.20 TTL 127 124@1376 MF",
      "00-02→00-20 10.0.1.10→10.0.2.20 TTL 127 548@1480",
    ]);
  });

  it("that miss one fragment are given up, and the sender hears of it when the first one came", () => {
    const pair = makeRoutedPair();
    ping(pair, SERVER);
    pair.client.lossy.passNext = 1;
    pair.client.lossy.loseNext = 1;
    const owner = ping(pair, SERVER, { payloadBytes: 3000 }, 40_000);
    expect(owner.failures).toEqual([{ reason: "reassembly-timed-out", reporter: ip(SERVER), mtuBytes: 0 }]);
    expect(pair.server.compartment.drops.list()).toEqual([{ code: "reassembly-failed", count: 1 }]);
  });

  const header = {
    source: ip("10.0.1.10"),
    destination: ip(SERVER),
    ttl: 9,
    identification: 7,
    isDontFragment: false,
  };
  it.each([
    [
      "overlap",
      [
        [0, 16, true],
        [8, 16, true],
      ],
    ],
    ["have a middle that is not a multiple of 8 bytes", [[0, 15, true]]],
    [
      "continue behind the last one",
      [
        [16, 8, false],
        [24, 8, true],
      ],
    ],
    ["reach beyond 65535 bytes", [[65_528, 16, false]]],
    [
      "are longer than 65535 bytes with the header",
      [
        [0, 65_512, true],
        [65_512, 8, false],
      ],
    ],
  ] satisfies [string, [number, number, boolean][]][])("that %s are dropped", (_name, pieces) => {
    const { server, routerToServer } = makeRoutedPair();
    const link = { sourceMac: routerToServer.netInterface.mac, destinationMac: server.netInterface.mac };
    for (const [offset, length, hasMore] of pieces) {
      const fragment = { offset, hasMore };
      server.netInterface.receive(
        buildIpFrame({ link, ip: header, protocol: 1, payload: new Uint8Array(length), fragment }),
      );
    }
    expect(server.compartment.drops.list()).toEqual([{ code: "reassembly-failed", count: 1 }]);
  });

  describe("in floods", () => {
    /** A piece of a datagram, as `pair.server` gets it of the router. */
    function send(
      pair: RoutedPair,
      identification: number,
      offset: number,
      bytes: number,
      hasMore = true,
    ): void {
      const { server, routerToServer } = pair;
      const link = { sourceMac: routerToServer.netInterface.mac, destinationMac: server.netInterface.mac };
      const parts = { link, ip: { ...header, identification }, protocol: 1, fragment: { offset, hasMore } };
      server.netInterface.receive(buildIpFrame({ ...parts, payload: new Uint8Array(bytes) }));
    }

    it("a thousand incomplete datagrams keep no other from being put together", () => {
      const pair = makeRoutedPair();
      for (let each = 0; each < 1_000; each++) send(pair, each, 8, 8);
      expect(ping(pair, SERVER, { payloadBytes: 4000 }).replies).toHaveLength(1);
    });

    it("take 4 MiB and no more; when their time is over, there is room again", () => {
      const pair = makeRoutedPair();
      for (let each = 0; each < 4_000; each++) send(pair, each, 8, 1_400);
      // 512 bytes are kept beside each of 1 400.
      const taken = Math.ceil(4_194_304 / 1_912);
      expect(pair.server.compartment.drops.get("reassembly-failed")).toBe(4_000 - taken);
      expect(ping(pair, SERVER, { payloadBytes: 4000 }).replies).toHaveLength(0);
      pair.env.clock.runUntil(pair.env.clock.nowMs + 200_000);
      expect(ping(pair, SERVER, { payloadBytes: 4000 }).replies).toHaveLength(1);
      expect(pair.env.clock.runUntilIdle(pair.env.clock.nowMs + 200_000)).toBe(true);
      expect(pair.server.compartment.drops.get("reassembly-failed")).toBe(4_000 + 3);
    });

    it("8 000 pieces of one datagram, the last one first, make one datagram each time", () => {
      const pair = makeRoutedPair();
      for (let round = 0; round < 2; round++)
        for (let piece = 8_000; piece >= 0; piece--) send(pair, round, piece * 8, 8, piece < 8_000);
      expect(pair.server.compartment.drops.get("reassembly-failed")).toBe(0);
    });
  });
});

describe("what a stack does not take", () => {
  const header = {
    source: ip("10.0.2.7"),
    destination: ip(SERVER),
    ttl: 64,
    identification: 1,
    isDontFragment: false,
  };
  const echo = { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(8) } as const;

  function deliver(change: (frame: Uint8Array) => void, ipFields: Partial<typeof header> = {}): string[] {
    const { server, routerToServer } = makeRoutedPair();
    const link = { sourceMac: routerToServer.netInterface.mac, destinationMac: server.netInterface.mac };
    const packet = buildIcmpFrame({ link, ip: { ...header, ...ipFields }, icmp: echo });
    change(packet.frame);
    server.netInterface.receive(packet);
    return server.compartment.drops.list().map(({ code }) => code);
  }

  const unchanged = (): void => {};
  it.each([
    ["a right echo request", unchanged, {}, []],
    ["a wrong IPv4 checksum", (frame: Uint8Array) => (frame[24]! ^= 1), {}, ["checksum-invalid"]],
    ["a wrong ICMP checksum", (frame: Uint8Array) => (frame[45]! ^= 1), {}, ["checksum-invalid"]],
    ["a length that lies", (frame: Uint8Array) => (frame[16] = 9), {}, ["malformed-frame"]],
    ["another MAC", (frame: Uint8Array) => (frame[5]! ^= 1), {}, ["mac-not-local"]],
    [
      "IPv6",
      (frame: Uint8Array) => frame.set([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0], 12),
      {},
      ["malformed-frame"],
    ],
    ["an unknown ethertype", (frame: Uint8Array) => frame.set([0x88, 0xcc], 12), {}, ["protocol-unknown"]],
    ["its own address as source", unchanged, { source: ip(SERVER) }, ["martian-source"]],
    ["no source", unchanged, { source: ip("0.0.0.0") }, ["martian-source"]],
    ["a source of network 0", unchanged, { source: ip("0.1.2.3") }, ["martian-source"]],
    ["a loopback source", unchanged, { source: ip("127.0.0.1") }, ["martian-source"]],
    ["a multicast source", unchanged, { source: ip("224.0.0.1") }, ["martian-source"]],
    ["somebody else's address", unchanged, { destination: ip("10.0.2.21") }, ["destination-not-local"]],
    ["a multicast destination", unchanged, { destination: ip("224.0.0.251") }, ["destination-not-local"]],
  ] satisfies [string, (frame: Uint8Array) => unknown, Partial<typeof header>, string[]][])(
    "%s",
    (_name, change, fields, codes) => {
      expect(deliver(change, fields)).toEqual(codes);
    },
  );
});

describe("compartments", () => {
  it("have ids from 1, the host's own first, and share nothing", () => {
    const env = makeEnvironment();
    const host = new Host(env, { name: "w1", os: "windows" });
    const pod = host.createCompartment("pod default/web");
    expect(host.listCompartments().map(({ id, name, node }) => [id, name, node])).toEqual([
      [1, "host", "w1"],
      [2, "pod default/web", "w1"],
    ]);
    const device = memoryPair(env.clock, { delayMs: 0 })[0];
    const eth0 = pod.addInterface({ name: "eth0", mac: mac("02-00-00-00-00-01"), device });
    pod.addAddress(eth0, cidr("10.244.1.10/24"));
    expect([pod.isLocal(ip("10.244.1.10")), host.root.isLocal(ip("10.244.1.10"))]).toEqual([true, false]);
    host.removeCompartment(2);
    expect(host.getCompartment(2)).toBeUndefined();
    expect(host.createCompartment("pod default/other").id).toBe(3);
  });

  const rows: [OperatingSystem, boolean, string, string][] = [
    ["windows", false, "destination-not-local", "strong host"],
    ["windows", true, "", "a router serves its addresses on all interfaces"],
    ["linux", false, "", "weak host"],
  ];
  it.each(rows)(
    "%s, forwarding %s: a packet for another interface's address gives '%s' (%s)",
    (os, isForwarding, code) => {
      const { env, root, eth0 } = single(os);
      eth0.isForwarding = isForwarding;
      const other = root.addInterface({
        name: "eth1",
        mac: mac("02-00-00-00-00-02"),
        device: memoryPair(env.clock, { delayMs: 1 })[0],
      });
      root.addAddress(other, cidr("10.9.0.5/24"));
      const fields = {
        source: ip("10.9.0.9"),
        destination: ip("10.9.0.5"),
        ttl: 64,
        identification: 1,
        isDontFragment: false,
      };
      const icmp = { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(0) } as const;
      eth0.receive(
        buildIcmpFrame({ link: { sourceMac: other.mac, destinationMac: eth0.mac }, ip: fields, icmp }),
      );
      expect(
        root.drops
          .list()
          .map((drop) => drop.code)
          .join(),
      ).toBe(code);
    },
  );

  it("route only what arrives on a forwarding interface", () => {
    const pair = makeRoutedPair();
    pair.routerToClient.netInterface.isForwarding = false;
    expect(ping(pair, SERVER).replies).toEqual([]);
    expect(pair.routerToClient.compartment.drops.get("destination-not-local")).toBe(1);
  });

  it("drop what they send into a cable that is pulled", () => {
    const env = makeEnvironment();
    const { root } = new Host(env, { name: "n", os: "linux" });
    const device = memoryPair(env.clock, { delayMs: 1 })[0];
    root.addAddress(
      root.addInterface({ name: "eth0", mac: mac("02-00-00-00-00-01"), device }),
      cidr("10.0.0.1/24"),
    );
    device.isUp = false;
    root.icmp.echo({ destination: ip("10.0.0.2"), owner: new EchoLog() });
    expect(root.drops.get("interface-down")).toBe(1);
  });
});

describe("worlds", () => {
  it("that are forked go on alike and apart", () => {
    const pair = makeRoutedPair();
    const owner = new EchoLog();
    const world = { pair, owner };
    pair.client.compartment.icmp.echo({ destination: ip(SERVER), owner, payloadBytes: 3000 });
    pair.env.clock.runUntil(pair.env.clock.nowMs + 3);
    const copy = fork(world);
    copy.pair.env.clock.runUntil(10_000);
    expect(copy.owner.replies).toHaveLength(1);
    expect(owner.replies).toHaveLength(0);
    pair.env.clock.runUntil(10_000);
    expect(owner.replies).toEqual(copy.owner.replies);
    const lines = (of: RoutedPair): string[][] => listPorts(of).map((port) => port.capture.lines());
    expect(lines(copy.pair)).toEqual(lines(pair));
  });

  it("of one seed send the same bytes", () => {
    const run = (seed: string): string[][] => {
      const pair = makeRoutedPair({ seed });
      ping(pair, SERVER, { payloadBytes: 2000 });
      return listPorts(pair).map((port) => port.capture.lines());
    };
    expect(run("a")).toEqual(run("a"));
    expect(run("a")).not.toEqual(run("b"));
  });
});

describe("a super frame, which a sender left to a device to cut (dataplane.md §6.9)", () => {
  /** 3 000 bytes with DF, in segments of 1 410. */
  function superFrame(isDontFragment = true): Packet {
    const link = { sourceMac: mac(CLIENT_MAC), destinationMac: mac("52-54-00-00-00-01") };
    const addresses = { source: ip("10.0.1.10"), destination: ip(SERVER) };
    const packet = buildTcpFrame({
      link,
      ip: { ...addresses, ttl: 64, identification: 7, isDontFragment },
      tcp: { sourcePort: 5_000, destinationPort: 80, sequence: 1, acknowledgment: 1, flags: 0x10, window: 9 },
      payload: new Uint8Array(3_000).fill(7),
    });
    packet.segmentBytes = 1_410;
    return packet;
  }

  function forwarded(serverMtuBytes: number, packet: Packet): RoutedPair {
    const pair = makeRoutedPair({ serverMtuBytes });
    ping(pair, SERVER, {}, 100);
    for (const { capture } of listPorts(pair)) capture.frames.length = 0;
    pair.client.capture.transmit(packet);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 10);
    return pair;
  }

  it.each([true, false])("is cut by a router, DF %s, and not refused or fragmented", (isDontFragment) => {
    const { routerToServer, routerToClient } = forwarded(1_500, superFrame(isDontFragment));
    const df = isDontFragment ? " DF" : "";
    expect(ipFrames(routerToServer.capture).map(describeIp)).toEqual([
      `00-02→00-20 10.0.1.10→10.0.2.20 TTL 63 1450@0${df}`,
      `00-02→00-20 10.0.1.10→10.0.2.20 TTL 63 1450@0${df}`,
      `00-02→00-20 10.0.1.10→10.0.2.20 TTL 63 220@0${df}`,
    ]);
    expect(findWrongFrames(routerToServer.capture.frames)).toEqual([]);
    expect(ipFrames(routerToClient.capture).map(({ frame }) => frame[23])).not.toContain(1);
  });

  it("whose segments do not fit is refused, with the MTU", () => {
    const { routerToClient, routerToServer } = forwarded(1_400, superFrame());
    expect(ipFrames(routerToServer.capture)).toEqual([]);
    const [{ frame } = { frame: new Uint8Array() }] = ipFrames(routerToClient.capture);
    const { type, code, mtuBytes } = IcmpView.parse(frame, 34) as IcmpView;
    // RFC 792: destination unreachable, fragmentation needed and DF set.
    expect([type, code, mtuBytes]).toEqual([3, 4, 1_400]);
  });
});
