import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import {
  arbitraryIpFields,
  arbitraryLink,
  arbitraryPlainFrame,
  arbitraryU16,
} from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { buildUdpFrame } from "../build-frame.ts";
import { decapsulateVxlan, encapsulateVxlan, isVxlan } from "./encapsulation.ts";
import { EthernetView } from "../ethernet.ts";
import { Headers } from "../headers.ts";
import { Packet } from "../packet.ts";
import { decrementTtl, readTtl } from "../ip-view.ts";

const outer = {
  link: { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! },
  ip: {
    source: parseIp("10.0.0.11")!,
    destination: parseIp("10.0.0.12")!,
    ttl: 128,
    identification: 0x7001,
    isDontFragment: true,
  },
  sourcePort: 39041,
  vni: 4096,
};

describe("VXLAN encapsulation", () => {
  it("DATAPLANE-V3 is V2 with one TTL less, the other router's MAC and outer headers", () => {
    const packet = Packet.fromFrame(DATAPLANE_VECTORS.V2);
    const headers = new Headers();
    headers.parse(packet);
    decrementTtl(packet.bytes, headers);
    expect(readTtl(packet.bytes, headers)).toBe(127);
    const ethernet = EthernetView.parse(packet.bytes, packet.start, packet.end) as EthernetView;
    ethernet.destinationMac = parseMac("00-15-5D-AA-00-02")!;
    const { bytes } = packet;
    encapsulateVxlan(packet, outer);
    expect(formatHex(packet.frame)).toBe(formatHex(DATAPLANE_VECTORS.V3));
    expect(packet.bytes).toBe(bytes);
  });

  it("DATAPLANE-V3 gives the inner frame and the VNI back", () => {
    const packet = Packet.fromFrame(DATAPLANE_VECTORS.V3);
    const headers = new Headers();
    headers.parse(packet);
    expect(isVxlan(packet.bytes, headers)).toBe(true);
    expect(decapsulateVxlan(packet, headers)).toBe(4096);
    expect(formatHex(packet.frame)).toBe(formatHex(DATAPLANE_VECTORS.V3.subarray(50)));
  });

  it("costs 50 bytes on IPv4 and 70 on IPv6 (dataplane.md §6.1)", () => {
    const four = Packet.ofLength(100);
    encapsulateVxlan(four, outer);
    const six = Packet.ofLength(100);
    encapsulateVxlan(six, {
      ...outer,
      ip: { ...outer.ip, source: parseIp("fd00::1")!, destination: parseIp("fd00::2")! },
    });
    expect([four.length, six.length]).toEqual([150, 170]);
  });

  it("decapsulation undoes encapsulation, for any frame, outer headers and headroom", () => {
    const vni = fc.integer({ min: 0, max: 0xff_ffff });
    const all = [
      arbitraryPlainFrame,
      arbitraryLink,
      arbitraryIpFields,
      arbitraryU16,
      vni,
      fc.nat(80),
    ] as const;
    fc.assert(
      fc.property(...all, (plain, link, ip, sourcePort, number, headroom) => {
        const frame = plain.frame.slice();
        const bytes = new Uint8Array(headroom + frame.length);
        bytes.set(frame, headroom);
        const packet = new Packet(bytes, headroom, bytes.length);
        encapsulateVxlan(packet, { link, ip, sourcePort, vni: number });
        const headers = new Headers();
        expect(headers.parse(packet)).toBeUndefined();
        expect(isVxlan(packet.bytes, headers)).toBe(true);
        expect(decapsulateVxlan(packet, headers)).toBe(number);
        expect(packet.frame).toEqual(frame);
      }),
    );
  });

  it.each([
    { name: "another port", port: 4790, payload: new Uint8Array(8), is: false, result: undefined },
    { name: "a cut header", port: 4789, payload: new Uint8Array(7), is: true, result: "vxlan-truncated" },
    { name: "no valid VNI", port: 4789, payload: new Uint8Array(30), is: true, result: "vxlan-vni-invalid" },
  ])("$name", ({ port, payload, is, result }) => {
    const packet = buildUdpFrame({
      link: outer.link,
      ip: outer.ip,
      udp: { sourcePort: 1, destinationPort: port },
      payload,
    });
    const before = packet.frame.slice();
    const headers = new Headers();
    headers.parse(packet);
    expect(isVxlan(packet.bytes, headers)).toBe(is);
    if (!is) return;
    expect(decapsulateVxlan(packet, headers)).toBe(result);
    expect(packet.frame).toEqual(before);
  });
});
