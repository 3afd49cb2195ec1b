import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ip, parseIp } from "../net/ip.ts";
import { type Mac, parseMac } from "../net/mac.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import {
  type IpFields,
  type LinkFields,
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "./build-frame.ts";
import { Headers } from "./headers.ts";
import type { Packet } from "./packet.ts";
import { HEADROOM_BYTES } from "./packet.ts";
import { TcpFlag } from "./tcp.ts";
import type { TcpOption } from "./tcp-options.ts";
import { verifyChecksums } from "./transport-checksum.ts";

const mac = (text: string): Mac => parseMac(text)!;
const ip = (text: string): Ip => parseIp(text)!;
const frameHex = (packet: Packet): string => formatHex(packet.frame);

/** Parses a built packet and fails on anything malformed or a wrong checksum. */
function expectSound(packet: Packet): Headers {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
  expect(packet.start).toBe(HEADROOM_BYTES);
  return headers;
}

const LINK: LinkFields = {
  sourceMac: mac("02-00-00-00-00-01"),
  destinationMac: mac("02-00-00-00-00-02"),
};
const IP4: IpFields = {
  source: ip("10.0.0.1"),
  destination: ip("10.0.0.2"),
  ttl: 64,
  identification: 0,
  isDontFragment: true,
};
const IP6: IpFields = { ...IP4, source: ip("fd00::1"), destination: ip("fd00::2") };

/** The SYN options of a Windows pod in the vectors. */
const SYN_OPTIONS: readonly TcpOption[] = [
  { kind: "mss", mssBytes: 1410 },
  { kind: "nop" },
  { kind: "window-scale", shift: 8 },
  { kind: "nop" },
  { kind: "nop" },
  { kind: "sack-permitted" },
];

describe("built frames equal the byte vectors", () => {
  const base = {
    link: { sourceMac: mac("0E-2A-0A-F4-01-0A"), destinationMac: mac("00-15-5D-AA-00-01") },
    ip: {
      source: ip("10.244.1.10"),
      destination: ip("10.96.0.50"),
      ttl: 128,
      identification: 0x1234,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: 49200,
      destinationPort: 80,
      sequence: 0x01020304,
      acknowledgment: 0,
      flags: TcpFlag.syn | TcpFlag.ece | TcpFlag.cwr,
      window: 64860,
      options: SYN_OPTIONS,
    },
  };
  const answer = { sequence: 0x0a0b0c0d, acknowledgment: 0x01020305, flags: 0x52, window: 65535 };
  it.each([
    { name: "DATAPLANE-V1", vector: DATAPLANE_VECTORS.V1, link: {}, ip: {}, tcp: {} },
    {
      name: "DATAPLANE-V2",
      vector: DATAPLANE_VECTORS.V2,
      link: {},
      ip: { destination: ip("10.244.2.10") },
      tcp: { destinationPort: 8080 },
    },
    {
      name: "DATAPLANE-V4",
      vector: DATAPLANE_VECTORS.V4,
      link: { sourceMac: mac("0E-2A-0A-F4-02-0A") },
      ip: { source: ip("10.244.2.10"), destination: ip("10.244.1.10"), ttl: 127 },
      tcp: { sourcePort: 8080, destinationPort: 49200, ...answer },
    },
    {
      name: "DATAPLANE-V5",
      vector: DATAPLANE_VECTORS.V5,
      link: { sourceMac: mac("00-15-5D-AA-00-01"), destinationMac: mac("0E-2A-0A-F4-01-0A") },
      ip: { source: ip("10.96.0.50"), destination: ip("10.244.1.10"), ttl: 127 },
      tcp: { sourcePort: 80, destinationPort: 49200, ...answer },
    },
    {
      name: "DATAPLANE-V6",
      vector: DATAPLANE_VECTORS.V6,
      link: {},
      ip: { destination: ip("203.0.113.10") },
      tcp: { sourcePort: 49201, destinationPort: 443, sequence: 1 },
    },
    {
      name: "DATAPLANE-V7",
      vector: DATAPLANE_VECTORS.V7,
      link: { sourceMac: mac("00-15-5D-00-00-11"), destinationMac: mac("52-54-00-00-00-01") },
      ip: { source: ip("10.0.0.11"), destination: ip("203.0.113.10") },
      tcp: { sourcePort: 50048, destinationPort: 443, sequence: 1 },
    },
  ])("$name", ({ vector, link, ip: ipFields, tcp }) => {
    const packet = buildTcpFrame({
      link: { ...base.link, ...link },
      ip: { ...base.ip, ...ipFields },
      tcp: { ...base.tcp, ...tcp },
    });
    expect(frameHex(packet)).toBe(formatHex(vector));
  });
});

