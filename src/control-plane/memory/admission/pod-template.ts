/** Pods made from templates, their names, and what the API server fills in for every pod. */
import type { OwnerReference } from "#contracts/kubernetes/pod.ts";
import type { KubeObject, Pod, PodSpec, PodTemplateSpec } from "#contracts/kubernetes/objects.ts";
import type { Prng } from "#core/base/prng.ts";

// Names that Kubernetes draws by lot, from a seed (k8s.io/apimachinery, `util/rand`).

/** Letters that make no words and no doubt. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
/** `generateName` is cut so that name and suffix fit. */
const BASE_LENGTH_MAX = 58;

/** The end of a generated name. */
export function randomSuffix(prng: Prng): string {
  let suffix = "";
  for (let i = 0; i < SUFFIX_LENGTH; i++) suffix += ALPHABET[prng.below(ALPHABET.length)] ?? "";
  return suffix;
}

export function generatedName(base: string, prng: Prng): string {
  return `${base.slice(0, BASE_LENGTH_MAX)}${randomSuffix(prng)}`;
}

/**
 * The hash of a pod template, as a label and a part of a ReplicaSet's name. FNV-1a like Kubernetes', but over JSON
 * instead of Go's own notation: it tells templates apart as there, with other letters.
 */
export function templateHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return String(hash).replace(/\d/g, (digit) => ALPHABET[digit.charCodeAt(0) % ALPHABET.length] ?? "");
}

// Pods.

type Container = NonNullable<PodSpec["containers"]>[number];

function completePorts(container: Container, isHostNetwork: boolean): Container {
  if (container.ports === undefined) return container;
  const ports = container.ports.map((port) => ({
    ...port,
    protocol: port.protocol ?? "TCP",
    // With the node's network a port of the container is a port of the node.
    ...(isHostNetwork && (port.hostPort ?? 0) === 0 ? { hostPort: port.containerPort } : {}),
  }));
  return { ...container, ports };
}

/** The spec with the API server's defaults (k8s.io/kubernetes, `pkg/apis/core/v1/defaults.go`), as far as they are read here. */
export function completePodSpec(spec: PodSpec): PodSpec {
  const isHostNetwork = spec.hostNetwork === true;
  const complete = (container: Container): Container => completePorts(container, isHostNetwork);
  return {
    ...spec,
    containers: (spec.containers ?? []).map(complete),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(complete) }),
    restartPolicy: given(spec.restartPolicy) ?? "Always",
    dnsPolicy: given(spec.dnsPolicy) ?? "ClusterFirst",
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    schedulerName: given(spec.schedulerName) ?? "default-scheduler",
  };
}

function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

/** What a controller says about a pod that it makes. */
export interface PodPlan {
  readonly name: string;
  /** Set where the name's end was drawn by lot. */
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Changes to the spec of the template. */
  readonly spec?: Partial<PodSpec>;
}

/** The reference of an object to its controller. */
export function ownerReferenceTo(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  const { name, uid } = metadata;
  return Object.freeze({ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true });
}

/** A pod of `owner`, without a uid; `spec` is the template's spec with its defaults. */
export function podFromTemplate(
  owner: KubeObject,
  template: PodTemplateSpec,
  spec: PodSpec,
  plan: PodPlan,
): Pod {
  const metadata = template.metadata ?? {};
  const annotations = { ...metadata.annotations, ...plan.annotations };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: plan.name,
      ...(plan.generateName === undefined ? {} : { generateName: plan.generateName }),
      namespace: owner.metadata.namespace,
      uid: "",
      resourceVersion: "",
      labels: plan.labels === undefined ? (metadata.labels ?? {}) : { ...metadata.labels, ...plan.labels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [ownerReferenceTo(owner)],
    },
    spec: plan.spec === undefined ? spec : { ...spec, ...plan.spec },
    status: PENDING,
  };
}

const PENDING = Object.freeze({ phase: "Pending" });
