/**
 * What an API server checks about pods and workloads besides: things that no packet meets, but an object with one of these
 * faults is refused, and nothing of it runs (k8s.io/kubernetes, `pkg/apis/core/validation`, `pkg/apis/apps/validation`,
 * `pkg/apis/batch/validation`). A server's own objects have passed them, and people cut parts out of those.
 */
import { parseQuantity } from "#contracts/kubernetes/quantity.ts";
import { type Fields, mappingOf } from "#core/base/json.ts";
import { type FieldPath, below } from "#contracts/kubernetes/text/field-path.ts";
import {
  type Check,
  type FieldFaults,
  COUNT,
  PORT,
  all,
  anyText,
  integer,
  isAbsent,
  list,
  mappingsOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { portOrName } from "./check-service.ts";
import { controlPlane } from "#data/words.js";
import { DNS_LABEL, DNS_SEARCH, DNS_SUBDOMAIN, LABEL_VALUE, QUALIFIED_NAME, type TextRule } from "./names.ts";
import { SELECTOR } from "./check-metadata.ts";
import { CLAIM, VARIABLES, VOLUME_SOURCES } from "./check-sources.ts";

const WORDS = controlPlane();

const INT32_MAX = 2_147_483_647;

const PROBE_PORT = required(portOrName, "Write the number of the port, or its name.");

/** A probe or a hook asks or does one thing. */
function oneHandlerOf(...handlers: readonly string[]): Check {
  return (value, path, faults) => {
    const probe = mappingOf(value);
    const [first, ...others] = handlers.filter((name) => !isAbsent(probe[name]));
    if (first === undefined)
      faults.required(path, `Write one of: ${handlers.join(", ")}.`, "must specify a handler type");
    for (const name of others)
      faults.forbidden(below(path, name), "may not specify more than 1 handler type", "Keep one of them.");
  };
}

const PROBE: Check = all(
  object({
    exec: object({ command: required(list(anyText), "Write the command.") }),
    httpGet: object({ port: PROBE_PORT, scheme: oneOf("", "HTTP", "HTTPS") }),
    tcpSocket: object({ port: PROBE_PORT }),
    grpc: object({ port: required(PORT, "Write the number of the port.") }),
    initialDelaySeconds: COUNT,
    timeoutSeconds: COUNT,
    periodSeconds: COUNT,
    successThreshold: COUNT,
    failureThreshold: COUNT,
    terminationGracePeriodSeconds: integer(1, INT32_MAX, "must be greater than 0"),
  }),
  oneHandlerOf("exec", "httpGet", "tcpSocket", "grpc"),
);

const IMAGE: TextRule = Object.freeze({
  fault: (image: string) =>
    image === image.trim() ? undefined : "must not have leading or trailing whitespace",
  advice: "Remove the space.",
});

/** Resources that a container may name without a domain; and pages of a size. */
const RESOURCES: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

function isResource(name: string): boolean {
  return RESOURCES.includes(name) || name.startsWith("hugepages-") || name.includes("/");
}

const resourcesFit: Check = (value, path, faults) => {
  const { limits, requests } = mappingOf(value);
  for (const [field, quantities] of [
    ["limits", mappingOf(limits)],
    ["requests", mappingOf(requests)],
  ] as const)
    for (const [name, quantity] of Object.entries(quantities)) {
      const at = below(path, field, name);
      if (!isResource(name)) {
        const detail = "must be a standard resource type or fully qualified";
        faults.invalid(at, name, detail, "Write cpu, memory, or a name such as example.com/gpu.");
      }
      if ((parseQuantity(quantity) ?? 0) < 0)
        faults.invalid(at, quantity, "must be greater than or equal to 0", "Write how much it is.");
    }
  for (const [name, quantity] of Object.entries(mappingOf(requests))) {
    const limit = mappingOf(limits)[name];
    const [asked, allowed] = [parseQuantity(quantity), isAbsent(limit) ? undefined : parseQuantity(limit)];
    if (asked === undefined || allowed === undefined || asked <= allowed) continue;
    const detail = `must be less than or equal to ${name} limit of ${String(limit)}`;
    faults.invalid(below(path, "requests", name), quantity, detail, "Ask for less, or allow more.");
  }
};

const MOUNT: Check = object({
  name: required(anyText, "Write the name of the volume."),
  mountPath: required(anyText, "Write where the volume is in the container."),
});

const SECCOMP: Check = object({
  type: required(oneOf("Localhost", "RuntimeDefault", "Unconfined"), "Write RuntimeDefault, for example."),
});

const USER = integer(0, INT32_MAX);
const SECURITY = { seccompProfile: SECCOMP, runAsUser: USER, runAsGroup: USER };

/** What the kubelet runs when a container starts or ends. */
const HANDLER: Check = all(
  object({
    exec: object({ command: required(list(anyText), "Write the command.") }),
    httpGet: object({ port: PROBE_PORT, scheme: oneOf("", "HTTP", "HTTPS") }),
    tcpSocket: object({ port: PROBE_PORT }),
  }),
  oneHandlerOf("exec", "httpGet", "tcpSocket", "sleep"),
);

const CONTAINER_FIELDS: Check = object({
  image: text(IMAGE),
  imagePullPolicy: oneOf("", "Always", "IfNotPresent", "Never"),
  readinessProbe: PROBE,
  livenessProbe: PROBE,
  startupProbe: PROBE,
  resources: resourcesFit,
  volumeMounts: list(MOUNT),
  terminationMessagePolicy: oneOf("", "FallbackToLogsOnError", "File"),
  lifecycle: object({ postStart: HANDLER, preStop: HANDLER }),
  securityContext: object(SECURITY),
});

const CONTAINER: Check = all(CONTAINER_FIELDS, VARIABLES);

const TOPOLOGY_ADVICE = "Write a label of nodes, such as kubernetes.io/hostname.";
const TOPOLOGY_KEY = required(text(QUALIFIED_NAME), TOPOLOGY_ADVICE);
const POD_TERM: Check = object({ topologyKey: TOPOLOGY_KEY, labelSelector: SELECTOR });
const POD_AFFINITY: Check = object({
  requiredDuringSchedulingIgnoredDuringExecution: list(POD_TERM),
  preferredDuringSchedulingIgnoredDuringExecution: list(
    object({
      weight: required(integer(1, 100), "Write a weight from 1 to 100."),
      podAffinityTerm: required(POD_TERM, "Write which pods are meant."),
    }),
  ),
});

const SPEC: Check = object({
  containers: list(CONTAINER),
  initContainers: list(CONTAINER),
  dnsConfig: object({
    searches: list(text(DNS_SEARCH)),
    options: list(object({ name: required(anyText, "Write the name of the option.") })),
  }),
  tolerations: list(object({ value: text(LABEL_VALUE, true) })),
  serviceAccountName: text(DNS_SUBDOMAIN, true),
  runtimeClassName: text(DNS_SUBDOMAIN, true),
  securityContext: object({ ...SECURITY, fsGroup: USER }),
  affinity: object({ podAffinity: POD_AFFINITY, podAntiAffinity: POD_AFFINITY }),
  topologySpreadConstraints: list(
    object({
      maxSkew: required(integer(1, INT32_MAX, "must be greater than zero"), "Write maxSkew: 1, for example."),
      topologyKey: required(anyText, TOPOLOGY_ADVICE),
      whenUnsatisfiable: required(
        oneOf("DoNotSchedule", "ScheduleAnyway"),
        "Write DoNotSchedule or ScheduleAnyway.",
      ),
      labelSelector: SELECTOR,
    }),
  ),
});

const VOLUMES: Check = all(
  object({ volumes: list(object({ name: required(text(DNS_LABEL), "Give the volume a name.") })) }),
  VOLUME_SOURCES,
);

function mountsFit(mounts: unknown, names: ReadonlySet<unknown>, path: FieldPath, faults: FieldFaults): void {
  const paths = new Set<unknown>();
  for (const [index, { name, mountPath }] of mappingsOf(mounts).entries()) {
    if (typeof name === "string" && name !== "" && !names.has(name)) {
      const advice = WORDS.adviceVolumeName;
      faults.notFound(below(path, index, "name"), name, advice);
    }
    if (typeof mountPath === "string" && paths.has(mountPath))
      faults.invalid(below(path, index, "mountPath"), mountPath, "must be unique", "Take another place.");
    paths.add(mountPath);
  }
}

/** `others` are volumes that stand elsewhere. */
function checkVolumes(
  spec: Fields,
  others: readonly Fields[],
  path: FieldPath | undefined,
  faults: FieldFaults,
): void {
  const names = new Set<unknown>(others.map(({ name }) => name));
  for (const [index, { name }] of mappingsOf(spec["volumes"]).entries()) {
    if (typeof name === "string" && names.has(name))
      faults.duplicate(below(path, "volumes", index, "name"), name, "Give each volume its own name.");
    names.add(name);
  }
  for (const field of ["initContainers", "containers"])
    for (const [index, { volumeMounts }] of mappingsOf(spec[field]).entries())
      mountsFit(volumeMounts, names, below(path, field, index, "volumeMounts"), faults);
}

const volumesFit: Check = (value, path, faults) => checkVolumes(mappingOf(value), [], path, faults);

const POD_SPEC: Check = all(SPEC, VOLUMES, volumesFit);
const TEMPLATE: Check = object({ spec: POD_SPEC });

export const POD_DETAILS: Check = object({ spec: POD_SPEC });

/** A number, or a share of all. */
const countOrPercent: Check = (value, path, faults) => {
  if (typeof value !== "string") return COUNT(value, path, faults);
  if (/^\d+%$/.test(value)) return undefined;
  const detail = WORDS.percentInvalid;
  return faults.invalid(path, value, detail, "Write a number, or a share such as 25%.");
};

const ROLLING_UPDATE: Check = object({ maxSurge: countOrPercent, maxUnavailable: countOrPercent });

const deadlineFits: Check = (value, path, faults) => {
  const { minReadySeconds = 0, progressDeadlineSeconds } = mappingOf(value);
  if (typeof progressDeadlineSeconds !== "number" || typeof minReadySeconds !== "number") return;
  if (progressDeadlineSeconds > minReadySeconds) return;
  const detail = "must be greater than minReadySeconds";
  faults.invalid(below(path, "progressDeadlineSeconds"), progressDeadlineSeconds, detail, "Allow more.");
};

const strategyFits: Check = (value, path, faults) => {
  const { type, rollingUpdate } = mappingOf(mappingOf(value)["strategy"]);
  if (type !== "Recreate" || isAbsent(rollingUpdate)) return;
  const detail = "may not be specified when strategy `type` is 'Recreate'";
  faults.forbidden(below(path, "strategy", "rollingUpdate"), detail, "Remove it.");
};

export const DEPLOYMENT_DETAILS: Check = object({
  spec: all(
    object({
      template: TEMPLATE,
      minReadySeconds: COUNT,
      strategy: object({ rollingUpdate: ROLLING_UPDATE }),
    }),
    deadlineFits,
    strategyFits,
  ),
});

const UPDATE_STRATEGY: Check = object({
  type: oneOf("", "RollingUpdate", "OnDelete"),
  rollingUpdate: ROLLING_UPDATE,
});

export const DAEMON_SET_DETAILS: Check = object({
  spec: object({ template: TEMPLATE, minReadySeconds: COUNT, updateStrategy: UPDATE_STRATEGY }),
});

export const REPLICA_SET_DETAILS: Check = object({
  spec: object({ template: TEMPLATE, minReadySeconds: COUNT }),
});

/** Its pods have volumes of its volumeClaimTemplates, too. */
const claimsAreVolumes: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const claims = mappingsOf(spec["volumeClaimTemplates"]).map((claim) => mappingOf(claim["metadata"]));
  const at = below(path, "template", "spec");
  checkVolumes(mappingOf(mappingOf(spec["template"])["spec"]), claims, at, faults);
};

