/**
 * A dump shows what controllers made of its objects. Such objects are left as they are, so that the cluster is the one
 * that was dumped, with its gaps: nobody makes pods or slices again that are there already.
 */
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { presentReplicaSet } from "../controllers/workloads.ts";
import { MANAGED_BY_LABEL, MIRRORING_CONTROLLER, SLICE_CONTROLLER } from "../controllers/endpoint-slices.ts";
import type { LoadedObject } from "../load/manifests.ts";
import { podAddresses } from "#contracts/kubernetes/pod.ts";
import type { Deployment, EndpointSlice, KubeObject, ReplicaSet } from "#contracts/kubernetes/objects.ts";
import { type ControlPlane, podsOfMissingControllers } from "./control-plane.ts";
import { type KubeObjectStore, keyOf, referenceOf } from "./object-store.ts";

/** The ReplicaSets that a Deployment controls. */
export function replicaSetsOf(store: KubeObjectStore, deployment: Deployment): readonly ReplicaSet[] {
  return store
    .ownedBy(deployment.metadata.uid)
    .map((reference) => store.find(reference))
    .filter((object) => object?.kind === "ReplicaSet");
}

/** Whether what a workload's controller makes is there. */
function carriesOutput(store: KubeObjectStore, workload: KubeObject): boolean {
  if (workload.kind === "Deployment") {
    const own = replicaSetsOf(store, workload);
    if (own.length > 0) return presentReplicaSet(workload, own) === undefined;
    return podsOfMissingControllers(store, workload).length > 0;
  }
  const makesPods = ["ReplicaSet", "StatefulSet", "DaemonSet", "Job"].includes(workload.kind);
  return makesPods && store.ownedBy(workload.metadata.uid).some((reference) => reference.startsWith("Pod "));
}

function isControllersSlice({ metadata }: EndpointSlice): boolean {
  const manager = metadata.labels?.[MANAGED_BY_LABEL];
  return manager === SLICE_CONTROLLER || manager === MIRRORING_CONTROLLER;
}

/** A pod that an API server showed before it had a network: what it waits for there, nothing here can give it. */
function isWaiting(given: KubeObject, stored: KubeObject): boolean {
  return (
    given.kind === "Pod" &&
    given.status?.phase === "Pending" &&
    stored.kind === "Pod" &&
    podAddresses(stored).length === 0
  );
}

/** Marks the objects of a dump that are to be left as they are. */
export function settle(plane: ControlPlane, objects: readonly LoadedObject[]): void {
  for (const { object } of objects) {
    // Only what was stored by an API server has a uid in its file.
    if (object.metadata.uid === "") continue;
    const stored = plane.store.get(object.kind, object.metadata.namespace, object.metadata.name);
    if (stored === undefined) continue;
    if (stored.kind === "EndpointSlice") {
      const service = stored.metadata.labels?.[SERVICE_NAME_LABEL];
      if (service !== undefined && isControllersSlice(stored))
        plane.settled.add(`Service ${keyOf(stored.metadata.namespace, service)}`);
    } else if (isWaiting(object, stored) || carriesOutput(plane.store, stored))
      plane.settled.add(referenceOf(stored));
  }
}
