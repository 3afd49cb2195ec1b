// Load balancing in the engine: the rows of dataplane.md §3.1, §3.7 and §10 "Services" that need no node.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { LayerEvent } from "#core/base/recorder.ts";
import { formatIp, hostPrefix, parseIp } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { type Group, createGroup } from "./group.ts";
import type { LbnatBackEnd, Distribution, LayerDefinition, Rule } from "./rule.ts";
import { FLOW_TTL_MS } from "./rule.ts";
import { VfpPort } from "./vfp-port.ts";

const A = "10.244.1.10";
const V = "10.96.0.50";
const LINK = {
  sourceMac: defined(parseMac("0E-2A-0A-F4-01-0A"), "a MAC"),
  destinationMac: defined(parseMac("00-15-5D-AA-00-01"), "a MAC"),
};
const BACK_END_MAC = "0E-2A-0A-F4-01-0B";

function ip(text: string): ReturnType<typeof parseIp> & {} {
  return defined(parseIp(text), "an address");
}

function backEnd(address: string, mac?: string): LbnatBackEnd {
  const known = mac === undefined ? undefined : defined(parseMac(mac), "a MAC");
  return known === undefined ? { ip: ip(address), port: 8080 } : { ip: ip(address), port: 8080, mac: known };
}

const FOUR = ["10.244.2.1", "10.244.2.2", "10.244.2.3", "10.244.2.4"].map((address) => backEnd(address));

function service(
  backEnds: readonly LbnatBackEnd[],
  fields: {
    readonly id?: string;
    readonly distribution?: Distribution;
    readonly rewrites?: "address-and-port" | "mac";
    readonly protocol?: number;
  } = {},
): Group {
  const id = fields.id ?? "service";
  const rule: Rule = {
    id,
    name: id,
    priority: 100,
    condition: {
      protocols: [fields.protocol ?? 6],
      destination: [hostPrefix(ip(V))],
      destinationPorts: [{ first: 80, last: 80 }],
    },
    action: {
      type: "lbnat",
      backEnds,
      distribution: fields.distribution ?? "5-tuple",
      rewrites: fields.rewrites ?? "address-and-port",
    },
    isTerminating: true,
    isStateful: true,
    provenance: { object: "test", id, name: id },
  };
  return createGroup({
    name: "LB_DSR_IPv4_OUT",
    direction: "out",
    family: 4,
    priority: 100,
    match: "priority",
    rules: [rule],
  });
}

const LB_DSR: LayerDefinition = { name: "LB_DSR", priority: 7, isStateful: true, isDefaultAllow: true };

function portWith(group: Group): VfpPort {
  const port = new VfpPort({ id: "p", name: "pod a", node: "win-1", layers: [LB_DSR] });
  port.setGroups("LB_DSR", [group]);
  return port;
}

function segment(
  from: string,
  to: string,
  ports: readonly [number, number],
  flags: number = TcpFlag.ack,
): Packet {
  const [sourcePort, destinationPort] = ports;
  return buildTcpFrame({
    link: LINK,
    ip: { source: ip(from), destination: ip(to), ttl: 128, identification: 1, isDontFragment: true },
    tcp: { sourcePort, destinationPort, sequence: 1, acknowledgment: 0, flags, window: 1_000 },
  });
}

function datagram(from: string, to: string, ports: readonly [number, number]): Packet {
  const [sourcePort, destinationPort] = ports;
  return buildUdpFrame({
    link: LINK,
    ip: { source: ip(from), destination: ip(to), ttl: 128, identification: 1, isDontFragment: false },
    udp: { sourcePort, destinationPort },
    payload: Uint8Array.of(1),
  });
}

interface Sent {
  readonly verdict: string;
  readonly from: string;
  readonly to: string;
  readonly destinationMac: string;
}

