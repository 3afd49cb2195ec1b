import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { type Ip, parseIp } from "../net/ip.ts";
import { type Mac, formatMac, parseMac } from "../net/mac.ts";
import { arbitraryMac, arbitraryU16, arbitraryVlan } from "#test/support/wire/arbitrary-frames.ts";
import { emittedBytes } from "#test/support/wire/emitted-bytes.ts";
import { EthernetView, emitEthernet, etherTypeName, multicastMac, toEthernetFields } from "./ethernet.ts";
import { Packet } from "./packet.ts";
import { VlanView, emitVlan, popVlan, pushVlan, toVlanTag } from "./vlan.ts";

const FRAME = annotatedHex(`
  00155daa0001 0e2a0af4010a 8100   ; to, from, 802.1Q
  b064 0800                        ; priority 5, drop eligible, VLAN 100, IPv4
`);

function ethernet(bytes: Uint8Array): EthernetView {
  const view = EthernetView.parse(bytes);
  if (typeof view === "string") throw new Error(view);
  return view;
}

function vlan(bytes: Uint8Array, start: number): VlanView {
  const view = VlanView.parse(bytes, start);
  if (typeof view === "string") throw new Error(view);
  return view;
}

describe("EthernetView", () => {
  it("reads a header", () => {
    const view = ethernet(FRAME);
    expect(formatMac(view.destinationMac)).toBe("00-15-5D-AA-00-01");
    expect(formatMac(view.sourceMac)).toBe("0E-2A-0A-F4-01-0A");
    expect(view.etherType).toBe(0x8100);
    expect(view.payloadStart).toBe(14);
  });

  it("writes addresses in place", () => {
    const bytes = FRAME.slice();
    const view = ethernet(bytes);
    view.destinationMac = parseMac("FF-FF-FF-FF-FF-FF")!;
    view.sourceMac = 1 as Mac;
    expect(formatHex(bytes.subarray(0, 14))).toBe("ffffffffffff0000000000018100");
  });

  it("refuses a frame that ends too early", () => {
    expect(EthernetView.parse(FRAME, 0, 13)).toBe("ethernet-truncated");
    expect(EthernetView.parse(FRAME, 5)).toBe("ethernet-truncated");
  });

  it("emit then parse gives the same fields, every byte written", () => {
    fc.assert(
      fc.property(arbitraryMac, arbitraryMac, arbitraryU16, (destinationMac, sourceMac, etherType) => {
        const fields = { destinationMac, sourceMac, etherType };
        const bytes = emittedBytes(14, (into, offset) => emitEthernet(fields, into, offset));
        expect(toEthernetFields(ethernet(bytes))).toEqual(fields);
      }),
    );
  });
});

describe("VlanView", () => {
  it("reads a tag", () => {
    const view = vlan(FRAME, 14);
    expect(toVlanTag(view)).toEqual({ id: 100, priority: 5, isDropEligible: true });
    expect(view.etherType).toBe(0x0800);
    expect(view.payloadStart).toBe(18);
  });

  it("refuses a tag that ends too early", () => {
    expect(VlanView.parse(FRAME, 14, 17)).toBe("vlan-truncated");
  });

  it("emit then parse gives the same tag, every byte written", () => {
    fc.assert(
      fc.property(arbitraryVlan, arbitraryU16, (tag, etherType) => {
        const bytes = emittedBytes(4, (into, offset) => emitVlan(tag, etherType, into, offset));
        expect(toVlanTag(vlan(bytes, 0))).toEqual(tag);
        expect(vlan(bytes, 0).etherType).toBe(etherType);
      }),
    );
  });

  it("a tag without priority is best effort", () => {
    expect(formatHex(emittedBytes(4, (into, offset) => emitVlan({ id: 7 }, 0x0806, into, offset)))).toBe(
      "00070806",
    );
  });

  it("pushing and popping a tag gives back the frame, also without headroom", () => {
    for (const headroom of [0, 3, 4, 72]) {
      const bytes = new Uint8Array(headroom + FRAME.length);
      bytes.set(FRAME, headroom);
      const packet = new Packet(bytes, headroom, bytes.length);
      pushVlan(packet, { id: 9 });
      expect(formatHex(packet.frame)).toBe("00155daa00010e2a0af4010a810000098100b0640800");
      expect(popVlan(packet)).toBe(true);
      expect(formatHex(packet.frame)).toBe(formatHex(FRAME));
      expect(popVlan(packet)).toBe(true);
      expect(formatHex(packet.frame)).toBe("00155daa00010e2a0af4010a0800");
      expect(popVlan(packet)).toBe(false);
    }
  });
});

describe("multicastMac", () => {
  it.each([
    { ip: "224.0.0.251", mac: "01-00-5E-00-00-FB" },
    { ip: "239.255.255.250", mac: "01-00-5E-7F-FF-FA" },
    { ip: "224.128.1.2", mac: "01-00-5E-00-01-02" },
    { ip: "ff02::1", mac: "33-33-00-00-00-01" },
    { ip: "ff02::1:ff98:7654", mac: "33-33-FF-98-76-54" },
  ])("$ip goes to $mac", ({ ip, mac }) => {
    expect(formatMac(multicastMac(parseIp(ip) as Ip))).toBe(mac);
  });
});

it.each([
  { etherType: 0x0800, name: "IPv4" },
  { etherType: 0x86dd, name: "IPv6" },
  { etherType: 0x0806, name: "ARP" },
  { etherType: 0x8100, name: "802.1Q" },
  { etherType: 0x88cc, name: "ethertype 0x88cc" },
  { etherType: 0x0026, name: "802.3 length 38" },
])("ethertype $etherType is $name", ({ etherType, name }) => {
  expect(etherTypeName(etherType)).toBe(name);
});
