/**
 * Selectors as texts, as the API and kubectl write them (k8s.io/apimachinery, `pkg/labels/selector.go` and
 * `pkg/fields/selector.go`), and what they say of an object.
 */
import { KubeError } from "./error.ts";
import { type LabelRequirement, matchesRequirement } from "./labels.ts";
import { KINDS } from "./kinds.ts";
import type { KubeKind, KubeObject } from "./objects.ts";
import type { Selection } from "./source.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

function invalid(message: string): KubeError {
  return new KubeError("kubernetes-request-invalid", 400, message);
}

const KEY = String.raw`[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?`;
const VALUE = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?`;
const ABSENT = new RegExp(`^!\\s*(${KEY})$`);
const PRESENT = new RegExp(`^(${KEY})$`);
const EQUAL = new RegExp(`^(${KEY})\\s*(=|==|!=)\\s*(${VALUE})$`);
const COMPARED = new RegExp(`^(${KEY})\\s*([<>])\\s*(-?\\d+)$`);
const AMONG = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const WHOLE_VALUE = new RegExp(`^${VALUE}$`);

/** The parts between commas that stand in no parentheses. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let isOpen = false;
  for (const [index, piece] of text.split(/([,()])/).entries()) {
    if (piece === "(" || piece === ")") isOpen = piece === "(";
    if (index === 0 || (piece === "," && !isOpen)) parts.push(index === 0 ? piece : "");
    else parts.push(`${parts.pop() ?? ""}${piece}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function requirementOf(part: string): LabelRequirement | undefined {
  const absent = ABSENT.exec(part);
  if (absent !== null) return { key: absent[1] ?? "", operator: "DoesNotExist" };
  const present = PRESENT.exec(part);
  if (present !== null) return { key: present[1] ?? "", operator: "Exists" };
  const compared = COMPARED.exec(part);
  if (compared !== null) {
    const [, key = "", sign, value = ""] = compared;
    return { key, operator: sign === ">" ? "Gt" : "Lt", values: [value] };
  }
  const equal = EQUAL.exec(part);
  if (equal !== null) {
    const [, key = "", sign, value = ""] = equal;
    return { key, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  }
  const among = AMONG.exec(part);
  if (among === null) return undefined;
  const [, key = "", word, inside = ""] = among;
  const values = inside.split(",").map((value) => value.trim());
  if (!values.every((value) => WHOLE_VALUE.test(value))) return undefined;
  return { key, operator: word === "in" ? "In" : "NotIn", values };
}

/** The requirements of a label selector. @throws KubeError `kubernetes-request-invalid`. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  return partsOf(text).map((part) => {
    const requirement = requirementOf(part);
    if (requirement === undefined) throw invalid(`unable to parse requirement: ${part}`);
    return requirement;
  });
}

interface FieldRequirement {
  readonly field: string;
  readonly isEqual: boolean;
  readonly value: string;
}

type FieldReader = (object: KubeObject) => string;

const ALL_KINDS: Readonly<Record<string, FieldReader>> = Object.freeze({
  "metadata.name": (object: KubeObject) => object.metadata.name,
  "metadata.namespace": (object: KubeObject) => object.metadata.namespace,
});

/**
 * What each kind may be asked for beside name and namespace (k8s.io/kubernetes, `pkg/apis/core/v1/conversion.go` and
 * `pkg/apis/batch/v1/conversion.go`).
 */
const BY_KIND: Readonly<Partial<Record<KubeKind, readonly string[]>>> = Object.freeze({
  Pod: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  Node: ["spec.unschedulable"],
  Namespace: ["status.phase"],
  Service: ["spec.clusterIP", "spec.type"],
  ReplicaSet: ["status.replicas"],
  Job: ["status.successful"],
  Event: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
});

/** A field as text: empty where it is absent, except for truth values, which are false then. */
function readField(object: KubeObject, path: string): string {
  let at: unknown = object;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) {
      return path === "spec.unschedulable" || path === "spec.hostNetwork" ? "false" : "";
    }
    at = (at as Readonly<Record<string, unknown>>)[step];
  }
  return typeof at === "string" || typeof at === "number" || typeof at === "boolean" ? String(at) : "";
}

function readerOf(kind: KubeKind, field: string): FieldReader {
  const known = Object.hasOwn(ALL_KINDS, field) ? ALL_KINDS[field] : undefined;
  if (known !== undefined) return known;
  if (BY_KIND[kind]?.includes(field) === true) return (object) => readField(object, field);
  const { plural } = KINDS[kind];
  throw invalid(WORDS.fieldSelectorUnsupported({ apiVersion: KINDS[kind].apiVersion, plural, field }));
}

function parseFieldRequirement(part: string): FieldRequirement {
  const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(part);
  if (match === null) throw invalid(`invalid field selector: ${part}; can't understand it`);
  const [, field = "", sign, value = ""] = match;
  return { field: field.trim(), isEqual: sign !== "!=", value: value.trim() };
}

/** Says whether an object is meant. */
export type Selector = (object: KubeObject) => boolean;

const EVERYTHING: Selector = () => true;

/** What a selection says of objects of `kind`. @throws KubeError `kubernetes-request-invalid`. */
export function selectorOf(kind: KubeKind, selection: Selection): Selector {
  const { namespace = "", labelSelector = "", fieldSelector = "" } = selection;
  if (namespace === "" && labelSelector === "" && fieldSelector === "") return EVERYTHING;
  const labels = parseLabelSelector(labelSelector);
  const fields = partsOf(fieldSelector).map((part) => {
    const { field, isEqual, value } = parseFieldRequirement(part);
    const read = readerOf(kind, field);
    return (object: KubeObject): boolean => (read(object) === value) === isEqual;
  });
  return (object) => {
    const { metadata } = object;
    if (namespace !== "" && metadata.namespace !== namespace) return false;
    const own = metadata.labels ?? {};
    const hasLabels = labels.every((requirement) => {
      const value = Object.hasOwn(own, requirement.key) ? own[requirement.key] : undefined;
      return matchesRequirement(requirement, value);
    });
    return hasLabels && fields.every((holds) => holds(object));
  };
}
