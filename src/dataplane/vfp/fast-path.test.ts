import { describe, expect, it } from "vitest";
import {
  holdBothPathsEqual,
  holdBurstsEqual,
  holdForkEqual,
  holdHostileFrames,
  holdTwinEqual,
} from "#test/support/dataplane/fast-path.suite.ts";

describe("the fast path", () => {
  it("gives the bytes that the slow path gives, through rule changes, ageing and full pools", () => {
    holdBothPathsEqual({ numRuns: 150 });
  }, 30_000);

  it("gives what a naive twin gives that knows no flows but lists, and no checksums but whole ones", () => {
    holdTwinEqual({ numRuns: 100 });
  }, 30_000);

  it("gives frames that come together what it gives each that comes alone", () => {
    holdBurstsEqual({ numRuns: 100 });
  }, 30_000);

  it("takes damaged frames without harm, the same on both paths", () => {
    expect(holdHostileFrames({ numRuns: 30 })).toBeGreaterThan(700);
  }, 30_000);

  it("gives in a fork what it gives in the original", () => {
    holdForkEqual({ numRuns: 30 });
  }, 30_000);
});
