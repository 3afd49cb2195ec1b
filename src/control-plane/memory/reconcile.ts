/** Lets the controllers run, each on what has changed, until nothing changes any more. */
import { LIMITS } from "#core/base/limits.ts";
import type { WantedChanges, NamePods } from "../controllers/changes.ts";
import {
  reconcileDaemonSet,
  reconcileDeployment,
  reconcileJob,
  reconcileReplicaSet,
  reconcileStatefulSet,
} from "../controllers/workloads.ts";
import { kubeletRefusal } from "../controllers/kubelet-admission.ts";
import { Scheduler } from "../controllers/scheduler.ts";
import { COUNTED_KINDS, equalStatus, workloadStatus } from "../controllers/workload-status.ts";
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import type { Job, KubeObject, Node, Pod, PodSpec } from "#contracts/kubernetes/objects.ts";
import { type ControlPlane, perform } from "./control-plane.ts";
import { generatedName } from "./admission/names.ts";
import { keyOf, referenceOf } from "./object-store.ts";
import { mergeStatus } from "./pod-status.ts";
import { giveIngressAddresses, reconcileServices } from "./services/reconcile-services.ts";
import { replicaSetsOf } from "./settle.ts";

/** Names for pods of a namespace, none of them given twice. */
function namesIn(plane: ControlPlane, namespace: string): NamePods {
  return (base) => {
    let name = "";
    do name = generatedName(base, plane.drawFor(`pod ${keyOf(namespace, base)}`));
    while (plane.store.get("Pod", namespace, name) !== undefined);
    return name;
  };
}

function podsOfJob(plane: ControlPlane, { metadata }: Job): readonly Pod[] {
  return plane.store
    .ownedBy(metadata.uid)
    .map((reference) => plane.store.find(reference))
    .filter((object) => object?.kind === "Pod");
}

/** Room for further pods, which bounds what a single number in a file can make. */
function roomOf(plane: ControlPlane): number {
  return Math.max(0, LIMITS.podsMax - plane.store.count("Pod"));
}

function changesOf(plane: ControlPlane, workload: KubeObject): WantedChanges | undefined {
  const { store } = plane;
  const { namespace, uid } = workload.metadata;
  const named = namesIn(plane, namespace);
  const matching = (selector: LabelSelector | undefined): readonly Pod[] =>
    selector === undefined ? [] : store.podsMatching(namespace, selector);
  switch (workload.kind) {
    case "Deployment": {
      const isTaken = (name: string): boolean => store.get("ReplicaSet", namespace, name) !== undefined;
      return reconcileDeployment(workload, replicaSetsOf(store, workload), isTaken);
    }
    case "ReplicaSet":
      return reconcileReplicaSet(workload, matching(workload.spec?.selector), named, roomOf(plane));
    case "StatefulSet":
      return reconcileStatefulSet(workload, matching(workload.spec?.selector), roomOf(plane));
    case "DaemonSet":
      return reconcileDaemonSet(workload, matching(workload.spec?.selector), store.list("Node"), named);
    case "Job":
      return uid === ""
        ? undefined
        : reconcileJob(workload, podsOfJob(plane, workload), named, roomOf(plane));
    case "CronJob":
    case "Node":
    case "Namespace":
    case "Pod":
    case "Service":
    case "EndpointSlice":
    case "Endpoints":
    case "NetworkPolicy":
    case "ConfigMap":
    case "Lease":
    case "ServiceCIDR":
    case "RuntimeClass":
    case "Event":
      return undefined;
  }
}

function reconcileWorkloads(plane: ControlPlane): void {
  plane.adoptersAreDue();
  // Controllers make further work for each other: the set grows while it is gone through.
  for (const reference of plane.dueWorkloads) {
    plane.dueWorkloads.delete(reference);
    if (plane.settled.has(reference)) continue;
    const workload = plane.store.find(reference);
    const changes = workload === undefined ? undefined : changesOf(plane, workload);
    if (changes !== undefined) perform(plane, changes);
  }
}

function giveRanges(plane: ControlPlane): void {
  if (!plane.ranges.isUsed) return;
  for (const node of plane.store.all("Node")) {
    if (node.spec?.podCIDR !== undefined || (node.spec?.podCIDRs ?? []).length > 0) continue;
    const podCIDRs = plane.ranges.choose();
    const podCIDR = podCIDRs?.[0];
    if (podCIDRs === undefined || podCIDR === undefined) return;
    plane.put({ ...node, spec: { ...node.spec, podCIDR, podCIDRs } });
  }
}

const SCHEDULED = Object.freeze({ type: "PodScheduled", status: "True" } as const);

function schedulePods(plane: ControlPlane): void {
  if (!plane.isSchedulingDue || plane.pending.size === 0) return;
  plane.isSchedulingDue = false;
  const { store } = plane;
  const scheduler = new Scheduler(store.list("Node"), (node) => store.podsOnNode(node));
  for (const key of plane.pending) {
    const pod = store.getByKey("Pod", key);
    if (pod === undefined || plane.settled.has(referenceOf(pod))) continue;
    const placement = scheduler.schedule(pod);
    if ("node" in placement) {
      const spec: PodSpec = { ...(pod.spec ?? { containers: [] }), nodeName: placement.node };
      plane.put({ ...pod, spec, status: mergeStatus(pod.status, { conditions: [SCHEDULED] }) });
      continue;
    }
    const { message } = placement;
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message } as const;
    const known = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (known?.message === message && known.status === "False") continue;
    plane.put({ ...pod, status: mergeStatus(pod.status, { phase: "Pending", conditions: [condition] }) });
  }
}

/** The kubelets of nodes that pods have come to: some refuse them. */
function admitPods(plane: ControlPlane): void {
  for (const key of plane.bound) {
    plane.bound.delete(key);
    const pod = plane.store.getByKey("Pod", key);
    if (pod?.spec?.nodeName === undefined || (pod.status?.phase ?? "Pending") !== "Pending") continue;
    const node: Node | undefined = plane.store.get("Node", "", pod.spec.nodeName);
    const refusal = node === undefined ? undefined : kubeletRefusal(pod, node);
    if (refusal !== undefined)
      plane.put({ ...pod, status: mergeStatus(pod.status, { phase: "Failed", ...refusal }) });
  }
}

/** Tells each workload how many of its pods there are and are ready; those of a dump keep what they came with. */
function countPods(plane: ControlPlane): void {
  for (const kind of COUNTED_KINDS) {
    for (const workload of plane.store.list(kind)) {
      const { namespace } = workload.metadata;
      const { selector } = workload.spec ?? {};
      if (selector === undefined || plane.settled.has(referenceOf(workload))) continue;
      const status = workloadStatus(workload, plane.store.podsMatching(namespace, selector));
      if (!equalStatus(workload.status, status))
        plane.put({ ...workload, status: { ...workload.status, ...status } } as KubeObject);
    }
  }
}

/** Runs all controllers to a fixed point. Each round that changes nothing is the last. */
export function reconcileAll(plane: ControlPlane): void {
  for (let before = ""; before !== plane.store.resourceVersion; ) {
    before = plane.store.resourceVersion;
    giveRanges(plane);
    reconcileWorkloads(plane);
    schedulePods(plane);
    admitPods(plane);
    reconcileServices(plane);
    giveIngressAddresses(plane);
  }
  countPods(plane);
}
