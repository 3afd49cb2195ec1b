/**
 * Kubernetes objects as they stand in JSON: the fields of the published API, each optional as there, dates as text.
 * The shapes come from the official client's types; what is loaded has been checked field by field where Mullion
 * reads it (see `load/`), so code may rely on the types.
 */
import type {
  CoreV1Event,
  V1ConfigMap,
  V1CronJob,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Endpoints,
  V1Job,
  V1Lease,
  V1ServiceCIDR,
  V1Namespace,
  V1NetworkPolicy,
  V1Node,
  V1Pod,
  V1PodSpec,
  V1PodTemplateSpec,
  V1ReplicaSet,
  V1RuntimeClass,
  V1Service,
  V1ServicePort,
  V1StatefulSet,
} from "@kubernetes/client-node";

/** A type of the client as JSON has it: dates are texts, nothing may be written to. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Json<T[Field]> }
      : T;

/** What every stored object has. */
interface Identity<Kind extends string> {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    /** Empty for objects that belong to no namespace. */
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

type Stored<T, Kind extends string> = Json<Omit<T, "apiVersion" | "kind">> & Identity<Kind>;

export type Node = Stored<V1Node, "Node">;
export type Namespace = Stored<V1Namespace, "Namespace">;
export type Pod = Stored<V1Pod, "Pod">;
export type Deployment = Stored<V1Deployment, "Deployment">;
export type ReplicaSet = Stored<V1ReplicaSet, "ReplicaSet">;
export type StatefulSet = Stored<V1StatefulSet, "StatefulSet">;
export type DaemonSet = Stored<V1DaemonSet, "DaemonSet">;
export type Job = Stored<V1Job, "Job">;
export type CronJob = Stored<V1CronJob, "CronJob">;
export type Service = Stored<V1Service, "Service">;
export type EndpointSlice = Stored<V1EndpointSlice, "EndpointSlice">;
export type Endpoints = Stored<V1Endpoints, "Endpoints">;
export type NetworkPolicy = Stored<V1NetworkPolicy, "NetworkPolicy">;
export type ConfigMap = Stored<V1ConfigMap, "ConfigMap">;
export type Lease = Stored<V1Lease, "Lease">;
export type ServiceCIDR = Stored<V1ServiceCIDR, "ServiceCIDR">;
export type RuntimeClass = Stored<V1RuntimeClass, "RuntimeClass">;
export type KubeEvent = Stored<CoreV1Event, "Event">;

export type PodSpec = Json<V1PodSpec>;
export type PodTemplateSpec = Json<V1PodTemplateSpec>;
export type ServicePort = Json<V1ServicePort>;

/** The kinds that Mullion knows, each with the type of its objects. */
export interface KubeObjects {
  readonly Node: Node;
  readonly Namespace: Namespace;
  readonly Pod: Pod;
  readonly Deployment: Deployment;
  readonly ReplicaSet: ReplicaSet;
  readonly StatefulSet: StatefulSet;
  readonly DaemonSet: DaemonSet;
  readonly Job: Job;
  readonly CronJob: CronJob;
  readonly Service: Service;
  readonly EndpointSlice: EndpointSlice;
  readonly Endpoints: Endpoints;
  readonly NetworkPolicy: NetworkPolicy;
  readonly ConfigMap: ConfigMap;
  readonly Lease: Lease;
  readonly ServiceCIDR: ServiceCIDR;
  readonly RuntimeClass: RuntimeClass;
  readonly Event: KubeEvent;
}
export type KubeKind = keyof KubeObjects;
export type KubeObject = KubeObjects[KubeKind];
