import { describe, expect, it } from "vitest";
import { runHttpFuzz, runHnsFuzz } from "#test/support/hns/hns-fuzz-run.ts";

describe("random and damaged requests", () => {
  it.each([
    [1, "ws2022"],
    [2, "ws2019"],
    [3, "ws2025"],
    [4, "ws2022"],
  ] as const)("seed %d on %s breaks nothing and leaves no half objects", (seed, profile) => {
    expect(runHnsFuzz(seed, 250, profile)).toBeUndefined();
  });
});

describe("random and damaged bodies of HTTP requests", () => {
  it.each([1, 2, 3])("seed %d: never a fault, always an answer in its form", async (seed) => {
    expect(await runHttpFuzz(seed, 200)).toBeUndefined();
  });
});
