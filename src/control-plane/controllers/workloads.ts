/** The controllers of workloads: what is to be made and deleted so that there are the pods that somebody asked for. */
import { canonicalJson, equalJson } from "#core/base/json.ts";
import {
  completePodSpec,
  ownerReferenceTo,
  podFromTemplate,
  templateHash,
} from "../memory/admission/pod-template.ts";
import type {
  DaemonSet,
  Deployment,
  Job,
  KubeObject,
  Node,
  Pod,
  PodSpec,
  PodTemplateSpec,
  ReplicaSet,
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";
import { type NamePods, type OwnPods, type WantedChanges, NO_CHANGES } from "./changes.ts";
import { controllerOf, isFinished, isTerminating } from "#contracts/kubernetes/pod.ts";
import { matchesNode, nodeNameField, toleratesTaint } from "./scheduler.ts";
import { KUBELET_REFUSALS } from "./kubelet-admission.ts";

// Which pods belong to a workload, and which of them count.

/**
 * Whether a pod fills its place in a workload of pods that run for ever. For a pod that its kubelet refuses, a workload
 * makes the next one, without end; here one stands for all.
 */
function isActive(pod: Pod): boolean {
  if (isTerminating(pod)) return false;
  return !isFinished(pod) || KUBELET_REFUSALS.includes(pod.status?.reason ?? "");
}

/** Sorts the matching pods by who controls them. */
function ownPods(owner: KubeObject, matching: readonly Pod[]): OwnPods {
  const own: Pod[] = [];
  const orphans: Pod[] = [];
  for (const pod of matching) {
    const controller = controllerOf(pod);
    if (controller === undefined) {
      if (!isTerminating(pod) && !isFinished(pod)) orphans.push(pod);
    } else if (controller.uid === owner.metadata.uid) own.push(pod);
  }
  return { own, orphans };
}

/** The pods with `owner` as their controller. */
function adopted(owner: KubeObject, orphans: readonly Pod[]): Pod[] {
  const reference = ownerReferenceTo(owner);
  return orphans.map((pod) => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      ownerReferences: [...(pod.metadata.ownerReferences ?? []), reference],
    },
  }));
}

/** Pods that may go first when there are too many: without a node, then not ready, then the last by name. */
function byDispensability(a: Pod, b: Pod): number {
  return rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? 1 : -1);
}

function rank(pod: Pod): number {
  if (pod.spec?.nodeName === undefined) return 0;
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
    ? 2
    : 1;
}

// The Job controller (k8s.io/kubernetes, `pkg/controller/job`): pods that run to their end.

const INDEX = "batch.kubernetes.io/job-completion-index";

function isOver({ status, spec }: Job): boolean {
  if (spec?.suspend === true || status?.completionTime !== undefined) return true;
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => (type === "Complete" || type === "Failed") && state === "True",
  );
}

/** How many pods run at a time, and how many must end well. */
function sizeOf({ spec }: Job): { readonly parallelism: number; readonly completions: number | undefined } {
  const parallelism = spec?.parallelism ?? 1;
  // Without `completions` one success is enough; only a Job with neither number counts as one completion.
  const completions = spec?.completions ?? (spec?.parallelism === undefined ? 1 : undefined);
  return { parallelism, completions };
}

