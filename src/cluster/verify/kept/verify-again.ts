/** A verification of a cluster that was verified before: only what a change can touch is tried again. */
import { batchesOf } from "../batches.ts";
import { type VerifyOptions, type VerifyPlan, planVerification } from "../plan.ts";
import { type VerifyReport, WHOLE } from "../report.ts";
import { tryBatch } from "../machines-of-batch.ts";
import type { BatchResult } from "../run-batch.ts";
import { NO_SUBJECT, reportOf, shardOf } from "../shard.ts";
import type { ClusterSession } from "../../session/session.ts";
import type { KeptResult, KeptResults } from "./kept-results.ts";

export interface AgainOptions extends VerifyOptions {
  /** What this moment is called in later reports. */
  readonly at: string;
  /** Everything is tried, as if nothing were known. */
  readonly isWhole?: boolean;
}

/** The report, with what of it was tried at another time. */
export function withKept(report: VerifyReport, kept: readonly KeptResult[]): VerifyReport {
  if (kept.length === 0) return report;
  const times = new Map(kept.map(({ result, at }) => [result.position, at]));
  const cells = report.cells.map((cell, position) => {
    const keptFrom = times.get(position);
    return keptFrom === undefined ? cell : { ...cell, keptFrom };
  });
  const [since = ""] = kept.map(({ at }) => at).toSorted();
  return { ...report, kept: { cells: kept.length, of: report.counts.tried, since }, cells };
}

/** A plan of which some results are known. */
export class PlanAgain {
  /** With batches of the cells that are to be tried. */
  readonly open: VerifyPlan;
  readonly kept: readonly KeptResult[];
  private readonly plan: VerifyPlan;
  private readonly known: KeptResults;

  constructor(plan: VerifyPlan, known: KeptResults) {
    const { kept, open } = known.sort(plan);
    this.plan = plan;
    this.known = known;
    this.kept = kept;
    this.open = { ...plan, batches: batchesOf(plan.cells, plan.model, open) };
  }

  /** What came of the batches, with what is kept; and keeps it. @param at what this moment is called in later reports. */
  finish(done: readonly BatchResult[], at: string): readonly BatchResult[] {
    this.known.remember(
      this.plan,
      done.flatMap((each) => each.results),
      at,
    );
    const results = this.kept.map(({ result }) => result);
    const sent = results.reduce((sum, result) => sum + (result.sent ?? 0), 0);
    return [...done, { batch: done.length, sent, results }];
  }
}

/**
 * Verifies the cluster of `session` as `verifyCluster` does, and says the same, but for what it says of results that are kept. Its
 * copies hold the machines that its batches touch. It pauses now and then; whoever stops it then has lost nothing but what was
 * tried.
 * @throws RequestError for an expectation of the cluster file about somebody who does not exist.
 */
export async function* judgeAgain(
  session: ClusterSession,
  known: KeptResults,
  options: AgainOptions,
): AsyncGenerator<number, VerifyReport, undefined> {
  // What is compared is the whole state: that of a machine which is not up says nothing.
  await session.raise();
  const plan = planVerification(session.cluster, undefined, options);
  if (options.isWhole === true) known.forget();
  const again = new PlanAgain(plan, known);
  const done: BatchResult[] = [];
  for (const batch of again.open.batches.keys()) done.push(yield* tryBatch(session, again.open, batch));
  const part = shardOf(plan, WHOLE, NO_SUBJECT, again.finish(done, options.at));
  return withKept(reportOf([part]), again.kept);
}

/** The same without pauses. */
export async function verifyAgain(
  session: ClusterSession,
  known: KeptResults,
  options: AgainOptions,
): Promise<VerifyReport> {
  const work = judgeAgain(session, known, options);
  for (;;) {
    const { done, value } = await work.next();
    if (done === true) return value;
  }
}
