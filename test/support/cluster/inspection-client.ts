/** A client of a cluster with Services, for tests of what people look at. */
import type { ControlClient } from "#cluster/api/client.ts";
import { inProcessClient } from "#cluster/api/app.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { AssertionError } from "#core/base/assert.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";

/** Builds the cluster of these texts; manifests beside it cannot be applied. */
export async function openInspectionClient(...texts: readonly string[]): Promise<ControlClient> {
  const read = readInput(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
  if (!("input" in read)) throw new AssertionError(read.problems.map(({ message }) => message).join("; "));
  const { session } = await openSession(read.input);
  return inProcessClient({
    session,
    readManifests: () => ({ objects: [], problems: [], notes: [] }),
    verify: ({ cluster }) => verifyCluster(cluster, readModel(cluster)),
    identity: { name: "", version: "", pid: 1 },
    input: { problems: [], notes: [] },
    log: SILENT_LOG,
  });
}
