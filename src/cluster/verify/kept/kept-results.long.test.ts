import { describe, expect, it } from "vitest";
import { surviveJudgingAgain } from "#test/support/cluster/kept-results.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a cluster that is judged again after each change, replay: SEED=${seed} npm run test:long -- cluster/verify/kept`, () => {
  it("says after 1 000 changes what a whole verification says", { timeout: 3_600_000 }, async () => {
    const { cells, kept, mixed } = await surviveJudgingAgain(seed, Number(process.env["COURSES"] ?? 125), 8);
    expect(kept).toBeGreaterThan(cells / 10);
    expect(mixed).toBeGreaterThan(100);
  });
});
