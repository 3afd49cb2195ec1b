/**
 * Compute systems: create, change, end (hcn.md §4.5). A container in a namespace has the namespace's endpoints; what it
 * was given besides, and what a virtual machine has, is attached to it alone.
 */
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import {
  type ComputeSystemRequest,
  parseAdapterRequest,
  parseComputeSystem,
} from "#contracts/hcn/documents/compute-system-document.ts";
import type { ComputeSystem } from "#contracts/hcn/compute-systems.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { HCS_NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { NamespaceRecord, EndpointRecord } from "../records.ts";
import { releaseCompartment, requireEndpoint } from "../endpoint/attachment.ts";
import { addNamespaceContainer, removeNamespaceContainer } from "../namespace/namespaces.ts";
import type { ServiceContext } from "../service-context.ts";
import {
  addVirtualMachinePort,
  checkPortFree,
  endpointsOfMachine,
  removeVirtualMachinePort,
  attachToContainer,
  checkContainerAttach,
  detachFromContainer,
  endpointIdsOfContainer,
  endpointsOfContainer,
  namespaceOfContainer,
} from "./container-attachment.ts";
import type { ComputeSystemRecord } from "../object-tables.ts";

/** Longer ones are refused; HCS documents no limit, and ids in use have 64 characters. */
const ID_LENGTH_MAX = 256;

/** HCS's `SystemExitStatus` of a system that was terminated. */
const FORCED_EXIT: JsonObject = Object.freeze({ Status: 0, ExitType: "ForcedExit" });

function checkId(context: ServiceContext, id: string): void {
  if (id === "" || id.length > ID_LENGTH_MAX) {
    throw new HcnError("HCS_E_SYSTEM_INVALID_CONFIGURATION", {
      detail: `A compute system's id has 1 to ${ID_LENGTH_MAX} characters`,
    });
  }
  if (context.computeSystems.get(id) === undefined) return;
  throw new HcnError("HCS_E_SYSTEM_ALREADY_EXISTS", { detail: `There is a compute system ${id} already` });
}

/** @throws HcnError HCN_E_NAMESPACE_ATTACH_FAILED: a container does not start in a namespace that is not there. */
function namespaceFor(context: ServiceContext, request: ComputeSystemRequest): NamespaceRecord | undefined {
  const shared = request.sharedContainer;
  const sharedId = shared === undefined ? undefined : context.computeSystems.require(shared).namespaceId;
  const id = request.namespaceId ?? sharedId;
  const namespace = context.state.namespaceOf(id);
  if (id === undefined || namespace !== undefined) return namespace;
  throw new HcnError("HCN_E_NAMESPACE_ATTACH_FAILED", { detail: `There is no namespace ${id}` });
}

/** What a container gets besides its namespace: named endpoints, and those of the container that it shares. */
function endpointsFor(context: ServiceContext, request: ComputeSystemRequest): readonly EndpointRecord[] {
  const shared = request.sharedContainer;
  const ids = new Set([
    ...(shared === undefined ? [] : endpointIdsOfContainer(context, shared)),
    ...request.endpointIds,
  ]);
  return [...ids].map((id) => requireEndpoint(context, id));
}

function startContainer(
  context: ServiceContext,
  system: ComputeSystemRecord,
  request: ComputeSystemRequest,
): void {
  const namespace = namespaceFor(context, request);
  const named = namespace === undefined ? endpointsFor(context, request) : [];
  for (const endpoint of named) checkContainerAttach(context, endpoint, system.id);
  context.computeSystems.set(system);
  if (namespace === undefined) {
    for (const endpoint of named)
      attachToContainer(context, requireEndpoint(context, endpoint.id), system.id);
    return;
  }
  try {
    addNamespaceContainer(context, namespace, system.id);
  } catch (error) {
    context.computeSystems.remove(system.id);
    throw error;
  }
}

function startMachine(
  context: ServiceContext,
  system: ComputeSystemRecord,
  request: ComputeSystemRequest,
): void {
  const endpoints = [...new Set(request.endpointIds)].map((id) => requireEndpoint(context, id));
  for (const endpoint of endpoints) checkPortFree(endpoint);
  context.computeSystems.set(system);
  for (const endpoint of endpoints) addPortFor(context, endpoint, system);
}

function addPortFor(
  context: ServiceContext,
  endpoint: EndpointRecord,
  machine: ComputeSystemRecord,
  adapterId?: string,
): void {
  const portId = parseGuid(adapterId) ?? context.prng.guid();
  const virtualMachineId = machine.runtimeId;
  addVirtualMachinePort(context, endpoint, {
    virtualMachineId,
    portId,
    nicName: `${virtualMachineId}--${portId}`,
  });
}

