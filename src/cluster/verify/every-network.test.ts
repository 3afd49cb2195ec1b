// A slice of the long run: each driver once, each setting of DSR, the builds in turn.
import { expect, it } from "vitest";
import { type Build, type NetworkName, checkNetwork } from "#test/support/cluster/every-network.suite.ts";

it.each<readonly [NetworkName, Build, boolean, number]>([
  ["L2Bridge", "ws2019", true, 39],
  ["L2Bridge in the nodes' subnet", "ws2022", true, 39],
  ["L2Tunnel", "ws2022", false, 39],
  ["Overlay", "ws2022", true, 37],
  ["Transparent", "ws2025", false, 4],
  ["NAT", "ws2025", false, 4],
])(
  "what the documentation promises on %s answers: %s, DSR %s, %i flows",
  async (network, build, dsr, count) => {
    expect(await checkNetwork(build, network, dsr)).toBe(count);
  },
);