function send(port: VfpPort, packet: Packet, direction: "out" | "in" = "out", nowMs = 0): Sent {
  const headers = new Headers();
  headers.parse(packet);
  const verdict = port.process(direction, packet, headers, nowMs);
  const { bytes } = packet;
  return {
    verdict,
    from: `${formatIp(sourceIp(bytes, headers))}:${readU16(bytes, headers.transport)}`,
    to: `${formatIp(destinationIp(bytes, headers))}:${readU16(bytes, headers.transport + 2)}`,
    destinationMac: formatMac(readU48(bytes, packet.start) as never),
  };
}

/** Where a connection from source port `source` goes. */
function choice(port: VfpPort, source: number, nowMs = 0): string {
  return send(port, segment(A, V, [source, 80]), "out", nowMs).to;
}

describe("lbnat", () => {
  it("DT-084 destination becomes a back end's, source stays", () => {
    const sent = send(portWith(service(FOUR)), segment(A, V, [5000, 80], TcpFlag.syn));
    expect(FOUR.map((each) => `${formatIp(each.ip)}:8080`)).toContain(sent.to);
    expect(sent.from).toBe(`${A}:5000`);
  });

  it("DT-085, DT-098 the answer gets the service's address and port back as source", () => {
    const port = portWith(service([backEnd("10.244.2.1")]));
    send(port, segment(A, V, [5000, 80], TcpFlag.syn));
    const answer = send(port, segment("10.244.2.1", A, [8080, 5000]), "in");
    expect(answer).toMatchObject({ from: `${V}:80`, to: `${A}:5000` });
  });

  it("DT-086 the second packet of a flow goes to the same back end", () => {
    const port = portWith(service(FOUR));
    const first = choice(port, 5000);
    expect([choice(port, 5000), choice(port, 5000)]).toEqual([first, first]);
  });

  it("DT-087 a new source port: the hash decides again, and spreads", () => {
    const port = portWith(service(FOUR));
    const counts = new Map<string, number>();
    for (let source = 10_000; source < 12_000; source++) {
      const to = choice(port, source);
      counts.set(to, (counts.get(to) ?? 0) + 1);
    }
    expect(counts.size).toBe(4);
    for (const count of counts.values()) expect(count).toBeGreaterThan(400);
  });

  it("DT-087 flows with other source ports keep their back ends, and their answers come back to their ports", () => {
    const port = portWith(service(FOUR));
    const sources = Array.from({ length: 64 }, (_, index) => 20_000 + index);
    const chosen = sources.map((source) => choice(port, source));
    expect(new Set(chosen).size).toBe(4);
    for (const [at, source] of sources.entries()) {
      const [from = ""] = (chosen[at] ?? "").split(":");
      expect(choice(port, source)).toBe(chosen[at]);
      expect(send(port, segment(from, A, [8080, source]), "in")).toMatchObject({
        from: `${V}:80`,
        to: `${A}:${source}`,
      });
    }
  });

  it.each([2, 3, 4, 7, 16])(
    "DT-087 source ports in steps of any power of two spread over %d back ends",
    (count) => {
      const list = Array.from({ length: count }, (_, index) => backEnd(`10.244.2.${index + 1}`));
      const port = portWith(service(list));
      for (let step = 1; step <= 512; step *= 2) {
        const seen = new Map<string, number>();
        for (let at = 0; at < 128; at++) {
          const to = choice(port, (1 + at * step) & 0xffff);
          seen.set(to, (seen.get(to) ?? 0) + 1);
        }
        // Of 128 even throws: each back end has some, and none has as much as two thirds more than half of them.
        expect([step, seen.size]).toEqual([step, count]);
        expect(Math.max(...seen.values())).toBeLessThan(128 / count + 6 * Math.sqrt(128 / count));
      }
    },
  );

  it.each([
    ["5-tuple", true],
    ["3-tuple", false],
    ["2-tuple", false],
  ] as const)("DT-088 distribution %s: another port may lead elsewhere: %s", (distribution, spreads) => {
    const port = portWith(service(FOUR, { distribution }));
    const seen = new Set(Array.from({ length: 64 }, (_, index) => choice(port, 5000 + index)));
    expect(seen.size > 1).toBe(spreads);
  });

  it("3-tuple looks at the protocol, 2-tuple does not", () => {
    const differs = (distribution: Distribution): boolean => {
      const tcp = portWith(service(FOUR, { distribution }));
      const udp = portWith(service(FOUR, { distribution, protocol: 17 }));
      return Array.from({ length: 32 }, (_, index) => `10.244.1.${index + 1}`).some(
        (from) => send(tcp, segment(from, V, [5000, 80])).to !== send(udp, datagram(from, V, [5000, 80])).to,
      );
    };
    expect(differs("3-tuple")).toBe(true);
    expect(differs("2-tuple")).toBe(false);
  });

  it("the same packet and list give the same choice on every port: the hash is stable", () => {
    const first = portWith(service(FOUR));
    const second = portWith(service(FOUR, { id: "another" }));
    for (let source = 5000; source < 5050; source++)
      expect(choice(second, source)).toBe(choice(first, source));
  });

  it("the list's order decides what the hash stands for", () => {
    const forward = portWith(service(FOUR.slice(0, 2)));
    const backward = portWith(service(FOUR.slice(0, 2).toReversed()));
    for (let source = 5000; source < 5050; source++)
      expect(choice(backward, source)).not.toBe(choice(forward, source));
  });

  it("MAC fix-up to a local back end's; towards a remote one the next hop's MAC stays", () => {
    const local = send(portWith(service([backEnd("10.244.1.11", BACK_END_MAC)])), segment(A, V, [5000, 80]));
    expect(local.destinationMac).toBe(BACK_END_MAC);
    const remote = send(portWith(service([backEnd("10.244.2.1")])), segment(A, V, [5000, 80]));
    expect(remote.destinationMac).toBe(formatMac(LINK.destinationMac));
  });

  it("on the host's port for direct return: only the MAC changes", () => {
    const group = service([backEnd("10.244.1.11", BACK_END_MAC)], { rewrites: "mac" });
    expect(send(portWith(group), segment(A, V, [5000, 80]))).toMatchObject({
      to: `${V}:80`,
      destinationMac: BACK_END_MAC,
    });
  });

  it("1024 back ends: all of them are chosen, none is out of reach", () => {
    const many = Array.from({ length: 1_024 }, (_, index) => ({
      ip: (0x0af4_0200 + index) as never,
      port: 8080,
    }));
    const port = portWith(service(many));
    const seen = new Set<string>();
    for (let source = 1_024; source < 15_024; source++) seen.add(choice(port, source));
    expect(seen.size).toBe(1_024);
  });
});

