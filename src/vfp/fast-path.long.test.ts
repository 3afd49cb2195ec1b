import { describe, expect, it } from "vitest";
import {
  holdBothPathsEqual,
  holdBurstsEqual,
  holdForkEqual,
  holdHostileFrames,
  holdTwinEqual,
} from "./fast-path.suite.ts";

// Replay: SEED=… npm run test:long -- src/vfp
const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`the fast path, seed ${seed}`, () => {
  it("gives the bytes that the slow path gives", () => {
    holdBothPathsEqual({ numRuns: 60_000, seed });
  });

  it("gives what a naive twin gives", () => {
    holdTwinEqual({ numRuns: 20_000, seed });
  });

  it("gives frames that come together what it gives each that comes alone", () => {
    holdBurstsEqual({ numRuns: 20_000, seed });
  });

  it("takes a million damaged frames without harm, the same on both paths", () => {
    expect(holdHostileFrames({ numRuns: 20_000, seed })).toBeGreaterThan(500_000);
  });

  it("gives in a fork what it gives in the original", () => {
    holdForkEqual({ numRuns: 5_000, seed });
  });
});
