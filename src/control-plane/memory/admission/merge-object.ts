/**
 * An object given again: what people say replaces what they said before, and what the server or a controller filled in
 * stays (k8s.io/kubernetes, `PrepareForUpdate` and `ValidateUpdate` of each kind).
 */
import type { KubeObject, Node, Pod, Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import type { ServiceRefusal } from "../services/admit-service.ts";
import { equalJson } from "#core/base/json.ts";
import { completePodSpec } from "./pod-template.ts";
import type { ServiceSpec } from "../services/service-defaults.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** A node port that the Service has stays with its port. */
function keptPorts(before: ServiceSpec, ports: readonly ServicePort[]): readonly ServicePort[] {
  return ports.map((port) => {
    if ((port.nodePort ?? 0) !== 0) return port;
    const own = (before.ports ?? []).find(
      (other) => other.port === port.port && (other.protocol ?? "TCP") === (port.protocol ?? "TCP"),
    );
    return own?.nodePort === undefined ? port : { ...port, nodePort: own.nodePort };
  });
}

function mergeService(before: Service, given: Service): Service {
  const [old, spec] = [before.spec ?? {}, given.spec ?? {}];
  const type = spec.type ?? "ClusterIP";
  if (type === "ExternalName" || old.type === "ExternalName") return given;
  const hasAddress = (spec.clusterIP ?? "") !== "" || spec.clusterIPs !== undefined;
  const addresses =
    hasAddress || old.clusterIP === undefined
      ? {}
      : { clusterIP: old.clusterIP, clusterIPs: old.clusterIPs ?? [old.clusterIP] };
  const takesPorts = type === "NodePort" || type === "LoadBalancer";
  const ports = takesPorts && spec.ports !== undefined ? { ports: keptPorts(old, spec.ports) } : {};
  const takesHealthPort = type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
  const health =
    takesHealthPort && (spec.healthCheckNodePort ?? 0) === 0 && old.healthCheckNodePort !== undefined
      ? { healthCheckNodePort: old.healthCheckNodePort }
      : {};
  const families =
    spec.ipFamilies === undefined && spec.ipFamilyPolicy === undefined && !hasAddress
      ? { ...(old.ipFamilies === undefined ? {} : { ipFamilies: old.ipFamilies }), ...policyOf(old) }
      : {};
  return { ...given, spec: { ...families, ...spec, ...addresses, ...ports, ...health } };
}

function policyOf({ ipFamilyPolicy }: ServiceSpec): Pick<ServiceSpec, "ipFamilyPolicy"> {
  return ipFamilyPolicy === undefined ? {} : { ipFamilyPolicy };
}

function mergeNode(before: Node, given: Node): Node {
  const { podCIDR, podCIDRs } = before.spec ?? {};
  const hasRange = given.spec?.podCIDR !== undefined || given.spec?.podCIDRs !== undefined;
  const ranges = hasRange
    ? {}
    : { ...(podCIDR === undefined ? {} : { podCIDR }), ...(podCIDRs === undefined ? {} : { podCIDRs }) };
  const labels = { ...kubeletLabels(before), ...given.metadata.labels };
  return { ...given, metadata: { ...given.metadata, labels }, spec: { ...given.spec, ...ranges } };
}

/** Labels that the kubelet would put back. */
function kubeletLabels({ metadata }: Node): Record<string, string> {
  const own =
    /^(kubernetes\.io\/(os|arch|hostname)|beta\.kubernetes\.io\/(os|arch)|node\.kubernetes\.io\/windows-build)$/;
  return Object.fromEntries(
    Object.entries<string>(metadata.labels ?? {}).filter(([label]) => own.test(label)),
  );
}

function mergePod(before: Pod, given: Pod): Pod {
  const nodeName = given.spec?.nodeName ?? before.spec?.nodeName;
  if (given.spec === undefined || nodeName === undefined) return given;
  return { ...given, spec: { ...given.spec, nodeName } };
}

/** `given` with what the stored object has from others. */
export function mergeObject(before: KubeObject, given: KubeObject): KubeObject {
  const { uid, ownerReferences, deletionTimestamp } = before.metadata;
  const metadata = {
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...given.metadata,
    uid,
  };
  const status = "status" in before && before.status !== undefined ? { status: before.status } : {};
  const merged = { ...status, ...given, metadata } as KubeObject;
  if (merged.kind === "Service" && before.kind === "Service") return mergeService(before, merged);
  if (merged.kind === "Node" && before.kind === "Node") return mergeNode(before, merged);
  return merged.kind === "Pod" && before.kind === "Pod" ? mergePod(before, merged) : merged;
}

function refuse(path: string, value: unknown, detail: string, advice: string): ServiceRefusal {
  const message = detail.startsWith("Forbidden")
    ? detail
    : `Invalid value: ${JSON.stringify(value)}: ${detail}`;
  return { code: "manifest-invalid-value", path, message, advice };
}

function refuseService(before: Service, after: Service): ServiceRefusal | undefined {
  const [old = {}, spec = {}] = [before.spec, after.spec];
  if (old.type === "ExternalName" || spec.type === "ExternalName") return undefined;
  const [first, second] = [old.clusterIP, spec.clusterIP ?? spec.clusterIPs?.[0]];
  if (first === undefined || second === undefined || first === second) return undefined;
  const advice = "Leave the address as it is, or delete the Service first.";
  return refuse("spec.clusterIPs[0]", second, "may not change once set", advice);
}

/** The parts of a pod's spec that may not change. */
function fixedParts(pod: Pod): unknown {
  const {
    tolerations: _,
    activeDeadlineSeconds: _1,
    nodeName: _2,
    ...rest
  } = completePodSpec(pod.spec ?? { containers: [] });
  const withoutImages = (containers: typeof rest.containers | undefined): unknown =>
    containers?.map(({ image: _3, ...container }) => container);
  return {
    ...rest,
    containers: withoutImages(rest.containers),
    initContainers: withoutImages(rest.initContainers),
  };
}

function refusePod(before: Pod, after: Pod): ServiceRefusal | undefined {
  const isMoved = before.spec?.nodeName !== undefined && before.spec.nodeName !== after.spec?.nodeName;
  if (!isMoved && equalJson(fixedParts(before), fixedParts(after))) return undefined;
  return refuse("spec", undefined, WORDS.podUpdateForbidden, "Delete the pod first, or use a Deployment.");
}

/** Why an object may not be changed so; undefined when it may. */
export function refuseUpdate(before: KubeObject, after: KubeObject): ServiceRefusal | undefined {
  if (before.kind === "Service" && after.kind === "Service") return refuseService(before, after);
  if (before.kind === "Pod" && after.kind === "Pod") return refusePod(before, after);
  const isWorkload = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"].includes(before.kind);
  if (!isWorkload || !("spec" in before) || !("spec" in after)) return undefined;
  const [old, present] = [before.spec, after.spec].map((spec) => (spec as { selector?: unknown }).selector);
  if (equalJson(old, present)) return undefined;
  const advice = "Leave the selector as it is, or delete the workload first.";
  return refuse("spec.selector", present, "field is immutable", advice);
}
