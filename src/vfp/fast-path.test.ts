import { describe, it } from "vitest";
import { holdBothPathsEqual, holdForkEqual } from "./fast-path.suite.ts";

describe("the fast path", () => {
  it("gives the bytes that the slow path gives, through rule changes, ageing and full pools", () => {
    holdBothPathsEqual({ numRuns: 150 });
  }, 30_000);

  it("gives in a fork what it gives in the original", () => {
    holdForkEqual({ numRuns: 30 });
  }, 30_000);
});
