import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import {
  arbitraryIpFields,
  arbitraryLink,
  arbitraryPlainFrame,
  arbitraryU8,
} from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { buildIpFrame } from "../build-frame.ts";
import { decapsulateNvgre, encapsulateNvgre, isNvgre } from "./encapsulation.ts";
import { describeFrame, formatFrame } from "../text/format.ts";
import { Headers } from "../headers.ts";
import { NvgreView, emitNvgre } from "./nvgre.ts";
import { Packet } from "../packet.ts";

const LINK = { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! };
const IP = {
  source: parseIp("10.0.0.11")!,
  destination: parseIp("10.0.0.12")!,
  ttl: 128,
  identification: 0,
  isDontFragment: true,
};

describe("NVGRE (RFC 7637, dataplane.md §6.4)", () => {
  it("is GRE with a key and Ethernet: virtual subnet id and flow id share the key", () => {
    const bytes = new Uint8Array(8);
    expect(emitNvgre(0x00_1000, 0x2a, bytes, 0)).toBe(8);
    expect(formatHex(bytes)).toBe("200065580010002a");
    const view = NvgreView.parse(bytes) as NvgreView;
    expect([view.virtualSubnetId, view.flowId]).toEqual([4096, 42]);
  });

  it("costs 42 bytes on IPv4", () => {
    const packet = Packet.ofLength(100);
    encapsulateNvgre(packet, { link: LINK, ip: IP, virtualSubnetId: 4096, flowId: 1 });
    expect(packet.length).toBe(142);
  });

  it("decapsulation undoes encapsulation, for any frame and outer headers", () => {
    const all = [
      arbitraryPlainFrame,
      arbitraryLink,
      arbitraryIpFields,
      fc.integer({ min: 0, max: 0xff_ffff }),
      arbitraryU8,
    ] as const;
    fc.assert(
      fc.property(...all, (packet, link, ip, virtualSubnetId, flowId) => {
        const frame = packet.frame.slice();
        encapsulateNvgre(packet, { link, ip, virtualSubnetId, flowId });
        const headers = new Headers();
        expect(headers.parse(packet)).toBeUndefined();
        expect(isNvgre(packet.bytes, headers)).toBe(true);
        expect(decapsulateNvgre(packet, headers)).toBe(virtualSubnetId);
        expect(packet.frame).toEqual(frame);
      }),
    );
  });

  it.each([
    { what: "a checksum", bytes: "a0006558 00001000", reason: "gre-not-nvgre" },
    { what: "IPv4 in GRE", bytes: "20000800 00001000", reason: "gre-not-nvgre" },
    { what: "version 1", bytes: "20016558 00001000", reason: "gre-not-nvgre" },
    { what: "a cut key", bytes: "20006558 000010", reason: "nvgre-truncated" },
    { what: "nothing", bytes: "", reason: "nvgre-truncated" },
  ])("does not take $what", ({ bytes, reason }) => {
    expect(NvgreView.parse(annotatedHex(bytes))).toBe(reason);
  });

  it("other GRE stays payload", () => {
    const packet = buildIpFrame({
      link: LINK,
      ip: IP,
      protocol: 47,
      payload: annotatedHex("0000 0800 45"),
    });
    const headers = new Headers();
    headers.parse(packet);
    expect(isNvgre(packet.bytes, headers)).toBe(false);
    expect(describeFrame(packet.frame)).toBe("GRE 10.0.0.11 → 10.0.0.12");
  });

  it("is told with what it carries", () => {
    const packet = Packet.fromFrame(DATAPLANE_VECTORS.V2);
    encapsulateNvgre(packet, { link: LINK, ip: IP, virtualSubnetId: 5001, flowId: 7 });
    expect(formatFrame(packet.frame)).toContain("NVGRE VSID 5001 flow 7");
    expect(describeFrame(packet.frame)).toBe(
      "NVGRE 5001 10.0.0.11 → 10.0.0.12 [TCP 10.244.1.10:49200 → 10.244.2.10:8080 SYN ECE CWR]",
    );
  });
});
