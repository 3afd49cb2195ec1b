import { describe, it } from "vitest";
import { buildClustersOfDumps } from "#test/support/cluster/cluster-of-manifests.suite.ts";

describe("the cluster of a dump", () => {
  it("can be built, whatever its addresses are", () => {
    buildClustersOfDumps(60);
  });
});
