/** Questions about pods that several parts ask. */
import type { Pod, PodSpec } from "./objects.ts";

export type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

export type Container = PodSpec["containers"][number];

/** An init container that goes on running beside the others (KEP-753). */
export function isSidecar(container: Container | undefined): boolean {
  return container?.restartPolicy === "Always";
}

/** The containers that run as long as their pod: what they declare counts for it. */
export function lastingContainers(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)];
}

/** Whether a pod's containers run as processes of the Windows host (KEP-1981): in the host compartment. */
export function isHostProcess(pod: { readonly spec?: PodSpec }): boolean {
  const spec = pod.spec;
  const inherited = spec?.securityContext?.windowsOptions?.hostProcess;
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  if (containers.length === 0) return inherited === true;
  return containers.some(
    ({ securityContext }) => (securityContext?.windowsOptions?.hostProcess ?? inherited) === true,
  );
}

/** Whether a pod asks for the network of its node. Windows gives it to HostProcess pods only. */
export function isHostNetwork(pod: { readonly spec?: PodSpec }): boolean {
  return pod.spec?.hostNetwork === true;
}

/** Whether the containers have ended for good. */
export function isFinished({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The status of a condition: `True`, `False`, `Unknown`, or undefined when the pod has no such condition. */
export function conditionOf({ status }: Pod, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, "Ready") === "True";
}

/** Reasons of a container that waits for its pod's network and volumes, and has no fault of its own. */
const NOT_YET: readonly string[] = ["ContainerCreating", "PodInitializing"];

/** Why a container does not run, as the pod's status tells; undefined when it runs, or nothing is told. */
export function faultOfContainer({
  state,
}: ContainerStatus): { readonly reason: string; readonly message: string } | undefined {
  const stopped = state?.waiting ?? state?.terminated;
  if (stopped === undefined || NOT_YET.includes(stopped.reason ?? "")) return undefined;
  return { reason: stopped.reason ?? "Error", message: stopped.message ?? "" };
}

/** The containers that do not run, by name: no program of theirs listens or sends. */
export function stoppedContainers({ status }: Pod): ReadonlySet<string> {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return new Set(statuses.flatMap((each) => (faultOfContainer(each) === undefined ? [] : [each.name])));
}

/** True when none of the pod's containers runs: it may have an address, and nothing that answers there. */
export function isWithoutProcess(pod: Pod): boolean {
  const stopped = stoppedContainers(pod);
  const containers = lastingContainers(pod.spec);
  return containers.length > 0 && containers.every(({ name }) => stopped.has(name));
}

/** All addresses of a pod, the first one first. */
export function podAddresses({ status }: Pod): readonly string[] {
  const all = (status?.podIPs ?? []).map(({ ip }) => ip).filter((ip) => ip !== "");
  if (all.length > 0) return all;
  const { podIP } = status ?? {};
  return podIP === undefined || podIP === "" ? [] : [podIP];
}

/** The controller that made an object. */
export function controllerOf({ metadata }: Pick<Pod, "metadata">): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true);
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}
