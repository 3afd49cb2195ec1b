import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { annotatedHex, formatHex, formatHexDump, parseHex } from "./hex.ts";

describe("hexadecimal", () => {
  it("format then parse gives the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(parseHex(formatHex(bytes))).toEqual(bytes);
        expect(parseHex(formatHex(bytes).toUpperCase())).toEqual(bytes);
      }),
    );
  });

  it.each([
    { text: "", hex: "" },
    { text: "00-15-5D-AA", hex: "00155daa" },
    { text: "00:15:5d:aa", hex: "00155daa" },
    { text: " 0 0\n1 5\t", hex: "0015" },
  ])("'$text' is read", ({ text, hex }) => {
    expect(formatHex(parseHex(text)!)).toBe(hex);
  });

  it.each(["0", "0g", "0x00", "00 1", "٠٠"])("'%s' is refused", (text) => {
    expect(parseHex(text)).toBeUndefined();
  });

  it("annotated text leaves comments out, and is a bug of ours when it is no hexadecimal", () => {
    expect(formatHex(annotatedHex("0102 ; one, two\n03 ;three; again\n"))).toBe("010203");
    expect(() => annotatedHex("01 zz")).toThrow(/annotated hex/);
  });

  it("a dump has 16 bytes per line with offsets", () => {
    expect(formatHexDump(Uint8Array.from({ length: 18 }, (_, i) => i))).toBe(
      "0000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n0010  10 11",
    );
    expect(formatHexDump(new Uint8Array(0))).toBe("");
  });
});
