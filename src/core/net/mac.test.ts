import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BROADCAST_MAC, type Mac, formatMac, isGroupMac, parseMac } from "./mac.ts";

describe("MAC addresses", () => {
  it.each([
    { text: "00-15-5D-AA-00-01", mac: 0x00155daa0001, printed: "00-15-5D-AA-00-01" },
    { text: "0e:2a:0a:f4:01:0a", mac: 0x0e2a0af4010a, printed: "0E-2A-0A-F4-01-0A" },
    // The CNI plugins write the prefix in upper case and the rest in lower case (dataplane.md §2.14).
    { text: "0E-2A-0a-f4-01-0a", mac: 0x0e2a0af4010a, printed: "0E-2A-0A-F4-01-0A" },
    { text: "FF-FF-FF-FF-FF-FF", mac: BROADCAST_MAC, printed: "FF-FF-FF-FF-FF-FF" },
    { text: "00-00-00-00-00-00", mac: 0, printed: "00-00-00-00-00-00" },
  ])("$text", ({ text, mac, printed }) => {
    expect(parseMac(text)).toBe(mac);
    expect(formatMac(mac as Mac)).toBe(printed);
  });

  it.each([
    "",
    "00-15-5D-AA-00",
    "00-15-5D-AA-00-01-02",
    "00-15:5D-AA-00-01",
    "0-15-5D-AA-00-01",
    "00155daa0001",
    "g0-15-5D-AA-00-01",
    " 00-15-5D-AA-00-01",
  ])("'%s' is refused", (text) => {
    expect(parseMac(text)).toBeUndefined();
  });

  it("format then parse gives the same address", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff_ffff }), (value) => {
        expect(parseMac(formatMac(value as Mac))).toBe(value);
      }),
    );
  });

  it.each([
    { text: "FF-FF-FF-FF-FF-FF", isGroup: true },
    { text: "01-00-5E-00-00-FB", isGroup: true },
    { text: "33-33-FF-00-00-01", isGroup: true },
    { text: "00-15-5D-AA-00-01", isGroup: false },
    { text: "0E-2A-0A-F4-01-0A", isGroup: false },
    { text: "FE-FF-FF-FF-FF-FF", isGroup: false },
  ])("$text is a group: $isGroup", ({ text, isGroup }) => {
    expect(isGroupMac(parseMac(text)!)).toBe(isGroup);
  });
});
