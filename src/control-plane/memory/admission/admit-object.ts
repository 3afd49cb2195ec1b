/** What the API server fills in and refuses before it stores an object: a new one, and one that is given again. */
import type {
  EndpointSlice,
  KubeObject,
  Node,
  Pod,
  Service,
  ServicePort,
} from "#contracts/kubernetes/objects.ts";
import { type Reservations, type ServiceRefusal, admitService } from "../services/admit-service.ts";
import { type ControlPlane, withClass } from "../control-plane.ts";
import { completePodSpec, generatedName } from "./pod-template.ts";
import { keyOf } from "../object-store.ts";
import { equalJson } from "#core/base/json.ts";
import type { ServiceSpec } from "../services/service-defaults.ts";
import { controlPlane } from "#data/words.js";

// Labels that a kubelet puts on its own node (Kubernetes documentation: Well-Known Labels, Annotations and Taints).
const OS = "kubernetes.io/os";
const OS_OLD = "beta.kubernetes.io/os";
const ARCH = "kubernetes.io/arch";
const ARCH_OLD = "beta.kubernetes.io/arch";
const HOSTNAME = "kubernetes.io/hostname";
const WINDOWS_BUILD = "node.kubernetes.io/windows-build";

function firstOf(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text !== "");
}

/** `10.0.20348` of `10.0.20348.2582`: the label leaves the revision out. */
function windowsBuild(kernelVersion: string | undefined): string | undefined {
  return /^\d+\.\d+\.\d+/.exec(kernelVersion ?? "")?.[0];
}

/** The node with the labels of its kubelet that are missing. Old and new spelling stand beside each other, as on a real node. */
function withKubeletLabels(node: Node): Node {
  const labels = node.metadata.labels ?? {};
  const information = node.status?.nodeInfo;
  const os = firstOf(labels[OS], labels[OS_OLD], information?.operatingSystem);
  const arch = firstOf(labels[ARCH], labels[ARCH_OLD], information?.architecture);
  const build = os === "windows" ? windowsBuild(information?.kernelVersion) : undefined;
  const added: Record<string, string> = {};
  const add = (label: string, value: string | undefined): void => {
    if (value !== undefined && !Object.hasOwn(labels, label)) added[label] = value;
  };
  add(HOSTNAME, node.metadata.name);
  add(OS, os);
  add(OS_OLD, os);
  add(ARCH, arch);
  add(ARCH_OLD, arch);
  add(WINDOWS_BUILD, build);
  if (Object.keys(added).length === 0) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...added } } };
}

/** What is asked of the server, completed; or why it is refused. */
export type Admission = { readonly object: KubeObject } | { readonly refusal: ServiceRefusal };

/** The object with a name, drawn by lot where there is only the beginning of one. */
export function withName(plane: ControlPlane, object: KubeObject): KubeObject {
  const { metadata, kind } = object;
  if (metadata.name !== "") return object;
  const { namespace, generateName: base = "" } = metadata;
  let name = "";
  do name = generatedName(base, plane.drawFor(`name ${kind} ${keyOf(namespace, base)}`));
  while (plane.store.get(kind, namespace, name) !== undefined);
  return { ...object, metadata: { ...metadata, name } };
}

/** What the API server fills in: kube-proxy passes ports without a name by (pkg/apis/discovery/v1/defaults.go). */
function completeSlice(slice: EndpointSlice): EndpointSlice {
  if (slice.ports === undefined) return slice;
  return { ...slice, ports: slice.ports.map((port) => ({ name: "", protocol: "TCP", ...port })) };
}

/** Completes an object, or refuses it. */
export function admitObject(plane: ControlPlane, object: KubeObject, reserved: Reservations): Admission {
  if (object.kind === "Service") {
    const result = admitService(object, plane.allocators, plane.prng, reserved);
    return "refusal" in result ? result : { object: result.service };
  }
  // A node of a dump shows the labels that its kubelet gave it.
  if (object.kind === "Node")
    return { object: object.metadata.uid === "" ? withKubeletLabels(object) : object };
  if (object.kind === "Pod" && object.spec !== undefined) {
    const status = object.status ?? { phase: "Pending" };
    const complete = { ...object, spec: completePodSpec(object.spec), status };
    // A pod of a dump shows what its class added.
    return { object: object.metadata.uid === "" ? withClass(plane, complete) : complete };
  }
  return { object: object.kind === "EndpointSlice" ? completeSlice(object) : object };
}

/** Namespaces that every cluster has. */
export const BUILT_IN_NAMESPACES: readonly string[] = [
  "default",
  "kube-system",
  "kube-public",
  "kube-node-lease",
];

/** The Namespace object that stands for a namespace nobody has described. */
export function namespaceObject(name: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      namespace: "",
      uid: "",
      resourceVersion: "",
      labels: { "kubernetes.io/metadata.name": name },
    },
    status: { phase: "Active" },
  };
}

// An object given again: what people say replaces what they said before, and what the server or a controller filled in
// stays (k8s.io/kubernetes, `PrepareForUpdate` and `ValidateUpdate` of each kind).

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
