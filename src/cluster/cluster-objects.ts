/** The Kubernetes objects of a cluster as plain data, so that a fork of the cluster carries them along. */
import { addToList } from "#core/base/keyed-lists.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, KubeKind, KubeObjects, Service } from "#contracts/kubernetes/objects.ts";

/** All objects by kind, each list by namespace and name; frozen. */
export type ClusterObjects = { readonly [Kind in KubeKind]: readonly KubeObjects[Kind][] };

const NONE: readonly never[] = Object.freeze([]);

/** A cluster without Kubernetes. */
export const NO_OBJECTS: ClusterObjects = Object.freeze({
  Node: NONE,
  Namespace: NONE,
  Pod: NONE,
  Deployment: NONE,
  ReplicaSet: NONE,
  StatefulSet: NONE,
  DaemonSet: NONE,
  Job: NONE,
  CronJob: NONE,
  Service: NONE,
  EndpointSlice: NONE,
  Endpoints: NONE,
  NetworkPolicy: NONE,
  ConfigMap: NONE,
  Lease: NONE,
  ServiceCIDR: NONE,
  RuntimeClass: NONE,
  Event: NONE,
});

/** `namespace/name` of the Service that a slice belongs to; undefined for a slice of nobody. */
export function serviceKeyOf(slice: EndpointSlice): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}

/** The slices of each Service, by `namespace/name`. */
export function slicesByService(
  slices: readonly EndpointSlice[],
): ReadonlyMap<string, readonly EndpointSlice[]> {
  const found = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const key = serviceKeyOf(slice);
    if (key === undefined) continue;
    addToList(found, key, slice);
  }
  return found;
}

/** The Services that lead to each pod, by the pod's `namespace/name`. */
export function servicesByPod(objects: ClusterObjects): ReadonlyMap<string, readonly Service[]> {
  const services = new Map(
    objects.Service.map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each]),
  );
  const found = new Map<string, Service[]>();
  for (const slice of objects.EndpointSlice) {
    const service = services.get(serviceKeyOf(slice) ?? "");
    if (service === undefined) continue;
    for (const { targetRef } of slice.endpoints ?? []) {
      if (targetRef?.kind !== "Pod" || targetRef.name === undefined) continue;
      const pod = `${targetRef.namespace ?? slice.metadata.namespace}/${targetRef.name}`;
      const known = found.get(pod);
      if (known === undefined) found.set(pod, [service]);
      else if (!known.includes(service)) known.push(service);
    }
  }
  return found;
}

/** What lists objects of a kind. */
interface ObjectLists {
  objects<Kind extends KubeKind>(kind: Kind): readonly KubeObjects[Kind][];
}

/** All objects as they are now. */
export function objectsOf(lists: ObjectLists): ClusterObjects {
  return Object.freeze({
    Node: lists.objects("Node"),
    Namespace: lists.objects("Namespace"),
    Pod: lists.objects("Pod"),
    Deployment: lists.objects("Deployment"),
    ReplicaSet: lists.objects("ReplicaSet"),
    StatefulSet: lists.objects("StatefulSet"),
    DaemonSet: lists.objects("DaemonSet"),
    Job: lists.objects("Job"),
    CronJob: lists.objects("CronJob"),
    Service: lists.objects("Service"),
    EndpointSlice: lists.objects("EndpointSlice"),
    Endpoints: lists.objects("Endpoints"),
    NetworkPolicy: lists.objects("NetworkPolicy"),
    ConfigMap: lists.objects("ConfigMap"),
    Lease: lists.objects("Lease"),
    ServiceCIDR: lists.objects("ServiceCIDR"),
    RuntimeClass: lists.objects("RuntimeClass"),
    Event: lists.objects("Event"),
  });
}
