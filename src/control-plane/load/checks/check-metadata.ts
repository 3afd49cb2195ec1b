/** What all objects have: metadata and label selectors (k8s.io/apimachinery, `api/validation`). */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import {
  type Check,
  all,
  anyText,
  list,
  mapOf,
  mappingsOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { isFields, mappingOf } from "#core/base/json.ts";
import { controlPlane } from "#data/words.js";
import { below } from "#contracts/kubernetes/text/field-path.ts";
import {
  ANNOTATION_KEY,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  LABEL_VALUE,
  QUALIFIED_NAME,
  SERVICE_NAME,
  type TextRule,
  prefixOfName,
} from "./names.ts";

const WORDS = controlPlane();

export const LABELS: Check = mapOf(QUALIFIED_NAME, text(LABEL_VALUE));

const ANNOTATIONS: Check = mapOf(ANNOTATION_KEY, anyText);

/** A CronJob appends a time to its name, and the result must still be a name of a Job. */
const CRON_JOB_NAME: TextRule = Object.freeze({
  fault: (name: string) =>
    name.length > 52 ? "must be no more than 52 characters" : DNS_SUBDOMAIN.fault(name),
  advice: DNS_SUBDOMAIN.advice,
});

const FINALIZERS = ["foregroundDeletion", "kubernetes", "orphan"];

/** What has to be done before an object goes: a word of Kubernetes, or a name with a domain. */
export const FINALIZER: TextRule = Object.freeze({
  fault(name: string): string | undefined {
    const isKnown = name.includes("/") || FINALIZERS.includes(name);
    return QUALIFIED_NAME.fault(name) ?? (isKnown ? undefined : WORDS.finalizerInvalid);
  },
  advice: "Write a name such as example.com/finalizer.",
});

const ANNOTATIONS_MAX = 262_144;

const annotationsFit: Check = (value, path, faults) => {
  const size = new TextEncoder().encode(Object.entries(mappingOf(value)).flat().join("")).length;
  if (size <= ANNOTATIONS_MAX) return;
  faults.invalid(path, size, `Too long: may not be more than ${ANNOTATIONS_MAX} bytes`, "Leave some out.");
};

const oneController: Check = (value, path, faults) => {
  if (mappingsOf(value).filter(({ controller }) => controller === true).length < 2) return;
  const detail = "Only one reference can have Controller set to true";
  faults.invalid(path, "", detail, "Keep one controller.");
};

/** The rule for names of a kind. */
function nameRuleOf(kind: KubeKind): TextRule {
  if (kind === "Service") return SERVICE_NAME;
  if (kind === "Namespace" || kind === "StatefulSet") return DNS_LABEL;
  return kind === "CronJob" ? CRON_JOB_NAME : DNS_SUBDOMAIN;
}

const NAME_ADVICE = "Write metadata.name.";

const nameIsThere: Check = (value, path, faults) => {
  if (!isFields(value)) return;
  const { name, generateName } = value;
  const isThere = [name, generateName].some((field) => typeof field === "string" && field !== "");
  if (!isThere && (name === undefined || name === null || name === ""))
    faults.required(below(path, "name"), NAME_ADVICE, "name or generateName is required");
};

/** Labels and annotations: the metadata of a template. */
export const TEMPLATE_METADATA: Check = object({ labels: LABELS, annotations: ANNOTATIONS });

const OWNER: Check = object({
  apiVersion: required(anyText, "Write the version of the owner."),
  kind: required(anyText, "Write the kind of the owner."),
  name: required(anyText, "Write the name of the owner."),
  uid: required(anyText, "Write the uid of the owner."),
});

/** Metadata of an object of `kind`. */
export function metadataOf(kind: KubeKind): Check {
  const rule = nameRuleOf(kind);
  const fields = object({
    name: text(rule, true),
    generateName: text(prefixOfName(rule), true),
    namespace: text(DNS_LABEL, true),
    labels: LABELS,
    annotations: all(ANNOTATIONS, annotationsFit),
    finalizers: list(text(FINALIZER)),
    ownerReferences: all(list(OWNER), oneController),
    uid: anyText,
    resourceVersion: anyText,
    deletionTimestamp: anyText,
  });
  return all(fields, nameIsThere);
}

/** One expression of a selector; operators that take values need some, the others must have none. */
export function expressionOf(operators: readonly string[], withValues: readonly string[]): Check {
  const fields = object({
    key: required(text(QUALIFIED_NAME), "Write the key of a label."),
    operator: required(oneOf(...operators), `Write one of: ${operators.join(", ")}.`),
    values: list(text(LABEL_VALUE)),
  });
  const values: Check = (value, path, faults) => {
    if (!isFields(value)) return;
    const count = Array.isArray(value["values"]) ? value["values"].length : 0;
    const operator = typeof value["operator"] === "string" ? value["operator"] : "";
    if (withValues.includes(operator) && count === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      faults.required(below(path, "values"), "Write the values of the label.", detail);
    }
    if (["Exists", "DoesNotExist"].includes(operator) && count > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      faults.forbidden(below(path, "values"), detail, "Remove the values, or write In or NotIn.");
    }
  };
  return all(fields, values);
}

/** A LabelSelector. */
export const SELECTOR: Check = object({
  matchLabels: LABELS,
  matchExpressions: list(expressionOf(["In", "NotIn", "Exists", "DoesNotExist"], ["In", "NotIn"])),
});
