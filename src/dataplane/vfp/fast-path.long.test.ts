import { describe, it } from "vitest";
import { holdBothPathsEqual, holdForkEqual } from "#test/support/dataplane/fast-path.suite.ts";

// Replay: SEED=… npm run test:long -- vfp/
const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`the fast path and the slow one, seed ${seed}`, () => {
  it("give the same bytes", () => {
    holdBothPathsEqual({ numRuns: 20_000, seed });
  });

  it("give in a fork what they give in the original", () => {
    holdForkEqual({ numRuns: 2_000, seed });
  });
});
