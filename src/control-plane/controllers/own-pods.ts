/** Which pods belong to a workload, and which of them count. */
import { controllerOf, isFinished, isTerminating } from "#contracts/kubernetes/pod.ts";
import type { KubeObject, Pod } from "#contracts/kubernetes/objects.ts";
import { ownerReferenceTo } from "../memory/admission/pod-template.ts";
import type { OwnPods } from "./changes.ts";
import { KUBELET_REFUSALS } from "./kubelet-admission.ts";

/**
 * Whether a pod fills its place in a workload of pods that run for ever. For a pod that its kubelet refuses, a workload
 * makes the next one, without end; here one stands for all.
 */
export function isActive(pod: Pod): boolean {
  if (isTerminating(pod)) return false;
  return !isFinished(pod) || KUBELET_REFUSALS.includes(pod.status?.reason ?? "");
}

/** Sorts the matching pods by who controls them. */
export function ownPods(owner: KubeObject, matching: readonly Pod[]): OwnPods {
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
export function adopted(owner: KubeObject, orphans: readonly Pod[]): Pod[] {
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
export function byDispensability(a: Pod, b: Pod): number {
  return rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? 1 : -1);
}

function rank(pod: Pod): number {
  if (pod.spec?.nodeName === undefined) return 0;
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
    ? 2
    : 1;
}
