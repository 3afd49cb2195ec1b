// Two of the dumps; all of them run with `npm run test:long`.
import { describe, it } from "vitest";
import { checkFlows, checkVerify } from "#test/support/cli/example-dumps.suite.ts";

describe.each(["aks-node-subnet", "broken-aks-windows-pending"])("examples/dumps/%s", (name) => {
  it("has the flows that the documents promise and deny", async () => {
    await checkFlows(name);
  });

  it("ends green when it is healthy, and red when it is broken", async () => {
    await checkVerify(name);
  });
});
