/** What goes with an object that is deleted: garbage collection, and what controllers clear away after it. */
import { MANAGED_BY_LABEL, SLICE_CONTROLLER } from "../controllers/endpoint-slices.ts";
import { MIRRORING_CONTROLLER } from "../controllers/mirror-endpoints.ts";
import { KUBE_KINDS } from "#contracts/kubernetes/kinds.ts";
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import { controllerOf } from "#contracts/kubernetes/pod.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { type KubeObjectStore, referenceOf } from "./object-store.ts";

/** Pods of a dump whose ReplicaSet was not dumped: they go with the Deployment that selects them. */
export function podsOfMissingControllers(store: KubeObjectStore, workload: KubeObject): readonly string[] {
  if (workload.kind !== "Deployment") return [];
  const selector: LabelSelector = workload.spec?.selector ?? {};
  const { namespace } = workload.metadata;
  return store
    .podsMatching(namespace, selector)
    .filter((pod) => {
      const controller = controllerOf(pod);
      if (controller?.kind !== "ReplicaSet") return false;
      return store.get("ReplicaSet", namespace, controller.name)?.metadata.uid !== controller.uid;
    })
    .map(referenceOf);
}

/** What an object takes with it at once. */
function dependentsOf(store: KubeObjectStore, object: KubeObject): readonly string[] {
  const { namespace, name, uid } = object.metadata;
  const owned = [...store.ownedBy(uid), ...podsOfMissingControllers(store, object)];
  if (object.kind === "Node") return [...owned, ...store.podsOnNode(name).map(referenceOf)];
  if (object.kind === "Namespace") {
    const inside = KUBE_KINDS.flatMap((kind) =>
      [...store.all(kind)].filter((one) => one.metadata.namespace === name),
    );
    return [...owned, ...inside.map(referenceOf)];
  }
  if (object.kind !== "Service") return owned;
  const controllers: readonly (string | undefined)[] = [SLICE_CONTROLLER, MIRRORING_CONTROLLER];
  const slices = store
    .slicesOf(namespace, name)
    .filter(({ metadata }) => controllers.includes(metadata.labels?.[MANAGED_BY_LABEL]));
  const endpoints = store.get("Endpoints", namespace, name);
  return [...owned, ...slices.map(referenceOf), ...(endpoints === undefined ? [] : [referenceOf(endpoints)])];
}

/** The object and all that goes with it, the object first. */
export function cascadeOf(store: KubeObjectStore, reference: string): readonly string[] {
  const gone = new Set([reference]);
  for (const at of gone) {
    const object = store.find(at);
    if (object === undefined) continue;
    for (const dependent of dependentsOf(store, object)) gone.add(dependent);
  }
  return [...gone];
}
