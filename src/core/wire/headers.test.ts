import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ip, parseIp } from "../net/ip.ts";
import { arbitraryFrame } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import {
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "./build-frame.ts";
import { Headers, destinationIp, sourceIp } from "./headers.ts";
import type { MalformedReason } from "./malformed.ts";
import { listLayers } from "./layers.ts";
import { Packet } from "./packet.ts";

const ip = (text: string): Ip => parseIp(text)!;
const link = { sourceMac: 1 as never, destinationMac: 2 as never };
const ip4 = {
  source: ip("10.0.0.1"),
  destination: ip("10.0.0.2"),
  ttl: 64,
  identification: 1,
  isDontFragment: true,
};
const ip6 = { ...ip4, source: ip("fd00::1"), destination: ip("fd00::2") };
const udp = { sourcePort: 1, destinationPort: 2 };
const tcp = { sourcePort: 1, destinationPort: 2, sequence: 0, acknowledgment: 0, flags: 2, window: 1 };
const payload = Uint8Array.of(1, 2, 3);

const V1 = DATAPLANE_VECTORS.V1;
const UDP4 = buildUdpFrame({ link, ip: ip4, udp, payload }).frame;
const UDP6 = buildUdpFrame({ link, ip: ip6, udp, payload }).frame;

/** Parses a frame that stands in the middle of a buffer, so that wrong offsets show. */
function parse(frame: Uint8Array, margin = 7): { headers: Headers; reason: MalformedReason | undefined } {
  const bytes = new Uint8Array(margin + frame.length + margin).fill(0xff);
  bytes.set(frame, margin);
  const headers = new Headers();
  return { headers, reason: headers.parse(new Packet(bytes, margin, margin + frame.length)) };
}

/** The offsets of `headers`, counted from the start of the frame. */
function places(headers: Headers): Record<string, number> {
  const from = (offset: number): number => (offset < 0 ? -1 : offset - headers.ethernet);
  return {
    network: from(headers.network),
    transport: from(headers.transport),
    payload: from(headers.payload),
    end: from(headers.end),
  };
}

describe("Headers.parse finds what is there", () => {
  it.each([
    {
      name: "DATAPLANE-V1, TCP with options",
      frame: V1,
      at: { network: 14, transport: 34, payload: 66, end: 66 },
      fields: { family: 4, protocol: 6, etherType: 0x0800, isTagged: false, vlan: 0, isFragment: false },
    },
    {
      name: "DATAPLANE-V3, VXLAN as UDP",
      frame: DATAPLANE_VECTORS.V3,
      at: { network: 14, transport: 34, payload: 42, end: 116 },
      fields: { family: 4, protocol: 17 },
    },
    {
      name: "a tagged frame",
      frame: buildUdpFrame({ link: { ...link, vlan: { id: 100 } }, ip: ip4, udp, payload }).frame,
      at: { network: 18, transport: 38, payload: 46, end: 49 },
      fields: { vlan: 100, isTagged: true, etherType: 0x0800, family: 4 },
    },
    {
      name: "a frame tagged with VLAN 0",
      frame: buildUdpFrame({ link: { ...link, vlan: { id: 0, priority: 7 } }, ip: ip4, udp, payload }).frame,
      at: { network: 18, transport: 38, payload: 46, end: 49 },
      fields: { vlan: 0, isTagged: true },
    },
    {
      name: "a frame with Ethernet padding",
      frame: (() => {
        const padded = new Uint8Array(60);
        padded.set(UDP4);
        return padded;
      })(),
      at: { network: 14, transport: 34, payload: 42, end: 45 },
      fields: { family: 4 },
    },
    {
      name: "IPv4 options",
      frame: buildUdpFrame({ link, ip: { ...ip4, ipv4Options: new Uint8Array(40) }, udp, payload }).frame,
      at: { network: 14, transport: 74, payload: 82, end: 85 },
      fields: { family: 4, protocol: 17 },
    },
    {
      name: "IPv6 extension headers",
      frame: buildTcpFrame({
        link,
        ip: {
          ...ip6,
          extensions: [
            { type: 0, data: new Uint8Array(14) },
            { type: 43, data: new Uint8Array(22) },
            { type: 60, data: new Uint8Array(0) },
          ],
        },
        tcp,
      }).frame,
      at: {
        network: 14,
        transport: 14 + 40 + 16 + 24 + 8,
        payload: 14 + 40 + 48 + 20,
        end: 14 + 40 + 48 + 20,
      },
      fields: { family: 6, protocol: 6, etherType: 0x86dd, fragmentHeader: -1 },
    },
    {
      name: "ICMP",
      frame: buildIcmpFrame({
        link,
        ip: ip4,
        icmp: { type: "echo-request", identifier: 1, sequence: 1, payload },
      }).frame,
      at: { network: 14, transport: 34, payload: 42, end: 45 },
      fields: { protocol: 1 },
    },
    {
      name: "ICMPv6",
      frame: buildIcmpv6Frame({
        link,
        ip: ip6,
        icmpv6: { type: "echo-reply", identifier: 1, sequence: 1, payload },
      }).frame,
      at: { network: 14, transport: 54, payload: 62, end: 65 },
      fields: { protocol: 58 },
    },
    {
      name: "ARP",
      frame: buildArpFrame({
        link,
        arp: { operation: "request", senderMac: 1 as never, senderIp: 1 as never, targetIp: 2 as never },
      }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 42 },
      fields: { family: 0, protocol: -1, etherType: 0x0806 },
    },
    {
      name: "an unknown ethertype",
      frame: buildEthernetFrame({ link, etherType: 0x88cc, payload }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 17 },
      fields: { family: 0, protocol: -1 },
    },
    {
      name: "a second tag, which is payload",
      frame: annotatedHex("020000000002 020000000001 8100 0064 8100 00c8 0800"),
      at: { network: 18, transport: -1, payload: -1, end: 22 },
      fields: { vlan: 100, etherType: 0x8100, family: 0 },
    },
    {
      name: "a protocol without a header that we read",
      frame: buildIpFrame({ link, ip: ip4, protocol: 132, payload }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 37 },
      fields: { family: 4, protocol: 132 },
    },
    {
      name: "ICMPv6 in IPv4, which means nothing",
      frame: buildIpFrame({ link, ip: ip4, protocol: 58, payload: new Uint8Array(8) }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 42 },
      fields: { family: 4, protocol: 58 },
    },
    {
      name: "ICMP in IPv6, which means nothing",
      frame: buildIpFrame({ link, ip: ip6, protocol: 1, payload: new Uint8Array(8) }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 62 },
      fields: { family: 6, protocol: 1 },
    },
    {
      name: "IPv6 without next header",
      frame: buildIpFrame({ link, ip: ip6, protocol: 59, payload: new Uint8Array(0) }).frame,
      at: { network: 14, transport: -1, payload: -1, end: 54 },
      fields: { protocol: 59 },
    },
  ])("$name", ({ frame, at, fields }) => {
    const { headers, reason } = parse(frame);
    expect(reason).toBeUndefined();
    expect(places(headers)).toEqual(at);
    expect(headers).toMatchObject(fields);
  });
});

describe("Headers.parse of fragments", () => {
  const fragmentOf = (
    fields: typeof ip4,
    protocol: number,
    offset: number,
    hasMore: boolean,
    bytes: Uint8Array = new Uint8Array(24),
  ): Uint8Array =>
    buildIpFrame({ link, ip: fields, protocol, payload: bytes, fragment: { offset, hasMore } }).frame;
  const udpStart = annotatedHex("0001 0002 0bb8 0000 00000000 00000000 00000000 00000000");

  it.each([
    { name: "IPv4, first", fields: ip4, offset: 0, hasMore: true, transport: 34, fragmentHeader: -1 },
    { name: "IPv4, middle", fields: ip4, offset: 1480, hasMore: true, transport: -1, fragmentHeader: -1 },
    { name: "IPv4, last", fields: ip4, offset: 65528, hasMore: false, transport: -1, fragmentHeader: -1 },
    { name: "IPv6, first", fields: ip6, offset: 0, hasMore: true, transport: 62, fragmentHeader: 54 },
    { name: "IPv6, last", fields: ip6, offset: 1448, hasMore: false, transport: -1, fragmentHeader: 54 },
  ])("$name", ({ fields, offset, hasMore, transport, fragmentHeader }) => {
    const { headers, reason } = parse(fragmentOf(fields, 17, offset, hasMore, udpStart));
    expect(reason).toBeUndefined();
    expect(headers).toMatchObject({
      isFragment: true,
      fragmentOffset: offset,
      hasMoreFragments: hasMore,
      protocol: 17,
    });
    expect(places(headers)["transport"]).toBe(transport);
    expect(headers.fragmentHeader < 0 ? -1 : headers.fragmentHeader - headers.ethernet).toBe(fragmentHeader);
  });

  it("an atomic IPv6 fragment is none", () => {
    const { headers } = parse(fragmentOf(ip6, 6, 0, false));
    expect(headers).toMatchObject({ isFragment: false, hasMoreFragments: false, fragmentOffset: 0 });
  });

  it("a first fragment too small for its transport header is refused: a filter could not see its ports", () => {
    expect(parse(fragmentOf(ip4, 6, 0, true, new Uint8Array(8))).reason).toBe("tcp-truncated");
    expect(parse(fragmentOf(ip6, 17, 0, true, new Uint8Array(4))).reason).toBe("udp-truncated");
  });

  it("a second IPv6 fragment header cannot take back what the first one said", () => {
    const bytes = fragmentOf(ip6, 44, 0, true, annotatedHex("11 00 0000 00000000 0001 0002 0008 0000"));
    expect(parse(bytes).reason).toBe("ipv6-extension-chain");
  });
});

describe("Headers.parse refuses", () => {
  it.each([
    { name: "an empty frame", frame: new Uint8Array(0), reason: "ethernet-truncated" },
    { name: "13 bytes", frame: V1.subarray(0, 13), reason: "ethernet-truncated" },
    { name: "a cut tag", frame: annotatedHex("000000000001 000000000002 8100 00"), reason: "vlan-truncated" },
    { name: "a cut ARP", frame: patchedBytes(V1.subarray(0, 41), { 13: 6 }), reason: "arp-truncated" },
    { name: "a cut IPv4 header", frame: V1.subarray(0, 33), reason: "ipv4-truncated" },
    { name: "version 5", frame: patchedBytes(V1, { 14: 0x55 }), reason: "ipv4-version" },
    {
      name: "an IPv4 header of 16 bytes",
      frame: patchedBytes(V1, { 14: 0x44 }),
      reason: "ipv4-header-length",
    },
    {
      name: "an IPv4 header beyond the frame",
      frame: patchedBytes(V1.subarray(0, 40), { 14: 0x4f }),
      reason: "ipv4-header-length",
    },
    { name: "an IPv4 length of 19", frame: patchedBytes(V1, { 17: 19 }), reason: "ipv4-total-length" },
    { name: "an IPv4 length beyond the frame", frame: V1.subarray(0, 65), reason: "ipv4-total-length" },
    { name: "a cut IPv6 header", frame: UDP6.subarray(0, 53), reason: "ipv6-truncated" },
    { name: "version 4 behind IPv6", frame: patchedBytes(UDP6, { 14: 0x45 }), reason: "ipv6-version" },
    { name: "an IPv6 payload beyond the frame", frame: UDP6.subarray(0, 64), reason: "ipv6-payload-length" },
    { name: "an IPv6 jumbogram", frame: patchedBytes(UDP6, { 19: 0 }), reason: "udp-truncated" },
    {
      name: "an extension header beyond the packet",
      frame: patchedBytes(UDP6, { 20: 60, 55: 9 }),
      reason: "ipv6-extension-truncated",
    },
    {
      name: "an extension header of which 7 bytes are there",
      frame: patchedBytes(UDP6, { 19: 7, 20: 0 }),
      reason: "ipv6-extension-truncated",
    },
    { name: "a TCP header of 19 bytes", frame: patchedBytes(V1, { 17: 39 }), reason: "tcp-truncated" },
    { name: "a TCP data offset of 16", frame: patchedBytes(V1, { 46: 0x40 }), reason: "tcp-data-offset" },
    {
      name: "a TCP data offset beyond the packet",
      frame: patchedBytes(V1, { 46: 0x90 }),
      reason: "tcp-data-offset",
    },
    { name: "a UDP header of 7 bytes", frame: patchedBytes(UDP4, { 17: 27 }), reason: "udp-truncated" },
    { name: "a UDP length of 7", frame: patchedBytes(UDP4, { 39: 7 }), reason: "udp-length" },
    { name: "a UDP length beyond the packet", frame: patchedBytes(UDP4, { 39: 12 }), reason: "udp-length" },
    {
      name: "an ICMP header of 7 bytes",
      frame: patchedBytes(UDP4, { 17: 27, 23: 1 }),
      reason: "icmp-truncated",
    },
  ])("$name", ({ frame, reason }) => {
    const { headers, reason: found } = parse(frame);
    expect(found).toBe(reason);
    expect(headers.transport).toBe(-1);
  });

  it("more than eight extension headers", () => {
    const chain = (count: number): Uint8Array =>
      buildIpFrame({
        link,
        ip: {
          ...ip6,
          extensions: Array.from({ length: count }, () => ({ type: 60, data: new Uint8Array(6) })),
        },
        protocol: 59,
        payload: new Uint8Array(0),
      }).frame;
    expect(parse(chain(8)).reason).toBeUndefined();
    expect(parse(chain(9)).reason).toBe("ipv6-extension-chain");
  });
});

describe("Headers.parseEmbedded reads the packet that an ICMP error quotes", () => {
  const quote = (
    frame: Uint8Array,
    bytes: number,
  ): { headers: Headers; reason: MalformedReason | undefined } => {
    const headers = new Headers();
    return { headers, reason: headers.parseEmbedded(frame, 14, 14 + bytes) };
  };

  it.each([
    { name: "TCP, 8 bytes of it", frame: V1, bytes: 28, transport: 34, payload: -1, end: 42 },
    { name: "TCP, all of it", frame: V1, bytes: 52, transport: 34, payload: -1, end: 66 },
    { name: "UDP", frame: UDP4, bytes: 28, transport: 34, payload: 42, end: 42 },
    { name: "UDP in IPv6", frame: UDP6, bytes: 48, transport: 54, payload: 62, end: 62 },
  ])("$name", ({ frame, bytes, transport, payload: payloadAt, end }) => {
    const { headers, reason } = quote(frame, bytes);
    expect(reason).toBeUndefined();
    expect(headers).toMatchObject({ network: 14, transport, payload: payloadAt, end });
  });

  it("leaves out what lies behind the quoted packet, such as extensions of RFC 4884", () => {
    const padded = new Uint8Array(14 + 128);
    padded.set(UDP4);
    const { headers } = quote(padded, 128);
    expect(headers.end).toBe(14 + 31);
  });

  it.each([
    { name: "nothing", frame: V1, bytes: 0, reason: "ipv4-truncated" },
    { name: "19 bytes of IPv4", frame: V1, bytes: 19, reason: "ipv4-truncated" },
    { name: "1 byte of IPv6", frame: UDP6, bytes: 1, reason: "ipv6-truncated" },
    { name: "19 bytes of IPv6", frame: UDP6, bytes: 19, reason: "ipv6-truncated" },
    { name: "39 bytes of IPv6", frame: UDP6, bytes: 39, reason: "ipv6-truncated" },
    { name: "another version", frame: patchedBytes(V1, { 14: 0x25 }), bytes: 28, reason: "ipv4-version" },
    {
      name: "a lying header length",
      frame: patchedBytes(V1, { 14: 0x4f }),
      bytes: 28,
      reason: "ipv4-header-length",
    },
    {
      name: "a header that ends behind what is quoted",
      frame: patchedBytes(V1, { 14: 0x4d }),
      bytes: 51,
      reason: "ipv4-header-length",
    },
    {
      name: "a total length below the header",
      frame: patchedBytes(V1, { 17: 3 }),
      bytes: 28,
      reason: "ipv4-total-length",
    },
    { name: "7 bytes of TCP", frame: V1, bytes: 27, reason: "tcp-truncated" },
    { name: "7 bytes of UDP", frame: UDP4, bytes: 27, reason: "udp-truncated" },
    { name: "7 bytes of ICMP", frame: patchedBytes(UDP4, { 23: 1 }), bytes: 27, reason: "icmp-truncated" },
  ])("refuses $name", ({ frame, bytes, reason }) => {
    const { headers, reason: found } = quote(frame, bytes);
    expect(found).toBe(reason);
    expect(headers.transport).toBe(-1);
  });
});

describe("Headers is one reusable object", () => {
  it("forgets everything of the frame before", () => {
    const used = new Headers();
    used.parseBytes(V1, 0, V1.length);
    used.parseBytes(
      buildIpFrame({
        link: { ...link, vlan: { id: 9 } },
        ip: ip6,
        protocol: 17,
        payload,
        fragment: { offset: 8, hasMore: true },
      }).frame,
      0,
      18 + 40 + 8 + 3,
    );
    const arp = annotatedHex(`000000000001 000000000002 0806 ${"00".repeat(28)}`);
    used.parseBytes(arp, 0, arp.length);
    const fresh = new Headers();
    fresh.parseBytes(arp, 0, arp.length);
    expect(used).toEqual(fresh);
  });

  it("reads addresses of both families", () => {
    const four = parse(UDP4, 0).headers;
    expect([sourceIp(UDP4, four), destinationIp(UDP4, four)]).toEqual([ip("10.0.0.1"), ip("10.0.0.2")]);
    const six = parse(UDP6, 0).headers;
    expect([sourceIp(UDP6, six), destinationIp(UDP6, six)]).toEqual([ip("fd00::1"), ip("fd00::2")]);
  });
});

/** Reasons that only the generous list of layers gives: it looks further into a frame than the locator. */
const DEEPER: ReadonlySet<string> = new Set([
  "arp-not-ethernet-ipv4",
  "nd-truncated",
  "nd-not-discovery",
  "nd-option-length",
  "vxlan-truncated",
  "vxlan-vni-invalid",
  "geneve-truncated",
  "geneve-version",
  "geneve-option-length",
  "nvgre-truncated",
]);

/** What the list of layers says about the outermost headers. */
function outerRefusal(frame: Uint8Array): string | undefined {
  const layer = listLayers(frame).at(-1);
  if (layer?.kind !== "malformed" || layer.prefix !== "" || DEEPER.has(layer.reason)) return undefined;
  return layer.reason;
}

it("the list of layers reads of a TCP header that an ICMP error cut the ports and the sequence number", () => {
  const quoted = buildTcpFrame({
    link,
    ip: ip4,
    tcp: { ...tcp, sourcePort: 40_000, destinationPort: 443, sequence: 0x1020_3040 },
    payload,
  }).frame.subarray(14, 14 + 28);
  // RFC 792: type 3, code 1, a checksum that nothing here checks, four unused bytes, the quoted packet.
  const message = Uint8Array.of(3, 1, 0, 0, 0, 0, 0, 0, ...quoted);
  const { frame } = buildIpFrame({ link, ip: ip4, protocol: 1, payload: message });
  expect(listLayers(frame).find(({ kind }) => kind === "tcp-start")).toMatchObject({
    view: { sourcePort: 40_000, destinationPort: 443, sequence: 0x1020_3040 },
  });
});

describe("Headers and its twin, the list of layers", () => {
  it("refuse the same frames for the same reason, whole, cut or damaged", () => {
    fc.assert(
      fc.property(arbitraryFrame, fc.nat(), fc.nat(), fc.nat(255), (packet, cut, at, value) => {
        const whole = packet.frame;
        const frame = patchedBytes(
          whole.subarray(0, whole.length - (cut % 3 === 0 ? cut % whole.length : 0)),
          {},
        );
        if (cut % 2 === 0) frame[at % frame.length] = value;
        expect(parse(frame).reason).toBe(outerRefusal(frame));
      }),
      { numRuns: 500 },
    );
  });

  it("agree on where the transport header is", () => {
    fc.assert(
      fc.property(arbitraryFrame, (packet) => {
        const { headers, reason } = parse(packet.frame);
        expect(reason).toBeUndefined();
        const transport = listLayers(packet.frame).find(
          ({ kind, prefix }) => prefix === "" && ["tcp", "udp", "icmp", "icmpv6"].includes(kind),
        );
        const start =
          transport !== undefined &&
          "view" in transport &&
          transport.view !== undefined &&
          "start" in transport.view
            ? transport.view.start
            : -1;
        expect(places(headers)["transport"]).toBe(start);
      }),
    );
  });
});

describe("what lies outside a frame never matters", () => {
  it("every cut of every kind of frame gives the same in zeros and in ones", () => {
    fc.assert(
      fc.property(arbitraryFrame, fc.nat(), (packet, cut) => {
        const { frame } = packet;
        const length = cut % (frame.length + 1);
        const results = [0x00, 0xff].map((fill) => {
          const bytes = new Uint8Array(64 + frame.length + 64).fill(fill);
          bytes.set(frame.subarray(0, length), 64);
          const headers = new Headers();
          const reason = headers.parseBytes(bytes, 64, 64 + length);
          return [reason, structuredClone(headers)];
        });
        expect(results[0]).toEqual(results[1]);
      }),
    );
  });
});

describe("every cut of every kind of frame", () => {
  const frames = fc.sample(arbitraryFrame, { numRuns: 60, seed: 1 }).map((packet) => packet.frame);

  it("is refused where it cuts an IP packet or an ARP message, and never throws", () => {
    for (const frame of frames) {
      const whole = parse(frame).headers;
      const isBound = whole.family !== 0 || whole.etherType === 0x0806;
      for (let length = 0; length < frame.length; length++) {
        const { reason } = parse(frame.subarray(0, length));
        expect(listLayers(frame.subarray(0, length)).length).toBeGreaterThan(0);
        if (isBound) expect(reason, `${length} of ${frame.length} bytes`).toBeDefined();
      }
    }
  });
});
