/** What Kubernetes itself would refuse, and traps of a text that an editor does not show. */
import { kindMismatch } from "#contracts/kubernetes/kind-match.ts";
import { KINDS, isKubeKind } from "#contracts/kubernetes/kinds.ts";
import { removedVersion } from "#contracts/kubernetes/removed-versions.ts";
import { convertOld } from "#control-plane/load/convert-old.ts";
import { FieldFaults } from "#control-plane/load/checks/field-check.ts";
import {
  ObjectFields,
  adviceUnknownField,
  fillNulls,
  isOfServer,
} from "#contracts/kubernetes/object-fields.ts";
import { formatPath, stepsOf } from "#contracts/kubernetes/text/field-path.ts";
import { checkObject } from "#control-plane/load/checks/kind-checks.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { type LintPath, listAt, textAt, valueAt } from "../../input/fields.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { podSpecPath } from "../../views/pods.ts";
import { objectTypeOf } from "../../input/recognize.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { type LintRule, type RuleFinding, objectRule, rule } from "../../rule.ts";

/** A text that somebody, or some tool, will still replace. */
const PLACEHOLDER = /\{\{|\$[{(A-Za-z_]|<[A-Za-z]|__[A-Z]|%[A-Z_]+%|[A-Z]_[A-Z]|^[A-Z_]+$/;

/**
 * Whether an object is meant as a whole: a patch, or a fragment, lacks most of what its kind requires. `template`: where
 * the pods' labels, their containers with images and the selector stand, of which a whole one has two.
 */
function isWhole(kind: string, value: Fields): boolean {
  if ((textAt(value, "metadata", "name") ?? "") === "") return false;
  if (kind === "Service") return valueAt(value, "spec", "ports") !== undefined;
  if (kind === "NetworkPolicy") return isFields(valueAt(value, "spec"));
  const pods = podSpecPath(value);
  if (pods === undefined) return false;
  const containers = listAt(value, ...pods, "containers");
  const hasImages = containers.length > 0 && containers.every((each) => textAt(each, "image") !== undefined);
  if (kind === "Pod") return hasImages;
  const hasLabels = isFields(valueAt(value, ...pods.slice(0, -1), "metadata", "labels"));
  const hasSelector = isFields(valueAt(value, "spec", "selector"));
  return [hasImages, hasLabels, hasSelector].filter(Boolean).length >= 2;
}

/** Fields that an object lacks, without which an API server refuses it. */
const MISSING_FIELD = objectRule(
  "manifest-missing-field",
  Object.keys(KINDS),
  function* ({ value }, context) {
    const kind = objectTypeOf(value);
    if (!isKubeKind(kind) || !isWhole(kind, value)) return;
    const faults = new FieldFaults();
    checkObject(kind, convertOld(kind, withoutNulls(value, context)), faults);
    for (const { code, path, message, advice } of faults.list)
      if (code === "manifest-missing-field")
        yield {
          at: { path: stepsOf(path?.parent) },
          message: `${formatPath(path)}: ${message.toLowerCase()}`,
          fix: advice,
        };
  },
);

/** Values that an API server refuses. */
const INVALID_VALUE = objectRule(
  "manifest-invalid-value",
  Object.keys(KINDS),
  function* ({ value }, context) {
    const kind = objectTypeOf(value);
    if (!isKubeKind(kind)) return;
    const faults = new FieldFaults();
    checkObject(kind, convertOld(kind, withoutNulls(value, context)), faults);
    if (!isOfServer(value)) faults.wrongTypes(context.once(objectFields).find(value).wrong);
    for (const { code, path, message, advice, text } of faults.list)
      if (code === "manifest-invalid-value" && (text === undefined || !PLACEHOLDER.test(text)))
        yield { at: { path: stepsOf(path) }, message, fix: advice };
  },
);

/** Fields that an API server drops. What it has shown itself, it knows. */
const UNKNOWN_FIELD = objectRule(
  "manifest-unknown-field",
  Object.keys(KINDS),
  function* ({ value }, context) {
    if (isOfServer(value)) return;
    for (const { path, message, meant } of context.once(objectFields).find(value).unknown) {
      const steps = stepsOf(path);
      if (!steps.some((step) => PLACEHOLDER.test(String(step))))
        yield { at: { path: steps }, message, fix: adviceUnknownField(meant) };
    }
  },
);

function objectFields(): ObjectFields {
  return new ObjectFields();
}

/** The object with what null items of its lists stand for; a copy, if it has any. */
function withoutNulls(value: Fields, context: LintContext): Fields {
  const fields = context.once(objectFields);
  if (fields.find(value).nulls.length === 0) return value;
  const copy = structuredClone(value);
  fillNulls(fields.find(copy));
  return copy;
}

/** Kinds that kubectl finds no match for. */
const UNKNOWN_VERSION = rule("manifest-version-unknown", "kubernetes", function* ({ value }) {
  const [kind, version] = [textAt(value, "kind") ?? "", textAt(value, "apiVersion") ?? ""];
  if (PLACEHOLDER.test(kind) || PLACEHOLDER.test(version)) return;
  const found = kindMismatch(version, kind);
  if (found !== undefined) yield { at: { path: [found.field] }, message: found.message, fix: found.advice };
});

/** What an object is called in its file; undefined for one whose name is still to come. */
function keyOf({ source: { file }, value, host }: LintDocument): string | undefined {
  // What stands in a ConfigMap is another file.
  if (host !== undefined) return undefined;
  const name = textAt(value, "metadata", "name") ?? "";
  const namespace = textAt(value, "metadata", "namespace") ?? "default";
  if (name === "" || PLACEHOLDER.test(name) || PLACEHOLDER.test(namespace)) return undefined;
  return [file, objectTypeOf(value), namespace, name].join("\n");
}

/** Each object that is in its file already, with the first of them. */
function doubledObjects(context: LintContext): ReadonlyMap<LintDocument, LintDocument> {
  const firsts = new Map<string, LintDocument>();
  const doubled = new Map<LintDocument, LintDocument>();
  for (const document of context.ofKind("kubernetes")) {
    const key = keyOf(document);
    const first = key === undefined ? undefined : firsts.get(key);
    if (first !== undefined) doubled.set(document, first);
    else if (key !== undefined) firsts.set(key, document);
  }
  return doubled;
}

/** Two objects of one file: of those in several, one may be meant to take the other's place. */
const DUPLICATE_OBJECT = rule("manifest-duplicate-object", "kubernetes", function* (document, context) {
  const first = context.once(doubledObjects).get(document);
  if (first === undefined) return;
  const [{ start } = { start: 0 }] = first.locate([{ path: ["metadata", "name"] }]);
  const { line } = first.source.positionOf(start);
  const name = textAt(document.value, "metadata", "name") ?? "";
  yield {
    at: { path: ["metadata", "name"] },
    message: `${textAt(document.value, "kind") ?? ""} ${name} is in line ${line} already`,
  };
});

const OLD_VERSION = rule("manifest-old-version", "kubernetes", function* ({ value }, { kubernetes }) {
  const [kind, version] = [textAt(value, "kind") ?? "", textAt(value, "apiVersion") ?? ""];
  const found = removedVersion(kind, version);
  if (found === undefined || kubernetes.minor < Number(found.removed.split(".")[1])) return;
  yield {
    at: { path: ["apiVersion"] },
    message: `${version} of ${kind} was removed in Kubernetes ${found.removed}`,
    fix:
      found.present === undefined
        ? "Remove the object: the kind is gone."
        : `Write apiVersion: ${found.present}.`,
  };
});

/** Blanks that look like blanks and are none to YAML. */
const ODD_BLANK = /[\u00a0\u2007\u202f\u200b\ufeff]/;

function* oddBlanksIn(value: unknown, path: LintPath): Generator<RuleFinding> {
  if (typeof value === "string") {
    // Inside a longer text, or in a text of several lines, it may be meant.
    const isEdge = ODD_BLANK.test(value.slice(0, 1)) || ODD_BLANK.test(value.slice(-1));
    if (isEdge && !value.includes("\n"))
      yield {
        at: { path },
        message: "the value begins or ends with a no-break space",
      };
    return;
  }
  if (Array.isArray(value))
    for (const [index, item] of (value as unknown[]).entries()) yield* oddBlanksIn(item, [...path, index]);
  else if (isFields(value))
    for (const [name, field] of Object.entries(value)) {
      if (ODD_BLANK.test(name))
        yield {
          at: { path: [...path, name] },
          message: "the field's name holds a no-break space",
        };
      yield* oddBlanksIn(field, [...path, name]);
    }
}

const NO_BREAK_SPACE = rule(
  "manifest-no-break-space",
  ["kubernetes", "cluster", "kube-proxy"],
  function* ({ value, text }) {
    if (ODD_BLANK.test(text)) yield* oddBlanksIn(value, []);
  },
);

/** A cluster file's own faults, each with its own code. */
const CLUSTER_FILE = rule("cluster-file-invalid-value", "cluster", function* (document) {
  const parsed = parseClusterFile(document.text, document.source.file);
  if (!("problems" in parsed)) return;
  for (const { code, line, column, message, path, advice, differs } of parsed.problems) {
    const offset = offsetIn(document.text, line, column);
    const what = path === "" ? message : `${path}: ${message}`;
    yield { at: { offset }, code, message: what, fix: advice, ...(differs !== undefined && { differs }) };
  }
});

function offsetIn(text: string, line: number, column: number): number {
  let start = 0;
  for (let at = 1; at < line; at++) start = text.indexOf("\n", start) + 1;
  return start + column - 1;
}

export const MANIFEST_RULES: readonly LintRule[] = [
  INVALID_VALUE,
  MISSING_FIELD,
  UNKNOWN_FIELD,
  UNKNOWN_VERSION,
  DUPLICATE_OBJECT,
  OLD_VERSION,
  NO_BREAK_SPACE,
  CLUSTER_FILE,
];
