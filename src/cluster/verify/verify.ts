/** The whole check at once: cells, their observation in copies, the comparison, the report. */
import type { Cluster } from "../cluster.ts";
import type { VerifyModel } from "./model.ts";
import { type VerifyOptions, planVerification } from "./plan.ts";
import { type VerifyReport, WHOLE } from "./report.ts";
import { type BatchResult, atOnce, runBatch } from "./run-batch.ts";
import { NO_SUBJECT, reportOf, shardOf } from "./shard.ts";

export type { VerifyOptions } from "./plan.ts";

/**
 * Checks every flow of `cluster`, which stays as it is: all attempts are made in copies. Without `given` the cluster is
 * read here, with pods apart that the limits tell apart.
 * @throws RequestError for an expectation of the cluster file about somebody who does not exist.
 */
export function verifyCluster(
  cluster: Cluster,
  given?: VerifyModel,
  options: VerifyOptions = {},
): VerifyReport {
  const plan = planVerification(cluster, given, options);
  const done = plan.batches.map((_, batch): BatchResult => atOnce(runBatch(plan, batch)));
  return reportOf([shardOf(plan, WHOLE, NO_SUBJECT, done)]);
}