/**
 * Creates and starts a compute system.
 * @throws HcnError HCS_E_SYSTEM_INVALID_CONFIGURATION, HCS_E_SYSTEM_ALREADY_EXISTS, HCN_E_NAMESPACE_ATTACH_FAILED.
 */
export function createComputeSystem(context: ServiceContext, id: string, document: JsonObject): void {
  checkId(context, id);
  const request = parseComputeSystem(document);
  const system: ComputeSystemRecord = {
    id,
    systemType: request.systemType,
    owner: request.owner,
    // A machine whose id is a GUID is known by it (hcn.md §9.21).
    runtimeId: parseGuid(id) ?? context.prng.derive(`compute system ${id}`).guid(),
    namespaceId: undefined,
    compartmentId: undefined,
  };
  if (request.systemType === "Container") startContainer(context, system, request);
  else startMachine(context, system, request);
}

function findAdapter(context: ServiceContext, machine: ComputeSystemRecord, adapterId: string): Guid {
  const found = endpointsOfMachine(context, machine).find(
    (endpoint) => endpoint.virtualMachine?.portId === adapterId.toLowerCase(),
  );
  if (found !== undefined) return found.id;
  throw new HcnError("ERROR_NOT_FOUND", {
    detail: `Compute system ${machine.id} has no network adapter ${adapterId}`,
  });
}

/**
 * Adds or removes a network adapter of a running system: the hot attach of hcsshim.
 * @throws HcnError HCS_E_SYSTEM_NOT_FOUND, and as attaching and detaching do.
 */
export function modifyComputeSystem(context: ServiceContext, id: string, document: JsonObject): void {
  const system = context.computeSystems.require(id);
  const request = parseAdapterRequest(document);
  const endpointId =
    request.endpointId === undefined ? findAdapter(context, system, request.adapterId) : request.endpointId;
  const endpoint = requireEndpoint(context, endpointId);
  if (system.systemType === "Container") {
    if (request.requestType === "Add") attachToContainer(context, endpoint, id);
    else detachFromContainer(context, endpoint, id);
    return;
  }
  if (request.requestType === "Add") addPortFor(context, endpoint, system, request.adapterId);
  else removeVirtualMachinePort(context, endpoint);
}

/** Ends a compute system and detaches what was attached to it. @throws HcnError HCS_E_SYSTEM_NOT_FOUND. */
export function terminateComputeSystem(context: ServiceContext, id: string): void {
  const system = context.computeSystems.require(id);
  const namespace = namespaceOfContainer(context, id);
  if (namespace !== undefined) removeNamespaceContainer(context, namespace, id);
  if (system.systemType === "VirtualMachine")
    for (const endpoint of endpointsOfMachine(context, system)) removeVirtualMachinePort(context, endpoint);
  // Endpoints of its own are in a compartment of its own.
  else if (system.compartmentId !== undefined || namespace === undefined)
    for (const endpoint of endpointsOfContainer(context, id)) detachFromContainer(context, endpoint, id);
  context.computeSystems.remove(id);
  if (system.compartmentId !== undefined) releaseCompartment(context, system.compartmentId);
  context.notifyComputeSystem(id, HCS_NOTIFICATION_TYPES.SystemExited, system.runtimeId, FORCED_EXIT);
}

/** Ids of endpoints by what they are attached to: ids of containers, runtime ids of machines. */
function adaptersBySystem(context: ServiceContext): ReadonlyMap<string, readonly Guid[]> {
  const adapters = new Map<string, Guid[]>();
  for (const { id, containers, virtualMachine } of context.state.localEndpoints()) {
    const machine =
      virtualMachine && context.computeSystems.findVirtualMachine(virtualMachine.virtualMachineId);
    for (const owner of machine === undefined ? containers : [...containers, machine.runtimeId]) {
      const known = adapters.get(owner) ?? [];
      adapters.set(owner, known);
      known.push(id);
    }
  }
  return adapters;
}

/** All compute systems as the list shows them. */
export function listComputeSystems(context: ServiceContext): readonly ComputeSystem[] {
  const adapters = adaptersBySystem(context);
  return context.computeSystems.list().map((system) => {
    const key = system.systemType === "Container" ? system.id : system.runtimeId;
    return {
      Id: system.id,
      SystemType: system.systemType,
      Owner: system.owner,
      RuntimeId: system.runtimeId,
      State: "Running",
      ...(system.namespaceId !== undefined && { Namespace: system.namespaceId }),
      NetworkAdapters: (adapters.get(key) ?? []).map((EndpointId) => ({ EndpointId })),
    };
  });
}
