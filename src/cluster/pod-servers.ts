/** Which ports the pods' built-in servers answer on, as Services come. */
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Pod } from "../kube/types.ts";
import type { ClusterPod } from "./cluster.ts";
import { type ClusterObjects, servicesByPod } from "./cluster-objects.ts";
import type { PortSpec } from "./file/cluster-file.ts";
import { servedPorts } from "./pod-object.ts";
import { servePorts } from "./serve-ports.ts";

/** A port that a pod cannot have. */
export interface PortConflict {
  readonly pod: Pod;
  readonly port: PortSpec;
  readonly code: KnowledgeCode;
  readonly text: string;
}

export class PodServers {
  /** Ports that were tried, by running pod. */
  private readonly served = new Map<ClusterPod, Set<string>>();

  /**
   * Opens what is missing. A port once open stays open: nothing in Kubernetes closes a pod's port.
   * @param isReserved ports of a pod that somebody else serves, such as DNS.
   */
  sync(
    objects: ClusterObjects,
    runningOf: (pod: Pod) => ClusterPod | undefined,
    isReserved: (pod: ClusterPod, port: PortSpec) => boolean,
  ): readonly PortConflict[] {
    const services = servicesByPod(objects);
    const conflicts: PortConflict[] = [];
    const seen = new Set<ClusterPod>();
    for (const pod of objects.Pod) {
      const running = runningOf(pod);
      if (running === undefined) continue;
      seen.add(running);
      const own = services.get(`${pod.metadata.namespace}/${pod.metadata.name}`) ?? [];
      const ports = servedPorts(pod, own).filter((port) => !isReserved(running, port));
      for (const port of this.open(running, ports)) conflicts.push({ pod, ...describe(port) });
    }
    for (const running of this.served.keys()) if (!seen.has(running)) this.served.delete(running);
    return conflicts;
  }

  private open(running: ClusterPod, ports: readonly PortSpec[]): ReturnType<typeof servePorts> {
    const known = this.served.get(running) ?? new Set<string>();
    this.served.set(running, known);
    const fresh = ports.filter(({ port, protocol }) => !known.has(`${protocol} ${port}`));
    for (const { port, protocol } of fresh) known.add(`${protocol} ${port}`);
    return servePorts(running.server, fresh);
  }
}

function describe({
  port,
  protocol,
  failure,
}: ReturnType<typeof servePorts>[number]): Omit<PortConflict, "pod"> {
  const text = `${protocol} port ${port} cannot be opened: ${failure}`;
  return { port: { port, protocol }, code: "pod-port-in-use", text };
}
