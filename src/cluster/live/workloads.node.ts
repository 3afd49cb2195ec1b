/** Which processes the real pods of a cluster have: those of the cluster file, else the built-in server on the pod's ports. */
import type { Cluster, ClusterPod } from "../cluster.ts";
import { servicesByPod } from "../cluster-objects.ts";
import type { PortSpec } from "../file/cluster-file.ts";
import { servedPorts } from "../pods/pod-object.ts";
import { resolverText } from "./live-machine.node.ts";
import { nameOfPod } from "./live-pod.node.ts";
import type { Mount } from "./sandbox.node.ts";
import { Workload } from "./workload.node.ts";

/** How the built-in server is started: a program of Mullion, as `agnhost` of Kubernetes. */
export interface BuiltInServer {
  readonly command: readonly string[];
  readonly mounts: readonly Mount[];
}

/** Those that the simulated pod serves: its own, and what Services ask of it. */
function portsOf({ objects }: Cluster, { spec }: ClusterPod): readonly PortSpec[] {
  const pod = objects.Pod.find(
    ({ metadata }) => metadata.name === spec.name && metadata.namespace === spec.namespace,
  );
  if (pod === undefined) return spec.ports;
  const services = servicesByPod(objects).get(`${spec.namespace}/${spec.name}`) ?? [];
  return servedPorts(pod, spec.network, services);
}

/** The arguments of one server for each TCP port; a port of UDP goes with one of them, or with a port of nobody. */
function serverArguments(cluster: Cluster, pod: ClusterPod): readonly (readonly string[])[] {
  const served = portsOf(cluster, pod);
  const ports = (wanted: "TCP" | "UDP"): readonly number[] =>
    served.filter(({ protocol }) => protocol === wanted).map(({ port }) => port);
  const [tcp, udp] = [ports("TCP"), ports("UDP")];
  return Array.from({ length: Math.max(tcp.length, udp.length) }, (_, index) => [
    "netexec",
    `--http-port=${tcp[index] ?? 0}`,
    `--udp-port=${udp[index] ?? -1}`,
  ]);
}

/** Pods that the cluster file gives processes, as `web` or `shop/web`. */
export function podsWithWorkloads({ file }: Cluster): readonly string[] {
  return file.workloads.map(({ pod, namespace }) => (namespace === "default" ? pod : `${namespace}/${pod}`));
}

/** Starts the processes of a pod, in the namespace at `network`. */
export function startWorkloads(
  cluster: Cluster,
  pod: ClusterPod,
  network: string,
  server: BuiltInServer | undefined,
): readonly Workload[] {
  const { spec, compartment } = pod;
  const place = {
    pod: nameOfPod(pod),
    network,
    hostname: spec.name,
    resolver: compartment.dns === undefined ? "" : resolverText(compartment.dns),
  };
  const own = cluster.file.workloads.filter(
    (each) => each.pod === spec.name && each.namespace === spec.namespace,
  );
  if (own.length > 0)
    return own.map(
      ({ command, env }) => new Workload({ ...place, command, env, mounts: [], isBuiltIn: false }),
    );
  if (server === undefined) return [];
  const { command, mounts } = server;
  return serverArguments(cluster, pod).map(
    (words) => new Workload({ ...place, command: [...command, ...words], env: {}, mounts, isBuiltIn: true }),
  );
}
