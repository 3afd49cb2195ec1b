/**
 * Batches of `verify` in copies that hold the machines they touch, which come up when they do, held against the same batches in
 * whole copies of a cluster that was up before.
 */
import { expect } from "vitest";
import type { ClusterInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { Raising } from "#cluster/session/session.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import { tryBatch } from "#cluster/verify/machines-of-batch.ts";
import { type VerifyPlan, planVerification } from "#cluster/verify/plan.ts";
import { type BatchResult, atOnce, runBatch } from "#cluster/verify/run-batch.ts";

/** Cells of one batch: few, so that most batches leave some machines out. */
const CELLS_PER_BATCH = 16;

/** A plan in which batches are so small. */
function inSmallBatches(plan: VerifyPlan): VerifyPlan {
  const batches = Array.from({ length: Math.ceil(plan.cells.length / CELLS_PER_BATCH) }, (_, index) => {
    const first = index * CELLS_PER_BATCH;
    const last = Math.min(first + CELLS_PER_BATCH, plan.cells.length);
    const positions = Array.from({ length: last - first }, (_none, offset) => first + offset);
    return { positions, work: CELLS_PER_BATCH };
  });
  return { ...plan, batches };
}

export interface PlannedCluster {
  readonly session: RunningCluster;
  readonly plan: VerifyPlan;
}

export async function openPlanned(input: ClusterInput, raising: Raising): Promise<PlannedCluster> {
  const { session } = await openSession(input, undefined, raising);
  const options = { troubles: session.troubles(), limits: session.limits() };
  return { session, plan: inSmallBatches(planVerification(session.cluster, undefined, options)) };
}

export async function resultOf({ session, plan }: PlannedCluster, batch: number): Promise<BatchResult> {
  const work = tryBatch(session, plan, batch);
  for (;;) {
    const { done, value } = await work.next();
    if (done === true) return value;
  }
}

/** From the last batch to the first, so that machines come up in another order than nodes stand. */
export async function checkBatches(input: ClusterInput): Promise<void> {
  const early = await openPlanned(input, "at the start");
  const late = await openPlanned(input, "when asked");
  expect(late.plan.cells.map(({ id }) => id)).toEqual(early.plan.cells.map(({ id }) => id));
  for (const batch of [...early.plan.batches.keys()].toReversed())
    expect(await resultOf(late, batch)).toEqual(atOnce(runBatch(early.plan, batch)));
}
