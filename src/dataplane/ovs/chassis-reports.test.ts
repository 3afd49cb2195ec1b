// What a chassis learns from packets for the southbound database, under flows as ovn-northd 23.03 writes them: members of multicast
// groups (RFC 2236, RFC 3376, RFC 3810), events, virtual ports. How ovn-controller 23.03 does it stands in its controller/pinctrl.c.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ip, type Ipv4, type Ipv6, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildArpFrame, buildIpFrame, buildMldFrame, buildTcpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "./chassis.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { runLogicalFlows } from "./logical-pipeline.ts";
import type { MulticastSettings, Southbound } from "./southbound.ts";

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");
const CLIENT = "50:54:00:00:00:02";
const GROUP = "239.1.1.1";

const SNOOPED: MulticastSettings = { datapath: "s", groupsMax: 2_048, idleSeconds: 300, flushes: 0 };

/** A switch with the ports `a`, `b`, `router` and the virtual port `vip`. */
function networkOf(
  flows: Readonly<Record<string, string>>,
  multicast: readonly MulticastSettings[] = [SNOOPED],
): LogicalNetwork {
  const port = { datapath: "s", options: new Map(), portSecurity: [], mac: [], chassis: "" };
  const row = { datapaths: ["s"], stage: "", hint: "", source: "" } as const;
  const group = { datapath: "s" } as const;
  const southbound: Southbound = {
    datapaths: [{ id: "s", name: "s", key: 1, kind: "switch", northbound: "", hasSourceZone: false }],
    ports: ["a", "b", "router", "vip"].map((name, index) => ({
      ...port,
      name,
      key: index + 1,
      type: name === "vip" ? "virtual" : "",
    })),
    flows: [
      ...Object.entries(flows).map(([match, actions], index) => ({
        ...row,
        id: `flow${index}`,
        pipeline: "ingress" as const,
        table: 0,
        priority: 100 - index,
        match,
        actions,
      })),
      { ...row, id: "out", pipeline: "egress", table: 0, priority: 0, match: "1", actions: "output;" },
      { ...row, id: "last", pipeline: "ingress", table: 1, priority: 0, match: "1", actions: "drop;" },
    ],
    groups: [
      { ...group, name: "_MC_mrouter_flood", key: 32_769, members: ["router"] },
      { ...group, name: "_MC_flood_l2", key: 32_772, members: ["a", "b", "router"] },
    ],
    addressSets: [],
    portGroups: [],
    macBindings: [],
    loadBalancers: [],
    fdb: [],
    chassis: [],
    dns: [],
    multicast,
  };
  return new LogicalNetwork(southbound);
}

class World {
  readonly clock = new VirtualClock();
  readonly chassis = new Chassis(new Set(["a", "b", "router"]), this.clock);
  readonly network: LogicalNetwork;

  constructor(network: LogicalNetwork) {
    this.network = network;
  }

  /** The ports that the packet goes out at. */
  send(port: string, packet: Packet): readonly string[] {
    return runLogicalFlows(this.network, this.chassis, port, packet).endings.flatMap((ending) =>
      ending.kind === "output" ? [ending.port] : [],
    );
  }

  reports() {
    return this.chassis.takeReports(this.network.multicast);
  }

  groups(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(this.reports().groups.map(({ address, ports }) => [address, ports]));
  }
}

describe("igmp", () => {
  const world = (multicast?: readonly MulticastSettings[]): World =>
    new World(networkOf({ "flags.loopback == 0 && igmp": "igmp;", "mldv1 || mldv2": "igmp;" }, multicast));
  const igmp = (message: string): Packet =>
    buildIpFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac("01:00:5e:01:01:01") },
      ip: {
        source: ip("10.0.0.2"),
        destination: ip(GROUP),
        ttl: 1,
        identification: 0,
        isDontFragment: false,
      },
      protocol: 2,
      payload: annotatedHex(message),
    });
  const REPORT_V2 = "1600f9fcef010101";
  const REPORT_V3 = "2200e9fb0000000104000000ef010101";
  const LEAVE_V3 = "2200eafb0000000103000000ef010101";
  const LEAVE = "1700f8fcef010101";
  const QUERY = "1164ee9b00000000";

  it.each([
    ["IGMPv2", REPORT_V2],
    ["IGMPv3", REPORT_V3],
  ])("a report of %s makes the port a member, and goes on to the routers", (_, report) => {
    const each = world();
    expect(each.send("a", igmp(report))).toEqual(["router"]);
    expect(each.groups()).toEqual({ [GROUP]: ["a"] });
    each.send("b", igmp(report));
    expect(each.groups()).toEqual({ [GROUP]: ["a", "b"] });
  });

  it.each([
    ["IGMPv2", LEAVE],
    ["IGMPv3, to no source,", LEAVE_V3],
  ])("a leave of %s ends the membership", (_, leave) => {
    const each = world();
    each.send("a", igmp(REPORT_V2));
    each.send("a", igmp(leave));
    expect(each.groups()).toEqual({});
  });

  it("a query makes the port one of a router for 180 s, and goes to all others", () => {
    const each = world();
    expect(each.send("a", igmp(QUERY))).toEqual(["b", "router"]);
    each.send("a", igmp(REPORT_V2));
    expect(each.groups()).toEqual({ mrouters: ["a"] });
    each.clock.runUntil(180_000);
    expect(each.groups()).toEqual({});
  });

  it("a member that is silent for idle_timeout is forgotten, and one that reports again is not", () => {
    const each = world([{ ...SNOOPED, idleSeconds: 30 }]);
    each.send("a", igmp(REPORT_V2));
    each.clock.runUntil(20_000);
    each.send("b", igmp(REPORT_V2));
    each.clock.runUntil(30_000);
    expect(each.groups()).toEqual({ [GROUP]: ["b"] });
    each.clock.runUntil(50_000);
    expect(each.groups()).toEqual({});
  });

  it("of more groups than table_size the one that was heard longest ago goes", () => {
    const each = world([{ ...SNOOPED, groupsMax: 1 }]);
    each.send("a", igmp(REPORT_V2));
    each.send("a", igmp("1600f9fbef010102"));
    expect(each.groups()).toEqual({ "239.1.1.2": ["a"] });
  });

  it.each([
    ["with a wrong checksum", "1600f9fdef010101"],
    ["that is cut", "1600e9ff"],
    ["of another kind", "1300fcfcef010101"],
    ["whose records are cut", "2200ddfe00000001"],
  ])("a message %s teaches nothing", (_, message) => {
    const each = world();
    each.send("a", igmp(message));
    expect(each.groups()).toEqual({});
  });

  it("where a switch does not snoop, the message ends and teaches nothing", () => {
    const each = world([]);
    expect(each.send("a", igmp(REPORT_V2))).toEqual([]);
    expect(each.groups()).toEqual({});
  });

  it("all is forgotten when seq_no has another value", () => {
    const each = world();
    each.send("a", igmp(REPORT_V2));
    const flushed = new Map([["s", { ...SNOOPED, flushes: 1 }]]);
    expect(each.chassis.takeReports(flushed).groups).toEqual([]);
  });

  it("reports of MLDv2 are heard alike", () => {
    const each = world();
    const group = ip("ff3e::1234") as Ipv6;
    const report = (kind: "to-exclude" | "to-include"): Packet =>
      buildMldFrame({
        link: { sourceMac: mac(CLIENT), destinationMac: mac("33:33:00:00:00:16") },
        source: ip("fe80::5254:ff:fe00:2") as Ipv6,
        destination: ip("ff02::16") as Ipv6,
        mld: { type: "report", records: [{ kind, group, sources: [] }] },
      });
    expect(each.send("a", report("to-exclude"))).toEqual(["router"]);
    expect(each.groups()).toEqual({ "ff3e::1234": ["a"] });
    each.send("a", report("to-include"));
    expect(each.groups()).toEqual({});
  });
});

