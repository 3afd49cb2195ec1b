/** A running cluster for tests of what stands on it: it reads no manifests and verifies nothing. */
import { SILENT_LOG } from "#core/base/log.ts";
import { HeldCluster } from "#cluster/api/held-cluster.ts";
import type { ClusterSession } from "#cluster/session/session.ts";

export function heldSession(session: ClusterSession): HeldCluster {
  return new HeldCluster({
    session,
    readManifests: () => ({ objects: [], problems: [], notes: [] }),
    verify: () => Promise.reject(new Error("nothing is verified here")),
    identity: { name: "test", version: "0", pid: 1 },
    input: { problems: [], notes: [] },
    log: SILENT_LOG,
    onShutdown: () => undefined,
  });
}
