import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readU16, writeU16 } from "../base/bytes.ts";
import { parseIp } from "../net/ip.ts";
import { arbitraryFrame } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { buildIcmpFrame, buildIpFrame, buildTcpFrame, buildUdpFrame } from "./build-frame.ts";
import { encapsulateVxlan } from "./tunnels/encapsulation.ts";
import { Headers } from "./headers.ts";
import type { Packet } from "./packet.ts";
import { type ChecksumProblem, fillChecksums, verifyChecksums } from "./transport-checksum.ts";

const link = { sourceMac: 1 as never, destinationMac: 2 as never };
const ip4 = {
  source: parseIp("10.0.0.1")!,
  destination: parseIp("10.0.0.2")!,
  ttl: 64,
  identification: 1,
  isDontFragment: true,
};
const ip6 = { ...ip4, source: parseIp("fd00::1")!, destination: parseIp("fd00::2")! };
const udp = { sourcePort: 1000, destinationPort: 2000 };
const payload = Uint8Array.of(1, 2, 3);

function verify(frame: Uint8Array): ChecksumProblem | undefined {
  const headers = new Headers();
  expect(headers.parseBytes(frame, 0, frame.length)).toBeUndefined();
  return verifyChecksums(frame, headers);
}

function fill(packet: Packet): void {
  const headers = new Headers();
  headers.parse(packet);
  fillChecksums(packet.bytes, headers);
}

describe("verifyChecksums", () => {
  it.each(Object.entries(DATAPLANE_VECTORS))("DATAPLANE-%s is right", (_name, frame) => {
    expect(verify(frame)).toBeUndefined();
  });

  it.each([
    { name: "the IPv4 header", at: 22, problem: { header: "ipv4", found: 0xd200, expected: 0xd300 } },
    { name: "the TCP header", at: 47, problem: { header: "tcp", found: 0x960f, expected: 0x960e } },
    { name: "the TCP options", at: 57, problem: { header: "tcp", found: 0x960f, expected: 0x960e } },
  ])("finds one changed byte in $name", ({ at, problem }) => {
    const frame = DATAPLANE_VECTORS.V1.slice();
    frame[at] = frame[at]! + (at === 22 ? -1 : 1);
    expect(verify(frame)).toEqual(problem);
  });

  it("every changed byte of TCP, of its addresses and of its length is found", () => {
    const clean = DATAPLANE_VECTORS.V1;
    for (let at = 26; at < clean.length; at++) {
      const frame = clean.slice();
      frame[at]! ^= 0x01;
      const headers = new Headers();
      if (headers.parseBytes(frame, 0, frame.length) === undefined) {
        expect(verifyChecksums(frame, headers), `byte ${at}`).toBeDefined();
      }
    }
  });

  it("the header is named", () => {
    const echo = { type: "echo-request", identifier: 1, sequence: 1, payload } as const;
    const icmp = buildIcmpFrame({ link, ip: ip4, icmp: echo }).frame;
    icmp[icmp.length - 1]! ^= 1;
    expect(verify(icmp)?.header).toBe("icmp");
    const datagram = buildUdpFrame({ link, ip: ip6, udp, payload }).frame;
    datagram[datagram.length - 1]! ^= 1;
    expect(verify(datagram)?.header).toBe("udp");
  });
});