describe("flows when a service changes (dataplane.md §3.7)", () => {
  const SOURCES = Array.from({ length: 64 }, (_, index) => 5000 + index);

  it("a back end comes: existing flows stay where they are, new ones may go to it", () => {
    const port = portWith(service(FOUR.slice(0, 2)));
    const before = SOURCES.map((source) => choice(port, source));
    port.setGroups("LB_DSR", [service(FOUR)]);
    expect(SOURCES.map((source) => choice(port, source))).toEqual(before);
    const fresh = SOURCES.map((source) => choice(port, source + 10_000));
    expect(new Set(fresh).size).toBe(4);
  });

  it("DT-091 a back end goes: its flows get another one with their next packet, the others keep theirs", () => {
    const port = portWith(service(FOUR));
    const before = SOURCES.map((source) => choice(port, source));
    const gone = "10.244.2.1:8080";
    port.setGroups("LB_DSR", [service(FOUR.slice(1))]);
    const after = SOURCES.map((source) => choice(port, source));
    expect(after).not.toContain(gone);
    for (const [index, to] of before.entries()) if (to !== gone) expect(after[index]).toBe(to);
    expect(before).toContain(gone);
  });

  it("a flow that stayed through one change stays through the next", () => {
    const port = portWith(service(FOUR.slice(0, 2)));
    const before = SOURCES.map((source) => choice(port, source));
    for (const list of [FOUR.slice(0, 3), FOUR, FOUR.slice(0, 2), FOUR.toReversed()]) {
      port.setGroups("LB_DSR", [service(list)]);
      expect(SOURCES.map((source) => choice(port, source))).toEqual(before);
    }
  });

  it("deleted and made anew under another id: flows are evaluated again (F-23, k8s#113842)", () => {
    const port = portWith(service(FOUR));
    const before = SOURCES.map((source) => choice(port, source));
    port.setGroups("LB_DSR", [service([...FOUR.slice(1), ...FOUR.slice(0, 1)], { id: "anew" })]);
    expect(SOURCES.map((source) => choice(port, source))).not.toEqual(before);
  });

  it("the service goes: the next packet is not translated any more", () => {
    const port = portWith(service(FOUR));
    choice(port, 5000);
    port.setGroups("LB_DSR", []);
    expect(choice(port, 5000)).toBe(`${V}:80`);
  });

  it("DT-097 UDP, idle for 240 s: the hash decides again; a second earlier the flow still holds", () => {
    const list = (backEnds: readonly LbnatBackEnd[]): Group => service(backEnds, { protocol: 17 });
    const moved = (idleMs: number): boolean => {
      const port = portWith(list(FOUR));
      const first = send(port, datagram(A, V, [5000, 80])).to;
      port.setGroups("LB_DSR", [list([...FOUR.slice(1), ...FOUR.slice(0, 1)])]);
      return send(port, datagram(A, V, [5000, 80]), "out", idleMs).to !== first;
    };
    expect(moved(FLOW_TTL_MS - 1_000)).toBe(false);
    expect(moved(FLOW_TTL_MS)).toBe(true);
  });
});

