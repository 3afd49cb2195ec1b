import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryFrame } from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { patchedBytes } from "#test/support/wire/emitted-bytes.ts";
import { WIRE_PARSERS, type WireParser } from "#test/support/wire/wire-parsers.ts";

/**
 * What `parse` gives for `frame` in the middle of zeros and in the middle of ones. A read outside the frame makes the two
 * differ; an exception fails the test.
 */
function readings(parse: WireParser, frame: Uint8Array): readonly [inZeros: unknown, inOnes: unknown] {
  const margin = 64;
  const read = (fill: number): unknown => {
    const bytes = new Uint8Array(margin + frame.length + margin).fill(fill);
    bytes.set(frame, margin);
    return parse(bytes, margin, margin + frame.length);
  };
  return [read(0x00), read(0xff)];
}

describe.each(Object.entries(WIRE_PARSERS))("%s", (_name, parse) => {
  it("takes or refuses any bytes, never throws and never looks outside", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const [zeros, ones] = readings(parse, bytes);
        expect(zeros).toEqual(ones);
      }),
      { numRuns: 60 },
    );
  });

  it("takes or refuses every cut of a frame, from each of its headers on", () => {
    const frame = DATAPLANE_VECTORS.V3;
    for (const start of [0, 14, 34, 42, 50, 64, 84]) {
      for (let end = start; end <= frame.length; end++) {
        const [zeros, ones] = readings(parse, frame.subarray(start, end));
        expect(zeros).toEqual(ones);
      }
    }
  });

  it("takes or refuses damaged frames of every kind, from any byte on", () => {
    fc.assert(
      fc.property(arbitraryFrame, fc.nat(), fc.nat(), fc.nat(255), (packet, start, at, value) => {
        const { frame } = packet;
        const damaged = patchedBytes(frame, { [at % frame.length]: value });
        const [zeros, ones] = readings(parse, damaged.subarray(start % 5 === 0 ? 0 : start % frame.length));
        expect(zeros).toEqual(ones);
      }),
      { numRuns: 100 },
    );
  });
});
