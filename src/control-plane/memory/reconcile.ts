/** Lets the controllers run, each on what has changed, until nothing changes any more. */
import { LIMITS } from "#core/base/limits.ts";
import type { NamePods, WantedChanges } from "../controllers/changes.ts";
import {
  reconcileDaemonSet,
  reconcileDeployment,
  reconcileJob,
  reconcileReplicaSet,
  reconcileStatefulSet,
} from "../controllers/workloads.ts";
import { kubeletRefusal } from "../controllers/kubelet-admission.ts";
import { Scheduler } from "../controllers/scheduler.ts";
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import type {
  DaemonSet,
  Deployment,
  Job,
  KubeObject,
  Node,
  Pod,
  PodSpec,
  ReplicaSet,
  Service,
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";
import { type ControlPlane, perform } from "./control-plane.ts";
import { generatedName } from "./admission/pod-template.ts";
import { keyOf, referenceOf } from "./object-store.ts";
import { mergeStatus } from "./pod-status.ts";
import { replicaSetsOf } from "./settle.ts";
import { isReady, isTerminating } from "#contracts/kubernetes/pod.ts";
import {
  MANAGED_BY_LABEL,
  MIRRORING_CONTROLLER,
  SLICE_CONTROLLER,
  reconcileEndpointSlices,
  reconcileMirror,
} from "../controllers/endpoint-slices.ts";
import { addToIp, formatIp, lastIp } from "#core/net/ip.ts";

// The controllers of Services: slices of endpoints, and ingress addresses from a pool.

function reconcileService(plane: ControlPlane, service: Service): void {
  const { store, prng } = plane;
  const { namespace, name } = service.metadata;
  const all = store.slicesOf(namespace, name);
  const managedBy = (controller: string): typeof all =>
    all.filter(({ metadata }) => metadata.labels?.[MANAGED_BY_LABEL] === controller);
  const selector = service.spec?.selector ?? {};
  const hasSelector = Object.keys(selector).length > 0;
  const endpoints = store.get("Endpoints", namespace, name);
  const pods = hasSelector ? store.podsMatching(namespace, { matchLabels: selector }) : [];
  const own = managedBy(SLICE_CONTROLLER);
  const mirrored = managedBy(MIRRORING_CONTROLLER);
  // Endpoints of an old dump stand for pods that were not dumped.
  const isMirrored = hasSelector ? pods.length === 0 && endpoints !== undefined : true;
  if (hasSelector && !isMirrored) {
    const nodeOf = (node: string): ReturnType<typeof store.get<"Node">> => store.get("Node", "", node);
    perform(plane, reconcileEndpointSlices(service, pods, own, all, nodeOf, prng));
    perform(plane, { create: [], update: [], remove: mirrored });
    return;
  }
  const isAlone = all.length === mirrored.length + (hasSelector ? own.length : 0);
  perform(plane, reconcileMirror(service, isAlone ? endpoints : undefined, mirrored, all, prng));
  if (hasSelector) perform(plane, { create: [], update: [], remove: own });
}

function reconcileServices(plane: ControlPlane): void {
  for (const key of plane.dueServices) {
    plane.dueServices.delete(key);
    if (plane.settled.has(`Service ${key}`)) continue;
    const service = plane.store.getByKey("Service", key);
    if (service !== undefined && service.spec?.type !== "ExternalName") reconcileService(plane, service);
  }
}

function ingressOf({ status }: Service): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "").filter((ip) => ip !== "");
}

/** The part of a cloud that gives Services of type LoadBalancer their address. */
function giveIngressAddresses(plane: ControlPlane): void {
  const pool = plane.options.loadBalancerPool;
  if (pool === undefined) return;
  const waiting: Service[] = [];
  const taken = new Set<string>();
  for (const service of plane.store.all("Service")) {
    const own = ingressOf(service);
    for (const ip of own) taken.add(ip);
    const takesAddress =
      service.spec?.type === "LoadBalancer" && service.spec.loadBalancerClass === undefined;
    if (takesAddress && own.length === 0) waiting.push(service);
  }
  // The first address of a range names the range.
  let next = addToIp(pool.address, 1) ?? pool.address;
  for (const service of waiting) {
    while (taken.has(formatIp(next)) && next !== lastIp(pool)) next = addToIp(next, 1) ?? next;
    const ip = wantedAddress(service, taken) ?? formatIp(next);
    if (taken.has(ip)) return;
    taken.add(ip);
    plane.put({
      ...service,
      status: { ...service.status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } },
    });
  }
}

/** The address that a Service asks its cloud for. */
function wantedAddress({ spec }: Service, taken: ReadonlySet<string>): string | undefined {
  const wanted = spec?.loadBalancerIP ?? "";
  return wanted === "" || taken.has(wanted) ? undefined : wanted;
}

// What the controllers of workloads write into their status: how many pods there are, and how many are ready.

/** Workloads whose status counts pods. */
export type CountedWorkload = Deployment | ReplicaSet | StatefulSet | DaemonSet;

const COUNTED_KINDS = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] as const;

function countsOf(pods: readonly Pod[]): { readonly all: number; readonly ready: number } {
  const living = pods.filter((pod) => !isTerminating(pod));
  return { all: living.length, ready: living.filter(isReady).length };
}

/**
 * The status of a workload whose pods are `pods`, with the fields that `kubectl get` shows (apps/v1). Every pod is of the
 * newest template, because rollouts are done at once here, and available as soon as it is ready.
 */
export function workloadStatus(workload: CountedWorkload, pods: readonly Pod[]): CountedWorkload["status"] {
  const { all, ready } = countsOf(pods);
  switch (workload.kind) {
    case "Deployment":
      return {
        replicas: all,
        updatedReplicas: all,
        readyReplicas: ready,
        availableReplicas: ready,
        unavailableReplicas: all - ready,
      };
    case "ReplicaSet":
      return { replicas: all, fullyLabeledReplicas: all, readyReplicas: ready, availableReplicas: ready };
    case "StatefulSet":
      return {
        replicas: all,
        currentReplicas: all,
        updatedReplicas: all,
        readyReplicas: ready,
        availableReplicas: ready,
      };
    case "DaemonSet":
      return {
        desiredNumberScheduled: all,
        currentNumberScheduled: all,
        updatedNumberScheduled: all,
        numberMisscheduled: 0,
        numberReady: ready,
        numberAvailable: ready,
        numberUnavailable: all - ready,
      };
  }
}

/** True when both say the same, whatever other fields the stored one has. */
function equalStatus(stored: CountedWorkload["status"], wanted: CountedWorkload["status"]): boolean {
  const known = (stored ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(wanted ?? {}).every(([field, value]) => known[field] === value);
}

// Workloads and pods.

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
    const { reason, message } = placement;
    const condition = { type: "PodScheduled", status: "False", reason, message } as const;
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
