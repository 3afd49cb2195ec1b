/** The DaemonSet controller (k8s.io/kubernetes, `pkg/controller/daemon`): one pod on every node that takes it. */
import { isFinished } from "#contracts/kubernetes/pod.ts";
import { completePodSpec, podFromTemplate } from "../memory/admission/pod-template.ts";
import type { DaemonSet, Node, Pod, PodSpec, PodTemplateSpec } from "#contracts/kubernetes/objects.ts";
import type { WantedChanges, NamePods } from "./changes.ts";
import { matchesNode, nodeNameField, toleratesTaint } from "./node-fit.ts";
import { adopted, isActive, ownPods } from "./own-pods.ts";

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
