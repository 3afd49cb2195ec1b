/** What the controllers of workloads write into their status: how many pods there are, and how many are ready. */
import { isReady, isTerminating } from "#contracts/kubernetes/pod.ts";
import type { DaemonSet, Deployment, Pod, ReplicaSet, StatefulSet } from "#contracts/kubernetes/objects.ts";

/** Workloads whose status counts pods. */
export type CountedWorkload = Deployment | ReplicaSet | StatefulSet | DaemonSet;

export const COUNTED_KINDS = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] as const;

function countsOf(pods: readonly Pod[]): { readonly all: number; readonly ready: number } {
  const living = pods.filter((pod) => !isTerminating(pod));
  return { all: living.length, ready: living.filter(isReady).length };
}

/**
 * The status of a workload whose pods are `pods`, with the fields that `kubectl get` shows (apps/v1). Every pod is of the
 * newest template, because rollouts are done at once here, and available as soon as it is ready.
 */
export function workloadStatus(workload: CountedWorkload, pods: readonly Pod[]): CountedWorkload["status"] {
  const { all, ready } = countsOf(pods);
  switch (workload.kind) {
    case "Deployment":
      return {
        replicas: all,
        updatedReplicas: all,
        readyReplicas: ready,
        availableReplicas: ready,
        unavailableReplicas: all - ready,
      };
    case "ReplicaSet":
      return { replicas: all, fullyLabeledReplicas: all, readyReplicas: ready, availableReplicas: ready };
    case "StatefulSet":
      return {
        replicas: all,
        currentReplicas: all,
        updatedReplicas: all,
        readyReplicas: ready,
        availableReplicas: ready,
      };
    case "DaemonSet":
      return {
        desiredNumberScheduled: all,
        currentNumberScheduled: all,
        updatedNumberScheduled: all,
        numberMisscheduled: 0,
        numberReady: ready,
        numberAvailable: ready,
        numberUnavailable: all - ready,
      };
  }
}

/** True when both say the same, whatever other fields the stored one has. */
export function equalStatus(stored: CountedWorkload["status"], wanted: CountedWorkload["status"]): boolean {
  const known = (stored ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(wanted ?? {}).every(([field, value]) => known[field] === value);
}
