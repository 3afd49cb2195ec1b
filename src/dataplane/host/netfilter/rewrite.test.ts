import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { ip, mac } from "#test/support/dataplane/stack-world.ts";
import { buildIcmpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { Connection, type ConntrackDirection, opposite } from "./connection-table.ts";
import { rewriteError, rewriteSide } from "./rewrite.ts";
import { invertTuple, readTuple } from "./tuple.ts";

const LINK = { destinationMac: mac("0A-58-00-00-00-01"), sourceMac: mac("0A-58-00-00-00-02") };
const anIp = fc.integer({ min: 1, max: 0xffff_fffe }).map((value) => value as Ipv4);
const aPort = fc.integer({ min: 1, max: 65_535 });
const aPayload = fc.uint8Array({ maxLength: 64 });
const flow = fc.record({
  protocol: fc.constantFrom("tcp", "udp", "udp-without-checksum", "echo"),
  client: anIp,
  clientPort: aPort,
  service: anIp,
  servicePort: aPort,
  backEnd: anIp,
  backEndPort: aPort,
  node: anIp,
  nodePort: aPort,
  payload: aPayload,
});
type Flow = typeof flow extends fc.Arbitrary<infer T> ? T : never;

function headersOf(packet: Packet): Headers {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  return headers;
}

function frame(each: Flow): Packet {
  const fields = { ttl: 64, identification: 7, isDontFragment: true, dscp: 0, ecn: 0 };
  const address = { source: each.client, destination: each.service, ...fields };
  const { payload, clientPort: sourcePort, servicePort: destinationPort } = each;
  const parts = { link: LINK, ip: address, payload };
  if (each.protocol === "tcp") {
    const tcp = {
      sourcePort,
      destinationPort,
      sequence: 1,
      acknowledgment: 2,
      flags: 16,
      window: 9,
      options: [],
    };
    return buildTcpFrame({ ...parts, tcp });
  }
  if (each.protocol === "echo") {
    const icmp = { type: "echo-request", identifier: sourcePort, sequence: 3, payload } as const;
    return buildIcmpFrame({ link: LINK, ip: address, icmp });
  }
  const checksum = each.protocol === "udp" ? "computed" : "none";
  return buildUdpFrame({ ...parts, udp: { sourcePort, destinationPort }, checksum });
}

/** A connection whose destination and source are both translated. */
function connectionOf(original: FiveTuple, each: Flow): Connection {
  const connection = new Connection(original, 0);
  const isEcho = each.protocol === "echo";
  connection.reply = isEcho
    ? { ...connection.reply, source: each.backEnd, destination: each.node, sourcePort: each.nodePort }
    : {
        ...connection.reply,
        source: each.backEnd,
        sourcePort: each.backEndPort,
        destination: each.node,
        destinationPort: each.nodePort,
      };
  return connection;
}

function translate(packet: Packet, connection: Connection, direction: ConntrackDirection): void {
  const target = connection.targetOf(direction);
  rewriteSide(packet.bytes, headersOf(packet), "destination", target);
  rewriteSide(packet.bytes, headersOf(packet), "source", target);
}

/** Offsets in the frame that may differ: IPv4 checksum and addresses, ports or identifier, transport checksum. */
function mayDiffer(protocol: Flow["protocol"]): ReadonlySet<number> {
  const range = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const ipHeader = [...range(24, 25), ...range(26, 33)];
  if (protocol === "echo") return new Set([...ipHeader, ...range(36, 37), ...range(38, 39)]);
  return new Set([...ipHeader, ...range(34, 37), ...(protocol === "tcp" ? range(50, 51) : range(40, 41))]);
}

describe("translation of bytes", () => {
  it("there: checksums fit, nothing else changed; and back: the very same bytes", () => {
    fc.assert(
      fc.property(flow, (each) => {
        const packet = frame(each);
        const before = packet.frame.slice();
        const original = readTuple(packet.bytes, headersOf(packet))!;
        const connection = connectionOf(original, each);
        translate(packet, connection, "original");
        const there = packet.frame.slice();
        expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
        expect(readTuple(packet.bytes, headersOf(packet))).toEqual(invertTuple(connection.reply));
        const allowed = mayDiffer(each.protocol);
        expect([...there.keys()].filter((at) => there[at] !== before[at] && !allowed.has(at))).toEqual([]);
        const headers = headersOf(packet);
        rewriteSide(packet.bytes, headers, "source", original);
        rewriteSide(packet.bytes, headers, "destination", original);
        expect(verifyChecksums(packet.bytes, headersOf(packet))).toBeUndefined();
        // RFC 1624 §3: a sum of zero has two forms; everything but the checksums is the same in any case.
        const ignored = new Set([...allowed].filter((at) => !(at >= 26 && at <= 33)));
        const back = packet.frame;
        expect([...back.keys()].filter((at) => back[at] !== before[at] && !ignored.has(at))).toEqual([]);
        expect(readTuple(packet.bytes, headersOf(packet))).toEqual(original);
      }),
    );
  });

  it("an ICMP error about a translated packet quotes what the client sent, with right checksums", () => {
    fc.assert(
      fc.property(flow, fc.integer({ min: 28, max: 80 }), anIp, (each, quotedBytes, router) => {
        const packet = frame(each);
        const sent = packet.frame.slice(14, 14 + quotedBytes);
        const connection = connectionOf(readTuple(packet.bytes, headersOf(packet))!, each);
        translate(packet, connection, "original");
        const error = buildIcmpFrame({
          link: LINK,
          ip: {
            source: router,
            destination: each.node,
            ttl: 64,
            identification: 1,
            isDontFragment: false,
            dscp: 0,
            ecn: 0,
          },
          icmp: {
            type: "destination-unreachable",
            code: 3,
            invoking: packet.frame.slice(14, 14 + quotedBytes),
          },
        });
        const direction = "reply";
        const target = connection.targetOf(direction);
        const quoted = connection.tupleOf(opposite(direction));
        for (const side of ["destination", "source"] as const) {
          rewriteError(error.bytes, headersOf(error), side, target, quoted);
          expect(verifyChecksums(error.bytes, headersOf(error))).toBeUndefined();
        }
        const headers = headersOf(error);
        const inner = error.bytes.subarray(headers.payload, headers.end);
        const differing = [...inner.keys()].filter((at) => inner[at] !== sent[at]);
        // Sums of zero again: only checksum fields of the quotation may differ, and only in that.
        const isChecksum = (at: number): boolean =>
          [10, 11, 22, 23, 26, 27, 36, 37].includes(at) && [0x00, 0xff].includes(inner[at]!);
        expect(differing.filter((at) => !isChecksum(at))).toEqual([]);
      }),
    );
  });

  it("a quoted TCP header of 8 bytes has no checksum to write", () => {
    const each: Flow = {
      protocol: "tcp",
      client: ip("10.244.1.10") as Ipv4,
      clientPort: 40_000,
      service: ip("10.96.0.10") as Ipv4,
      servicePort: 80,
      backEnd: ip("10.244.2.10") as Ipv4,
      backEndPort: 8_080,
      node: ip("10.0.0.21") as Ipv4,
      nodePort: 40_001,
      payload: new Uint8Array(0),
    };
    const packet = frame(each);
    const sent = packet.frame.slice(14, 42);
    const connection = connectionOf(readTuple(packet.bytes, headersOf(packet))!, each);
    translate(packet, connection, "original");
    const bytes = new Uint8Array(36);
    bytes.fill(0xaa, 28);
    bytes.set(packet.frame.slice(14, 42));
    const inner = new Headers();
    expect(inner.parseEmbedded(bytes, 0, 28)).toBeUndefined();
    rewriteSide(bytes, inner, "source", connection.original);
    rewriteSide(bytes, inner, "destination", connection.original);
    expect(bytes.slice(0, 28)).toEqual(sent);
    expect(bytes.slice(28).every((octet) => octet === 0xaa)).toBe(true);
  });
});
