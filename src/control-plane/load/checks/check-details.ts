/**
 * What an API server checks about pods and workloads besides: things that no packet meets, but an object with one of these
 * faults is refused, and nothing of it runs (k8s.io/kubernetes, `pkg/apis/core/validation`, `pkg/apis/apps/validation`,
 * `pkg/apis/batch/validation`). A server's own objects have passed them, and people cut parts out of those.
 */
import { type Fields, mappingOf } from "#core/base/json.ts";
import { type FieldPath, below } from "#contracts/kubernetes/text/field-path.ts";
import {
  type Check,
  type FieldFaults,
  COUNT,
  all,
  anyText,
  integer,
  isAbsent,
  list,
  mappingsOf,
  object,
  oneOf,
  repeated,
  required,
  text,
} from "./field-check.ts";
import { controlPlane } from "#data/words.js";
import { DNS_LABEL, DNS_SEARCH, DNS_SUBDOMAIN, LABEL_VALUE, QUALIFIED_NAME, type TextRule } from "./names.ts";
import { SELECTOR } from "./check-metadata.ts";
import { CLAIM, VOLUME_SOURCES } from "./check-sources.ts";
import { CONTAINER, INIT_CONTAINER, SECURITY, USER } from "./check-container.ts";

const WORDS = controlPlane();

const INT32_MAX = 2_147_483_647;

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

const spreadOnce: Check = (value, path, faults) => {
  const keys = mappingsOf(value).map(
    (each) => `${String(each["topologyKey"])}, ${String(each["whenUnsatisfiable"])}`,
  );
  for (const [index, key] of repeated(keys))
    faults.duplicate(below(path, index, "{topologyKey, whenUnsatisfiable}"), key, "Keep one of them.");
};

const GATE = required(text(QUALIFIED_NAME), "Write what the pod waits for, such as example.com/ready.");

