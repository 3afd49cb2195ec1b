/** The lists of a namespace's containers and endpoints. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { NamespaceRecord } from "./namespace-record.ts";
import type { ServiceContext } from "../service-context.ts";

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
