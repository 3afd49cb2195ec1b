import { describe, expect, it } from "vitest";
import {
  holdBurstsEqual,
  holdHostileFrames,
  holdTwinEqual,
} from "#test/support/dataplane/fast-path.suite.ts";

// Replay: SEED=… npm run test:long -- vfp/
const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

// Beside fast-path.long.test.ts, so that both run at the same time.
describe(`the fast path, seed ${seed}`, () => {
  it("gives what a naive twin gives", () => {
    holdTwinEqual({ numRuns: 7_000, seed });
  });

  it("gives frames that come together what it gives each that comes alone", () => {
    holdBurstsEqual({ numRuns: 7_000, seed });
  });

  it("takes a million damaged frames without harm, the same on both paths", () => {
    expect(holdHostileFrames({ numRuns: 20_000, seed })).toBeGreaterThan(500_000);
  });
});