describe("hairpin layers (dataplane.md §1.3)", () => {
  const HAIRPIN: LayerDefinition = {
    name: "SLB_HAIRPIN_LAYER",
    priority: 101,
    isStateful: true,
    isDefaultAllow: true,
    isHairpin: true,
  };
  const LB: LayerDefinition = { name: "LB", priority: 300, isStateful: true, isDefaultAllow: true };
  const INNER: LayerDefinition = { name: "INNER", priority: 50, isStateful: false, isDefaultAllow: true };
  const OUTER: LayerDefinition = { name: "OUTER", priority: 2000, isStateful: false, isDefaultAllow: true };

  function hostPort(): VfpPort {
    const port = new VfpPort({
      id: "h",
      name: "host",
      node: "win-1",
      layers: [INNER, HAIRPIN, LB, OUTER],
    });
    const turn: Rule = {
      id: "turn",
      name: "HairPin",
      priority: 100,
      condition: { protocols: [6], destination: [hostPrefix(ip(V))] },
      action: { type: "allow" },
      isTerminating: true,
      isStateful: true,
      provenance: { object: "test", id: "turn", name: "turn" },
    };
    const common = { family: 4, priority: 100, match: "priority" } as const;
    port.setGroups("SLB_HAIRPIN_LAYER", [
      createGroup({ ...common, name: "SLB_GROUP_HAIRPIN_IPv4_IN", direction: "in", rules: [turn] }),
    ]);
    port.setGroups("LB", [service([backEnd("10.244.2.1")])]);
    return port;
  }

  function heard(
    port: VfpPort,
    packet: Packet,
    direction: "out" | "in",
  ): { verdict: string; layers: string[] } {
    const layers: string[] = [];
    const headers = new Headers();
    headers.parse(packet);
    const recorder = {
      record: (_: unknown, event: unknown) => {
        const { kind, layer, direction: side } = event as LayerEvent;
        if (kind === "layer") layers.push(`${side} ${layer}`);
      },
    };
    return { verdict: port.process(direction, packet, headers, 0, recorder), layers };
  }

  it("DT-010 a match on the way in: turned to OUT, the layers behind it follow, the vNIC never sees it", () => {
    expect(heard(hostPort(), segment(A, V, [5000, 80]), "in")).toEqual({
      verdict: "hairpin",
      layers: ["in OUTER", "in LB", "in SLB_HAIRPIN_LAYER", "out LB", "out OUTER"],
    });
  });

  it("DT-011 what goes out anyway is not turned, though the rule's layer is passed", () => {
    expect(heard(hostPort(), segment(A, V, [5000, 80]), "out")).toEqual({
      verdict: "pass",
      layers: ["out INNER", "out SLB_HAIRPIN_LAYER", "out LB", "out OUTER"],
    });
  });

  it("the answer to a turned packet is turned as well: it leaves on the side it came from", () => {
    const port = hostPort();
    expect(send(port, segment(A, V, [5000, 80]), "in")).toMatchObject({
      verdict: "hairpin",
      to: "10.244.2.1:8080",
    });
    for (const round of [1, 2])
      expect(send(port, segment("10.244.2.1", A, [8080, 5000]), "in"), `round ${round}`).toMatchObject({
        verdict: "hairpin",
        from: `${V}:80`,
        to: `${A}:5000`,
      });
  });

  it("other packets reach the vNIC", () => {
    expect(send(hostPort(), segment(A, "10.0.0.11", [5000, 80]), "in").verdict).toBe("pass");
  });
});

