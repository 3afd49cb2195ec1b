/** The ports on which built-in servers answer: those of hosts outside, and of pods as Services come. */
import type { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { SOCKET_FAILURE_TEXTS, type SocketFailure } from "#dataplane/host/delivery-failure.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type ClusterObjects, servicesByPod } from "../cluster-objects.ts";
import type { ClusterPod } from "../cluster.ts";
import type { PortSpec } from "../file/cluster-file.ts";
import { servedPorts } from "./pod-object.ts";
import type { PodRemark } from "./pod-outcome.ts";

/** A pod that cannot have a port, because somebody else in its compartment has it. */
export interface PortConflict {
  readonly pod: Pod;
  readonly remark: PodRemark;
}

/** Which ports the pods' built-in servers answer on, as Services come. */
export class PodServers {
  /** Ports that are open, by running pod. */
  private readonly served = new Map<ClusterPod, Set<string>>();
  /** Those of the last sync. */
  private services: ReturnType<typeof servicesByPod> = new Map();

  /**
   * Opens what is missing. A port once open stays open: nothing in Kubernetes closes a pod's port. A port that is
   * somebody else's is tried again at the next sync, as by a container that is started again and again.
   * @param isReserved ports of a pod that somebody else serves, such as DNS.
   * @returns all conflicts that there are.
   */
  sync(
    objects: ClusterObjects,
    runningOf: (pod: Pod) => ClusterPod | undefined,
    isReserved: (pod: ClusterPod, port: PortSpec) => boolean,
  ): readonly PortConflict[] {
    this.services = servicesByPod(objects);
    const conflicts: PortConflict[] = [];
    const seen = new Set<ClusterPod>();
    for (const pod of objects.Pod) {
      const running = runningOf(pod);
      if (running === undefined) continue;
      seen.add(running);
      if (running.isAtRest === true) this.served.set(running, new Set());
      else conflicts.push(...this.serve(pod, running, isReserved));
    }
    for (const running of this.served.keys()) if (!seen.has(running)) this.served.delete(running);
    return conflicts;
  }

  /**
   * Opens what is missing in one pod.
   * @returns its conflicts.
   */
  serve(
    pod: Pod,
    running: ClusterPod,
    isReserved: (pod: ClusterPod, port: PortSpec) => boolean,
  ): readonly PortConflict[] {
    const own = this.services.get(`${pod.metadata.namespace}/${pod.metadata.name}`) ?? [];
    const ports = servedPorts(pod, running.spec.network, own).filter((port) => !isReserved(running, port));
    return this.open(running, ports).map((port) => ({ pod, remark: describe(port) }));
  }

  private open(running: ClusterPod, ports: readonly PortSpec[]): readonly UnservedPort[] {
    const known = this.served.get(running) ?? new Set<string>();
    this.served.set(running, known);
    const fresh = ports.filter((port) => !known.has(keyOf(port)));
    const unserved = servePorts(running.server, fresh);
    const refused = new Set(unserved.map(keyOf));
    for (const port of fresh) if (!refused.has(keyOf(port))) known.add(keyOf(port));
    return unserved;
  }
}

function keyOf({ port, protocol }: PortSpec): string {
  return `${protocol} ${port}`;
}

function describe({ port, protocol, failure }: UnservedPort): PodRemark {
  return {
    code: failure === "access-denied" ? "windows-update-denies-sockets" : "pod-port-in-use",
    text: `${protocol} port ${port} cannot be opened: ${SOCKET_FAILURE_TEXTS[failure]}`,
  };
}

/** A port that could not be served, because somebody in the same compartment has it. */
export interface UnservedPort extends PortSpec {
  readonly failure: SocketFailure;
}

/** Serves `ports`; a pod in the node's own compartment may find one taken, as on a real node. */
export function servePorts(
  server: IdentificationServer,
  ports: readonly PortSpec[],
): readonly UnservedPort[] {
  return ports.flatMap(({ port, protocol }) => {
    const failure = protocol === "TCP" ? server.listenTcp(port) : server.listenUdp(port);
    return failure === undefined ? [] : [{ port, protocol, failure }];
  });
}
