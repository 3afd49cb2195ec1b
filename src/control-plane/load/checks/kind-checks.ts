/** Which checks an object of each kind must pass. */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import { ENDPOINTS, ENDPOINT_SLICE } from "./check-endpoints.ts";
import { metadataOf } from "./check-metadata.ts";
import { NETWORK_POLICY } from "./check-network-policy.ts";
import { NODE, NO_FIELDS, POD } from "./check-pod.ts";
import { SERVICE } from "./check-service.ts";
import {
  CONFIG_MAP,
  CRON_JOB,
  DAEMON_SET,
  DEPLOYMENT,
  JOB,
  REPLICA_SET,
  STATEFUL_SET,
} from "./check-workload.ts";
import {
  COUNT,
  type Check,
  type FieldFaults,
  anyText,
  integer,
  list,
  object,
  required,
  text,
} from "./field-check.ts";
import { CIDR } from "./names.ts";
import { type Fields } from "#core/base/json.ts";

const TRANSITIONS_MAX = 2_147_483_647;

/** k8s.io/kubernetes, `pkg/apis/coordination/validation`. */
const LEASE: Check = object({
  spec: object({
    holderIdentity: anyText,
    leaseDurationSeconds: integer(1, TRANSITIONS_MAX, "must be greater than 0"),
    leaseTransitions: COUNT,
    acquireTime: anyText,
    renewTime: anyText,
  }),
});

/** One range of each family at most, each with its length (k8s.io/kubernetes, `pkg/apis/networking/validation`). */
const SERVICE_CIDR: Check = object({
  spec: required(
    object({ cidrs: required(list(text(CIDR)), "Write one range of addresses, or one of each family.") }),
    "Write spec.cidrs.",
  ),
});

/** k8s.io/kubernetes, `pkg/apis/core/validation/events.go`. */
const EVENT: Check = object({
  involvedObject: required(
    object({ kind: anyText, namespace: anyText, name: anyText, uid: anyText }),
    "Write the object that the event is about.",
  ),
  reason: anyText,
  message: anyText,
  type: anyText,
  count: COUNT,
});

function metadata(kind: KubeKind): Check {
  return object({ metadata: required(metadataOf(kind), "Write metadata with a name.") });
}

const METADATA: Readonly<Record<KubeKind, Check>> = Object.freeze({
  Node: metadata("Node"),
  Namespace: metadata("Namespace"),
  Pod: metadata("Pod"),
  Deployment: metadata("Deployment"),
  ReplicaSet: metadata("ReplicaSet"),
  StatefulSet: metadata("StatefulSet"),
  DaemonSet: metadata("DaemonSet"),
  Job: metadata("Job"),
  CronJob: metadata("CronJob"),
  Service: metadata("Service"),
  EndpointSlice: metadata("EndpointSlice"),
  Endpoints: metadata("Endpoints"),
  NetworkPolicy: metadata("NetworkPolicy"),
  ConfigMap: metadata("ConfigMap"),
  Lease: metadata("Lease"),
  ServiceCIDR: metadata("ServiceCIDR"),
  Event: metadata("Event"),
});

const BODY: Readonly<Record<KubeKind, Check>> = Object.freeze({
  Node: NODE,
  Namespace: NO_FIELDS,
  Pod: POD,
  Deployment: DEPLOYMENT,
  ReplicaSet: REPLICA_SET,
  StatefulSet: STATEFUL_SET,
  DaemonSet: DAEMON_SET,
  Job: JOB,
  CronJob: CRON_JOB,
  Service: SERVICE,
  EndpointSlice: ENDPOINT_SLICE,
  Endpoints: ENDPOINTS,
  NetworkPolicy: NETWORK_POLICY,
  ConfigMap: CONFIG_MAP,
  Lease: LEASE,
  ServiceCIDR: SERVICE_CIDR,
  Event: EVENT,
});

/** Tells everything that Kubernetes would refuse about an object, as far as Mullion reads it. */
export function checkObject(kind: KubeKind, value: Fields, faults: FieldFaults): void {
  METADATA[kind](value, undefined, faults);
  BODY[kind](value, undefined, faults);
}