function labelsOf(job: Job): Record<string, string> {
  const { name, uid } = job.metadata;
  return {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
}

function makeJobPod(job: Job, namePods: NamePods, index: number | undefined): Pod {
  const template: PodTemplateSpec = job.spec?.template ?? {};
  const spec = completePodSpec(template.spec ?? { containers: [] });
  const base = index === undefined ? `${job.metadata.name}-` : `${job.metadata.name}-${index}-`;
  const plan = { name: namePods(base), generateName: base, labels: labelsOf(job) };
  if (index === undefined) return podFromTemplate(job, template, spec, plan);
  return podFromTemplate(job, template, spec, {
    ...plan,
    labels: { ...plan.labels, [INDEX]: String(index) },
    annotations: { [INDEX]: String(index) },
    spec: { hostname: `${job.metadata.name}-${index}` },
  });
}

/** Pods to make, and to remove when the Job needs fewer; `own` are the pods that it controls. */
export function reconcileJob(job: Job, own: readonly Pod[], namePods: NamePods, room: number): WantedChanges {
  const running = own.filter((pod) => !isFinished(pod) && !isTerminating(pod));
  if (isOver(job)) return { ...NO_CHANGES, remove: running };
  const succeeded = own.filter(({ status }) => status?.phase === "Succeeded");
  const failed = own.filter(({ status }) => status?.phase === "Failed").length;
  const { parallelism, completions } = sizeOf(job);
  if (failed > (job.spec?.backoffLimit ?? 6)) return NO_CHANGES;
  const left =
    completions === undefined ? (succeeded.length > 0 ? 0 : parallelism) : completions - succeeded.length;
  const wanted = Math.max(0, Math.min(parallelism, left, running.length + room));
  if (running.length > wanted) return { ...NO_CHANGES, remove: running.slice(wanted) };
  const isIndexed = job.spec?.completionMode === "Indexed";
  const usedIndexes = new Set([...running, ...succeeded].map((pod) => pod.metadata.annotations?.[INDEX]));
  const create: Pod[] = [];
  for (let index = 0; create.length < wanted - running.length; index++) {
    if (isIndexed && usedIndexes.has(String(index))) continue;
    create.push(makeJobPod(job, namePods, isIndexed ? index : undefined));
  }
  return { ...NO_CHANGES, create };
}

// The StatefulSet controller (k8s.io/kubernetes, `pkg/controller/statefulset`): pods with numbers that stay.

const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";

function ordinalOf(name: string, pod: Pod): number | undefined {
  const rest = pod.metadata.name.startsWith(`${name}-`) ? pod.metadata.name.slice(name.length + 1) : "";
  return /^\d+$/.test(rest) ? Number(rest) : undefined;
}

/** Whether the next pod may be made: this one has a node, whose kubelet will start it. */
function isOnItsWay(pod: Pod): boolean {
  return pod.spec?.nodeName !== undefined && !isFinished(pod);
}

function makePod(set: StatefulSet, template: PodTemplateSpec, ordinal: number): Pod {
  const name = `${set.metadata.name}-${ordinal}`;
  const spec = completePodSpec(template.spec ?? { containers: [] });
  const subdomain = set.spec?.serviceName;
  return podFromTemplate(set, template, spec, {
    name,
    labels: { [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) },
    spec: { hostname: name, ...(subdomain === undefined || subdomain === "" ? {} : { subdomain }) },
  });
}

/** Pods to make in order, and those beyond the number of replicas to remove, the last first. */
export function reconcileStatefulSet(
  set: StatefulSet,
  matching: readonly Pod[],
  room: number,
): WantedChanges {
  const { own, orphans } = ownPods(set, matching);
  const update = adopted(
    set,
    orphans.filter((pod) => ordinalOf(set.metadata.name, pod) !== undefined),
  );
  const byOrdinal = new Map([...own, ...update].map((pod) => [ordinalOf(set.metadata.name, pod), pod]));
  const start = set.spec?.ordinals?.start ?? 0;
  const end = start + (set.spec?.replicas ?? 1);
  const isOrdered = set.spec?.podManagementPolicy !== "Parallel";
  const template: PodTemplateSpec = set.spec?.template ?? {};
  const create: Pod[] = [];
  for (let ordinal = start; ordinal < end && create.length < room; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push(makePod(set, template, ordinal));
    if (isOrdered && (pod === undefined || !isOnItsWay(pod))) break;
  }
  const remove = [...byOrdinal]
    .filter(([ordinal]) => ordinal !== undefined && (ordinal < start || ordinal >= end))
    .sort(([a = 0], [b = 0]) => b - a)
    .map(([, pod]) => pod);
  return { create, update: update.filter((pod) => !remove.includes(pod)), remove };
}

// The DaemonSet controller (k8s.io/kubernetes, `pkg/controller/daemon`): one pod on every node that takes it.

type Toleration = NonNullable<PodSpec["tolerations"]>[number];

/** What every pod of a DaemonSet tolerates (Kubernetes documentation: DaemonSet, Taints and tolerations). */
const TOLERATIONS: readonly Toleration[] = Object.freeze(
  (
    [
      ["node.kubernetes.io/not-ready", "NoExecute"],
      ["node.kubernetes.io/unreachable", "NoExecute"],
      ["node.kubernetes.io/disk-pressure", "NoSchedule"],
      ["node.kubernetes.io/memory-pressure", "NoSchedule"],
      ["node.kubernetes.io/pid-pressure", "NoSchedule"],
      ["node.kubernetes.io/unschedulable", "NoSchedule"],
    ] as const
  ).map(([key, effect]) => Object.freeze({ key, operator: "Exists", effect })),
);

const NETWORK_UNAVAILABLE: Toleration = Object.freeze({
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
});

function withTolerations(spec: PodSpec): PodSpec {
  const added = spec.hostNetwork === true ? [...TOLERATIONS, NETWORK_UNAVAILABLE] : TOLERATIONS;
  const given = spec.tolerations ?? [];
  const isGiven = (one: Toleration): boolean =>
    given.some(
      ({ key, effect, operator }) => key === one.key && effect === one.effect && operator === one.operator,
    );
  return { ...spec, tolerations: [...given, ...added.filter((one) => !isGiven(one))] };
}

/** Whether a DaemonSet with this pod spec wants a pod on the node. */
export function daemonRunsOn(spec: PodSpec, node: Node): boolean {
  if (spec.nodeName !== undefined && spec.nodeName !== "" && spec.nodeName !== node.metadata.name)
    return false;
  if (!matchesNode(spec, node)) return false;
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  return taints.every((taint) => toleratesTaint(spec.tolerations ?? [], taint));
}

/** The spec with the pod bound for one node, by the only field that the scheduler takes for it. */
function boundFor(spec: PodSpec, node: string): Partial<PodSpec> {
  const nodeAffinity = spec.affinity?.nodeAffinity;
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  return {
    affinity: {
      ...spec.affinity,
      nodeAffinity: {
        ...nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
      },
    },
  };
}

/** Pods to make on nodes that have none, and to remove from nodes that take none (any more). */
export function reconcileDaemonSet(
  set: DaemonSet,
  matching: readonly Pod[],
  nodes: readonly Node[],
  namePods: NamePods,
): WantedChanges {
  const { own, orphans } = ownPods(set, matching);
  const update = adopted(set, orphans);
  const template: PodTemplateSpec = set.spec?.template ?? {};
  const spec = withTolerations(completePodSpec(template.spec ?? { containers: [] }));
  const wanted = new Set(
    nodes.filter((node) => daemonRunsOn(spec, node)).map(({ metadata }) => metadata.name),
  );
  const covered = new Set<string>();
  const remove: Pod[] = [];
  for (const pod of [...own, ...update]) {
    const node = pod.spec?.nodeName ?? nodeNameField(pod.spec);
    if (isFinished(pod) && !isActive(pod)) continue;
    if (node === undefined || covered.has(node) || !wanted.has(node)) remove.push(pod);
    else covered.add(node);
  }
  const base = `${set.metadata.name}-`;
  const create: Pod[] = [];
  for (const node of wanted) {
    if (covered.has(node)) continue;
    const plan = { name: namePods(base), generateName: base, spec: boundFor(spec, node) };
    create.push(podFromTemplate(set, template, spec, plan));
  }
  return { create, update: update.filter((pod) => !remove.includes(pod)), remove };
}

// The ReplicaSet controller (k8s.io/kubernetes, `pkg/controller/replicaset`): as many pods as asked for.

/** Pods to make and to remove; `matching` are the pods that the selector finds, `room` bounds the new ones. */
export function reconcileReplicaSet(
  replicaSet: ReplicaSet,
  matching: readonly Pod[],
  namePods: NamePods,
  room: number,
): WantedChanges {
  const { own, orphans } = ownPods(replicaSet, matching);
  const update = adopted(replicaSet, orphans);
  const active = [...own.filter(isActive), ...update];
  const wanted = replicaSet.spec?.replicas ?? 1;
  const template: PodTemplateSpec = replicaSet.spec?.template ?? {};
  if (active.length === wanted && update.length === 0) return NO_CHANGES;
  const remove = active.toSorted(byDispensability).slice(0, Math.max(0, active.length - wanted));
  const create: Pod[] = [];
  const base = `${replicaSet.metadata.name}-`;
  const spec = completePodSpec(template.spec ?? { containers: [] });
  for (let count = active.length; count < wanted && create.length < room; count++) {
    create.push(podFromTemplate(replicaSet, template, spec, { name: namePods(base), generateName: base }));
  }
  return { create, update: update.filter((pod) => !remove.includes(pod)), remove };
}

// The Deployment controller (k8s.io/kubernetes, `pkg/controller/deployment`): one ReplicaSet per template, the present
// one with all replicas, the others with none. It goes straight to the end of a rollout.

const HASH_LABEL = "pod-template-hash";
const REVISION = "deployment.kubernetes.io/revision";
const REVISIONS_KEPT = 10;

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0) || 0;
}

