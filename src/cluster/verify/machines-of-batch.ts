/**
 * The machines that a batch will need, as far as its cells say so: those who send, those who are asked, and the back ends of
 * Services. They come up, and are copied, before the first attempt; whoever is met besides ends the batch, which begins again
 * with that machine (`askInSteps` of the session).
 */
import { defined } from "#core/base/assert.ts";
import { type Comparison, nodesCompared } from "../classes/node-classes.ts";
import type { ClusterSession } from "../session/session.ts";
import { CellMachines } from "./cells/cell-machines.ts";
import type { VerifyPlan } from "./plan.ts";
import type { ShardNumber } from "./report.ts";
import { type BatchResult, runBatch } from "./run-batch.ts";
import { batchesOfShard } from "./shard.ts";

/** Nodes by name. */
export function machinesOf({ model, cells, tried, batches }: VerifyPlan, batch: number): ReadonlySet<string> {
  const isAsked = new Set(tried);
  const { positions } = defined(batches[batch], "the plan has the batch");
  const asked = positions.flatMap((position) => cells[position] ?? []).filter((cell) => isAsked.has(cell));
  return new CellMachines(model).of(asked);
}

/** Runs a batch in a session whose machines come up when somebody asks (`runBatch`). */
export function tryBatch(
  session: ClusterSession,
  plan: VerifyPlan,
  batch: number,
): AsyncGenerator<number, BatchResult, undefined> {
  return session.askInSteps((cluster) => runBatch({ ...plan, cluster }, batch), machinesOf(plan, batch));
}

/**
 * Which of the comparisons a shard makes: where the machines are up for its batches, as far as it goes, and else whoever has made
 * the fewest. It follows from the plan alone, so each shard knows what the others do.
 */
export function comparisonsOfShard(
  plan: VerifyPlan,
  chosen: readonly Comparison[],
  { index, count }: ShardNumber,
): readonly Comparison[] {
  if (count === 1) return chosen;
  const shards = Array.from({ length: count }, (_, number) => {
    const batches = batchesOfShard(plan, { index: number + 1, count });
    const machines = new Set(batches.flatMap((batch) => [...machinesOf(plan, batch)]));
    return { machines, own: [] as Comparison[] };
  });
  for (const each of chosen) {
    const nodes = nodesCompared([each]);
    const missing = (machines: ReadonlySet<string>): number =>
      nodes.filter((node) => !machines.has(node)).length;
    const [best] = shards.toSorted(
      (a, b) => missing(a.machines) - missing(b.machines) || a.own.length - b.own.length,
    );
    best?.own.push(each);
    for (const node of nodes) best?.machines.add(node);
  }
  return shards[index - 1]?.own ?? [];
}
