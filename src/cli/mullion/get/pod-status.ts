/** What kubectl says of a pod in its columns READY and STATUS. */
import type { Pod } from "#contracts/kubernetes/objects.ts";

function isReady(pod: Pod): boolean {
  return (pod.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}

/** How many containers are ready; without statuses of containers the pod's own condition speaks for all. */
export function readyContainers(pod: Pod): number {
  const statuses = pod.status?.containerStatuses;
  if (statuses !== undefined && statuses.length > 0) return statuses.filter(({ ready }) => ready).length;
  return isReady(pod) ? (pod.spec?.containers.length ?? 0) : 0;
}

/** The reason for which a container waits or ended, when it is not simply running. */
function containerReason(pod: Pod): string | undefined {
  const states = (pod.status?.containerStatuses ?? []).map(({ state }) => state);
  const reasons = states.map((state) => state?.waiting?.reason ?? state?.terminated?.reason);
  return reasons.find((reason) => reason !== undefined);
}

/** `Running`, `Pending`, `Terminating`, `CrashLoopBackOff` … */
export function podStatus(pod: Pod): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating";
  return pod.status?.reason ?? containerReason(pod) ?? pod.status?.phase ?? "Unknown";
}
