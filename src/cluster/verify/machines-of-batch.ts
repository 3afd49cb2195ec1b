/**
 * The machines that a batch will need, as far as its cells say so: those who send, those who are asked, and the back ends of
 * Services. They come up, and are copied, before the first attempt; whoever is met besides ends the batch, which begins again
 * with that machine (`askInSteps` of the session).
 */
import { defined } from "#core/base/assert.ts";
import type { ClusterSession } from "../session/session.ts";
import { CellMachines } from "./cells/cell-machines.ts";
import type { VerifyPlan } from "./plan.ts";
import { type BatchResult, runBatch } from "./run-batch.ts";

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
