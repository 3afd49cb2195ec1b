/**
 * Endpoints and containers: the attach of HNS v1, and the hot attach of HCS (hcn.md §1.7, §4.4, §4.5). A container with
 * a namespace gets endpoints through it; one without has a compartment of its own, made with its first endpoint, and
 * further containers may share that endpoint.
 */
import { type Guid, equalGuids } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  ownCompartmentOf,
  attachEndpoint,
  checkHealthy,
  checkLocal,
  checkSharing,
  checkUnattached,
  detachEndpoint,
  updateEndpoint,
  notifyNetwork,
} from "../endpoint/attachment.ts";
import type { NamespaceRecord, EndpointAttachment, EndpointRecord, VirtualMachinePort } from "../records.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  removeNamespaceEndpoint,
} from "../namespace/namespaces.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JsonReader } from "#contracts/hcn/description/json.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { ComputeSystemRecord } from "../object-tables.ts";

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
  const compartmentId = ownCompartmentOf(context, containerId);
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

// Endpoints behind network adapters of virtual machines (hcn.md §4.5, §9.21).

/** `VmEndpointRequest`. Inferred: the code for one that names no machine, and that a port without an id gets one. */
export function readVirtualMachinePort(context: ServiceContext, reader: JsonReader): VirtualMachinePort {
  const machine = reader.guid("VirtualMachineId");
  const expected = "the GUID of the virtual machine that the port is of";
  const virtualMachineId = reader.needed("VirtualMachineId", machine, expected);
  const portId = reader.guid("PortId") ?? context.prng.guid();
  const nicName = reader.text("VirtualNicName") ?? "";
  return Object.freeze({
    virtualMachineId,
    portId,
    nicName: nicName === "" ? `${virtualMachineId}--${portId}` : nicName,
  });
}

/**
 * Checks that an endpoint can get a port: a namespace of a guest may have it, and nothing else.
 * @throws HcnError HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION, HCN_E_DEGRADED_OPERATION, HCN_E_ENDPOINT_ALREADY_ATTACHED.
 */
export function checkPortFree(endpoint: EndpointRecord): void {
  checkLocal(endpoint, false);
  checkHealthy(endpoint);
  const isElsewhere = endpoint.attachment !== undefined && endpoint.attachment.kind !== "guest";
  if (endpoint.virtualMachine === undefined && !isElsewhere) return;
  throw new HcnError("HCN_E_ENDPOINT_ALREADY_ATTACHED", {
    detail: `Endpoint ${endpoint.id} is attached already; detach it first`,
  });
}

/** Puts an endpoint behind a port of a virtual machine. @throws HcnError as `checkPortFree`. */
export function addVirtualMachinePort(
  context: ServiceContext,
  endpoint: EndpointRecord,
  port: VirtualMachinePort,
): void {
  checkPortFree(endpoint);
  updateEndpoint(context, endpoint, { virtualMachine: Object.freeze(port), isPortGone: false });
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointAttached);
}

/** @throws HcnError HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION, HCN_E_ENDPOINT_NOT_ATTACHED. */
export function removeVirtualMachinePort(context: ServiceContext, endpoint: EndpointRecord): void {
  checkLocal(endpoint, false);
  if (endpoint.virtualMachine === undefined) {
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} has no port of a virtual machine`,
    });
  }
  updateEndpoint(context, endpoint, { virtualMachine: undefined });
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointDetached);
}

/** True when the endpoint is behind a port of `machine`. */
export function isPortOf(endpoint: EndpointRecord, machine: ComputeSystemRecord): boolean {
  const id: Guid | undefined = endpoint.virtualMachine?.virtualMachineId;
  return id !== undefined && (equalGuids(id, machine.id) || equalGuids(id, machine.runtimeId));
}

/** Endpoints behind the ports of a machine. */
export function endpointsOfMachine(
  context: ServiceContext,
  machine: ComputeSystemRecord,
): readonly EndpointRecord[] {
  return context.state.localEndpoints().filter((endpoint) => isPortOf(endpoint, machine));
}
