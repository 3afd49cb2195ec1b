import { describe, it } from "vitest";
import { surviveChanges } from "#test/support/cluster/session-changes.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a running cluster that changes all the time, replay: SEED=${seed} npm run test:long -- cluster/`, () => {
  it("keeps nothing of what is gone", async () => {
    await surviveChanges(seed, 120, 30);
  });
});