describe("built frames, byte by byte", () => {
  it("ICMP echo request", () => {
    const packet = buildIcmpFrame({
      link: LINK,
      ip: IP4,
      icmp: { type: "echo-request", identifier: 0x1234, sequence: 1, payload: new Uint8Array(0) },
    });
    // By hand: 4500+001c+4000+4001+0a00+0001+0a00+0002 = d920, complement 26df; 0800+1234+0001 = 1a35, complement e5ca.
    const expected = annotatedHex(`
      020000000002 020000000001 0800            ; to, from, IPv4
      45 00 001c 0000 4000 40 01 26df           ; length 28, DF, TTL 64, ICMP, checksum
      0a000001 0a000002                         ; 10.0.0.1 to 10.0.0.2
      08 00 e5ca 1234 0001                      ; echo request, checksum, id, sequence
    `);
    expect(frameHex(packet)).toBe(formatHex(expected));
    expectSound(packet);
  });

  it("ARP request with a tag", () => {
    const request = buildArpFrame({
      link: { ...LINK, vlan: { id: 100, priority: 5 } },
      arp: {
        operation: "request",
        senderMac: LINK.sourceMac,
        senderIp: 0x0a000001 as never,
        targetIp: 0x0a000002 as never,
      },
    });
    expect(frameHex(request)).toBe(
      formatHex(
        annotatedHex(`
        020000000002 020000000001 8100 a064 0806  ; tag: priority 5, VLAN 100
        0001 0800 06 04 0001                      ; Ethernet, IPv4, request
        020000000001 0a000001 000000000000 0a000002
      `),
      ),
    );
    expect(expectSound(request)).toMatchObject({ vlan: 100, isTagged: true, etherType: 0x0806 });
  });

  it("UDP whose checksum comes out as zero is sent with 0xffff (RFC 768)", () => {
    const empty = buildUdpFrame({
      link: LINK,
      ip: IP4,
      udp: { sourcePort: 1, destinationPort: 2 },
      payload: new Uint8Array(2),
    });
    const at = empty.bytes.length - 2;
    const checksum = (empty.bytes[at - 2]! << 8) | empty.bytes[at - 1]!;
    // A payload equal to the checksum of zeros makes the sum all ones, so the complement is zero.
    const zero = buildUdpFrame({
      link: LINK,
      ip: IP4,
      udp: { sourcePort: 1, destinationPort: 2 },
      payload: Uint8Array.of(checksum >>> 8, checksum & 0xff),
    });
    expect(formatHex(zero.bytes.subarray(at - 2, at))).toBe("ffff");
    expectSound(zero);
  });

  it("UDP without a checksum carries zero", () => {
    const packet = buildUdpFrame({
      link: LINK,
      ip: IP4,
      udp: { sourcePort: 7, destinationPort: 9 },
      payload: Uint8Array.of(1, 2, 3),
      checksum: "none",
    });
    const headers = expectSound(packet);
    expect(formatHex(packet.bytes.subarray(headers.transport, headers.payload))).toBe("00070009000b0000");
  });
});

