/** A parsed cluster file → the cluster with the pods that stand in it, up and quiet. */
import { assert, defined } from "#core/base/assert.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { builtInObjects } from "./built-in-objects.ts";
import type { Cluster } from "../cluster.ts";
import { CloudRoutes } from "../networks/cloud-routes.ts";
import { FlannelDaemons } from "../flannel/flannel-daemons.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { isMadeByDaemon } from "../file/driver-traits.ts";
import { HybridOverlayDaemons } from "../hybrid-overlay/hybrid-overlay-daemons.ts";
import { type OpenProgress, raiseMachines } from "../machines/raise-machines.ts";
import { servePorts } from "../pods/serve-ports.ts";

/** Events of the bring-up (announcements, first ARP) have settled after this time. */
export const SETTLE_MS = 5_000;

/**
 * Builds the cluster that `file` describes, without Kubernetes: machines, networks, and the pods of the file itself.
 * Same file, same cluster, byte for byte.
 * @throws HcnError or CniError when the file asks for something that HNS or a plugin refuses.
 */
export async function openCluster(file: ClusterFile, progress?: OpenProgress): Promise<Cluster> {
  const { cluster, kubelets, files } = await raiseMachines(file, progress);
  const { plugin, routes } = file.network;
  if (isMadeByDaemon(file) || routes === "cloud") {
    // flanneld's leases, annotations of ovn-kubernetes, and what the Routes controller looks at, are Nodes, whatever else runs.
    const kube = new MemoryKube(cluster.env.prng.derive("kubernetes"), {
      clusterCIDRs: [],
      serviceCIDRs: [],
    });
    kube.apply(builtInObjects(file, []));
    const source = new MemoryKubeSource(kube);
    if (plugin === "flannel") await new FlannelDaemons(cluster, source, files).start();
    if (routes === "hybrid-overlay") await new HybridOverlayDaemons(cluster, source, kubelets).start();
    if (routes === "cloud") await new CloudRoutes(cluster, source).start();
  }
  for (const spec of file.pods) {
    const kubelet = defined(kubelets.get(spec.node), "the cluster file checks that a pod's node exists");
    const pod = await kubelet.addPod(spec);
    // A node whose defect refuses sockets to containers has servers that nobody reaches.
    const taken = servePorts(pod.server, spec.ports).filter(({ failure }) => failure !== "access-denied");
    assert(taken.length === 0, "the ports of a pod's own stack are free");
    cluster.pods.push(pod);
  }
  cluster.clock.runUntilIdle(SETTLE_MS);
  return cluster;
}
