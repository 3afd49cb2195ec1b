import { describe, it } from "vitest";
import { surviveHostileFrames, surviveHostileIpv6 } from "#test/support/cluster/hostile-frames.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a cluster under hostile frames, replay: SEED=${seed} npm run test:long -- cluster/`, () => {
  it("survives them, and works as before", async () => {
    await surviveHostileFrames(seed, 100_000);
  });

  it("of IPv6, too", async () => {
    await surviveHostileIpv6(seed, 40_000);
  });
});
