// Errors about translated packets (dataplane.md §1.10, §6.7).
import { describe, expect, it } from "vitest";
import { readU16, readU8 } from "#core/base/bytes.ts";
import { formatIp, hostPrefix } from "#core/net/ip.ts";
import {
  MACS,
  type End,
  W1,
  W2,
  ends,
  group,
  headersOf,
  ip,
  ip4,
  layer,
  link,
  makePort,
  rule,
  send,
  tcp,
  udp,
} from "#test/support/dataplane/engine-kit.ts";
import { buildIcmpFrame, buildIcmpv6Frame } from "#core/wire/build-frame.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { NatPool } from "./nat-pool.ts";
import type { Action } from "../rule.ts";
import type { VfpPort } from "../vfp-port.ts";

const A = "10.244.1.10";
const X = "203.0.113.10";
const ROUTER = "10.0.0.1";
const NODE = "10.0.0.11";

/** An error of `from` about `about`, quoted from its IP header on, `bytes` of it. */
function error(from: string, to: string, about: Packet, bytes = Number.POSITIVE_INFINITY): Packet {
  const header = { source: ip(from), destination: ip(to), ttl: 60, identification: 0, isDontFragment: false };
  const ends_ = { sourceMac: MACS.Rm, destinationMac: MACS.W1m };
  const invoking = about.frame.slice(14, Math.min(about.length, 14 + bytes));
  return ip(from) === undefined || typeof ip(from) === "number"
    ? buildIcmpFrame({
        link: ends_,
        ip: header,
        icmp: { type: "fragmentation-needed", mtuBytes: 1400, invoking },
      })
    : buildIcmpv6Frame({
        link: ends_,
        ip: header,
        icmpv6: { type: "packet-too-big", mtuBytes: 1400, invoking },
      });
}

/** `from > to [quoted source:port > quoted destination:port]`, after all checksums were found right. */
function show(packet: Packet): string {
  const headers = headersOf(packet);
  expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
  const quoted = new Headers();
  expect(quoted.parseEmbedded(packet.bytes, headers.payload, headers.end)).toBeUndefined();
  const { bytes } = packet;
  const isWhole = readU16(bytes, quoted.network + 2) === headers.end - quoted.network;
  if (quoted.family === 4 && isWhole) expect(verifyChecksums(bytes, quoted), "quoted").toBeUndefined();
  const socket = (address: ReturnType<typeof sourceIp>, offset: number): string =>
    `${formatIp(address)}:${readU16(bytes, quoted.transport + offset)}`;
  const outside = `${formatIp(sourceIp(bytes, headers))} > ${formatIp(destinationIp(bytes, headers))}`;
  return `${outside} [${socket(sourceIp(bytes, quoted), 0)} > ${socket(destinationIp(bytes, quoted), 2)}]`;
}

function natPort(action: Action, isDefaultAllow = true): VfpPort {
  const port = makePort([layer("ACL", 15, { isDefaultAllow }), layer("NAT", 50)]);
  const blocks = { acquire: () => ({ first: 50_048, last: 50_111 }), release: () => undefined };
  for (const protocol of [6, 17])
    port.addNatPool(new NatPool({ name: `${protocol}`, ip: ip4(NODE), protocol, blocks, portsMax: 64 }));
  port.setGroups("NAT", [group([rule("nat", action, { isStateful: true })])]);
  port.setGroups("ACL", [group([rule("allow", { type: "allow" }, { isStateful: true })])]);
  return port;
}

/** What `port` makes of a packet that goes out. */
function sentOut(port: VfpPort, packet: Packet): Packet {
  expect(send(port, "out", packet)).toBe("pass");
  return packet;
}