const SPEC: Check = object({
  containers: list(CONTAINER),
  initContainers: list(INIT_CONTAINER),
  activeDeadlineSeconds: integer(1, INT32_MAX),
  resourceClaims: list(object({ name: required(text(DNS_LABEL), "Give the claim a name.") })),
  priorityClassName: text(DNS_SUBDOMAIN, true),
  preemptionPolicy: oneOf("Never", "PreemptLowerPriority"),
  readinessGates: list(object({ conditionType: GATE })),
  schedulingGates: list(object({ name: GATE })),
  dnsConfig: object({
    searches: list(text(DNS_SEARCH)),
    options: list(object({ name: required(anyText, "Write the name of the option.") })),
  }),
  tolerations: list(object({ value: text(LABEL_VALUE, true) })),
  serviceAccountName: text(DNS_SUBDOMAIN, true),
  runtimeClassName: text(DNS_SUBDOMAIN, true),
  securityContext: object({
    ...SECURITY,
    fsGroup: USER,
    fsGroupChangePolicy: oneOf("Always", "OnRootMismatch"),
    supplementalGroups: list(USER),
    supplementalGroupsPolicy: oneOf("Merge", "Strict"),
    sysctls: list(object({ name: required(anyText, "Write the name of the setting.") })),
  }),
  affinity: object({ podAffinity: POD_AFFINITY, podAntiAffinity: POD_AFFINITY }),
  topologySpreadConstraints: all(
    spreadOnce,
    list(
      object({
        maxSkew: required(
          integer(1, INT32_MAX, "must be greater than zero"),
          "Write maxSkew: 1, for example.",
        ),
        topologyKey: required(anyText, TOPOLOGY_ADVICE),
        whenUnsatisfiable: required(
          oneOf("DoNotSchedule", "ScheduleAnyway"),
          "Write DoNotSchedule or ScheduleAnyway.",
        ),
        labelSelector: SELECTOR,
      }),
    ),
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

/** `others` are volumes that stand elsewhere: one of the same name gives way to it. */
function checkVolumes(
  spec: Fields,
  others: readonly Fields[],
  path: FieldPath | undefined,
  faults: FieldFaults,
): void {
  const claims = new Set<unknown>(others.map(({ name }) => name));
  const names = new Set<unknown>();
  for (const [index, { name }] of mappingsOf(spec["volumes"]).entries()) {
    if (typeof name === "string" && names.has(name))
      faults.duplicate(below(path, "volumes", index, "name"), name, "Give each volume its own name.");
    if (!claims.has(name)) names.add(name);
  }
  for (const name of claims) names.add(name);
  for (const field of ["initContainers", "containers"])
    for (const [index, { volumeMounts }] of mappingsOf(spec[field]).entries())
      mountsFit(volumeMounts, names, below(path, field, index, "volumeMounts"), faults);
}

/** Claims of containers are claims of their pod. */
const claimsAreThere: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const names = mappingsOf(spec["resourceClaims"]).map(({ name }) => name);
  for (const field of ["initContainers", "containers"])
    for (const [index, { resources }] of mappingsOf(spec[field]).entries())
      for (const [position, { name }] of mappingsOf(mappingOf(resources)["claims"]).entries())
        if (!names.includes(name)) {
          const at = below(path, field, index, "resources", "claims", position);
          faults.notFound(at, name, "Write a claim of this name under resourceClaims.");
        }
};

const volumesFit: Check = (value, path, faults) => checkVolumes(mappingOf(value), [], path, faults);

const POD_SPEC: Check = all(SPEC, VOLUMES, volumesFit, claimsAreThere);
const TEMPLATE: Check = object({ spec: POD_SPEC });

export const POD_DETAILS: Check = object({ spec: POD_SPEC });

/** A number, or a share of all. */
const countOrPercent: Check = (value, path, faults) => {
  if (typeof value !== "string") return COUNT(value, path, faults);
  if (/^\d+%$/.test(value)) return undefined;
  const detail = WORDS.percentInvalid;
  return faults.invalid(path, value, detail, "Write a number, or a share such as 25%.");
};

const atMostAll: Check = (value, path, faults) => {
  if (typeof value !== "string" || Number.parseInt(value, 10) <= 100) return;
  faults.invalid(path, value, "must not be greater than 100%", "Write a share up to 100%.");
};

const ROLLING_UPDATE: Check = object({
  maxSurge: countOrPercent,
  maxUnavailable: all(countOrPercent, atMostAll),
});

const deadlineFits: Check = (value, path, faults) => {
  const { minReadySeconds = 0, progressDeadlineSeconds = 600 } = mappingOf(value);
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

/** Zero of a number or of a share. */
function isNone(amount: unknown): boolean {
  return Number.parseInt(String(amount), 10) === 0;
}

/** Something may be missing or too much, or nothing could be replaced. */
const rollsOn: Check = (value, path, faults) => {
  const { type, rollingUpdate } = mappingOf(value);
  if (type === "Recreate") return;
  const { maxSurge = "25%", maxUnavailable = "25%" } = mappingOf(rollingUpdate);
  if (!isNone(maxSurge) || !isNone(maxUnavailable)) return;
  const detail = "may not be 0 when `maxSurge` is 0";
  faults.invalid(
    below(path, "rollingUpdate", "maxUnavailable"),
    maxUnavailable,
    detail,
    "Allow one of the two.",
  );
};

/** Pods of these run for ever. */
function noDeadlineIn(kind: string): Check {
  return (value, path, faults) => {
    const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
    if (!isAbsent(mappingOf(value)["activeDeadlineSeconds"]))
      faults.forbidden(below(path, "activeDeadlineSeconds"), detail, "Remove it.");
  };
}

function lastingTemplate(kind: string): Check {
  return object({ spec: all(POD_SPEC, noDeadlineIn(kind)) });
}

export const DEPLOYMENT_DETAILS: Check = object({
  spec: all(
    object({
      template: lastingTemplate("ReplicaSet"),
      minReadySeconds: COUNT,
      strategy: all(object({ rollingUpdate: ROLLING_UPDATE }), rollsOn),
      progressDeadlineSeconds: COUNT,
    }),
    deadlineFits,
    strategyFits,
  ),
});

const UPDATE_STRATEGY: Check = object({
  type: oneOf("", "RollingUpdate", "OnDelete"),
  rollingUpdate: object({ partition: COUNT }),
});

/** Of a DaemonSet, whose pods are replaced by new ones before, or after: not both. */
const oneWayToRoll: Check = (value, path, faults) => {
  const { type, rollingUpdate } = mappingOf(value);
  if (type === "OnDelete" || isAbsent(rollingUpdate)) return;
  ROLLING_UPDATE(rollingUpdate, below(path, "rollingUpdate"), faults);
  const { maxSurge = 0, maxUnavailable = 1 } = mappingOf(rollingUpdate);
  atMostAll(maxSurge, below(path, "rollingUpdate", "maxSurge"), faults);
  if (isNone(maxSurge) !== isNone(maxUnavailable)) return;
  if (isNone(maxSurge)) {
    const at = below(path, "rollingUpdate", "maxUnavailable");
    faults.required(at, "Allow one of the two.", "cannot be 0 when maxSurge is 0");
  } else {
    const detail = "may not be set when maxUnavailable is non-zero";
    faults.invalid(below(path, "rollingUpdate", "maxSurge"), maxSurge, detail, "Write maxUnavailable: 0.");
  }
};

export const DAEMON_SET_DETAILS: Check = object({
  spec: object({
    template: lastingTemplate("DaemonSet"),
    minReadySeconds: COUNT,
    revisionHistoryLimit: COUNT,
    updateStrategy: all(object({ type: oneOf("", "RollingUpdate", "OnDelete") }), oneWayToRoll),
  }),
});

export const REPLICA_SET_DETAILS: Check = object({
  spec: object({ template: lastingTemplate("ReplicaSet"), minReadySeconds: COUNT }),
});

/** A StatefulSet whose pods somebody deletes rolls none. */
const nothingRolls: Check = (value, path, faults) => {
  const { type, rollingUpdate } = mappingOf(value);
  if (type !== "OnDelete" || isAbsent(rollingUpdate)) return;
  const detail = "only allowed for updateStrategy 'RollingUpdate'";
  faults.invalid(below(path, "rollingUpdate"), rollingUpdate, detail, "Remove it.");
};

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
      template: object({ spec: all(SPEC, VOLUMES, noDeadlineIn("StatefulSet")) }),
      minReadySeconds: COUNT,
      updateStrategy: all(UPDATE_STRATEGY, nothingRolls),
      persistentVolumeClaimRetentionPolicy: object({
        whenDeleted: oneOf("", "Delete", "Retain"),
        whenScaled: oneOf("", "Delete", "Retain"),
      }),
      volumeClaimTemplates: list(CLAIM),
    }),
    claimsAreVolumes,
  ),
});

