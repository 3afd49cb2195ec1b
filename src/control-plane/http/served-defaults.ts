/**
 * What an API server adds to objects as it stores them and Mullion does without: defaults of workloads and Services,
 * generations, conditions. kubectl reads them for `rollout status`, `wait` and `describe`. They are added to what is served,
 * so that other outputs show what was written (k8s.io/kubernetes, `pkg/apis/apps/v1/defaults.go`,
 * `pkg/apis/core/v1/defaults.go`; conditions of `pkg/controller/deployment/progress.go`).
 */
import type {
  DaemonSet,
  Deployment,
  KubeKind,
  KubeObject,
  KubeObjects,
  ReplicaSet,
  Service,
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";

type Fields = Readonly<Record<string, unknown>>;
type Workload = Deployment | ReplicaSet | StatefulSet | DaemonSet;

/** `given` over `defaults`, and mappings in them likewise; lists are taken as they are. */
function withDefaults(defaults: Fields, given: Fields): Fields {
  const merged = Object.entries(given).map(([name, value]) => {
    const other = defaults[name];
    return [name, isMapping(value) && isMapping(other) ? withDefaults(other, value) : value] as const;
  });
  return { ...defaults, ...Object.fromEntries(merged.filter(([, value]) => value !== undefined)) };
}

function isMapping(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const POD_SPEC: Fields = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
  securityContext: {},
};
const TEMPLATE: Fields = { spec: POD_SPEC };

const QUARTER = 0.25;

/** Another strategy than the default has no settings of the default. */
function strategyOf(given: unknown, type: string, settings: Fields): Fields {
  const wanted = isMapping(given) ? given : {};
  const isOther = wanted["type"] !== undefined && wanted["type"] !== type;
  return isOther ? wanted : withDefaults({ type, ...settings }, wanted);
}

function deploymentSpec(spec: Fields): Fields {
  const rolling = { rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } };
  return withDefaults(
    { replicas: 1, template: TEMPLATE, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    { ...spec, strategy: strategyOf(spec["strategy"], "RollingUpdate", rolling) },
  );
}

/** Available: at most a quarter may be missing, rounded down. Rollouts are done at once here. */
function deploymentConditions({ spec, status, metadata }: Deployment): readonly object[] {
  const replicas = spec?.replicas ?? 1;
  const available = status?.availableReplicas ?? 0;
  const isAvailable = available >= replicas - Math.floor(replicas * QUARTER);
  const isDone = available >= replicas;
  const at = { lastTransitionTime: metadata.creationTimestamp, lastUpdateTime: metadata.creationTimestamp };
  return [
    {
      type: "Available",
      status: isAvailable ? "True" : "False",
      reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      message: `Deployment ${isAvailable ? "has" : "does not have"} minimum availability.`,
      ...at,
    },
    {
      type: "Progressing",
      status: "True",
      reason: isDone ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
      message: isDone ? "All replicas are available." : "Replicas are not available yet.",
      ...at,
    },
  ];
}

function statefulSetSpec(spec: Fields): Fields {
  return withDefaults(
    { replicas: 1, template: TEMPLATE, podManagementPolicy: "OrderedReady", revisionHistoryLimit: 10 },
    {
      ...spec,
      updateStrategy: strategyOf(spec["updateStrategy"], "RollingUpdate", {
        rollingUpdate: { partition: 0 },
      }),
    },
  );
}

function daemonSetSpec(spec: Fields): Fields {
  const rolling = { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  return withDefaults(
    { template: TEMPLATE, revisionHistoryLimit: 10 },
    { ...spec, updateStrategy: strategyOf(spec["updateStrategy"], "RollingUpdate", rolling) },
  );
}

function serviceSpec(spec: Fields): Fields {
  const isExternalName = spec["type"] === "ExternalName";
  const common = { type: "ClusterIP", sessionAffinity: "None" };
  return withDefaults(isExternalName ? common : { ...common, internalTrafficPolicy: "Cluster" }, spec);
}

/** With the generation of the spec, which the status has seen: what follows from a change is done before it is answered. */
function observed(object: Workload, spec: Fields, status: Fields): object {
  const generation = (object.metadata as { readonly generation?: number }).generation ?? 1;
  return {
    ...object,
    metadata: { ...object.metadata, generation },
    spec,
    status: { observedGeneration: generation, ...status },
  };
}

function specOf({ spec }: Workload | Service): Fields {
  return { ...spec };
}

/** Kinds whose defaults programs miss. */
const FILL: { readonly [Kind in KubeKind]?: (object: KubeObjects[Kind]) => object } = {
  Deployment: (object) =>
    observed(object, deploymentSpec(specOf(object)), {
      conditions: deploymentConditions(object),
      ...object.status,
    }),
  // As its Deployment's: kubectl finds the newest one by an equal template.
  ReplicaSet: (object) =>
    observed(object, withDefaults({ replicas: 1, template: TEMPLATE }, specOf(object)), { ...object.status }),
  StatefulSet: (object) => {
    const revision = `${object.metadata.name}-1`;
    const status = { currentRevision: revision, updateRevision: revision, ...object.status };
    return observed(object, statefulSetSpec(specOf(object)), status);
  },
  DaemonSet: (object) => observed(object, daemonSetSpec(specOf(object)), { ...object.status }),
  Service: (object) => ({ ...object, spec: serviceSpec(specOf(object)) }),
  Pod: (object) => ({ ...object, spec: withDefaults(POD_SPEC, { ...object.spec }) }),
};

/** The object as an API server would have stored it. */
export function withServedDefaults(object: KubeObject): object {
  // An object is of its own kind.
  const fill = FILL[object.kind] as ((object: KubeObject) => object) | undefined;
  return fill?.(object) ?? object;
}
