/** The public face of the Kubernetes floor: manifests, objects, and a control plane in memory. */
export { KubeError } from "./error.ts";
export { KINDS, KUBE_KINDS, type KindInformation, findKind, isKubeKind } from "./kinds.ts";
export {
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matchesLabels,
  matchesSelector,
} from "./labels.ts";
export { loadManifests } from "./load/load-manifests.ts";
export type { FilePlace, LoadedObject, ManifestFile, Manifests, Origin } from "./load/manifests.ts";
export { type ApplyChange, type ApplyOutcome, type ApplyReport, MemoryKube } from "./memory/memory-kube.ts";
export type { MemoryKubeOptions } from "./memory/options.ts";
export type { PodCondition, PodStatusChange } from "./memory/pod-status.ts";
export { nodeOs } from "./controllers/kubelet-admission.ts";
export { resolveTargetPort } from "./controllers/endpoint-slices.ts";
export {
  controllerOf,
  isFinished,
  isHostNetwork,
  isHostProcess,
  isReady,
  isTerminating,
  podAddresses,
} from "./pod.ts";
export type {
  DeleteOptions,
  JsonPatchOperation,
  KubeDraft,
  KubeList,
  KubePatch,
  KubeReader,
  KubeSource,
  ObjectName,
  PatchBody,
  Selection,
  WatchEvent,
  WatchListener,
  WatchOptions,
  WriteOptions,
} from "./source.ts";
export type {
  ConfigMap,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  Job,
  Json,
  KubeEvent,
  KubeKind,
  KubeObject,
  KubeObjects,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  Pod,
  PodSpec,
  PodTemplateSpec,
  ReplicaSet,
  Service,
  ServicePort,
  StatefulSet,
} from "./objects.ts";
export { Informer, type InformerHandler, type InformerOptions, informerKey } from "./informer.ts";
export { MemoryKubeSource, type MemoryKubeSourceOptions } from "./memory/memory-kube-source.ts";
