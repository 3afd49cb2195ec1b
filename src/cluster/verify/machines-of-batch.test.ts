// A batch raises and copies the machines that its cells touch, and says the same as in a whole copy.
import { expect, it } from "vitest";
import { inputOf } from "#test/support/cluster/late-machines.suite.ts";
import { checkBatches, openPlanned, resultOf } from "#test/support/cluster/touched-machines.suite.ts";
import { openUniform } from "#test/support/cluster/resting-cells.suite.ts";
import { nodesCompared } from "../classes/node-classes.ts";
import type { Cluster } from "../cluster.ts";
import { comparisonsOfShard, machinesOf } from "./machines-of-batch.ts";
import { planVerification } from "./plan.ts";
import { runBatch } from "./run-batch.ts";
import { batchesOfShard } from "./shard.ts";

it("batches say the same in copies that hold their own machines as in whole copies", async () => {
  await checkBatches(inputOf({}));
  expect.hasAssertions();
});

it("a batch raises its own machines, and no other", async () => {
  const { session, plan } = await openPlanned(inputOf({}), "when asked");
  const positions = [...plan.cells.keys()].filter((position) => {
    const { source, target } = plan.cells[position] ?? {};
    return (
      source?.kind === "pod" && source.node.name === "win-2" && target?.reference === "pod/default/other"
    );
  });
  expect(positions).not.toEqual([]);
  const own = { session, plan: { ...plan, batches: [{ positions, work: 1 }] } };
  expect([...machinesOf(own.plan, 0)]).toEqual(["win-2", "linux-1"]);
  await resultOf(own, 0);
  const programmed = session.cluster.nodes.filter(({ hns }) => (hns?.countOf("LoadBalancer") ?? 0) > 0);
  // win-1 works at the start, for all of its kind.
  expect(programmed.map(({ spec }) => spec.name)).toEqual(["win-1", "win-2"]);
});

it("a batch of names begins once: the machines of the cluster's DNS are there when it is asked", async () => {
  const { session, plan } = await openPlanned(inputOf({}), "when asked");
  const positions = [...plan.cells.keys()].filter((position) => {
    const { source, target } = plan.cells[position] ?? {};
    return (
      source?.kind === "pod" &&
      source.node.name === "win-2" &&
      target?.reference === "service/default/web" &&
      target.name !== undefined
    );
  });
  const questions = [...plan.cells.keys()].filter(
    (position) => plan.cells[position]?.target.question !== undefined,
  );
  for (const asked of [positions, questions]) {
    expect(asked).not.toEqual([]);
    const own = { ...plan, batches: [{ positions: asked, work: 1 }] };
    let begun = 0;
    const steps = session.askInSteps(
      (cluster) => {
        begun++;
        return runBatch({ ...own, cluster }, 0);
      },
      machinesOf(own, 0),
    );
    while ((await steps.next()).done !== true);
    expect(begun).toBe(1);
  }
});

it("what is tried alone is tried in a copy of the machines that it needs", async () => {
  const { session, plan } = await openPlanned(inputOf({}), "when asked");
  const isPing = ({ protocol, expected }: (typeof plan.cells)[number]): boolean =>
    protocol === "icmp" && expected.outcome === "denied";
  const denied = plan.cells.findIndex(isPing);
  const others = [...plan.cells.keys()].filter((position) => !isPing(plan.cells[position]!)).slice(0, 40);
  const batches = [{ positions: [denied, ...others], work: 1 }];
  const copied: (readonly string[])[] = [];
  const noted = (cluster: Cluster): Cluster => {
    const part = Object.create(cluster.part!, {
      only: {
        value: (nodes: ReadonlySet<string>) => {
          copied.push([...nodes].toSorted());
          return cluster.part!.only(nodes);
        },
      },
    }) as NonNullable<Cluster["part"]>;
    return { ...cluster, part: Object.freeze(part) };
  };
  const own = { ...plan, batches };
  const steps = session.askInSteps(
    (cluster) => runBatch({ ...own, cluster: noted(cluster) }, 0),
    machinesOf(own, 0),
  );
  while ((await steps.next()).done !== true);
  const [needed = []] = copied;
  expect(copied).toHaveLength(1);
  expect(needed).toEqual(
    [...machinesOf({ ...plan, batches: [{ positions: [denied], work: 1 }] }, 0)].toSorted(),
  );
  expect(needed.length).toBeLessThan(machinesOf(own, 0).size);
});

it("machines are compared by the shard in which they are up", async () => {
  // All nodes are alike, so one stands for them all.
  const { session, comparisons } = await openUniform("", { nodes: 24, podsPerNode: 12, services: 0 }, 32);
  const { chosen } = comparisons;
  const plan = planVerification(session.cluster, undefined, { comparisons });
  for (const count of [1, 2, 3]) {
    const shards = Array.from({ length: count }, (_, index) => ({ index: index + 1, count }));
    const shares = shards.map((shard) => comparisonsOfShard(plan, chosen, shard));
    expect(shares.flat().toSorted((a, b) => chosen.indexOf(a) - chosen.indexOf(b))).toEqual(chosen);
    const added = shards.map((shard, index) => {
      const named = new Set(batchesOfShard(plan, shard).flatMap((batch) => [...machinesOf(plan, batch)]));
      return nodesCompared(shares[index] ?? []).filter((node) => !named.has(node));
    });
    // No more than the one that stands for the others comes up for it.
    expect(new Set(added.flat()).size).toBeLessThanOrEqual(1);
  }
});