export const STATEFUL_SET_DETAILS: Check = object({
  spec: all(
    object({
      template: object({ spec: all(SPEC, VOLUMES) }),
      minReadySeconds: COUNT,
      updateStrategy: UPDATE_STRATEGY,
      volumeClaimTemplates: list(CLAIM),
    }),
    claimsAreVolumes,
  ),
});

const completionsFit: Check = (value, path, faults) => {
  const { completionMode, completions } = mappingOf(value);
  if (completionMode !== "Indexed" || !isAbsent(completions)) return;
  const detail = "when completion mode is Indexed";
  faults.required(below(path, "completions"), "Write how many pods have to succeed.", detail);
};

const JOB_SPEC: Check = all(
  object({ template: TEMPLATE, backoffLimit: COUNT, ttlSecondsAfterFinished: COUNT }),
  completionsFit,
);

export const JOB_DETAILS: Check = object({ spec: JOB_SPEC });

/** Minute, hour, day of the month, month and day of the week (robfig/cron, standard parser). */
const CRON_FIELDS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;
const CRON_NAMES = [WORDS.cronMonths, WORDS.cronDays].map((line) => line.split(" "));

function isCronPart(part: string, place: number): boolean {
  const [low, high] = CRON_FIELDS[place] ?? [0, 0];
  const numberOf = (word: string): number => {
    if (/^\d+$/.test(word)) return Number(word);
    const at = place < 3 ? -1 : (CRON_NAMES[place - 3]?.indexOf(word.toLowerCase()) ?? -1);
    return at < 0 ? Number.NaN : at + low;
  };
  const [range = "", step, ...more] = part.split("/");
  if (more.length > 0 || (step !== undefined && !/^0*[1-9]\d*$/.test(step))) return false;
  if (range === "*" || range === "?") return true;
  const [first = "", last, ...others] = range.split("-");
  if (others.length > 0) return false;
  const [from, to] = [numberOf(first), numberOf(last ?? first)];
  return from >= low && to <= high && from <= to;
}

const SCHEDULE: TextRule = Object.freeze({
  fault(schedule: string): string | undefined {
    if (/^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/.test(schedule)) return undefined;
    if (/^@every (?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+$/.test(schedule)) return undefined;
    const fields = schedule
      .replace(/^(?:CRON_)?TZ=\S+ /, "")
      .split(/\s+/)
      .filter((field) => field !== "");
    if (fields.length !== CRON_FIELDS.length) return `expected exactly 5 fields, found ${fields.length}`;
    const bad = fields.find((field, place) => !field.split(",").every((part) => isCronPart(part, place)));
    return bad === undefined ? undefined : `failed to read the field ${JSON.stringify(bad)}`;
  },
  advice: WORDS.adviceCronSchedule,
});

export const CRON_JOB_DETAILS: Check = object({
  spec: object({
    schedule: text(SCHEDULE),
    concurrencyPolicy: oneOf("", "Allow", "Forbid", "Replace"),
    successfulJobsHistoryLimit: COUNT,
    failedJobsHistoryLimit: COUNT,
    jobTemplate: object({ spec: JOB_SPEC }),
  }),
});
