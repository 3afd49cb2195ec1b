import { beforeAll, describe, expect, it } from "vitest";
import { largeDump } from "#test/support/cluster/large-dump.ts";
import { readInput } from "../input/read-input.ts";
import { openSession } from "../session/open-session.ts";
import { batchesOf, isTried } from "./batches.ts";
import { machinesOf } from "./machines-of-batch.ts";
import { type VerifyPlan, planVerification } from "./plan.ts";
import { batchesOfShard } from "./shard.ts";

const NODES = 40;

async function planOf(services: number): Promise<VerifyPlan> {
  const text = [...largeDump({ nodes: NODES, pods: 800, services })].join("");
  const read = readInput([{ name: "dump.yaml", text }]);
  if (!("input" in read)) throw new Error(JSON.stringify(read));
  const { session } = await openSession(read.input, undefined, "when asked");
  return planVerification(session.cluster, undefined, {});
}

function machinesOfShards(plan: VerifyPlan, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => {
    const own = batchesOfShard(plan, { index: index + 1, count });
    return new Set(own.flatMap((batch) => [...machinesOf(plan, batch)])).size;
  });
}

describe("the batches of a cluster whose Services have their back ends on one node each", () => {
  let plan: VerifyPlan;
  beforeAll(async () => {
    plan = await planOf(80);
  });

  it("hold each cell once, in its order, and first those that nobody sends for", () => {
    const all = plan.batches.flatMap(({ positions }) => positions);
    expect(all.toSorted((a, b) => a - b)).toEqual([...plan.cells.keys()]);
    const [first = [], ...others] = plan.batches.map(({ positions }) =>
      positions.flatMap((position) => plan.cells[position] ?? []),
    );
    expect(first.some(isTried)).toBe(false);
    expect(others.flat().every(isTried)).toBe(true);
    for (const { positions } of plan.batches) expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });

  it("are the same whenever they are made", () => {
    expect(batchesOf(plan.cells, plan.model)).toEqual(plan.batches);
  });

  it.each([
    [2, 0.7],
    [4, 0.5],
  ])("in %d shards, each needs at most %d of the machines", (count, most) => {
    const machines = machinesOfShards(plan, count);
    expect(Math.min(...machines)).toBeGreaterThan(0);
    // Whoever asks for a name needs the machines of the DNS besides.
    const resolvers = plan.model.dns?.nodes ?? [];
    expect(resolvers).toHaveLength(2);
    expect(Math.max(...machines)).toBeLessThanOrEqual(most * NODES + resolvers.length);
  });

  it("are of those cells that are asked for", () => {
    const asked = [...plan.cells.keys()].filter((position) => position % 7 === 0);
    const made = batchesOf(plan.cells, plan.model, asked).flatMap(({ positions }) => positions);
    expect(made.toSorted((a, b) => a - b)).toEqual(asked);
  });
});
