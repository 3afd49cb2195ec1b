/** What is in a namespace: the lists of its containers and endpoints, and what a container that comes or goes does. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { NamespaceRecord } from "./namespace-record.ts";
import type { ServiceContext } from "../service-context.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { checkSharing, updateEndpoint } from "../endpoint/attachment.ts";
import type { EndpointRecord } from "../endpoint/endpoint-record.ts";

/** Replaces a namespace's record and notes it for the store. */
export function updateNamespace(
  context: ServiceContext,
  namespace: NamespaceRecord,
  changes: Partial<NamespaceRecord>,
): NamespaceRecord {
  const updated: NamespaceRecord = Object.freeze({ ...namespace, ...changes, changedAtMs: context.nowMs });
  context.state.namespaces.set(updated.id, updated);
  context.changed("Namespace", updated.id);
  return updated;
}

/** Takes an endpoint off a namespace's list; a namespace that is gone is ignored. */
export function removeFromNamespace(context: ServiceContext, namespaceId: Guid, endpointId: Guid): void {
  const namespace = context.state.namespaces.get(namespaceId);
  if (namespace === undefined) return;
  const endpointIds = namespace.endpointIds.filter((id) => id !== endpointId);
  updateNamespace(context, namespace, { endpointIds: Object.freeze(endpointIds) });
}

// Containers: what one meets that starts there, and who shares the endpoints (hcn.md §4.5, §2.10).

/** All endpoints of a namespace are shared by all its containers (hcn.md §2.10). */
function setContainers(
  context: ServiceContext,
  namespace: NamespaceRecord,
  containers: readonly string[],
): void {
  const list = Object.freeze([...containers]);
  const isOver = list.length === 0;
  const isTeardownBlocked =
    namespace.isTeardownBlocked && (!isOver || context.hasQuirk("namespace-deletion-stuck"));
  updateNamespace(context, namespace, {
    containers: list,
    wasUsed: namespace.wasUsed || isOver,
    isTeardownBlocked,
  });
  for (const endpoint of endpointsIn(context, namespace))
    updateEndpoint(context, endpoint, { containers: list, wasUsed: endpoint.wasUsed || isOver });
}

function endpointsIn(context: ServiceContext, namespace: NamespaceRecord): readonly EndpointRecord[] {
  return namespace.endpointIds
    .map((id) => context.state.endpoints.get(id))
    .filter((endpoint) => endpoint !== undefined);
}

function attachFailed(namespace: NamespaceRecord, why: string, explanation?: KnowledgeCode): HcnError {
  const detail = `A container cannot start in namespace ${namespace.id}: ${why}`;
  return new HcnError("HCN_E_NAMESPACE_ATTACH_FAILED", {
    detail,
    ...(explanation !== undefined && { explanation }),
  });
}

/**
 * What a container that starts in a namespace meets. A registered one has one namespace at most.
 * @throws HcnError HCN_E_NAMESPACE_ATTACH_FAILED, HCN_E_ENDPOINT_SHARING_DISABLED.
 */
function checkContainerStart(context: ServiceContext, namespace: NamespaceRecord, containerId: string): void {
  const endpoints = endpointsIn(context, namespace);
  const other = context.computeSystems.get(containerId)?.namespaceId;
  if (other !== undefined) throw attachFailed(namespace, `container ${containerId} is in namespace ${other}`);
  const degraded = endpoints.find((endpoint) => endpoint.degraded !== undefined);
  if (degraded !== undefined)
    throw attachFailed(namespace, `endpoint ${degraded.id} is degraded`, "hns-object-degraded");
  const isUsed = namespace.wasUsed || endpoints.some((endpoint) => endpoint.wasUsed);
  if (isUsed && context.hasQuirk("reattach-refused")) {
    const why = "containers were in it before, and this build attaches a namespace or endpoint once";
    throw attachFailed(namespace, why, "hns-endpoint-attached-once");
  }
  for (const endpoint of endpoints) checkSharing(context, endpoint, namespace.containers.length);
}

/** Enters in the registry which namespace a container is in. */
function tieContainer(context: ServiceContext, containerId: string, namespaceId: Guid | undefined): void {
  const system = context.computeSystems.get(containerId);
  if (system !== undefined) context.computeSystems.set({ ...system, namespaceId });
}

/**
 * Puts a container into a namespace: one that the registry knows, or one that is known by name alone.
 * @throws HcnError as `checkContainerStart`.
 */
export function addNamespaceContainer(
  context: ServiceContext,
  namespace: NamespaceRecord,
  containerId: string,
): void {
  if (namespace.containers.includes(containerId)) return;
  checkContainerStart(context, namespace, containerId);
  setContainers(context, namespace, [...namespace.containers, containerId]);
  tieContainer(context, containerId, namespace.id);
}

export function removeNamespaceContainer(
  context: ServiceContext,
  namespace: NamespaceRecord,
  containerId: string,
): void {
  if (!namespace.containers.includes(containerId)) {
    throw new HcnError("ERROR_NOT_FOUND", {
      detail: `Container ${containerId} is not in namespace ${namespace.id}`,
    });
  }
  setContainers(
    context,
    namespace,
    namespace.containers.filter((id) => id !== containerId),
  );
  tieContainer(context, containerId, undefined);
}