/** The template without the label that tells ReplicaSets apart. */
function plainTemplate(template: PodTemplateSpec | undefined): unknown {
  const { [HASH_LABEL]: _, ...labels } = template?.metadata?.labels ?? {};
  return {
    metadata: { labels, annotations: template?.metadata?.annotations ?? {} },
    spec: template?.spec,
  };
}

/** The ReplicaSet with the present template. */
export function presentReplicaSet(
  deployment: Deployment,
  own: readonly ReplicaSet[],
): ReplicaSet | undefined {
  const wanted = plainTemplate(deployment.spec?.template);
  return own.find(({ spec }) => equalJson(plainTemplate(spec?.template), wanted));
}

function makeReplicaSet(
  deployment: Deployment,
  revision: number,
  isTaken: (name: string) => boolean,
): ReplicaSet {
  const template: PodTemplateSpec = deployment.spec?.template ?? {};
  const text = canonicalJson(template);
  const { name: base, namespace } = deployment.metadata;
  let hash = templateHash(text);
  // As with a collision of hashes in Kubernetes, a count goes into the next one.
  for (let count = 1; isTaken(`${base}-${hash}`); count++) hash = templateHash(`${text}${count}`);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const selector = deployment.spec?.selector;
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${base}-${hash}`,
      namespace,
      uid: "",
      resourceVersion: "",
      labels,
      annotations: { [REVISION]: String(revision) },
      ownerReferences: [ownerReferenceTo(deployment)],
    },
    spec: {
      replicas: deployment.spec?.replicas ?? 1,
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function scaled(replicaSet: ReplicaSet, replicas: number): ReplicaSet | undefined {
  const { spec } = replicaSet;
  if (spec === undefined || (spec.replicas ?? 1) === replicas) return undefined;
  return { ...replicaSet, spec: { ...spec, replicas } };
}

/** ReplicaSets to make, scale and forget; `own` are those that the Deployment controls. */
export function reconcileDeployment(
  deployment: Deployment,
  own: readonly ReplicaSet[],
  isTaken: (name: string) => boolean,
): WantedChanges {
  const replicas = deployment.spec?.replicas ?? 1;
  const isPaused = deployment.spec?.paused === true;
  const latest = own.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  const present = presentReplicaSet(deployment, own) ?? (isPaused ? latest : undefined);
  if (present === undefined && isPaused) return NO_CHANGES;
  const revision = latest === undefined ? 1 : revisionOf(latest) + 1;
  const create = present === undefined ? [makeReplicaSet(deployment, revision, isTaken)] : [];
  const old = own.filter((replicaSet) => replicaSet !== present);
  const kept = deployment.spec?.revisionHistoryLimit ?? REVISIONS_KEPT;
  const remove = old.toSorted((a, b) => revisionOf(b) - revisionOf(a)).slice(kept);
  const update = [
    ...(present === undefined ? [] : [scaled(present, replicas)]),
    ...old.filter((replicaSet) => !remove.includes(replicaSet)).map((replicaSet) => scaled(replicaSet, 0)),
  ].filter((replicaSet) => replicaSet !== undefined);
  return { create, update, remove };
}
