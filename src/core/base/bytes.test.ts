import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  readI32,
  readU128,
  readU16,
  readU24,
  readU32,
  readU48,
  readU8,
  writeU128,
  writeU16,
  writeU24,
  writeU32,
  writeU48,
  writeU8,
} from "./bytes.ts";
import { formatHex } from "./encodings.ts";

const BYTES = Uint8Array.of(
  0x00,
  0x80,
  0x91,
  0xa2,
  0xb3,
  0xc4,
  0xd5,
  0xe6,
  0xf7,
  0x08,
  0x19,
  0x2a,
  0x3b,
  0x4c,
  0x5d,
  0x6e,
  0x7f,
);

describe("readers are big-endian and unsigned", () => {
  it.each([
    { name: "readU8", value: readU8(BYTES, 1), expected: 0x80 },
    { name: "readU16", value: readU16(BYTES, 1), expected: 0x8091 },
    { name: "readU24", value: readU24(BYTES, 1), expected: 0x8091a2 },
    { name: "readU32", value: readU32(BYTES, 1), expected: 0x8091a2b3 },
    { name: "readI32", value: readI32(BYTES, 1), expected: 0x8091a2b3 - 0x1_0000_0000 },
    { name: "readU48", value: readU48(BYTES, 1), expected: 0x8091a2b3c4d5 },
    { name: "readU128", value: readU128(BYTES, 1), expected: 0x8091a2b3c4d5e6f708192a3b4c5d6e7fn },
  ])("$name", ({ value, expected }) => {
    expect(value).toBe(expected);
  });
});

describe("what is written is read, and nothing else is touched", () => {
  const check = <T>(
    width: number,
    values: fc.Arbitrary<T>,
    write: (bytes: Uint8Array, offset: number, value: T) => void,
    read: (bytes: Uint8Array, offset: number) => T,
  ): void => {
    fc.assert(
      fc.property(values, fc.nat(5), (value, offset) => {
        const bytes = new Uint8Array(32).fill(0xa5);
        write(bytes, offset, value);
        expect(read(bytes, offset)).toBe(value);
        const rest = [...bytes.subarray(0, offset), ...bytes.subarray(offset + width)];
        expect(rest.every((byte) => byte === 0xa5)).toBe(true);
      }),
    );
  };
  const unsigned = (bits: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** bits - 1 });

  it("8 bits", () => {
    expect(() => check(1, unsigned(8), writeU8, readU8)).not.toThrow();
  });
  it("16 bits", () => {
    expect(() => check(2, unsigned(16), writeU16, readU16)).not.toThrow();
  });
  it("24 bits", () => {
    expect(() => check(3, unsigned(24), writeU24, readU24)).not.toThrow();
  });
  it("32 bits", () => {
    expect(() => check(4, unsigned(32), writeU32, readU32)).not.toThrow();
  });
  it("32 bits, signed", () => {
    expect(() => check(4, fc.integer(), writeU32, readI32)).not.toThrow();
  });
  it("48 bits", () => {
    expect(() => check(6, unsigned(48), writeU48, readU48)).not.toThrow();
  });
  it("128 bits", () => {
    const values = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
    expect(() => check(16, values, writeU128, readU128)).not.toThrow();
  });

  it("larger numbers keep their low bits", () => {
    const bytes = new Uint8Array(4);
    writeU16(bytes, 0, 0x1_2345);
    writeU16(bytes, 2, -1);
    expect(formatHex(bytes)).toBe("2345ffff");
    writeU32(bytes, 0, 0x1_0000_0002);
    expect(formatHex(bytes)).toBe("00000002");
  });
});
