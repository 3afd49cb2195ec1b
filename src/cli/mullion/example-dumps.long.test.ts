import { describe, expect, it } from "vitest";
import { checkFlows, checkVerify, dumpNames } from "#test/support/cli/example-dumps.suite.ts";

it("there are at least ten dumps", () => {
  expect(dumpNames().length).toBeGreaterThanOrEqual(10);
});

describe.each(dumpNames())("examples/dumps/%s", (name) => {
  it("has the flows that the documents promise and deny", async () => {
    await checkFlows(name);
  });

  it("ends green when it is healthy, and red when it is broken", async () => {
    await checkVerify(name);
  });
});
