/** What the API server fills in and refuses before it stores an object. */
import type { EndpointSlice, KubeObject, Node } from "#contracts/kubernetes/objects.ts";
import { type ServiceRefusal, type Reservations, admitService } from "../services/admit-service.ts";
import { type ControlPlane, withClass } from "../control-plane.ts";
import { generatedName } from "./names.ts";
import { keyOf } from "../object-store.ts";
import { completePodSpec } from "./pod-template.ts";

// Labels that a kubelet puts on its own node (Kubernetes documentation: Well-Known Labels, Annotations and Taints).
const OS = "kubernetes.io/os";
const OS_OLD = "beta.kubernetes.io/os";
const ARCH = "kubernetes.io/arch";
const ARCH_OLD = "beta.kubernetes.io/arch";
const HOSTNAME = "kubernetes.io/hostname";
const WINDOWS_BUILD = "node.kubernetes.io/windows-build";

function first(...texts: readonly (string | undefined)[]): string | undefined {
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
  const os = first(labels[OS], labels[OS_OLD], information?.operatingSystem);
  const arch = first(labels[ARCH], labels[ARCH_OLD], information?.architecture);
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
