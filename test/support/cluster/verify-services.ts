import { readModel } from "#cluster/verify/model-of-cluster.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { openServiceCluster } from "./service-cluster.ts";

/** Opens the cluster with Services of all sorts and verifies it. */
export async function verifyServices(): Promise<VerifyReport> {
  const cluster = await openServiceCluster({ enableDSR: true });
  return verifyCluster(cluster, readModel(cluster));
}
