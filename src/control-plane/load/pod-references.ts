/**
 * What containers of pods cannot start without: ConfigMaps and Secrets of their environment and volumes, claims of volumes. The kubelet
 * waits for each that is not optional (kubernetes.io, tasks/configure-pod-container/configure-pod-configmap and
 * concepts/configuration/secret), so that a pod whose manifests lack one may never be ready. Without its ServiceAccount, its
 * PriorityClass or its GMSA credential spec a pod is not even created (k8s.io/kubernetes, plugin/pkg/admission/serviceaccount and
 * priority; kubernetes.io, tasks/configure-pod-container/configure-gmsa).
 */
import type { Container } from "#contracts/kubernetes/pod.ts";
import type { KubeObject, PodSpec } from "#contracts/kubernetes/objects.ts";
import { podSpecOf } from "#contracts/kubernetes/runtime-class.ts";
import type { LoadedObject } from "./manifests.ts";

interface NamedKind {
  /** As the API serves it; of GMSACredentialSpec each version. */
  readonly version: RegExp;
  readonly isOfCluster?: true;
}

/** Kinds that pods refer to and nothing here carries out: their names and keys are all that is kept. */
const NAMED_ONLY: ReadonlyMap<string, NamedKind> = new Map<string, NamedKind>([
  ["Secret", { version: /^v1$/ }],
  ["PersistentVolumeClaim", { version: /^v1$/ }],
  ["ServiceAccount", { version: /^v1$/ }],
  ["PriorityClass", { version: /^scheduling\.k8s\.io\/v1$/, isOfCluster: true }],
  ["GMSACredentialSpec", { version: /^windows\.k8s\.io\//, isOfCluster: true }],
]);

type ReferredKind =
  | "ConfigMap"
  | "Secret"
  | "PersistentVolumeClaim"
  | "ServiceAccount"
  | "PriorityClass"
  | "GMSACredentialSpec";

/** How an object is called that is kept by its name alone: `Secret shop/creds`, `PriorityClass high`; undefined: it is not. */
export function referenceTo(
  { kind, version }: { readonly kind: string; readonly version: string },
  namespace: string,
  name: string,
): string | undefined {
  const named = NAMED_ONLY.get(kind);
  if (named?.version.test(version) !== true) return undefined;
  return named.isOfCluster === true ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Classes that each cluster has (k8s.io/kubernetes, `pkg/apis/scheduling`). */
const SYSTEM_CLASSES: readonly string[] = ["system-node-critical", "system-cluster-critical"];

interface Referred {
  readonly name?: string | undefined;
  readonly key?: string | undefined;
  readonly optional?: boolean | undefined;
}

/** The cluster makes it in each namespace. */
const ROOT_CERTIFICATE = "kube-root-ca.crt";

type Reference = readonly [kind: ReferredKind, referred: Referred | undefined];

function* ofContainer({ env = [], envFrom = [] }: Container): Generator<Reference> {
  for (const { valueFrom } of env) {
    yield ["ConfigMap", valueFrom?.configMapKeyRef];
    yield ["Secret", valueFrom?.secretKeyRef];
  }
  for (const { configMapRef, secretRef } of envFrom) {
    yield ["ConfigMap", configMapRef];
    yield ["Secret", secretRef];
  }
}

function* ofVolumes({ volumes = [] }: PodSpec): Generator<Reference> {
  for (const { configMap, secret, persistentVolumeClaim, projected } of volumes) {
    yield ["ConfigMap", configMap];
    if (secret !== undefined) yield ["Secret", { name: secret.secretName, optional: secret.optional }];
    if (persistentVolumeClaim !== undefined)
      yield ["PersistentVolumeClaim", { name: persistentVolumeClaim.claimName }];
    for (const source of projected?.sources ?? []) {
      yield ["ConfigMap", source.configMap];
      yield ["Secret", source.secret];
    }
  }
}

function* ofAdmission({ priorityClassName, securityContext, ...spec }: PodSpec): Generator<Reference> {
  if (!SYSTEM_CLASSES.includes(priorityClassName ?? "")) yield ["PriorityClass", { name: priorityClassName }];
  for (const { windowsOptions } of [
    { windowsOptions: securityContext?.windowsOptions },
    ...[...(spec.initContainers ?? []), ...spec.containers].map((each) => ({
      windowsOptions: each.securityContext?.windowsOptions,
    })),
  ])
    yield ["GMSACredentialSpec", { name: windowsOptions?.gmsaCredentialSpecName }];
}

/** The cluster makes it in each namespace, and admission gives it to pods that name none. */
const DEFAULT_ACCOUNT = "default";

/** Claims that a StatefulSet makes for its own pods. */
function ownClaims(object: KubeObject): readonly string[] {
  if (object.kind !== "StatefulSet") return [];
  return (object.spec?.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name ?? "");
}

export interface MissingReference {
  /** `ConfigMap shop/web-config`, or `key "url" of ConfigMap shop/web-config`. */
  readonly reference: string;
  /** The first object whose pods need it. */
  readonly needed: LoadedObject;
  /** How many objects do. */
  readonly count: number;
}

/** Keys by `Secret shop/creds`; what has none of interest has an empty list. */
export type KnownKeys = ReadonlyMap<string, readonly string[]>;

/** What of the references of an object is not known. */
function missingOf(object: KubeObject, spec: PodSpec, known: KnownKeys): ReadonlySet<string> {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const references: Reference[] = [
    ...containers.flatMap((each) => [...ofContainer(each)]),
    ...ofVolumes(spec),
    ...ofAdmission(spec),
  ];
  const { serviceAccountName = spec.serviceAccount ?? "" } = spec;
  if (serviceAccountName !== DEFAULT_ACCOUNT)
    references.push(["ServiceAccount", { name: serviceAccountName }]);
  const claims = ownClaims(object);
  return new Set(
    references.flatMap(([kind, { name = "", key, optional } = {}]): readonly string[] => {
      if (name === "" || optional === true || name === ROOT_CERTIFICATE) return [];
      if (kind === "PersistentVolumeClaim" && claims.includes(name)) return [];
      const isOfCluster = NAMED_ONLY.get(kind)?.isOfCluster === true;
      const reference = `${kind} ${isOfCluster ? "" : `${object.metadata.namespace}/`}${name}`;
      const keys = known.get(reference);
      if (keys === undefined) return [reference];
      return key === undefined || keys.includes(key) ? [] : [`key ${JSON.stringify(key)} of ${reference}`];
    }),
  );
}

/**
 * What pods of `objects` need and nothing brings. Objects of an API server are left out: their pods' status tells.
 *
 * @param named of the kinds of which only names and keys are kept.
 */
export function missingReferences(
  objects: readonly LoadedObject[],
  named: KnownKeys,
): readonly MissingReference[] {
  const known = new Map(named);
  for (const { object } of objects)
    if (object.kind === "ConfigMap")
      known.set(
        `ConfigMap ${object.metadata.namespace}/${object.metadata.name}`,
        Object.keys({ ...object.data, ...object.binaryData }),
      );
  const missing = new Map<string, MissingReference>();
  for (const loaded of objects) {
    const { object } = loaded;
    const spec = object.metadata.uid === "" ? podSpecOf(object) : undefined;
    if (spec === undefined) continue;
    for (const reference of missingOf(object, spec, known)) {
      const { needed, count } = missing.get(reference) ?? { needed: loaded, count: 0 };
      missing.set(reference, { reference, needed, count: count + 1 });
    }
  }
  return [...missing.values()];
}
