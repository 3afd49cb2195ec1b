/** The Event that a kubelet writes while a container of a pod is started again and again (pkg/kubelet/events: BackOff). */
import type { KubeObject, Pod } from "#contracts/kubernetes/objects.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import { backOffMessage } from "./container-starts.ts";

/** `atMs`: of the cluster's clock. */
export function backOffEvent(pod: Pod, container: string, node: string, atMs: number): KubeObject {
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
