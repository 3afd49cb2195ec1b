import { describe, expect, it } from "vitest";
import { twinTexts } from "#test/support/cluster/naive-twin.suite.ts";
import { raiseTwin } from "#test/support/cluster/naive-twin.ts";
import type { RunningCluster } from "../session/running-cluster.ts";
import { type ShardNumber, WHOLE } from "./report.ts";
import { compareInShard, planComparisons } from "../classes/node-classes.ts";
import { machineNotes, machinesOf } from "./machines.ts";
import { comparisonsOfShard } from "./machines-of-batch.ts";
import { planVerification } from "./plan.ts";
import { NO_SUBJECT, reportOf, shardOf } from "./shard.ts";
import { verifyCluster } from "./verify.ts";

const SEED = "digest of the input";

/** What all shards together say of the machines. */
function told(session: RunningCluster, count: number): unknown {
  const shards = Array.from({ length: count }, (_, index): ShardNumber => ({ index: index + 1, count }));
  const comparisons = planComparisons(session.cluster, SEED);
  const plan = planVerification(session.cluster, undefined, { comparisons });
  const parts = shards.map((shard) => {
    const own = comparisonsOfShard(plan, comparisons.chosen, shard);
    return compareInShard(session.cluster, session.memories(), comparisons, own);
  });
  return { machines: machinesOf(parts), notes: machineNotes(parts) };
}

describe("machines in the report", () => {
  it("are counted, and one that differs is a note that names it, its place and both values", async () => {
    // Three of four Windows nodes are alike but for what they call their own; the Linux node is the only one.
    const session = await raiseTwin(twinTexts("Transparent", "broken", 5));
    const before = told(session, 1);
    expect(before).toMatchObject({ machines: { classes: 3, compared: 2, equal: 2 }, notes: [] });
    expect(told(session, 3)).toEqual(before);

    const n3 = session.cluster.nodes.find(({ spec }) => spec.name === "n3");
    for (const each of n3?.host.root.listInterfaces() ?? []) each.mtuBytes = 1_400;
    const after = told(session, 2);
    const comparisons = planComparisons(session.cluster, SEED);
    const compared = compareInShard(session.cluster, session.memories(), comparisons, comparisons.chosen);
    const report = reportOf([shardOf(planVerification(session.cluster), WHOLE, NO_SUBJECT, [], compared)]);
    expect({ machines: report.machines, notes: report.basis.notes }).toEqual(after);
    expect(after).toMatchObject({ machines: { compared: 2, equal: 1 } });
    expect(after).toMatchObject({
      notes: [
        {
          code: "machines-of-class-differ",
          message: expect.stringMatching(
            /^node\/n3: .*mtuBytes is 1400, and 1500 on node\/n2; it should be as node\/n2: /,
          ) as string,
        },
      ],
    });
  });

  it("are told of once where it is the one that all others are compared with", async () => {
    const session = await raiseTwin(twinTexts("Transparent", "broken", 5));
    const n2 = session.cluster.nodes.find(({ spec }) => spec.name === "n2");
    for (const each of n2?.host.root.listInterfaces() ?? []) each.mtuBytes = 1_400;
    for (const count of [1, 2])
      expect(told(session, count)).toMatchObject({
        machines: { compared: 2, equal: 0 },
        notes: [
          {
            message: expect.stringMatching(
              /^node\/n2: .*mtuBytes is 1400, and 1500 on node\/n3; it should be as node\/n3, node\/n4: /,
            ) as string,
          },
        ],
      });
  });

  it("are not in a report of a cluster whose programs nobody can ask", async () => {
    const { cluster } = await raiseTwin(twinTexts("Transparent", "healthy", 3));
    expect(verifyCluster(cluster).machines).toBeUndefined();
  });
});
