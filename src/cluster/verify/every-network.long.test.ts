import { describe, expect, it } from "vitest";
import {
  BUILDS,
  NETWORKS,
  type NetworkName,
  checkNetwork,
} from "#test/support/cluster/every-network.suite.ts";

describe.each(Object.keys(NETWORKS) as NetworkName[])("what the documentation promises on %s", (network) => {
  it.each(BUILDS)("answers on %s, with and without DSR", async (build) => {
    for (const enableDSR of [false, true])
      expect(await checkNetwork(build, network, enableDSR)).toBeGreaterThan(0);
  });
});
