import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex, parseHex } from "./hex.ts";
import { decodeUtf8, encodeUtf8 } from "./utf8.ts";

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
      fc.property(fc.string({ unit: "binary", maxLength: 50 }), (text) => {
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
