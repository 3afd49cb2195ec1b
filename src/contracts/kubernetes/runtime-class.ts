/**
 * What a RuntimeClass adds to its pods when they are created: labels that their node must have, and taints that they
 * tolerate (k8s.io/kubernetes, `plugin/pkg/admission/runtimeclass`). The Kubernetes documentation recommends one for each build
 * of Windows ("Guide for Running Windows Containers in Kubernetes").
 */
import type {
  DaemonSet,
  Deployment,
  Job,
  KubeObject,
  PodSpec,
  PodTemplateSpec,
  ReplicaSet,
  RuntimeClass,
  StatefulSet,
} from "./objects.ts";

type Toleration = NonNullable<PodSpec["tolerations"]>[number];

/** True when one toleration tolerates whatever the other does (`pkg/util/tolerations`). */
function covers(one: Toleration, other: Toleration): boolean {
  const { key = "", operator = "Equal", value = "", effect = "" } = one;
  const isAnyKey = key === "" && operator === "Exists";
  if (!isAnyKey && key !== (other.key ?? "")) return false;
  if (effect !== "" && effect !== (other.effect ?? "")) return false;
  if (one.tolerationSeconds !== other.tolerationSeconds && one.tolerationSeconds !== undefined) return false;
  return operator === "Exists" || (other.operator !== "Exists" && value === (other.value ?? ""));
}

function mergedTolerations(
  own: readonly Toleration[],
  ofClass: readonly Toleration[],
): readonly Toleration[] {
  return [...own, ...ofClass.filter((toleration) => !own.some((each) => covers(each, toleration)))];
}

/** Labels that the class and the pod ask for with other values: no node has both, and the API server refuses the pod. */
function contradictions(spec: PodSpec, selector: Readonly<Record<string, string>>): readonly string[] {
  const own = spec.nodeSelector ?? {};
  return Object.keys(selector).filter((key) => Object.hasOwn(own, key) && own[key] !== selector[key]);
}

/**
 * The spec with what its class asks for. Where both name a label with other values, the class's stands in the affinity, so
 * that no node is fit: the pod waits, where an API server would have refused it.
 */
export function withRuntimeClass(spec: PodSpec, runtimeClass: RuntimeClass | undefined): PodSpec {
  const { nodeSelector = {}, tolerations = [] } = runtimeClass?.scheduling ?? {};
  if (Object.keys(nodeSelector).length === 0 && tolerations.length === 0) return spec;
  const refused = contradictions(spec, nodeSelector);
  const expressions = refused.map((key) => ({ key, operator: "In", values: [nodeSelector[key] ?? ""] }));
  return {
    ...spec,
    nodeSelector: { ...nodeSelector, ...spec.nodeSelector },
    tolerations: mergedTolerations(spec.tolerations ?? [], tolerations),
    ...(expressions.length > 0 && {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: expressions }],
          },
        },
      },
    }),
  };
}

type Workload = Deployment | ReplicaSet | StatefulSet | DaemonSet | Job;

const WORKLOADS: readonly string[] = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"];

function isWorkload(object: KubeObject): object is Workload {
  return WORKLOADS.includes(object.kind);
}

/** What the pods that an object makes are made from, a pod itself; undefined: it makes none. */
export function podTemplateOf(object: KubeObject): PodTemplateSpec | undefined {
  if (object.kind === "Pod") return object;
  if (object.kind === "CronJob") return object.spec?.jobTemplate.spec?.template;
  return isWorkload(object) ? object.spec?.template : undefined;
}

/** The specification of the pods that an object makes; undefined: it makes none. */
export function podSpecOf(object: KubeObject): PodSpec | undefined {
  return podTemplateOf(object)?.spec;
}

/** The class that the pods of an object name. */
export function runtimeClassOf(object: KubeObject): string | undefined {
  const name = podSpecOf(object)?.runtimeClassName ?? "";
  return name === "" ? undefined : name;
}

/** The spec with what the class that it names asks for, if that is among `classes`. */
export function withClassOf(spec: PodSpec, classes: ReadonlyMap<string, RuntimeClass>): PodSpec {
  return withRuntimeClass(spec, classes.get(spec.runtimeClassName ?? ""));
}
