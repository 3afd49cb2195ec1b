/** Flows that rest on others, held against the same flows tried. Whole in `test:long`, a slice in the fast tests. */
import { defined } from "#core/base/assert.ts";
import {
  type ComparisonPlan,
  compareInShard,
  nodesCompared,
  planComparisons,
} from "#cluster/classes/node-classes.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import { comparisonsOfShard, tryBatch } from "#cluster/verify/machines-of-batch.ts";
import { type VerifyPlan, planVerification } from "#cluster/verify/plan.ts";
import type { BatchResult } from "#cluster/verify/run-batch.ts";
import { NO_SUBJECT, type VerifyShard, batchesOfShard, shardOf } from "#cluster/verify/shard.ts";
import { type UniformSize, uniformCluster } from "./uniform-cluster.ts";

/** Few, of which fewer are compared: the fast tests. */
export const NODES = 8;
const ENOUGH = 3;

interface Opened {
  readonly session: RunningCluster;
  readonly comparisons: ComparisonPlan;
}

/** `more`: objects beside those of the uniform cluster. `enough`: machines that are compared. */
export async function openUniform(
  more: string = "",
  size: UniformSize = { nodes: NODES, podsPerNode: 2, services: 1 },
  enough: number = ENOUGH,
): Promise<Opened> {
  const texts = uniformCluster(size);
  const read = readInput(more === "" ? texts : [...texts, { name: "more.yaml", text: more }]);
  if (!("input" in read)) throw new Error(JSON.stringify(read));
  const { session } = await openSession(read.input, undefined, "when asked");
  return { session, comparisons: planComparisons(session.cluster, "seed", enough) };
}

async function resultOf(session: RunningCluster, plan: VerifyPlan, batch: number): Promise<BatchResult> {
  const work = tryBatch(session, plan, batch);
  for (;;) {
    const step = await work.next();
    if (step.done === true) return step.value;
  }
}

export async function tryAll(session: RunningCluster, plan: VerifyPlan): Promise<readonly BatchResult[]> {
  const done: BatchResult[] = [];
  for (const batch of plan.batches.keys()) done.push(await resultOf(session, plan, batch));
  return done;
}

/** The reports of so many shards. `known`: what came of all batches. */
export async function shardsOf(
  session: RunningCluster,
  comparisons: ComparisonPlan,
  count: number,
  known?: readonly BatchResult[],
): Promise<readonly VerifyShard[]> {
  const plan = planVerification(session.cluster, undefined, { comparisons });
  const parts: VerifyShard[] = [];
  for (let index = 1; index <= count; index++) {
    const shard = { index, count };
    const done: BatchResult[] = [];
    for (const batch of batchesOfShard(plan, shard))
      done.push(known?.[batch] ?? (await resultOf(session, plan, batch)));
    const own = comparisonsOfShard(plan, comparisons.chosen, shard);
    for (const node of nodesCompared(own)) await session.raise(node);
    const machines = compareInShard(session.cluster, session.memories(), comparisons, own);
    parts.push(shardOf(plan, shard, NO_SUBJECT, done, machines));
  }
  return parts;
}

export interface RestingCount {
  readonly rested: number;
  readonly compared: number;
  readonly takenOver: number;
  /** Cells that came out otherwise when they were tried. */
  readonly differences: readonly string[];
}

/** Tries every cell, those that rest on others included, and holds what came of it against the cell that they rest on. */
export async function compareWithTried(
  session: RunningCluster,
  comparisons: ComparisonPlan,
): Promise<RestingCount> {
  const { cells, resting } = planVerification(session.cluster, undefined, { comparisons });
  const results = (await tryAll(session, planVerification(session.cluster))).flatMap((each) => each.results);
  const byPosition = new Map(results.map((result) => [result.position, result]));
  const differences: string[] = [];
  for (const [position, { cell }] of resting.on) {
    const [own, other] = [position, cell].map((each) => defined(byPosition.get(each), "each cell is tried"));
    const isSame = (own?.disagreement === undefined) === (other?.disagreement === undefined);
    const isSameCode = own?.disagreement?.code === other?.disagreement?.code;
    if (!isSame || !isSameCode) differences.push(`${cells[position]?.id} is not as ${cells[cell]?.id}`);
  }
  const how = [...resting.on.values()].map((each) => each.how);
  const compared = how.filter((each) => each === "compared").length;
  return { rested: how.length, compared, takenOver: how.length - compared, differences };
}