describe.each([
  { transport: "TCP", pool: "6", packet: (from: End, to: End) => tcp(from, to, TcpFlag.syn) },
  { transport: "UDP", pool: "17", packet: (from: End, to: End) => udp(from, to, new Uint8Array(9)) },
  {
    transport: "UDP without checksum",
    pool: "17",
    packet: (from: End, to: End) => udp(from, to, new Uint8Array(9), "none"),
  },
])("DT-187 an error about a translated $transport packet", ({ pool, packet }) => {
  it("comes back to the pod, and quotes what the pod has sent", () => {
    const port = natPort({ type: "dynnat", pool });
    const sent = sentOut(port, packet([A, 5000], [X, 443]));
    expect(ends(sent)).toBe("10.0.0.11:50048 > 203.0.113.10:443");
    for (const bytes of [undefined, 28]) {
      const answer = error(ROUTER, NODE, sent, bytes);
      expect(send(port, "in", answer)).toBe("pass");
      expect(show(answer)).toBe("10.0.0.1 > 10.244.1.10 [10.244.1.10:5000 > 203.0.113.10:443]");
      // The flow knows whose packet it was.
      expect(link(answer)).toContain("> 0E-2A-0A-F4-01-0A");
    }
  });

  it("goes into the virtual subnet that the packet came out of", () => {
    const port = natPort({ type: "dynnat", pool });
    port.setGroups("ACL", [group([rule("tunnel", { type: "decap", pushesTni: false })])]);
    const sent = packet([A, 5000], [X, 443]);
    encapsulateVxlan(sent, {
      link: { sourceMac: MACS.W2m, destinationMac: MACS.W1m },
      ip: { source: W2, destination: W1, ttl: 128, identification: 1, isDontFragment: true },
      sourcePort: 1234,
      vni: 4097,
    });
    sentOut(port, sent);
    expect(ends(sent)).toBe("10.0.0.11:50048 > 203.0.113.10:443");
    port.setGroups("ACL", []);
    const answer = error(ROUTER, NODE, sent);
    expect(send(port, "in", answer)).toBe("pass");
    expect(answer.tni).toBe(4097);
  });

  it("passes a filter that lets only answers in", () => {
    const port = natPort({ type: "dynnat", pool }, false);
    const sent = sentOut(port, packet([A, 5000], [X, 443]));
    expect(send(port, "in", error(ROUTER, NODE, sent))).toBe("pass");
    const unknown = error(ROUTER, NODE, packet([NODE, 50_050], [X, 443]));
    expect(send(port, "in", unknown)).toBe("drop");
    expect(port.drops.get("acl-no-rule-matched")).toBe(1);
  });
});

