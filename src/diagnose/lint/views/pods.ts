/** The pods of a document: its own, or those that it is a template for; and whether they are for Windows. */
import { isWindowsImage } from "#contracts/kubernetes/container-image.ts";
import { platformOfLabel } from "#contracts/kubernetes/node-labels.ts";
import type { PodSpec, RuntimeClass } from "#contracts/kubernetes/objects.ts";
import { withClassOf } from "#contracts/kubernetes/runtime-class.ts";
import { FieldFaults } from "#control-plane/load/checks/field-check.ts";
import { checkObject } from "#control-plane/load/checks/kind-checks.ts";
import type { LintDocument } from "../input/document.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, fieldsAt, isTrueAt, listAt, textAt, valueAt } from "../input/fields.ts";

const SPEC_PATHS: Readonly<Record<string, LintPath>> = {
  Pod: ["spec"],
  PodTemplate: ["template", "spec"],
  Deployment: ["spec", "template", "spec"],
  ReplicaSet: ["spec", "template", "spec"],
  ReplicationController: ["spec", "template", "spec"],
  StatefulSet: ["spec", "template", "spec"],
  DaemonSet: ["spec", "template", "spec"],
  Job: ["spec", "template", "spec"],
  Rollout: ["spec", "template", "spec"],
  CronJob: ["spec", "jobTemplate", "spec", "template", "spec"],
};

/** Where the pod's `spec` stands in an object; undefined for an object without pods. */
export function podSpecPath(value: Fields): LintPath | undefined {
  const kind = textAt(value, "kind") ?? "";
  const path = Object.hasOwn(SPEC_PATHS, kind) ? SPEC_PATHS[kind] : undefined;
  return path !== undefined && isFields(valueAt(value, ...path)) ? path : undefined;
}

export type PodOs = "windows" | "linux" | "unknown";

export interface ContainerView {
  readonly path: LintPath;
  readonly value: Fields;
  readonly name: string;
  readonly image: string;
  readonly isInit: boolean;
}

/** A pod, or a template of pods. */
export interface PodView {
  readonly document: LintDocument;
  /** Where its `spec` stands in the document. */
  readonly path: LintPath;
  readonly spec: Fields;
  readonly labels: Fields;
  readonly namespace: string;
  readonly os: PodOs;
  /** A HostProcess pod: it runs in the node's own network. */
  readonly isHostProcess: boolean;
  readonly containers: readonly ContainerView[];
}

/** The containers that stay, sidecars among them. */
export function lastingContainers({ containers }: PodView): readonly ContainerView[] {
  return containers.filter(({ isInit, value }) => !isInit || textAt(value, "restartPolicy") === "Always");
}

function osOfText(text: string | undefined): PodOs | undefined {
  if (text === undefined) return undefined;
  const word = text.toLowerCase();
  if (word === "windows") return "windows";
  return word === "" ? undefined : "linux";
}

/** Labels that each node has, with one of two values. */
const OS_LABELS = ["kubernetes.io/os", "beta.kubernetes.io/os"] as const;

function osOfSelector(spec: Fields): PodOs | undefined {
  for (const [label, value] of Object.entries(fieldsAt(spec, "nodeSelector"))) {
    const told = platformOfLabel(label, String(value));
    if (told !== undefined) return told.os;
  }
  return undefined;
}

/** What one expression of a term says: the system that all of its values have in common. */
function osOfExpression(expression: unknown): PodOs | undefined {
  const key = textAt(expression, "key") ?? "";
  const operator = textAt(expression, "operator");
  const values = listAt(expression, "values").map(String);
  if (operator === "Exists") return platformOfLabel(key, "")?.os;
  const systems = values.map((value) => platformOfLabel(key, value)?.os);
  const [first, ...rest] = systems;
  if (operator === "In") return rest.every((os) => os === first) ? first : undefined;
  if (operator !== "NotIn" || !OS_LABELS.some((label) => label === key)) return undefined;
  if (systems.includes("windows")) return "linux";
  return systems.includes("linux") ? "windows" : undefined;
}

/** What one required term of node affinity says. */
function osOfTerm(term: unknown): PodOs | undefined {
  for (const expression of listAt(term, "matchExpressions")) {
    const os = osOfExpression(expression);
    if (os !== undefined) return os;
  }
  return undefined;
}

function osOfAffinity(spec: Fields): PodOs | undefined {
  const terms = listAt(
    spec,
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
  );
  const [first, ...rest] = terms.map(osOfTerm);
  return first !== undefined && rest.every((os) => os === first) ? first : undefined;
}

