import { describe, expect, it } from "vitest";
import {
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  remove,
} from "#test/support/cluster/session-world.ts";
import { takeCensus } from "#test/support/heap-census.ts";
import { findLeaks, kill, resolve, serve } from "#test/support/cluster/soak.suite.ts";

describe("a cluster that does the same work again and again", () => {
  it("holds no more afterwards", async () => {
    expect(await findLeaks("", [serve, resolve], 1)).toEqual([]);
  });

  it("counts what runtimes keep of CNI plugins: a result for each pod that they run", async () => {
    const world = await openSessionWorld(clusterText("network: { plugin: win-bridge, routes: static }"));
    const results = (): number =>
      takeCensus({ session: world.session }).get(".session.kubelets{}.runtime.cache.attachments") ?? 0;
    await apply(world, deployment("web", "windows", 3));
    expect(results()).toBe(3);
    await remove(world, "deployment/web");
    expect(results()).toBe(0);
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