describe("every kind of frame is sound in both families", () => {
  const payload = Uint8Array.of(1, 2, 3, 4, 5);
  const udp = { sourcePort: 53, destinationPort: 4000 };
  const tcp = {
    sourcePort: 1,
    destinationPort: 2,
    sequence: 0xffffffff,
    acknowledgment: 0x80000000,
    flags: TcpFlag.ack,
    window: 1,
  };
  const extensions = [
    { type: 0, data: Uint8Array.of(5, 2, 0, 0) },
    { type: 60, data: new Uint8Array(0) },
  ] as const;
  it.each([
    { name: "TCP on IPv4", packet: buildTcpFrame({ link: LINK, ip: IP4, tcp, payload }), at: 14 + 20 },
    {
      name: "TCP on IPv4 with options",
      packet: buildTcpFrame({
        link: LINK,
        ip: { ...IP4, ipv4Options: Uint8Array.of(1, 1, 1) },
        tcp,
        payload,
      }),
      at: 14 + 24,
    },
    { name: "TCP on IPv6", packet: buildTcpFrame({ link: LINK, ip: IP6, tcp, payload }), at: 14 + 40 },
    { name: "UDP on IPv6", packet: buildUdpFrame({ link: LINK, ip: IP6, udp, payload }), at: 14 + 40 },
    {
      name: "UDP on IPv6 behind extension headers and a tag",
      packet: buildUdpFrame({
        link: { ...LINK, vlan: { id: 1 } },
        ip: { ...IP6, extensions },
        udp,
        payload,
      }),
      at: 18 + 40 + 8 + 8,
    },
    {
      name: "ICMPv6 echo",
      packet: buildIcmpv6Frame({
        link: LINK,
        ip: IP6,
        icmpv6: { type: "echo-request", identifier: 1, sequence: 2, payload },
      }),
      at: 14 + 40,
    },
    {
      name: "neighbour solicitation",
      packet: buildNdFrame({
        link: LINK,
        ip: { ...IP6, ttl: 255 },
        nd: {
          type: "neighbor-solicitation",
          target: ip("fd00::2") as never,
          options: [{ kind: "source-link-layer", mac: LINK.sourceMac }],
        },
      }),
      at: 14 + 40,
    },
    {
      name: "ICMP error",
      packet: buildIcmpFrame({
        link: LINK,
        ip: IP4,
        icmp: { type: "fragmentation-needed", mtuBytes: 1400, invoking: payload },
      }),
      at: 14 + 20,
    },
  ])("$name", ({ packet, at }) => {
    const headers = expectSound(packet);
    expect(headers.transport - headers.ethernet).toBe(at);
    expect(headers.end).toBe(packet.end);
  });
});

describe("fragments and bare frames", () => {
  it.each([
    { family: 4, fields: IP4 },
    { family: 6, fields: { ...IP6, identification: 0x89abcdef } },
  ] as const)("a later fragment of family $family has no transport header", ({ fields }) => {
    const packet = buildIpFrame({
      link: LINK,
      ip: fields,
      protocol: 17,
      payload: Uint8Array.of(1, 2, 3),
      fragment: { offset: 1480, hasMore: false },
    });
    expect(expectSound(packet)).toMatchObject({
      isFragment: true,
      fragmentOffset: 1480,
      hasMoreFragments: false,
      transport: -1,
      protocol: 17,
    });
  });

  it("an unknown ethertype carries its payload as it is", () => {
    const packet = buildEthernetFrame({ link: LINK, etherType: 0x88cc, payload: Uint8Array.of(1, 2) });
    expect(frameHex(packet)).toBe("02000000000202000000000188cc0102");
  });

  it("refuses addresses of two families", () => {
    expect(() =>
      buildIpFrame({
        link: LINK,
        ip: { ...IP4, destination: IP6.destination },
        protocol: 1,
        payload: new Uint8Array(0),
      }),
    ).toThrow(/one family/);
  });
});
