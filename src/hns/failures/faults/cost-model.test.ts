import { describe, expect, it } from "vitest";
import type { CostModelName } from "./fault.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { createNetwork, listNetworks } from "#contracts/hcn/operations.ts";
import { faultyNode } from "#test/support/hns/faulty-node.ts";
import { CBR0 } from "#test/support/hns/hns-node.ts";
import { COST_MODEL_TABLE, costModelOf, costOf } from "./cost-model.ts";

/** 5000 remote endpoints, then 2000 load balancers: the cluster of kubernetes/kubernetes#109124. */
function minutesFor(name: CostModelName): number {
  let ms = 0;
  for (let made = 0; made < 7_000; made++) {
    const kind = made < 5_000 ? "Endpoint" : "LoadBalancer";
    ms += costOf(COST_MODEL_TABLE[name], "create", kind, made);
  }
  return ms / 60_000;
}

describe("the cost model (kube-proxy.md §9.3, users.md G18)", () => {
  it.each<[CostModelName, number]>([
    ["ws2019", 110],
    ["ws2019-updated", 22],
    ["ws2022", 10],
    ["ws2022-updated", 1],
  ])("%s makes the cluster of the measurement in %d minutes", (name, minutes) => {
    expect(minutesFor(name)).toBeCloseTo(minutes, 3);
  });

  it("an idle pass with 7 load balancers and 15 endpoints takes some 7 ms (kubernetes#130963)", () => {
    const calls = 4 + 4 + 1 + 3 * 15 + 1 + 3 * 7;
    const ms = calls * costOf(COST_MODEL_TABLE["ws2022-updated"], "query", "LoadBalancer", 22);
    expect(ms).toBeGreaterThan(6);
    expect(ms).toBeLessThan(9);
  });

  it.each([
    ["ws2019.3286", "ws2019"],
    ["ws2019", "ws2019-updated"],
    ["1903", "ws2019"],
    ["ws2022.886", "ws2022"],
    ["ws2022", "ws2022-updated"],
    ["ws2025", "ws2022-updated"],
  ])("%s goes by %s", (build, name) => {
    expect(costModelOf(parseProfile(build)!)).toBe(name);
  });
});

describe("calls that cost time", () => {
  it("are carried out one after the other", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "cost", model: "ws2022-updated", calls: { operation: "create" } });
    const ends: number[] = [];
    const made = ["a", "b"].map(async (Name) => {
      await node.client.create("Network", { ...CBR0, Name, Ipams: [] });
      ends.push(node.clock.nowMs);
    });
    node.clock.runUntil(1_000);
    await made[0];
    node.clock.runUntil(2_000);
    await made[1];
    expect(ends).toEqual([1_000, 2_000]);
  });

  it("none without a fault: time is off by default", async () => {
    const node = await faultyNode();
    await createNetwork(node.client, { ...CBR0, Name: "other", Ipams: [] });
    expect(await listNetworks(node.client)).toHaveLength(2);
    expect(node.clock.nextAtMs() ?? 0).toBeLessThan(60_000);
    expect(node.clock.nowMs).toBe(0);
  });
});
