import { describe, expect, it } from "vitest";
import { type SealMarks, isSealBroken, seal } from "./seal.ts";

const LINE: SealMarks = { before: "# sum ", after: "\n" };

describe("a seal", () => {
  it("is CRC-32: the check value of its catalogue entries is cbf43926", () => {
    expect(seal("123456789", LINE)).toBe("123456789# sum cbf43926\n");
  });

  it("is broken by every flipped bit of the text and of the sum, and says nothing of a text without one", () => {
    const sealed = Buffer.from(seal("A=1\nB=\u00e9\n", LINE));
    expect(isSealBroken(sealed.toString(), LINE)).toBe(false);
    const last = sealed.length - 1;
    for (let bit = 0; bit < last * 8; bit++) {
      const damaged = Buffer.from(sealed);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const isMark = bit >> 3 >= last - 14 && bit >> 3 < last - 8;
      expect({ bit, isBroken: isSealBroken(damaged.toString(), LINE) }).toEqual({ bit, isBroken: !isMark });
    }
    for (const text of ["", "A=1\n", "# sum ", "\n", "# sum 1234567\n"])
      expect(isSealBroken(text, LINE)).toBe(false);
  });
});
