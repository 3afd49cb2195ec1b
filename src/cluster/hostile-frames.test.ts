import { describe, it } from "vitest";
import { surviveHostileFrames, surviveHostileIpv6 } from "#test/support/cluster/hostile-frames.suite.ts";

describe("a cluster under hostile frames", () => {
  it("survives them, and works as before", async () => {
    await surviveHostileFrames(1, 3_000);
  });

  it.each(["driver-overlay", "driver-l2tunnel", "driver-transparent"])(
    "examples/%s, too",
    async (example) => {
      await surviveHostileFrames(2, 1_000, example);
    },
  );

  it("of IPv6, too", async () => {
    await surviveHostileIpv6(3, 2_000);
  });
});
