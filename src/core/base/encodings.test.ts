import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import { decodeUtf8, encodeUtf8, formatHex } from "./encodings.ts";
import { annotatedHex, parseHex } from "#test/support/wire/hexadecimal.ts";

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
});

describe("encodeUtf8", () => {
  it.each([
    { text: "", hex: "" },
    { text: "A", hex: "41" },
    { text: "é", hex: "c3a9" },
    { text: "→", hex: "e28692" },
    { text: "😀", hex: "f09f9880" },
    { text: "\ud83d", hex: "efbfbd" },
  ])("$text is $hex", ({ text, hex }) => {
    expect(formatHex(encodeUtf8(text))).toBe(hex);
  });

  it("equals the platform's encoder on any text", () => {
    fc.assert(
      fc.property(anyText(50), (text) => {
        expect(formatHex(encodeUtf8(text))).toBe(formatHex(new TextEncoder().encode(text)));
      }),
    );
  });

  it("cuts between characters, never inside one", () => {
    expect(formatHex(encodeUtf8("a→→", 6))).toBe("61e28692");
    expect(formatHex(encodeUtf8("a→→", 7))).toBe("61e28692e28692");
    expect(formatHex(encodeUtf8("→", 2))).toBe("");
  });
});

describe("decodeUtf8", () => {
  it("reads back what encodeUtf8 writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text);
      }),
    );
  });

  it.each([
    ["c3", "\ufffd"],
    ["41c3", "A\ufffd"],
    ["c0af", "\ufffd\ufffd"],
    ["e28641", "\ufffd\ufffdA"],
    ["eda080", "\ufffd\ufffd\ufffd"],
    ["f4908080", "\ufffd\ufffd\ufffd\ufffd"],
    ["ff", "\ufffd"],
  ])("replaces each byte of %s that belongs to no character", (hex, text) => {
    expect(decodeUtf8(parseHex(hex) ?? new Uint8Array(0))).toBe(text);
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => void decodeUtf8(bytes)));
  });
});
