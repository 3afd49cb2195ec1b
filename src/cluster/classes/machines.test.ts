import { describe, expect, it } from "vitest";
import { twinTexts } from "#test/support/cluster/naive-twin.suite.ts";
import { raiseTwin } from "#test/support/cluster/naive-twin.ts";
import { compareRaised, countDeviations } from "#test/support/cluster/node-classes.suite.ts";
import { compareMachines } from "./compare-machines.ts";
import { Machines } from "./machine.ts";
import { classesOf } from "./node-classes.ts";

const NO_MEMORIES = { of: () => ({}), isUp: () => true, shared: [] };

describe("machines of one class", () => {
  it("are equal, with what their programs remember", async () => {
    const count = await compareRaised(twinTexts("L2Bridge", "healthy", 4));
    expect(count.differences).toEqual([]);
    expect(count.compared).toBeGreaterThan(0);
  });

  it("differ in state that nobody has heard of", async () => {
    const { cluster } = await raiseTwin(twinTexts("L2Bridge", "healthy", 4));
    const [pair] = classesOf(cluster).flatMap(({ first, others }) =>
      others.slice(0, 1).map((member) => ({ first, ...member })),
    );
    const { first, node, renaming } = pair ?? expect.fail("two nodes are alike");
    Object.assign(node.host.root, { firmware: { revision: 7 } });
    const machines = new Machines(cluster, NO_MEMORIES);
    const compare = (): unknown => compareMachines(machines.of(node), machines.of(first), renaming);
    expect(compare()).toMatchObject({ path: "node.host.root" });
    Object.assign(first.host.root, { firmware: { revision: 8 } });
    expect(compare()).toEqual({ path: "node.host.root.firmware.revision", one: "7", other: "8" });
    Object.assign(first.host.root, { firmware: { revision: 7 } });
    expect(compare()).toBeUndefined();
  });
});

describe("what programs remember", () => {
  it("is a part of the machine: kube-proxy forgets a load balancer", async () => {
    const session = await raiseTwin(twinTexts("L2Bridge", "healthy", 4));
    const memories = session.memories();
    const [pair] = classesOf(session.cluster).flatMap(({ first, others }) =>
      others.slice(0, 1).map((member) => ({ first, ...member })),
    );
    const { first, node, renaming } = pair ?? expect.fail("two nodes are alike");
    const proxy = memories.of(node.spec.name)["kube-proxy"] as {
      readonly proxiers: readonly {
        readonly state: { readonly loadBalancers: { readonly cache: Map<string, string> } };
      }[];
    };
    const cache =
      proxy.proxiers[0]?.state.loadBalancers.cache ?? expect.fail("kube-proxy has load balancers");
    const [key = ""] = cache.keys();
    cache.delete(key);
    const machines = new Machines(session.cluster, memories);
    expect(compareMachines(machines.of(node), machines.of(first), renaming)).toEqual({
      path: "kube-proxy.proxiers.0.state.loadBalancers.cache",
      one: `${cache.size} entries`,
      other: `${cache.size + 1} entries`,
    });
  });
});

describe("one deviation among many", () => {
  // A slice of the long run.
  it("is found, and nothing else is", async () => {
    const { named, missed, falseAlarms } = await countDeviations(
      twinTexts("L2Bridge", "healthy", 3),
      [1, 2, 3, 4],
    );
    expect(missed).toEqual([]);
    expect(falseAlarms).toEqual([]);
    expect(named).toBeGreaterThan(1);
  });
});