function toleratesWindows(spec: Fields): boolean {
  return listAt(spec, "tolerations").some((toleration) => {
    const key = textAt(toleration, "key")?.toLowerCase() ?? "";
    const value = textAt(toleration, "value")?.toLowerCase();
    return /(?:^|[./])os$/.test(key) && value !== undefined && value.startsWith("windows");
  });
}

function hasWindowsOptions(spec: Fields, containers: readonly ContainerView[]): boolean {
  return (
    isFields(valueAt(spec, "securityContext", "windowsOptions")) ||
    containers.some(({ value }) => isFields(valueAt(value, "securityContext", "windowsOptions")))
  );
}

function osOf(spec: Fields, containers: readonly ContainerView[]): PodOs {
  const said = osOfText(textAt(spec, "os", "name")) ?? osOfSelector(spec) ?? osOfAffinity(spec);
  if (said !== undefined) return said;
  const [first, ...others] = containers;
  if (first !== undefined && [first, ...others].every(({ image }) => isWindowsImage(image))) return "windows";
  return hasWindowsOptions(spec, containers) || toleratesWindows(spec) ? "windows" : "unknown";
}

function containersOf(spec: Fields, path: LintPath): readonly ContainerView[] {
  return ["containers", "initContainers"].flatMap((field) =>
    listAt(spec, field).flatMap((value, index) =>
      isFields(value)
        ? [
            {
              path: [...path, field, index],
              value,
              name: textAt(value, "name") ?? "",
              image: textAt(value, "image") ?? "",
              isInit: field === "initContainers",
            },
          ]
        : [],
    ),
  );
}

/** RuntimeClasses of the input by name, as far as an API server would take them. */
export type ClassesOfPods = ReadonlyMap<string, RuntimeClass>;

export function classesOfPods(documents: readonly LintDocument[]): ClassesOfPods {
  return new Map(
    documents.flatMap(({ kind, value }) => {
      const name = textAt(value, "metadata", "name") ?? "";
      const isClass = kind === "kubernetes" && textAt(value, "kind") === "RuntimeClass" && name !== "";
      const faults = new FieldFaults();
      if (isClass) checkObject("RuntimeClass", value, faults);
      return isClass && faults.list.length === 0 ? [[name, value as unknown as RuntimeClass] as const] : [];
    }),
  );
}

/** The spec with what its class asks for; one whose own fields have other shapes stays as it is. */
function withClass(spec: Fields, classes: ClassesOfPods): Fields {
  const { nodeSelector = {}, tolerations = [] } = spec;
  if (!classes.has(textAt(spec, "runtimeClassName") ?? "")) return spec;
  if (!isFields(nodeSelector) || !Array.isArray(tolerations) || !tolerations.every(isFields)) return spec;
  return { ...withClassOf(spec as unknown as PodSpec, classes) };
}

/** The pod of a Kubernetes document; undefined when it has none. */
export function podView(document: LintDocument, classes: ClassesOfPods): PodView | undefined {
  if (document.kind !== "kubernetes") return undefined;
  const path = podSpecPath(document.value);
  if (path === undefined) return undefined;
  const spec = withClass(fieldsAt(document.value, ...path), classes);
  const containers = containersOf(spec, path);
  const isPod = path.length === 1;
  const labels = isPod
    ? fieldsAt(document.value, "metadata", "labels")
    : fieldsAt(document.value, ...path.slice(0, -1), "metadata", "labels");
  const isHostProcess =
    isTrueAt(spec, "securityContext", "windowsOptions", "hostProcess") ||
    containers.some(({ value }) => isTrueAt(value, "securityContext", "windowsOptions", "hostProcess"));
  return {
    document,
    path,
    spec,
    labels,
    namespace: textAt(document.value, "metadata", "namespace") ?? "default",
    os: osOf(spec, containers),
    isHostProcess,
    containers,
  };
}

/** The pods that a cluster file has itself: they run on the node that they name. */
export function podsOfCluster(
  document: LintDocument,
  nodeOs: ReadonlyMap<string, string>,
): readonly PodView[] {
  return listAt(document.value, "pods").flatMap((pod, index) => {
    if (!isFields(pod)) return [];
    return {
      document,
      path: ["pods", index],
      spec: pod,
      labels: fieldsAt(pod, "labels"),
      namespace: textAt(pod, "namespace") ?? "default",
      os: osOfText(nodeOs.get(textAt(pod, "node") ?? "")) ?? "unknown",
      isHostProcess: false,
      containers: [],
    };
  });
}
