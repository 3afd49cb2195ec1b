import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import { decodeHresult, parseErrorNumber } from "./hresult.ts";

describe("parseErrorNumber", () => {
  // hcn.md §6.3: the decimals that people quote.
  it.each([
    ["2151350272", 0x803b0000],
    ["2151350319", 0x803b002f],
    ["2151350288", 0x803b0010],
    ["2151350278", 0x803b0006],
    ["2151350302", 0x803b001e],
    ["2147942487", 0x80070057],
    ["2147942583", 0x800700b7],
    ["0x803b0013", 0x803b0013],
    ["0X803B0013", 0x803b0013],
    ["803B0013", 0x803b0013],
    ["c037010e", 0xc037010e],
    ["-2143617005", 0x803b0013],
    ["hr=0x803b0013", 0x803b0013],
    ["HRESULT: 0x803b0013", 0x803b0013],
    ["Exception from HRESULT: 0x803B0006)", 0x803b0006],
    ["ErrorCode=2151350291,", 0x803b0013],
    ["(0x803b0013).", 0x803b0013],
    ["0x803B0013L", 0x803b0013],
    ["0xffffffff803b0013", 0x803b0013],
    ["-0x7fc4ffed", 0x803b0013],
  ])("reads %j", (text, value) => {
    expect(parseErrorNumber(text)).toMatchObject({ value, isShort: false });
  });

  it.each([
    ["0x490", 0x490, true],
    ["1168", 1168, false],
    ["(0x1392)", 0x1392, true],
    ["Win32 error 5", 5, false],
    ["CNI code 11", 11, false],
  ])("reads the short %j", (text, value, isHex) => {
    expect(parseErrorNumber(text)).toEqual({ value, isShort: true, isHex });
  });

  it.each([
    "",
    "no-route",
    "803b",
    "0x",
    "12 34",
    "0x803b00131234567890",
    "99999999999999999999",
    "HCN_E_INVALID_IP",
    "face",
  ])("takes %j for no number", (text) => {
    expect(parseErrorNumber(text)).toBeUndefined();
  });

  it("reads back every 32-bit number in each spelling", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0x1_0000, max: 0xffff_ffff }), (value) => {
        for (const text of [`0x${value.toString(16)}`, String(value), String(value | 0)]) {
          expect(parseErrorNumber(text)?.value).toBe(value);
        }
      }),
    );
  });

  it("never throws", () => {
    fc.assert(fc.property(anyText(), (text) => void parseErrorNumber(text)));
  });
});

describe("decodeHresult", () => {
  it.each([
    [0x803b0013, "failure", 59, 0x13],
    [0x80070490, "failure", 7, 0x490],
    [0xc037010e, "failure", 55, 0x10e],
    [0x80004005, "failure", 0, 0x4005],
    [0x00000001, "success", 0, 1],
  ])("takes %i apart", (value, severity, facility, code) => {
    expect(decodeHresult(value)).toMatchObject({ value, severity, facility, code });
  });
});
