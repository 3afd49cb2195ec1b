import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { arbitraryU16 } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { emittedBytes, patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { UdpView, emitUdp, toUdpFields, udpChecksumField } from "./udp.ts";
import { VXLAN_PORT, VxlanView, emitVxlan } from "./tunnels/vxlan.ts";

const DATAGRAM = annotatedHex("0035 c000 000c beef 01020304 ffff");

function view(bytes: Uint8Array): UdpView {
  const parsed = UdpView.parse(bytes);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("UdpView", () => {
  it("reads a header; what lies behind the length belongs to nobody", () => {
    expect(view(DATAGRAM)).toMatchObject({
      sourcePort: 53,
      destinationPort: 49152,
      length: 12,
      checksum: 0xbeef,
      payloadStart: 8,
      payloadEnd: 12,
    });
  });

  it.each([
    { name: "a header that ends too early", patch: {}, length: 7, reason: "udp-truncated" },
    { name: "a length of 7", patch: { 5: 7 }, length: 14, reason: "udp-length" },
    { name: "a length beyond the packet", patch: { 5: 15 }, length: 14, reason: "udp-length" },
  ])("refuses $name", ({ patch, length, reason }) => {
    expect(UdpView.parse(patchedBytes(DATAGRAM, patch), 0, length)).toBe(reason);
  });

  it("takes a first fragment whose length counts the bytes of later ones", () => {
    const fragment = UdpView.parse(patchedBytes(DATAGRAM, { 4: 0x10 }), 0, 14, true) as UdpView;
    expect(fragment.length).toBe(0x100c);
    expect(fragment.payloadEnd).toBe(14);
    expect(UdpView.parse(patchedBytes(DATAGRAM, { 5: 7 }), 0, 14, true)).toBe("udp-length");
  });

  it("emit then parse gives the same fields, every byte written, no checksum yet", () => {
    fc.assert(
      fc.property(arbitraryU16, arbitraryU16, (sourcePort, destinationPort) => {
        const fields = { sourcePort, destinationPort };
        const bytes = emittedBytes(8, (into, offset) => emitUdp(fields, 0, into, offset));
        expect(toUdpFields(view(bytes))).toEqual(fields);
        expect([view(bytes).length, view(bytes).checksum]).toEqual([8, 0]);
      }),
    );
  });

  it("never writes a length beyond 16 bits", () => {
    expect(() => emitUdp({ sourcePort: 1, destinationPort: 2 }, 65_528, new Uint8Array(8), 0)).toThrow(
      /65535/,
    );
  });

  it("a computed zero is sent as all ones (RFC 768)", () => {
    expect(udpChecksumField(0)).toBe(0xffff);
    expect(udpChecksumField(0xffff)).toBe(0xffff);
    expect(udpChecksumField(0x1234)).toBe(0x1234);
  });
});

describe("VxlanView", () => {
  it("DATAPLANE-V3: VNI 4096 on port 4789 without a UDP checksum", () => {
    const udp = UdpView.parse(DATAPLANE_VECTORS.V3, 34) as UdpView;
    expect(udp.destinationPort).toBe(VXLAN_PORT);
    expect(udp.checksum).toBe(0);
    const vxlan = VxlanView.parse(DATAPLANE_VECTORS.V3, udp.payloadStart, udp.payloadEnd) as VxlanView;
    expect(vxlan.vni).toBe(4096);
    expect(vxlan.payloadStart).toBe(50);
  });

  it("every VNI of 24 bits comes back, every byte written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xff_ffff }), (vni) => {
        const bytes = emittedBytes(8, (into, offset) => emitVxlan(vni, into, offset));
        expect((VxlanView.parse(bytes) as VxlanView).vni).toBe(vni);
      }),
    );
    expect(formatHex(emittedBytes(8, (into, offset) => emitVxlan(4096, into, offset)))).toBe(
      "0800000000100000",
    );
  });

  it.each([
    { name: "a header that ends too early", hex: "08000000001000", reason: "vxlan-truncated" },
    { name: "a VNI that is not marked valid", hex: "00000000 00100000", reason: "vxlan-vni-invalid" },
  ])("refuses $name", ({ hex, reason }) => {
    expect(VxlanView.parse(annotatedHex(hex))).toBe(reason);
  });

  it("ignores bits that RFC 7348 reserves", () => {
    expect((VxlanView.parse(annotatedHex("f8ffffff 001000ff")) as VxlanView).vni).toBe(4096);
  });
});
