import { describe, expect, it } from "vitest";
import { findLeaks, kill, resolve, serve } from "#test/support/cluster/soak.suite.ts";

describe("a cluster that does the same work again and again", () => {
  it("holds no more afterwards", async () => {
    expect(await findLeaks("", [serve, resolve], 1)).toEqual([]);
  });

  it("shows what grows, by its path", async () => {
    const kept: object[] = [];
    const leaks = await findLeaks(
      "",
      [
        async (world, cycle) => {
          await kill(world);
          kept.push({ cycle });
          Object.assign(world.session.cluster, { kept: [...kept] });
        },
      ],
      1,
    );
    expect(leaks).toEqual([".session.cluster.kept: 2 → 3"]);
  });
});
