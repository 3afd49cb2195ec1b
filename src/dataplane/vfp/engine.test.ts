// The rows of dataplane.md §10 "Pipeline engine", read as a table.
import { beforeEach, describe, expect, it } from "vitest";
import type { LayerEvent, Recorder, TraceEvent } from "#core/base/recorder.ts";
import { type Ip, formatIp, parseIp, parsePrefix } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import { buildEthernetFrame, buildIpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import { takeCensus } from "#test/support/heap-census.ts";
import { createGroup } from "./group.ts";
import { NatPool } from "./actions/nat-pool.ts";
import type { Action, VfpDirection, GroupDefinition, LayerDefinition, Rule } from "./rule.ts";
import { VfpPort, type Verdict } from "./vfp-port.ts";

const A = "10.244.1.10";
const C = "10.244.2.10";
const link = { sourceMac: parseMac("0E-2A-0A-F4-01-0A")!, destinationMac: parseMac("00-15-5D-AA-00-01")! };

function ip(text: string): Ip {
  return parseIp(text)!;
}
function tcp(from: string, to: string, ports: [number, number], flags: number = TcpFlag.ack): Packet {
  return buildTcpFrame({
    link,
    ip: { source: ip(from), destination: ip(to), ttl: 128, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: ports[0],
      destinationPort: ports[1],
      sequence: 1,
      acknowledgment: 0,
      flags,
      window: 1000,
    },
  });
}
function udp(from: string, to: string, ports: [number, number]): Packet {
  return buildUdpFrame({
    link,
    ip: { source: ip(from), destination: ip(to), ttl: 128, identification: 1, isDontFragment: false },
    udp: { sourcePort: ports[0], destinationPort: ports[1] },
    payload: Uint8Array.of(1, 2, 3),
  });
}
function udpFragment(offset: number, hasMore: boolean): Packet {
  const first = [0x13, 0x88, 0x00, 0x35, 0x00, 0x20, 0, 0, ...Array.from({ length: 8 }, () => 7)];
  return buildIpFrame({
    link,
    ip: { source: ip(A), destination: ip("10.96.0.10"), ttl: 128, identification: 77, isDontFragment: false },
    protocol: 17,
    payload: Uint8Array.from(offset === 0 ? first : first.map(() => 9)),
    fragment: { offset, hasMore },
  });
}

function rule(id: string, fields: Partial<Rule> & { readonly action?: Action }): Rule {
  return {
    id,
    name: id,
    priority: 100,
    condition: {},
    action: { type: "allow" },
    isTerminating: true,
    isStateful: false,
    provenance: { object: "test", id, name: id },
    ...fields,
  };
}
function group(
  rules: readonly Rule[],
  fields: Partial<GroupDefinition> = {},
): ReturnType<typeof createGroup> {
  return createGroup({
    name: "G",
    direction: "out",
    family: 4,
    priority: 1,
    match: "priority",
    rules,
    ...fields,
  });
}
function layer(name: string, priority: number, fields: Partial<LayerDefinition> = {}): LayerDefinition {
  return { name, priority, isStateful: true, isDefaultAllow: true, ...fields };
}
function toMac(text: string): Action {
  return { type: "transpose", destinationMac: parseMac(text)! };
}

class Ear implements Recorder {
  readonly events: TraceEvent[] = [];
  record(_tag: number, event: TraceEvent): void {
    this.events.push(event);
  }
  get layers(): string[] {
    return this.events
      .filter((event): event is LayerEvent => event.kind === "layer")
      .map((event) => event.layer);
  }
}

let port: VfpPort;
function makePort(layers: readonly LayerDefinition[], unifiedFlows = true): void {
  port = new VfpPort({ id: "p", name: "pod A", node: "win-1", layers, unifiedFlows });
}
function process(direction: VfpDirection, packet: Packet, nowMs = 0, ear?: Recorder): Verdict {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  return port.process(direction, packet, headers, nowMs, ear);
}
/** `source:port > destination:port, destination MAC` after processing. */
function show(packet: Packet): string {
  const headers = new Headers();
  headers.parse(packet);
  const ports = [0, 2].map((offset) => readU16(packet.bytes, headers.transport + offset));
  const from = formatIp(sourceIp(packet.bytes, headers));
  return `${from}:${ports[0]} > ${formatIp(destinationIp(packet.bytes, headers))}:${ports[1]}`;
}

describe("a disabled, a blocked and an ordinary port", () => {
  beforeEach(() => makePort([layer("ACL_ENDPOINT_LAYER", 15, { isDefaultAllow: false })]));

  it("DT-001 Enabled FALSE: any frame unchanged, no counters", () => {
    port.isEnabled = false;
    const packet = tcp(A, C, [5000, 80]);
    const before = packet.frame.slice();
    expect(process("out", packet)).toBe("pass");
    expect(packet.frame).toEqual(before);
    expect(port.packets.out).toBe(0);
  });

  it("DT-002 Blocked TRUE: any frame dropped", () => {
    port.isBlocked = true;
    expect(process("out", tcp(A, C, [5000, 80]))).toBe("drop");
    expect(port.drops.get("switch-port-blocked")).toBe(1);
  });

  it("DT-004 no default allow and no rule matches: dropped", () => {
    expect(process("out", tcp(A, C, [5000, 80], TcpFlag.syn))).toBe("drop");
    expect(port.drops.get("acl-no-rule-matched")).toBe(1);
  });

  it("DT-029 a non-IP frame is not examined", () => {
    const lldp = buildEthernetFrame({ link, etherType: 0x88cc, payload: new Uint8Array(46) });
    expect(process("out", lldp)).toBe("pass");
  });
});

describe("layers and rules", () => {
  it("DT-003 default allow and no rule matches: the next layer", () => {
    makePort([layer("LB_DSR", 7), layer("SLB_NAT_LAYER", 50)]);
    const ear = new Ear();
    expect(process("out", tcp(A, C, [5000, 80], TcpFlag.syn), 0, ear)).toBe("pass");
    expect(ear.layers).toEqual(["LB_DSR", "SLB_NAT_LAYER"]);
  });

  const priorities = [2000, 15, 7, 100, 40, 50];
  it.each([
    { row: "DT-005", direction: "out", order: ["7", "15", "40", "50", "100", "2000"] },
    { row: "DT-006", direction: "in", order: ["2000", "100", "50", "40", "15", "7"] },
  ] as const)("$row layers 7, 15, 40, 50, 100, 2000: $direction visits $order", ({ direction, order }) => {
    makePort(priorities.map((priority) => layer(String(priority), priority)));
    const ear = new Ear();
    process(direction, tcp(A, C, [5000, 80]), 0, ear);
    expect(ear.layers).toEqual(order);
  });

  it("DT-007 two rules match, priorities 100 and 200: rule 100 only", () => {
    makePort([layer("L", 7)]);
    port.setGroups("L", [
      group([
        rule("second", { priority: 200, action: toMac("02-00-00-00-00-02") }),
        rule("first", { priority: 100, action: toMac("02-00-00-00-00-01") }),
      ]),
    ]);
    const packet = tcp(A, C, [5000, 80]);
    process("out", packet);
    expect(formatMac(readU48(packet.bytes, packet.start) as never)).toBe("02-00-00-00-00-01");
    const layerL = port.getLayer("L")!;
    expect(layerL.groups[0]!.rules.map((each) => [each.id, layerL.matchCount(each)])).toEqual([
      ["first", 1],
      ["second", 0],
    ]);
  });

  it("DT-008 a match that does not terminate, then a rule of the next group: both applied", () => {
    makePort([layer("L", 7)]);
    port.setGroups("L", [
      group([rule("mac", { isTerminating: false, action: toMac("02-00-00-00-00-01") })], {
        name: "1",
        priority: 1,
      }),
      group(
        [
          rule("vip", {
            action: { type: "nat", side: "destination", ip: ip(C), port: 8080 },
            isStateful: true,
          }),
        ],
        { name: "2", priority: 2 },
      ),
    ]);
    for (const round of [1, 2]) {
      const packet = tcp(A, "10.96.0.50", [5000, 80]);
      process("out", packet, round);
      expect(show(packet)).toBe("10.244.1.10:5000 > 10.244.2.10:8080");
      expect(formatMac(readU48(packet.bytes, packet.start) as never)).toBe("02-00-00-00-00-01");
    }
  });

  it("DT-009 LPM group with /16 and /24: the /24 rule", () => {
    makePort([layer("L", 7, { isStateful: false })]);
    const prefixed = (text: string, mac: string): Rule =>
      rule(text, { condition: { destination: [parsePrefix(text)!] }, action: toMac(mac) });
    const rules = [
      prefixed("10.244.0.0/16", "02-00-00-00-00-16"),
      prefixed("10.244.2.0/24", "02-00-00-00-00-24"),
    ];
    port.setGroups("L", [group(rules, { match: "lpm-destination" })]);
    const packet = tcp(A, C, [5000, 80]);
    process("out", packet);
    expect(formatMac(readU48(packet.bytes, packet.start) as never)).toBe("02-00-00-00-00-24");
  });

  it("DT-028 an IPv6 packet where only IPv4 groups have rules: the layer's default", () => {
    makePort([layer("OPEN", 7), layer("SHUT", 15, { isDefaultAllow: false })]);
    for (const name of ["OPEN", "SHUT"]) port.setGroups(name, [group([rule("r", {})])]);
    const ear = new Ear();
    expect(process("out", udp("fd00::1", "fd00::2", [5000, 53]), 0, ear)).toBe("drop");
    expect(ear.events.map((event) => event.kind)).toEqual(["layer", "drop"]);
  });
});

describe("flows", () => {
  const allowOut = group([rule("allow", { isStateful: true })]);
  beforeEach(() => {
    makePort([layer("ACL_ENDPOINT_LAYER", 15, { isDefaultAllow: false })]);
    port.setGroups("ACL_ENDPOINT_LAYER", [allowOut]);
  });
  const request = (): Packet => tcp(A, C, [5000, 80]);
  const reply = (): Packet => tcp(C, A, [80, 5000]);
  const block = group([rule("block", { action: { type: "block", code: "acl-rule-blocked" } })]);

  it("DT-012 a stateful allow makes a pair of layer flows and a unified flow", () => {
    process("out", request());
    expect(port.getLayer("ACL_ENDPOINT_LAYER")!.flowCount).toBe(2);
    expect(port.unifiedFlowCount).toBe(1);
  });

  it("DT-013 the reply passes without a rule; nothing else comes in", () => {
    expect(process("in", reply())).toBe("drop");
    process("out", request());
    expect(process("in", reply())).toBe("pass");
    expect(process("in", tcp(C, A, [81, 5000]))).toBe("drop");
  });

  it.each([
    { row: "DT-015", idleMs: 239_000, verdict: "pass" },
    { row: "DT-014", idleMs: 241_000, verdict: "drop" },
  ])("$row a flow idle for $idleMs ms: its reply is a $verdict", ({ idleMs, verdict }) => {
    process("out", request(), 0);
    expect(process("in", reply(), idleMs)).toBe(verdict);
  });

  it("DT-016 a policy change with the same result: passes", () => {
    process("out", request());
    const more = rule("other", { priority: 50, condition: { protocols: [132] } });
    port.setGroups("ACL_ENDPOINT_LAYER", [group([rule("allow", { isStateful: true }), more])]);
    const [flow] = port.getLayer("ACL_ENDPOINT_LAYER")!.listFlows();
    expect(flow!.generation).toBeLessThan(port.generation);
    expect(process("in", reply())).toBe("pass");
    expect(flow!.generation).toBe(port.generation);
  });

  it("DT-017 a policy change that blocks the flow: the next packet is dropped and the flow is gone", () => {
    process("out", request());
    port.setGroups("ACL_ENDPOINT_LAYER", [block]);
    expect(process("out", request())).toBe("drop");
    expect(port.getLayer("ACL_ENDPOINT_LAYER")!.flowCount).toBe(0);
    expect(process("in", reply())).toBe("drop");
  });

  it("keeps flows when the same groups are set again", () => {
    process("out", request());
    const { generation } = port;
    port.setGroups("ACL_ENDPOINT_LAYER", [allowOut]);
    expect(port.generation).toBe(generation);
  });
});

describe("a rule that takes a hop", () => {
  it("lets the last hop die, also where a flow exists already", () => {
    makePort([layer("VNET_ENCAP_LAYER", 40)]);
    port.setGroups("VNET_ENCAP_LAYER", [
      group([rule("hop", { action: { type: "transpose", decrementTtl: true } })]),
    ]);
    const withTtl = (ttl: number): Packet =>
      buildUdpFrame({
        link,
        ip: { source: ip(A), destination: ip(C), ttl, identification: 1, isDontFragment: false },
        udp: { sourcePort: 5000, destinationPort: 53 },
        payload: Uint8Array.of(1),
      });
    expect(process("out", withTtl(128))).toBe("pass");
    expect(process("out", withTtl(2))).toBe("pass");
    expect(process("out", withTtl(1))).toBe("drop");
    expect(port.drops.get("ttl-expired")).toBe(1);
  });
});

describe("NAT flows", () => {
  const blocks = { acquire: () => ({ first: 50_048, last: 50_111 }), release: () => undefined };
  beforeEach(() => {
    makePort([layer("SLB_NAT_LAYER", 50)]);
    port.addNatPool(new NatPool({ name: "tcp", ip: ip("10.0.0.11"), protocol: 6, blocks, portsMax: 64 }));
    const snat = rule("snat", {
      condition: { protocols: [6] },
      action: { type: "dynnat", pool: "tcp" },
      isStateful: true,
    });
    port.setGroups("SLB_NAT_LAYER", [group([snat])]);
  });
  const out = (flags: number, nowMs = 0): string => {
    const packet = tcp(A, "203.0.113.10", [5000, 443], flags);
    return process("out", packet, nowMs) === "pass" ? show(packet) : "drop";
  };
  const back = (port_: number): string => {
    const packet = tcp("203.0.113.10", "10.0.0.11", [443, port_], TcpFlag.syn | TcpFlag.ack);
    process("in", packet);
    return show(packet);
  };

  it("DT-135, DT-136, F-11: translates out, and back by the exact tuple only", () => {
    expect(out(TcpFlag.syn)).toBe("10.0.0.11:50048 > 203.0.113.10:443");
    expect(back(50_048)).toBe("203.0.113.10:443 > 10.244.1.10:5000");
    expect(back(50_049)).toBe("203.0.113.10:443 > 10.0.0.11:50049");
  });

  it("DT-018 a repeated SYN keeps its port until an answer came; then a SYN is a new connection", () => {
    expect(out(TcpFlag.syn)).toContain(":50048");
    expect(out(TcpFlag.syn)).toContain(":50048");
    back(50_048);
    expect(out(TcpFlag.ack)).toContain(":50048");
    expect(out(TcpFlag.syn)).toContain(":50049");
    expect(port.getNatPool("tcp")!.usedCount).toBe(1);
  });

  it("DT-138: drops when 64 ports are in use, and frees those of idle flows", () => {
    for (let client = 0; client < 64; client++) {
      const packet = tcp(A, "203.0.113.10", [6000 + client, 443], TcpFlag.syn);
      expect(process("out", packet, 0)).toBe("pass");
    }
    expect(out(TcpFlag.syn, 1)).toBe("drop");
    expect(port.drops.get("nat-port-pool-exhausted")).toBe(1);
    expect(out(TcpFlag.syn, 240_001)).toContain("10.0.0.11:");
  });

  describe("of which most are idle", () => {
    const CLIENTS = 4_000;
    const LIVE = 6_001;
    const many = { acquire: () => ({ first: 10_000, last: 10_000 + CLIENTS }), release: () => undefined };
    const words = (): number =>
      [...takeCensus(port)].reduce(
        (sum, [path, size]) => (/flows|keyPool|unified/.test(path) ? sum + size : sum),
        0,
      );
    const send = (client: number, nowMs: number): string => {
      const packet = udp(A, "203.0.113.10", [client, 53]);
      expect(process("out", packet, nowMs)).toBe("pass");
      return show(packet);
    };

    beforeEach(() => {
      port.addNatPool(
        new NatPool({ name: "udp", ip: ip("10.0.0.11"), protocol: 17, blocks: many, portsMax: CLIENTS }),
      );
      const snat = rule("udp", { action: { type: "dynnat", pool: "udp" }, isStateful: true });
      port.setGroups("SLB_NAT_LAYER", [group([snat])]);
    });

    it("gives memory and ports back, and goes on with the others", () => {
      send(LIVE, 0);
      const small = words();
      for (let client = 0; client < CLIENTS - 1; client++) send(20_000 + client, 0);
      const large = words();
      const kept = send(LIVE, 200_000);
      port.forgetIdleFlows(240_000);
      expect(port.getNatPool("udp")?.usedCount).toBe(1);
      expect(words()).toBeLessThan(small + (large - small) / 20);
      expect(send(LIVE, 240_001)).toBe(kept);
      const answer = udp("203.0.113.10", "10.0.0.11", [53, Number(kept.split(/[: ]/)[1])]);
      process("in", answer, 240_002);
      expect(show(answer)).toBe(`203.0.113.10:53 > 10.244.1.10:${LIVE}`);
    });

    it("forgets counters of rules that are gone, whatever kind of group they stood in", () => {
      send(LIVE, 0);
      const toNet = rule("net", { condition: { destination: [parsePrefix("203.0.113.0/24")!] } });
      port.setGroups("SLB_NAT_LAYER", [group([toNet], { match: "lpm-destination" })]);
      port.forgetIdleFlows(300_000);
      send(LIVE + 1, 300_001);
      const layerL = port.getLayer("SLB_NAT_LAYER")!;
      expect(layerL.matchCount(toNet)).toBe(1);
    });

    it("keeps those that were used since", () => {
      for (let client = 0; client < 200; client++) send(20_000 + client, client * 1_000);
      port.forgetIdleFlows(300_000);
      expect(port.getNatPool("udp")?.usedCount).toBe(139);
    });
  });

  it("translates an answer although the same packet came before the question, and passed as it was", () => {
    port.addNatPool(new NatPool({ name: "udp", ip: ip("10.0.0.11"), protocol: 17, blocks }));
    const snat = rule("udp", {
      condition: { protocols: [17] },
      action: { type: "dynnat", pool: "udp" },
      isStateful: true,
    });
    port.setGroups("SLB_NAT_LAYER", [group([snat])]);
    const answer = (): string => {
      const packet = udp("203.0.113.10", "10.0.0.11", [53, 50_048]);
      process("in", packet);
      return show(packet);
    };
    expect(answer()).toBe("203.0.113.10:53 > 10.0.0.11:50048");
    process("out", udp(A, "203.0.113.10", [5000, 53]));
    expect(answer()).toBe("203.0.113.10:53 > 10.244.1.10:5000");
  });

  it("DT-016 keeps its port when a rule before the NAT rule rewrites what that asks for", () => {
    const mac = "00-15-5D-AA-00-02";
    const condition = { protocols: [6], destinationMac: parseMac(mac)! };
    const snat = rule("snat", { condition, action: { type: "dynnat", pool: "tcp" }, isStateful: true });
    port.setGroups("SLB_NAT_LAYER", [
      group([rule("mac", { action: toMac(mac), isTerminating: false })]),
      group([snat], { priority: 2 }),
    ]);
    const translated = "10.0.0.11:50048 > 203.0.113.10:443";
    expect(out(TcpFlag.ack)).toBe(translated);
    port.setGroups("SLB_NAT_LAYER", [...port.getLayer("SLB_NAT_LAYER")!.groups, group([], { priority: 3 })]);
    expect(out(TcpFlag.ack)).toBe(translated);
  });

  it("gives everything back when the pool goes", () => {
    out(TcpFlag.syn);
    port.removeNatPool("tcp");
    expect(port.getLayer("SLB_NAT_LAYER")!.flowCount).toBe(0);
    expect(out(TcpFlag.syn)).toBe("drop");
  });
});

describe("a packet that a rule turns round before another rule translates it", () => {
  beforeEach(() => {
    makePort([layer("NAT", 50), layer("HAIRPIN", 100, { isHairpin: true })]);
    let next = 50_048;
    const blocks = { acquire: () => ({ first: next, last: (next += 64) - 1 }), release: () => undefined };
    port.addNatPool(new NatPool({ name: "tcp", ip: ip("10.0.0.11"), protocol: 6, blocks, portsMax: 64 }));
    const nat = rule("nat", { action: { type: "dynnat", pool: "tcp" }, isStateful: true });
    port.setGroups("HAIRPIN", [
      group([rule("turn", { isTerminating: false })]),
      group([nat], { direction: "in", name: "I", priority: 2 }),
    ]);
    port.setGroups("NAT", [group([nat], { direction: "in" })]);
  });

  it("keeps its ports when rules are looked up again: the second rule is one of the other direction", () => {
    const syn = (): string => {
      const packet = tcp(A, C, [5000, 80], TcpFlag.syn);
      expect(process("out", packet)).toBe("hairpin");
      return show(packet);
    };
    const first = syn();
    expect(syn()).toBe(first);
    expect(port.getNatPool("tcp")!.usedCount).toBe(2);
  });
});

describe.each([
  ["with unified flows", true],
  ["layer by layer", false],
])("a turned packet that meets a layer twice, %s", (_name, unifiedFlows) => {
  const V = "10.96.0.10";
  beforeEach(() => {
    makePort([layer("LB", 7), layer("HAIRPIN", 100, { isStateful: false, isHairpin: true })], unifiedFlows);
    const toSelf = rule("self", {
      condition: { source: [parsePrefix(`${A}/32`)!] },
      action: { type: "nat", side: "source", ip: ip(V) },
    });
    const service = rule("service", {
      condition: { destination: [parsePrefix(`${V}/32`)!] },
      action: { type: "nat", side: "destination", ip: ip(A) },
      isStateful: true,
    });
    port.setGroups("HAIRPIN", [group([toSelf])]);
    port.setGroups("LB", [group([service], { direction: "in" })]);
  });

  // dataplane.md §1.12: step 4 (a) looks for main and answer; fast path and slow path give the same bytes.
  it("its repetition is the answer to what it became the second time", () => {
    const send = (from: number): string => {
      const packet = udp(A, V, [from, 80]);
      return `${process("out", packet)} ${show(packet)}`;
    };
    // The layer has flows already, so that it is remembered that it had none for the next tuple.
    expect(send(5000)).toBe(`hairpin ${V}:5000 > ${A}:80`);
    // On the way back it makes a flow whose answer is A:80 > V:80, from which the source is translated.
    expect(send(80)).toBe(`hairpin ${V}:80 > ${A}:80`);
    expect(send(80)).toBe(`pass ${V}:80 > ${V}:80`);
  });
});

describe("fragments", () => {
  beforeEach(() => {
    makePort([layer("LB_DSR", 7)]);
    const lb = rule("dns", {
      condition: { destinationPorts: [{ first: 53, last: 53 }] },
      action: { type: "nat", side: "destination", ip: ip("10.244.2.53") },
      isStateful: true,
    });
    port.setGroups("LB_DSR", [group([lb])]);
  });

  it("DT-022 the second fragment follows the first", () => {
    process("out", udpFragment(0, true));
    const second = udpFragment(16, false);
    expect(process("out", second)).toBe("pass");
    const headers = new Headers();
    headers.parse(second);
    expect(formatIp(destinationIp(second.bytes, headers))).toBe("10.244.2.53");
  });

  it("DT-023 the second fragment first: dropped", () => {
    expect(process("out", udpFragment(16, false))).toBe("drop");
    expect(port.drops.get("fragment-without-first")).toBe(1);
  });
});
