import { describe, expect, it } from "vitest";
import { surviveJudgingAgain } from "#test/support/cluster/kept-results.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a cluster that is judged again after each change, replay: SEED=${seed} npm run test:long -- cluster/verify/kept`, () => {
  it("says after 1 000 changes what a whole verification says", { timeout: 3_600_000 }, async () => {
    // Some courses end early, with a machine that is damaged for good.
    const courses = Number(process.env["COURSES"] ?? 160);
    const survived = await surviveJudgingAgain(seed, courses, 8);
    process.stderr.write(`${JSON.stringify(survived)}\n`);
    const { changed, cells, kept, mixed } = survived;
    expect(changed).toBeGreaterThanOrEqual(courses * 6.25);
    expect(kept).toBeGreaterThan(cells / 10);
    expect(mixed).toBeGreaterThan(changed / 10);
  });
});