describe("rules for SYN alone (rule flags 16 and 4, dataplane.md §1.5)", () => {
  function withSyn(tcpSyn: "only" | "never", backEnds: readonly LbnatBackEnd[] = FOUR): Group {
    const group = service(backEnds);
    const rules = group.rules.map((rule) => ({ ...rule, condition: { ...rule.condition, tcpSyn } }));
    const { name, direction, family, priority, match } = group;
    return createGroup({ name, direction, family, priority, match, rules });
  }

  it("SYN only: a connection is balanced when it is opened, and goes on; one that was not is left alone", () => {
    const port = portWith(withSyn("only"));
    const opened = send(port, segment(A, V, [5_000, 80], TcpFlag.syn));
    expect(opened.to).toMatch(/^10\.244\.2\.\d:8080$/);
    for (let more = 0; more < 3; more++) expect(send(port, segment(A, V, [5_000, 80])).to).toBe(opened.to);
    for (let more = 0; more < 3; more++) expect(send(port, segment(A, V, [5_001, 80])).to).toBe(`${V}:80`);
    // The other way round: the connection that was left alone is opened anew.
    expect(send(port, segment(A, V, [5_001, 80], TcpFlag.syn)).to).toMatch(/:8080$/);
    expect(send(port, segment(A, V, [5_001, 80])).to).toMatch(/:8080$/);
  });

  it("a flow that a SYN made stays when the rules are programmed anew", () => {
    const port = portWith(withSyn("only"));
    const opened = send(port, segment(A, V, [5_000, 80], TcpFlag.syn));
    port.setGroups("LB_DSR", [withSyn("only", FOUR.toReversed())]);
    expect(send(port, segment(A, V, [5_000, 80])).to).toBe(opened.to);
    port.setGroups("LB_DSR", [withSyn("never")]);
    const [mine] = port.getLayer("LB_DSR")!.listFlows();
    expect(mine?.isFromSyn).toBe(true);
    send(port, segment(A, V, [5_000, 80]));
    expect(port.getLayer("LB_DSR")!.listFlows()[0]).not.toBe(mine);
  });

  it("non-SYN only: the first segment passes as it is, the others meet the rule", () => {
    const port = portWith(withSyn("never"));
    expect(send(port, segment(A, V, [5_000, 80], TcpFlag.syn)).to).toBe(`${V}:80`);
    expect(send(port, segment(A, V, [5_000, 80])).to).toMatch(/:8080$/);
    expect(send(port, segment(A, V, [5_000, 80])).to).toMatch(/:8080$/);
  });
});
