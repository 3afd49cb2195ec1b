import { describe, expect, it } from "vitest";
import { Prng } from "./prng.ts";

/** sfc32 as its author publishes it, for comparison: three state words and a counter. */
function* sfc32(a: number, b: number, c: number, counter: number): Generator<number> {
  const state = Uint32Array.of(a, b, c, counter);
  for (;;) {
    const [x, y, z, n] = [...state] as [number, number, number, number];
    const result = (x + y + n) >>> 0;
    state[3] = n + 1;
    state[0] = y ^ (y >>> 9);
    state[1] = z + (z << 3);
    state[2] = ((z << 21) | (z >>> 11)) + result;
    yield result;
  }
}

/** FNV-1a with a seed in its offset basis. */
function fnv(text: string, seed: number): number {
  let hash = BigInt((0x811c9dc5 ^ seed) >>> 0);
  for (const unit of text.split(""))
    hash = ((hash ^ BigInt(unit.charCodeAt(0))) * 0x01000193n) & 0xffff_ffffn;
  return Number(hash);
}

describe("Prng", () => {
  it("is sfc32, seeded by hashes, with twelve rounds thrown away", () => {
    for (const seed of ["1", "a long seed with ünicode", ""]) {
      const twin = sfc32(fnv(seed, 1), fnv(seed, 2), fnv(seed, 3), 1);
      for (let i = 0; i < 12; i++) twin.next();
      const prng = new Prng(seed);
      for (let i = 0; i < 1_000; i++) expect(prng.nextU32()).toBe(twin.next().value);
    }
  });

  it("same seed, same numbers; a number and its text are one seed", () => {
    const [a, b, c] = [new Prng(42), new Prng("42"), new Prng(43)];
    const first = Array.from({ length: 20 }, () => a.nextU32());
    expect(Array.from({ length: 20 }, () => b.nextU32())).toEqual(first);
    expect(Array.from({ length: 20 }, () => c.nextU32())).not.toEqual(first);
  });

  it("what one part draws never shifts what another part gets", () => {
    const quiet = new Prng(7);
    const busy = new Prng(7);
    for (let i = 0; i < 50; i++) busy.nextU32();
    expect(busy.derive("ports").nextU32()).toBe(quiet.derive("ports").nextU32());
    expect(quiet.derive("ports").nextU32()).not.toBe(quiet.derive("macs").nextU32());
  });

  it("below stays below its limit and reaches every number", () => {
    const prng = new Prng(3);
    const seen = new Set(Array.from({ length: 500 }, () => prng.below(7)));
    expect([...seen].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(prng.below(1)).toBe(0);
    expect(prng.below(0x1_0000_0000)).toBeLessThan(0x1_0000_0000);
    expect(() => prng.below(0)).toThrow(/limit/);
    expect(() => prng.below(0x1_0000_0001)).toThrow(/limit/);
  });

  it("guids are of version 4 and differ", () => {
    const prng = new Prng("guids");
    const guids = Array.from({ length: 200 }, () => prng.guid());
    for (const guid of guids) {
      expect(guid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    expect(new Set(guids).size).toBe(200);
    expect(new Prng("guids").guid()).toBe(guids[0]);
  });
});
