import { describe, expect, it } from "vitest";
import { surviveFaults } from "#test/support/kube-proxy/fault-sequences.suite.ts";

describe("random changes before an HNS that fails, forgets and restarts", () => {
  it("when quiet, HNS holds exactly what is wanted", async () => {
    let repairs = 0;
    for (let seed = 1; seed <= 16; seed++) repairs += await surviveFaults(seed, 30);
    expect(repairs).toBeGreaterThan(16);
  });

  it.each([
    ["a process without Services after one that could not delete the endpoint of a ClusterIP", 238_519_501],
  ])("what a long run found: %s", async (_, seed) => {
    await surviveFaults(seed, 30);
  });
});