/** A Job that says neither how many pods have to succeed nor how many run at once is one of one pod (`SetDefaults_Job`). */
function completionsOf({ completions, parallelism }: Fields): unknown {
  return isAbsent(completions) && isAbsent(parallelism) ? 1 : completions;
}

const completionsFit: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  if (spec["completionMode"] !== "Indexed" || !isAbsent(completionsOf(spec))) return;
  const detail = "when completion mode is Indexed";
  faults.required(below(path, "completions"), "Write how many pods have to succeed.", detail);
};

const ofIndexes: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const { backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (spec["completionMode"] !== "Indexed") {
    for (const field of ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"])
      if (!isAbsent(spec[field]))
        faults.invalid(below(path, field), spec[field], "requires indexed completion mode", "Remove it.");
  } else if (Number(maxFailedIndexes ?? 0) > Number(completionsOf(spec) ?? 0))
    faults.invalid(
      below(path, "maxFailedIndexes"),
      maxFailedIndexes,
      "must be less than or equal to completions",
      "Write a smaller number.",
    );
  if (!isAbsent(maxFailedIndexes) && isAbsent(backoffLimitPerIndex))
    faults.required(below(path, "backoffLimitPerIndex"), "Write it.", "when maxFailedIndexes is specified");
};

const JOB_SPEC: Check = all(
  object({
    template: TEMPLATE,
    backoffLimit: COUNT,
    ttlSecondsAfterFinished: COUNT,
    activeDeadlineSeconds: integer(0, Number.MAX_SAFE_INTEGER, "must be greater than or equal to 0"),
    backoffLimitPerIndex: COUNT,
    maxFailedIndexes: COUNT,
    podReplacementPolicy: oneOf("Failed", "TerminatingOrFailed"),
  }),
  completionsFit,
  ofIndexes,
);

const selectorIsOwn: Check = (value, path, faults) => {
  const { selector, manualSelector } = mappingOf(value);
  if (isAbsent(selector) || manualSelector === true) return;
  faults.invalid(below(path, "selector"), selector, "`selector` not auto-generated", "Remove it.");
};

export const JOB_DETAILS: Check = object({ spec: all(JOB_SPEC, selectorIsOwn) });

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
    if (schedule.includes("TZ")) return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    const fields = schedule.split(/\s+/).filter((field) => field !== "");
    if (fields.length !== CRON_FIELDS.length) return `expected exactly 5 fields, found ${fields.length}`;
    const bad = fields.find((field, place) => !field.split(",").every((part) => isCronPart(part, place)));
    return bad === undefined ? undefined : `failed to read the field ${JSON.stringify(bad)}`;
  },
  advice: WORDS.adviceCronSchedule,
});

const TIME_ZONE: TextRule = Object.freeze({
  fault(zone: string): string | undefined {
    const isKnown = zone.toLowerCase() !== "local" && isTimeZone(zone);
    return isKnown ? undefined : `unknown time zone ${zone}`;
  },
  advice: "Write a zone such as Etc/UTC.",
});

function isTimeZone(zone: string): boolean {
  try {
    return zone !== "" && new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const noSelector: Check = (value, path, faults) => {
  const { selector, manualSelector } = mappingOf(value);
  if (!isAbsent(selector))
    faults.invalid(below(path, "selector"), selector, "`selector` will be auto-generated", "Remove it.");
  if (manualSelector === true) faults.unsupported(below(path, "manualSelector"), true, ["nil", "false"]);
};

export const CRON_JOB_DETAILS: Check = object({
  spec: object({
    schedule: text(SCHEDULE),
    timeZone: text(TIME_ZONE),
    startingDeadlineSeconds: integer(0, Number.MAX_SAFE_INTEGER, "must be greater than or equal to 0"),
    concurrencyPolicy: oneOf("", "Allow", "Forbid", "Replace"),
    successfulJobsHistoryLimit: COUNT,
    failedJobsHistoryLimit: COUNT,
    jobTemplate: object({ spec: all(JOB_SPEC, noSelector) }),
  }),
});
