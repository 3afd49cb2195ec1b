/** Deployments and their relatives (k8s.io/kubernetes, `pkg/apis/apps/validation` and `pkg/apis/batch/validation`). */
import { stripEnd } from "#core/base/text-edges.ts";
import { matchesSelector } from "#contracts/kubernetes/labels.ts";
import { SELECTOR } from "./check-metadata.ts";
import { POD_TEMPLATE } from "./check-pod.ts";
import { isFields, listOf, mappingOf } from "#core/base/json.ts";
import {
  type Check,
  COUNT,
  FieldFaults,
  all,
  anyText,
  flag,
  isAbsent,
  mapOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { below } from "#contracts/kubernetes/text/field-path.ts";
import { CONFIG_KEY, DNS_LABEL, type TextRule } from "./names.ts";

const SELECTOR_ADVICE = "Write spec.selector.matchLabels with the labels of the template.";

/** The selector of a workload names something, and its own template answers to it. */
const selectorMatchesTemplate: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const selector = spec["selector"];
  if (!isFields(selector)) return;
  const own = new FieldFaults();
  SELECTOR(selector, undefined, own);
  if (own.list.length > 0) return;
  const parts = [...Object.keys(mappingOf(selector["matchLabels"])), ...listOf(selector["matchExpressions"])];
  if (parts.length === 0) {
    faults.invalid(below(path, "selector"), {}, "empty selector is invalid for deployment", SELECTOR_ADVICE);
    return;
  }
  const labels = mappingOf(mappingOf(mappingOf(spec["template"])["metadata"])["labels"]);
  if (!matchesSelector(selector, labels as Readonly<Record<string, string>>)) {
    const at = below(path, "template", "metadata", "labels");
    const detail = "`selector` does not match template `labels`";
    faults.invalid(at, labels, detail, "Give the template the labels of spec.selector.");
  }
};

/** Pods of these workloads run for ever; those of Jobs end. */
function restartPolicyIn(words: readonly string[], detail: string): Check {
  return (value, path, faults) => {
    const podSpec = mappingOf(mappingOf(mappingOf(value)["template"])["spec"]);
    const { restartPolicy } = podSpec;
    const policy = isAbsent(restartPolicy) || restartPolicy === "" ? "Always" : restartPolicy;
    if (typeof policy === "string" && !words.includes(policy)) {
      const at = below(path, "template", "spec", "restartPolicy");
      if (detail === "") faults.unsupported(at, policy, words);
      else faults.required(at, `Write restartPolicy: ${words.join(" or ")}.`, detail);
    }
  };
}

const RUNS_FOR_EVER = restartPolicyIn(["Always"], "");
const ENDS = restartPolicyIn(["OnFailure", "Never"], 'valid values: "OnFailure", "Never"');

const TEMPLATE = required(POD_TEMPLATE, "Write the template of the pods.");

function workload(fields: Readonly<Record<string, Check>>): Check {
  const spec = object({ selector: required(SELECTOR, SELECTOR_ADVICE), template: TEMPLATE, ...fields });
  return object({
    spec: required(all(spec, selectorMatchesTemplate, RUNS_FOR_EVER), "Write the spec of the workload."),
  });
}

const STRATEGY: Check = object({ type: oneOf("", "Recreate", "RollingUpdate") });

export const DEPLOYMENT: Check = workload({
  replicas: COUNT,
  paused: flag,
  strategy: STRATEGY,
  revisionHistoryLimit: COUNT,
});

export const REPLICA_SET: Check = object({
  spec: required(
    all(
      object({
        selector: required(SELECTOR, SELECTOR_ADVICE),
        template: TEMPLATE,
        replicas: COUNT,
      }),
      selectorMatchesTemplate,
      RUNS_FOR_EVER,
    ),
    "Write the spec of the workload.",
  ),
});

export const DAEMON_SET: Check = workload({});

export const STATEFUL_SET: Check = workload({
  replicas: COUNT,
  serviceName: text(DNS_LABEL, true),
  podManagementPolicy: oneOf("", "OrderedReady", "Parallel"),
  ordinals: object({ start: COUNT }),
});

const JOB_SPEC: Check = all(
  object({
    template: TEMPLATE,
    parallelism: COUNT,
    completions: COUNT,
    completionMode: oneOf("NonIndexed", "Indexed"),
    selector: SELECTOR,
    suspend: flag,
  }),
  ENDS,
);

export const JOB: Check = object({ spec: required(JOB_SPEC, "Write the spec of the Job.") });

export const CRON_JOB: Check = object({
  spec: required(
    object({
      schedule: required(anyText, 'Write a schedule such as "0 3 * * *".'),
      jobTemplate: required(
        object({ spec: required(JOB_SPEC, "Write the spec of the Jobs.") }),
        "Write the template of the Jobs.",
      ),
      suspend: flag,
    }),
    "Write the spec of the CronJob.",
  ),
});

const CONFIG_BYTES_MAX = 1_048_576;

/** A key has a text or bytes, and all of them together have a size. */
const dataFits: Check = (value, path, faults) => {
  const { data, binaryData } = mappingOf(value);
  const [known, bytes] = [mappingOf(data), mappingOf(binaryData)];
  for (const key of Object.keys(known))
    if (Object.hasOwn(bytes, key))
      faults.invalid(below(path, "data", key), key, "duplicate of key present in binaryData", "Keep one.");
  const encoder = new TextEncoder();
  const sizes = [
    ...Object.values(known).map((each) => encoder.encode(String(each)).length),
    ...Object.values(bytes).map((each) => Math.floor((stripEnd(String(each), /=/).length * 3) / 4)),
  ];
  const size = sizes.reduce((sum, each) => sum + each, 0);
  if (size > CONFIG_BYTES_MAX)
    faults.invalid(path, size, `Too long: may not be more than ${CONFIG_BYTES_MAX} bytes`, "Make two of it.");
};

const BASE64: TextRule = Object.freeze({
  fault: (bytes: string) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(bytes.replace(/[\r\n]/g, ""))
      ? undefined
      : "illegal base64 data",
  advice: "Write the bytes in base64: base64 -w0 FILE.",
});

/** A ConfigMap: keys with texts, or with bytes. */
export const CONFIG_MAP: Check = all(
  object({ data: mapOf(CONFIG_KEY, anyText), binaryData: mapOf(CONFIG_KEY, text(BASE64, true)) }),
  dataFits,
);
