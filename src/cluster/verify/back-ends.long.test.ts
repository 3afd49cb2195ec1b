// Each of 65 back ends has to answer, which takes some hundred connections: more than the fast tests have time for.
import { describe, expect, it } from "vitest";
import { openServiceCluster } from "#test/support/cluster/service-cluster.ts";
import { readModel } from "./model-of-cluster.ts";
import { verifyCluster } from "./verify.ts";

describe("more back ends than HNS takes (kube-proxy.md §3.13)", () => {
  it.each([
    ["ws2022.886", "too-many-back-ends"],
    ["ws2022.887", "works"],
  ])("65 on %s: %s", async (build, outcome) => {
    const cluster = await openServiceCluster({ build, replicas: 65 });
    const { cells, findings } = verifyCluster(cluster, readModel(cluster));
    expect(findings).toEqual([]);
    const asked = cells.filter(({ flow, to }) => flow === "pod-to-cluster-ip" && to.includes("web"));
    const outcomes = asked
      .filter(({ protocol }) => protocol !== "icmp")
      .map(
        ({ fromSystem, expected, code }) =>
          `${fromSystem.startsWith("ws") ? "Windows" : "Linux"} ${code ?? expected}`,
      );
    expect([...new Set(outcomes)].toSorted()).toEqual(["Linux works", `Windows ${outcome}`]);
  });
});