describe("DT-187 errors and load balancing", () => {
  const service: Action = { type: "nat", side: "destination", ip: ip("10.244.2.10"), port: 8080 };

  it("of the back end itself carries the service's address; of a router in between, its own", () => {
    const port = natPort(service);
    const sent = sentOut(port, udp([A, 5000], ["10.96.0.10", 53]));
    const own = error("10.244.2.10", A, sent);
    send(port, "in", own);
    expect(show(own)).toBe("10.96.0.10 > 10.244.1.10 [10.244.1.10:5000 > 10.96.0.10:53]");
    const between = error(ROUTER, A, sent);
    send(port, "in", between);
    expect(show(between)).toBe("10.0.0.1 > 10.244.1.10 [10.244.1.10:5000 > 10.96.0.10:53]");
  });

  it("in IPv6, too", () => {
    const port = makePort([layer("NAT", 50)]);
    const action: Action = { type: "nat", side: "destination", ip: ip("fd00:2::a"), port: 8080 };
    port.setGroups("NAT", [group([rule("nat", action, { isStateful: true })], { family: 6 })]);
    const sent = sentOut(port, udp(["fd00:1::a", 5000], ["fd00:96::a", 53]));
    const answer = error("fd00:2::a", "fd00:1::a", sent);
    send(port, "in", answer);
    expect(show(answer)).toBe("fd00:96::a > fd00:1::a [fd00:1::a:5000 > fd00:96::a:53]");
  });

  it("turned round by a rule, it is about a packet of the other direction from there on", () => {
    const port = makePort([layer("HAIRPIN", 60, { isStateful: false, isHairpin: true }), layer("NAT", 70)]);
    const mapping: Action = { type: "nat", side: "destination", ip: ip(A), port: 8080 };
    const isMapped = { destination: [hostPrefix(ip(NODE))] };
    port.setGroups("NAT", [
      group([rule("mapping", mapping, { isStateful: true, condition: isMapped })], { direction: "in" }),
    ]);
    const hairpin = rule("turn", { type: "allow" }, { condition: { protocols: [1] } });
    port.setGroups("HAIRPIN", [group([hairpin], { direction: "in" })]);
    const sent = udp([X, 5000], [NODE, 80]);
    expect(send(port, "in", sent)).toBe("pass");
    const answer = error(ROUTER, X, sent);
    expect(show(answer)).toBe("10.0.0.1 > 203.0.113.10 [203.0.113.10:5000 > 10.244.1.10:8080]");
    expect(send(port, "in", answer)).toBe("hairpin");
    expect(show(answer)).toBe("10.0.0.1 > 203.0.113.10 [203.0.113.10:5000 > 10.0.0.11:80]");
  });

  it("is one whose source was translated, where its own address was: a rule behind can ask for that", () => {
    const port = makePort([layer("NAT", 70), layer("ROUTE", 15, { isStateful: false })]);
    const refused = rule(
      "refused",
      { type: "block", code: "acl-rule-blocked" },
      { condition: { isSourceTranslated: true } },
    );
    port.setGroups("NAT", [group([rule("nat", service, { isStateful: true })])]);
    port.setGroups("ROUTE", [group([refused], { direction: "in" })]);
    const sent = sentOut(port, udp([A, 5000], ["10.96.0.10", 53]));
    expect(send(port, "in", error(ROUTER, A, sent))).toBe("pass");
    expect(send(port, "in", error("10.244.2.10", A, sent))).toBe("drop");
    expect(send(port, "in", udp(["10.244.2.10", 8080], [A, 5000]))).toBe("drop");
    expect(send(port, "in", udp(["10.244.2.11", 8080], [A, 5000]))).toBe("pass");
  });

  it("in a tunnel of our own, it is payload: nothing of it or of the outer headers is translated", () => {
    const port = makePort([layer("NAT", 50), layer("ENCAP", 60, { isStateful: false })]);
    port.address = {
      providerIpv4: W1,
      customerAddresses: [ip(A)],
      mac: MACS.Am,
      fakeMac: MACS.W1m,
      flags: 336,
    };
    port.setGroups("NAT", [group([rule("nat", service, { isStateful: true })])]);
    const toW2: Action = {
      type: "routeencap",
      encapsulation: "vxlan",
      tni: 4096,
      destinations: [{ providerAddress: W2 }],
    };
    port.setGroups("ENCAP", [
      group([rule("tunnel", toW2, { condition: { protocols: [1] } })], { direction: "in" }),
    ]);
    const sent = sentOut(port, udp([A, 5000], ["10.96.0.10", 53]));
    const answer = error("10.244.2.10", A, sent);
    const before = answer.frame.slice();
    expect(send(port, "in", answer)).toBe("pass");
    // RFC 7348 §5: the outer UDP checksum is none.
    expect(readU16(answer.bytes, headersOf(answer).transport + 6)).toBe(0);
    expect(ends(answer)).toContain("10.0.0.11:");
    expect(answer.frame.slice(50)).toEqual(before);
  });

  it("of the client about an answer goes the way of the client's own packets: MACs, address, hops", () => {
    const port = natPort({
      type: "transpose",
      sourceMac: MACS.W1m,
      destinationMac: MACS.Rm,
      source: ip(NODE),
      decrementTtl: true,
    });
    const sent = sentOut(port, udp([A, 5000], [X, 53]));
    expect(link(sent)).not.toBe(link(udp([A, 5000], [X, 53])));
    const reply = udp([X, 53], [NODE, 5000]);
    expect(send(port, "in", reply)).toBe("pass");
    expect(ends(reply)).toBe("203.0.113.10:53 > 10.244.1.10:5000");
    const own = error(A, X, reply);
    const before = link(own);
    expect(before).not.toBe(link(sent));
    expect(send(port, "out", own)).toBe("pass");
    expect(link(own)).toBe(link(sent));
    expect(readU8(own.bytes, headersOf(own).network + 8)).toBe(59);
    expect(show(own)).toBe("10.0.0.11 > 203.0.113.10 [203.0.113.10:53 > 10.0.0.11:5000]");
  });

  it("leaves the flow's age and state as they are, and is never cached", () => {
    const port = natPort(service);
    const sent = sentOut(port, tcp([A, 5000], ["10.96.0.50", 80], TcpFlag.syn));
    const flows = port.unifiedFlowCount;
    expect(send(port, "in", error(ROUTER, A, sent), 239_000)).toBe("pass");
    expect(port.unifiedFlowCount).toBe(flows);
    expect(port.census.classes["half-open"].count).toBe(1);
    const late = error(ROUTER, A, sent);
    send(port, "in", late, 240_000);
    expect(show(late)).toContain("10.244.2.10:8080");
  });

  it("with parsing of errors off, they pass as any ICMP does", () => {
    const port = natPort(service);
    port.parserSettings = { ...port.parserSettings, parsesIcmpErrors: false };
    const sent = sentOut(port, udp([A, 5000], ["10.96.0.10", 53]));
    const answer = error("10.244.2.10", A, sent);
    send(port, "in", answer);
    expect(show(answer)).toContain("10.244.2.10 > 10.244.1.10 [10.244.1.10:5000 > 10.244.2.10:8080]");
  });
});
