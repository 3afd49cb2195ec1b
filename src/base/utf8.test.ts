import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "./hex.ts";
import { encodeUtf8 } from "./utf8.ts";

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
