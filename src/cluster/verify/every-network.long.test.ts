import { describe, expect, it } from "vitest";
import {
  BUILDS,
  NETWORKS,
  type NetworkName,
  checkNetwork,
} from "#test/support/cluster/every-network.suite.ts";

describe.each(Object.keys(NETWORKS) as NetworkName[])("what the documentation promises on %s", (network) => {
  it.each(BUILDS)("answers on %s, with and without DSR", async (build) => {
    const withServices = network === "Overlay" && build === "ws2022" ? 37 : 39;
    const alone = network === "NAT" && build === "ws2019" ? 0 : 4;
    const answers = NETWORKS[network].hasServices ? withServices : alone;
    for (const enableDSR of [false, true])
      expect(await checkNetwork(build, network, enableDSR)).toBe(answers);
  });
});
