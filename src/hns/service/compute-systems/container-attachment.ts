/**
 * Endpoints and containers: the attach of HNS v1, and the hot attach of HCS (hcn.md §1.7, §4.4, §4.5). A container with
 * a namespace gets endpoints through it; one without has a compartment of its own, made with its first endpoint, and
 * further containers may share that endpoint.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  attachEndpoint,
  checkHealthy,
  checkLocal,
  checkSharing,
  checkUnattached,
  detachEndpoint,
  updateEndpoint,
} from "../endpoint/attachment.ts";
import type { EndpointAttachment, EndpointRecord } from "../endpoint/endpoint-record.ts";
import type { NamespaceRecord } from "../namespace/namespace-record.ts";
import { addNamespaceContainer } from "../namespace/namespaces.ts";
import { addNamespaceEndpoint, removeNamespaceEndpoint } from "../namespace/namespaces.ts";
import type { ServiceContext } from "../service-context.ts";
import { compartmentOf } from "./compartments.ts";

/** The namespace that a container is in; undefined when it is in none. */
export function namespaceOfContainer(
  context: ServiceContext,
  containerId: string,
): NamespaceRecord | undefined {
  const { state, computeSystems } = context;
  // The registry knows; who is known by name alone has to be looked for.
  const system = computeSystems.get(containerId);
  if (system !== undefined) return state.namespaceOf(system.namespaceId);
  return [...state.namespaces.values()].find(({ containers }) => containers.includes(containerId));
}

/**
 * Containers are those of the registry, and those that were put into a namespace by name alone.
 * @throws HcnError HCS_E_SYSTEM_NOT_FOUND.
 */
export function requireContainer(context: ServiceContext, containerId: string): void {
  if (context.computeSystems.get(containerId)?.systemType === "Container") return;
  if (namespaceOfContainer(context, containerId) !== undefined) return;
  throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", {
    detail: `There is no container ${JSON.stringify(containerId)} on this node`,
  });
}

function alreadyAttached(endpoint: EndpointRecord, containerId: string): HcnError {
  return new HcnError("HCN_E_ENDPOINT_ALREADY_ATTACHED", {
    detail: `Endpoint ${endpoint.id} is attached to container ${containerId}`,
  });
}

/**
 * Checks that `endpoint` can be given to a container that is in no namespace.
 * @throws HcnError as `attachToContainer`.
 */
export function checkContainerAttach(
  context: ServiceContext,
  endpoint: EndpointRecord,
  containerId: string,
): void {
  checkLocal(endpoint, false);
  checkHealthy(endpoint);
  if (endpoint.containers.includes(containerId)) throw alreadyAttached(endpoint, containerId);
  const isShared = endpoint.attachment?.kind === "container" || endpoint.attachment?.kind === "namespace";
  if (isShared) checkSharing(context, endpoint, endpoint.containers.length);
  else checkUnattached(endpoint, false);
  if (endpoint.wasUsed && context.hasQuirk("reattach-refused"))
    throw new HcnError("HCN_E_NAMESPACE_ATTACH_FAILED", {
      detail: `Containers used endpoint ${endpoint.id} before; this build attaches an endpoint once`,
      explanation: "hns-endpoint-attached-once",
    });
}

/** Gives an endpoint to a container that is in no namespace. */
function attachToOwnCompartment(
  context: ServiceContext,
  endpoint: EndpointRecord,
  containerId: string,
): void {
  checkContainerAttach(context, endpoint, containerId);
  const containers = Object.freeze([...endpoint.containers, containerId]);
  if (endpoint.attachment?.kind === "container") {
    updateEndpoint(context, endpoint, { containers });
    return;
  }
  const namespace = context.state.namespaceOf(endpoint.attachment?.namespaceId);
  if (namespace !== undefined) {
    addNamespaceContainer(context, namespace, containerId);
    return;
  }
  const compartmentId = compartmentOf(context, containerId);
  const attachment: EndpointAttachment = {
    kind: "container",
    namespaceId: undefined,
    compartmentId,
    portId: context.prng.guid(),
  };
  const attached = attachEndpoint(context, endpoint, Object.freeze(attachment));
  updateEndpoint(context, attached, { containers });
}

/**
 * Attaches an endpoint to a container.
 * @throws HcnError HCS_E_SYSTEM_NOT_FOUND, HCN_E_ENDPOINT_ALREADY_ATTACHED, HCN_E_ENDPOINT_SHARING_DISABLED,
 *   HCN_E_DEGRADED_OPERATION, HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION, HCN_E_NAMESPACE_ATTACH_FAILED.
 */
export function attachToContainer(
  context: ServiceContext,
  endpoint: EndpointRecord,
  containerId: string,
): void {
  requireContainer(context, containerId);
  const namespace = namespaceOfContainer(context, containerId);
  if (namespace === undefined) {
    attachToOwnCompartment(context, endpoint, containerId);
    return;
  }
  checkLocal(endpoint, false);
  if (endpoint.containers.includes(containerId)) throw alreadyAttached(endpoint, containerId);
  addNamespaceEndpoint(context, namespace, endpoint.id);
}

/**
 * Takes an endpoint from a container; with the last one its vNIC goes.
 * @throws HcnError HCS_E_SYSTEM_NOT_FOUND, HCN_E_ENDPOINT_NOT_ATTACHED.
 */
export function detachFromContainer(
  context: ServiceContext,
  endpoint: EndpointRecord,
  containerId: string,
): void {
  if (!endpoint.containers.includes(containerId)) {
    requireContainer(context, containerId);
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} is not attached to container ${containerId}`,
    });
  }
  const namespace = context.state.namespaceOf(endpoint.attachment?.namespaceId);
  if (namespace !== undefined) {
    removeNamespaceEndpoint(context, namespace, endpoint.id);
    return;
  }
  const containers = endpoint.containers.filter((id) => id !== containerId);
  if (containers.length > 0) {
    updateEndpoint(context, endpoint, { containers: Object.freeze(containers) });
    return;
  }
  detachEndpoint(context, endpoint);
}

/** Endpoints that a container has. */
export function endpointsOfContainer(
  context: ServiceContext,
  containerId: string,
): readonly EndpointRecord[] {
  return context.state.localEndpoints().filter((endpoint) => endpoint.containers.includes(containerId));
}

/** Ids of `endpointsOfContainer`. */
export function endpointIdsOfContainer(context: ServiceContext, containerId: string): readonly Guid[] {
  return endpointsOfContainer(context, containerId).map((endpoint) => endpoint.id);
}