describe("trigger_event", () => {
  const syn = (port: number): Packet =>
    buildTcpFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac("00:00:00:00:ff:01") },
      ip: {
        source: ip("10.0.0.2"),
        destination: ip("10.96.0.11"),
        ttl: 64,
        identification: 1,
        isDontFragment: true,
      },
      tcp: {
        sourcePort: 5_000,
        destinationPort: port,
        sequence: 1,
        acknowledgment: 0,
        flags: TcpFlag.syn,
        window: 1,
      },
    });
  const event = (more: string): string =>
    `trigger_event(event = "empty_lb_backends", meter = "event-elb"${more});`;

  it("is reported once for all packets until it is asked for, and again for packets behind that", () => {
    const world = new World(
      networkOf({
        "tcp.dst == 80": event(', vip = "10.96.0.11:80", protocol = "tcp", load_balancer = "lb-1"'),
        tcp: event(', vip = "10.96.0.11:81", protocol = "tcp"'),
      }),
    );
    const expected = { vip: "10.96.0.11:80", protocol: "tcp", loadBalancer: "lb-1" };
    for (let count = 0; count < 3; count++) world.send("a", syn(80));
    expect(world.reports().events).toEqual([expected]);
    expect(world.reports().events).toEqual([]);
    world.send("a", syn(80));
    expect(world.reports().events).toEqual([expected]);
    // One that lacks a value is not reported.
    world.send("a", syn(81));
    expect(world.reports().events).toEqual([]);
  });
});

describe("bind_vport", () => {
  const FLOW =
    'inport == "a" && !is_chassis_resident("vip") && ((arp.op == 1 && arp.spa == 10.0.0.50 && arp.tpa == 10.0.0.50) || (arp.op == 2 && arp.spa == 10.0.0.50))';
  const announcement = buildArpFrame({
    link: { sourceMac: mac(CLIENT), destinationMac: mac("ff:ff:ff:ff:ff:ff") },
    arp: {
      operation: "request",
      senderMac: mac(CLIENT),
      senderIp: ip("10.0.0.50") as Ipv4,
      targetIp: ip("10.0.0.50") as Ipv4,
    },
  });

  it("reports the parent that has announced the address, once", () => {
    const world = new World(networkOf({ [FLOW]: 'bind_vport("vip", inport); next;' }));
    world.send("a", announcement);
    expect(world.reports().virtualPorts).toEqual(new Map([["vip", "a"]]));
    expect(world.reports().virtualPorts).toEqual(new Map());
  });

  it("gives the port up when another chassis has claimed it since it was reported, and not before", () => {
    const world = new World(networkOf({ [FLOW]: 'bind_vport("vip", inport); next;' }));
    world.send("a", announcement);
    world.chassis.yieldVirtuals(() => "other");
    expect(world.chassis.residents.has("vip")).toBe(true);
    world.reports();
    world.chassis.yieldVirtuals(() => "");
    expect(world.chassis.residents.has("vip")).toBe(true);
    world.chassis.yieldVirtuals(() => "other");
    expect(world.chassis.residents.has("vip")).toBe(false);
    world.send("a", announcement);
    expect(world.reports().virtualPorts).toEqual(new Map([["vip", "a"]]));
  });

  it("binds no port of another type", () => {
    const world = new World(networkOf({ arp: 'bind_vport("b", inport); next;' }));
    world.send("a", announcement);
    expect(world.reports().virtualPorts).toEqual(new Map());
  });
});
