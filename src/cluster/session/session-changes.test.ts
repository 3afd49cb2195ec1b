import { describe, it } from "vitest";
import { surviveChanges } from "#test/support/cluster/session-changes.suite.ts";

describe("a running cluster that changes all the time", () => {
  it("keeps nothing of what is gone", async () => {
    await surviveChanges(1, 15, 8);
  });
});
