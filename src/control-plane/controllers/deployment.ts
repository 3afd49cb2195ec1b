/**
 * The Deployment controller (k8s.io/kubernetes, `pkg/controller/deployment`): one ReplicaSet per template, the present
 * one with all replicas, the others with none. It goes straight to the end of a rollout.
 */
import { canonicalJson, equalJson } from "../memory/deep.ts";
import { templateHash } from "../memory/admission/names.ts";
import { ownerReferenceTo } from "../memory/admission/pod-template.ts";
import type { Deployment, PodTemplateSpec, ReplicaSet } from "#contracts/kubernetes/objects.ts";
import { type WantedChanges, NO_CHANGES } from "./changes.ts";

const HASH_LABEL = "pod-template-hash";
const REVISION = "deployment.kubernetes.io/revision";
const REVISIONS_KEPT = 10;

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0) || 0;
}

/** The template without the label that tells ReplicaSets apart. */
function plainTemplate(template: PodTemplateSpec | undefined): unknown {
  const { [HASH_LABEL]: _, ...labels } = template?.metadata?.labels ?? {};
  return {
    metadata: { labels, annotations: template?.metadata?.annotations ?? {} },
    spec: template?.spec,
  };
}

/** The ReplicaSet with the present template. */
export function presentReplicaSet(
  deployment: Deployment,
  own: readonly ReplicaSet[],
): ReplicaSet | undefined {
  const wanted = plainTemplate(deployment.spec?.template);
  return own.find(({ spec }) => equalJson(plainTemplate(spec?.template), wanted));
}

function makeReplicaSet(
  deployment: Deployment,
  revision: number,
  isTaken: (name: string) => boolean,
): ReplicaSet {
  const template: PodTemplateSpec = deployment.spec?.template ?? {};
  const text = canonicalJson(template);
  const { name: base, namespace } = deployment.metadata;
  let hash = templateHash(text);
  // As with a collision of hashes in Kubernetes, a count goes into the next one.
  for (let count = 1; isTaken(`${base}-${hash}`); count++) hash = templateHash(`${text}${count}`);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const selector = deployment.spec?.selector;
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${base}-${hash}`,
      namespace,
      uid: "",
      resourceVersion: "",
      labels,
      annotations: { [REVISION]: String(revision) },
      ownerReferences: [ownerReferenceTo(deployment)],
    },
    spec: {
      replicas: deployment.spec?.replicas ?? 1,
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function scaled(replicaSet: ReplicaSet, replicas: number): ReplicaSet | undefined {
  const { spec } = replicaSet;
  if (spec === undefined || (spec.replicas ?? 1) === replicas) return undefined;
  return { ...replicaSet, spec: { ...spec, replicas } };
}

/** ReplicaSets to make, scale and forget; `own` are those that the Deployment controls. */
export function reconcileDeployment(
  deployment: Deployment,
  own: readonly ReplicaSet[],
  isTaken: (name: string) => boolean,
): WantedChanges {
  const replicas = deployment.spec?.replicas ?? 1;
  const isPaused = deployment.spec?.paused === true;
  const latest = own.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  const present = presentReplicaSet(deployment, own) ?? (isPaused ? latest : undefined);
  if (present === undefined && isPaused) return NO_CHANGES;
  const revision = latest === undefined ? 1 : revisionOf(latest) + 1;
  const create = present === undefined ? [makeReplicaSet(deployment, revision, isTaken)] : [];
  const old = own.filter((replicaSet) => replicaSet !== present);
  const kept = deployment.spec?.revisionHistoryLimit ?? REVISIONS_KEPT;
  const remove = old.toSorted((a, b) => revisionOf(b) - revisionOf(a)).slice(kept);
  const update = [
    ...(present === undefined ? [] : [scaled(present, replicas)]),
    ...old.filter((replicaSet) => !remove.includes(replicaSet)).map((replicaSet) => scaled(replicaSet, 0)),
  ].filter((replicaSet) => replicaSet !== undefined);
  return { create, update, remove };
}
