/** What kubelets write of their pods into the API. */
import type { KubeObject, Pod } from "#contracts/kubernetes/objects.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { backOffMessage, crashingContainers, creatingStatuses, startedStatus } from "./container-starts.ts";
import type { PodOutcome } from "./pod-outcome.ts";
import { WAITS } from "./running-pods.ts";

/** Writes what became of a pod into its status, as its kubelet does. */
export function recordPod(
  { pod, running, remarks, obstacles }: PodOutcome,
  kube: MemoryKube,
  { file, clock }: Cluster,
): void {
  const { namespace, name } = pod.metadata;
  // Its status is what the dump says.
  if (remarks.some(({ code }) => code === WAITS)) return;
  if (running === undefined) {
    // What kubectl shows as ContainerCreating, with the event FailedCreatePodSandBox.
    const message = remarks.map(({ text }) => text).join("; ");
    const condition = { type: "Ready", status: "False", reason: "ContainersNotReady", message } as const;
    kube.setPodStatus(namespace, name, {
      phase: "Pending",
      conditions: [condition],
      ...creatingStatuses(pod),
    });
    return;
  }
  // A dump says more of its pods: which of them are ready.
  const { address, address6, node } = running;
  const isRecorded = pod.status?.phase === "Running" && pod.status.podIP === formatIp(address);
  if (isRecorded && (pod.status?.containerStatuses ?? []).length > 0) return;
  const { name: host, address: hostIp } = node.spec;
  const hostIps = [hostIp, file.ipv6?.nodes[host]?.address];
  kube.setPodStatus(namespace, name, {
    podIP: formatIp(address),
    podIPs: listIps(address, address6),
    hostIP: formatIp(hostIp),
    hostIPs: listIps(...hostIps),
    ...startedStatus(pod, obstacles),
  });
  for (const container of crashingContainers(pod)) {
    const event = backOffEvent(pod, container, host, clock.nowMs);
    // A pod that has got another sandbox has its Event.
    if (kube.get("Event", namespace, event.metadata.name) === undefined) kube.create(event);
  }
}

/** The addresses that there are, as text. */
function listIps(...ips: readonly (Ip | undefined)[]): readonly string[] {
  return ips.flatMap((ip) => (ip === undefined ? [] : [formatIp(ip)]));
}

/**
 * The Event that a kubelet writes while a container of a pod is started again and again (pkg/kubelet/events: BackOff).
 * `atMs`: of the cluster's clock.
 */
function backOffEvent(pod: Pod, container: string, node: string, atMs: number): KubeObject {
  const { namespace, name, uid } = pod.metadata;
  const at = new Date(CAPTURE_EPOCH_MS + atMs).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    apiVersion: "v1",
    kind: "Event",
    // client-go ends the name with a number of its own; the container says which one it is.
    metadata: { namespace, name: `${name}.${container}.${uid.slice(0, 8)}`, uid: "", resourceVersion: "" },
    involvedObject: {
      apiVersion: "v1",
      kind: "Pod",
      namespace,
      name,
      uid,
      fieldPath: `spec.containers{${container}}`,
    },
    type: "Warning",
    reason: "BackOff",
    message: `Back-off ${backOffMessage(pod, container)}`,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: "kubelet", host: node },
    reportingComponent: "kubelet",
    reportingInstance: node,
  };
}
