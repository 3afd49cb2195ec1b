import { describe, expect, it } from "vitest";
import { surviveFaults } from "#test/support/kube-proxy/fault-sequences.suite.ts";

const SEQUENCES = 1_000;
const first = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`random changes before an HNS that fails, forgets and restarts, from seed ${first}; replay: SEED=<the seed of the failure> npm run test:long -- kube-proxy/`, () => {
  it("when quiet, HNS holds exactly what is wanted", async () => {
    let repairs = 0;
    for (let seed = first; seed < first + SEQUENCES; seed++) repairs += await surviveFaults(seed, 30);
    expect(repairs).toBeGreaterThan(SEQUENCES);
  });
});