describe("UDP checksum of zero", () => {
  const zeroed = (frame: Uint8Array, at: number): Uint8Array => {
    writeU16(frame, at, 0);
    return frame;
  };

  it("means none in IPv4", () => {
    expect(verify(zeroed(buildUdpFrame({ link, ip: ip4, udp, payload }).frame, 40))).toBeUndefined();
  });

  it("DT-189: is wrong in IPv6, but not for tunnels (RFC 6935)", () => {
    expect(verify(zeroed(buildUdpFrame({ link, ip: ip6, udp, payload }).frame, 60))).toMatchObject({
      header: "udp",
      found: 0,
    });
    const inner = buildUdpFrame({ link, ip: ip4, udp, payload });
    encapsulateVxlan(inner, { link, ip: ip6, sourcePort: 5, vni: 4096 });
    expect(verify(inner.frame)).toBeUndefined();
  });

  it("is filled like any other when the whole frame is filled", () => {
    const packet = buildUdpFrame({ link, ip: ip4, udp, payload, checksum: "none" });
    const expected = buildUdpFrame({ link, ip: ip4, udp, payload }).frame;
    fill(packet);
    expect(packet.frame).toEqual(expected);
  });

  it("both zeros verify where a checksum of zero is right for TCP", () => {
    const tcp = { sourcePort: 1, destinationPort: 2, sequence: 0, acknowledgment: 0, flags: 16, window: 0 };
    // A window that holds the checksum of the rest makes the sum all ones, its complement zero.
    const rest = readU16(buildTcpFrame({ link, ip: ip4, tcp }).frame, 50);
    const { frame } = buildTcpFrame({ link, ip: ip4, tcp: { ...tcp, window: rest } });
    expect(readU16(frame, 50)).toBe(0);
    expect(verify(frame)).toBeUndefined();
    writeU16(frame, 50, 0xffff);
    expect(verify(frame)).toBeUndefined();
  });
});

describe("what cannot be verified is left alone", () => {
  it.each([
    { name: "first fragment", offset: 0, hasMore: true },
    { name: "later fragment", offset: 8, hasMore: false },
  ])("a $name: only its IPv4 header counts", ({ offset, hasMore }) => {
    const bytes = new Uint8Array(24).fill(0xee);
    const packet = buildIpFrame({
      link,
      ip: ip4,
      protocol: 17,
      payload: bytes,
      fragment: { offset, hasMore },
    });
    expect(verify(packet.frame)).toBeUndefined();
    fill(packet);
    expect(packet.frame.subarray(34)).toEqual(bytes);
    packet.frame[22]! ^= 1;
    expect(verify(packet.frame)?.header).toBe("ipv4");
  });

  it("an IPv6 packet whose routing header has hops left", () => {
    const routing = (hopsLeft: number): Packet =>
      buildUdpFrame({
        link,
        ip: { ...ip6, extensions: [{ type: 43, data: Uint8Array.of(0, hopsLeft, 0, 0, 0, 0) }] },
        udp,
        payload,
      });
    const open = routing(1);
    writeU16(open.bytes, open.start + 14 + 48 + 6, 0x1234);
    expect(verify(open.frame)).toBeUndefined();
    const arrived = routing(0);
    expect(verify(arrived.frame)).toBeUndefined();
    writeU16(arrived.bytes, arrived.start + 14 + 48 + 6, 0x1234);
    expect(verify(arrived.frame)).toMatchObject({ header: "udp", found: 0x1234 });
  });

  it("bytes behind the length of UDP", () => {
    const packet = buildUdpFrame({ link, ip: ip4, udp, payload: new Uint8Array(10) });
    writeU16(packet.bytes, packet.start + 38, 8 + 6);
    fill(packet);
    packet.bytes[packet.end - 1]! ^= 0xff;
    expect(verify(packet.frame)).toBeUndefined();
    packet.bytes[packet.end - 5]! ^= 0xff;
    expect(verify(packet.frame)?.header).toBe("udp");
  });
});

describe("fillChecksums", () => {
  it("makes every kind of frame right, whatever stood there, and changes nothing that was right", () => {
    fc.assert(
      fc.property(arbitraryFrame, fc.integer({ min: 0, max: 0xffff }), (packet, junk) => {
        const headers = new Headers();
        headers.parse(packet);
        const before = packet.frame.slice();
        const isTunnel =
          headers.protocol === 17 &&
          headers.transport >= 0 &&
          readU16(packet.bytes, headers.transport + 6) === 0;
        if (headers.family === 4) writeU16(packet.bytes, headers.network + 10, junk);
        fillChecksums(packet.bytes, headers);
        expect(verifyChecksums(packet.bytes, headers)).toBeUndefined();
        if (!isTunnel) expect(packet.frame).toEqual(before);
      }),
    );
  });
});
