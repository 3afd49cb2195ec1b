/** The ReplicaSet controller (k8s.io/kubernetes, `pkg/controller/replicaset`): as many pods as asked for. */
import { completePodSpec, podFromTemplate } from "../memory/admission/pod-template.ts";
import type { Pod, PodTemplateSpec, ReplicaSet } from "#contracts/kubernetes/objects.ts";
import { type WantedChanges, type NamePods, NO_CHANGES } from "./changes.ts";
import { adopted, byDispensability, isActive, ownPods } from "./own-pods.ts";

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
