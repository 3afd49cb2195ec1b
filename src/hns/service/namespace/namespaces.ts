/** Namespaces: create, members, containers, delete (hcn.md §4.5, §2.10). */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import {
  type ModifyRequest,
  parseModifyRequest,
  requestUnsupported,
} from "#contracts/hcn/documents/request.ts";
import type { HostComputeNamespace, NamespaceType } from "#contracts/hcn/documents/namespace.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import {
  attachEndpoint,
  attachToHost,
  checkSharing,
  checkUnattached,
  detachEndpoint,
  updateEndpoint,
  requireEndpoint,
} from "../endpoint/attachment.ts";
import {
  type NamespaceRecord,
  type EndpointAttachment,
  type EndpointRecord,
  HOST_COMPARTMENT,
} from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

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
    const why = WORDS.reattachRefused;
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

/** Open, query and delete of a missing namespace give the Win32 code, not one of HCN's (hcn.md §4.5). */
export function requireNamespace(context: ServiceContext, id: Guid): NamespaceRecord {
  const namespace = context.state.namespaces.get(id);
  if (namespace !== undefined) return namespace;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no namespace ${id}` });
}

/** Its compartment is in a utility VM. */
export function isGuest(namespace: NamespaceRecord): boolean {
  return namespace.type === "Guest" || namespace.type === "GuestDefault";
}

/** Inferred (hcn.md §11.15): a namespace without a type is a Host namespace. */
const DEFAULT_TYPE = "Host";

/** @throws HcnError GCN_E_DEFAULTNAMESPACE_EXISTS for a second GuestDefault (hcn.md §4.5). */
function checkGuestDefault(context: ServiceContext, type: NamespaceType): void {
  if (type !== "GuestDefault") return;
  const present = [...context.state.namespaces.values()].find((other) => other.type === "GuestDefault");
  if (present === undefined) return;
  throw new HcnError("GCN_E_DEFAULTNAMESPACE_EXISTS", {
    detail: `Namespace ${present.id} is the default of guests; delete it first`,
  });
}

/**
 * Inferred (hcn.md §2.4, §11.15): the compartment is made with the namespace, whether `CreateWithCompartment` asks for
 * that or not, because every published namespace has the number of one; a guest's is made in its utility VM.
 */
function compartmentFor(context: ServiceContext, document: HostComputeNamespace): number | undefined {
  const type = document.Type ?? DEFAULT_TYPE;
  if (type === "HostDefault") return HOST_COMPARTMENT;
  if (type !== "Host") return undefined;
  const name = document.Name ?? "";
  return context.datapath.createCompartment(name === "" ? "namespace" : name);
}

/** The dialect a document was written in; containerd writes 0.0 (hcn.md §9.16). */
function schemaOf({ SchemaVersion }: HostComputeNamespace): Partial<Pick<NamespaceRecord, "schemaVersion">> {
  const isOld = SchemaVersion === undefined || (SchemaVersion.Major === 1 && SchemaVersion.Minor === 0);
  return isOld ? {} : { schemaVersion: SchemaVersion };
}

/**
 * Creates a namespace. The compartment's number is the service's choice, whatever `NamespaceId` says; its name is that
 * of the document, so that a trace can say whose it is.
 */
export function createNamespace(
  context: ServiceContext,
  document: HostComputeNamespace,
  wantedId: Guid | undefined,
  isBuiltIn = false,
): Guid {
  const id = context.newId(wantedId ?? document.ID, context.state.namespaces, "a namespace");
  checkGuestDefault(context, document.Type ?? DEFAULT_TYPE);
  const namespace: NamespaceRecord = Object.freeze({
    ...context.baseOf(id, document),
    ...schemaOf(document),
    type: document.Type ?? DEFAULT_TYPE,
    compartmentId: compartmentFor(context, document),
    compartmentGuid: context.prng.guid(),
    containers: Object.freeze([]),
    endpointIds: Object.freeze([]),
    isBuiltIn,
    wasUsed: false,
    isTeardownBlocked: false,
  });
  context.state.namespaces.set(id, namespace);
  context.changed("Namespace", id);
  context.notify(NOTIFICATION_TYPES.NamespaceCreate, id);
  return id;
}

/** The host's own namespace, compartment 1, which always exists (hcn.md §2.4). */
export function createHostNamespace(context: ServiceContext): void {
  createNamespace(context, { Type: "HostDefault" }, undefined, true);
}

/** Takes a namespace away with its compartment; its endpoints are the caller's. */
export function removeNamespace(context: ServiceContext, namespace: NamespaceRecord): void {
  context.state.namespaces.delete(namespace.id);
  if (namespace.compartmentId !== undefined && namespace.compartmentId !== HOST_COMPARTMENT)
    context.datapath.removeCompartment(namespace.compartmentId);
  context.changed("Namespace", namespace.id);
}

/** Why a namespace cannot be deleted; undefined when it can. */
function obstacleOf({ isBuiltIn, containers, isTeardownBlocked }: NamespaceRecord): string | undefined {
  if (isBuiltIn) return "The default namespace of the host cannot be deleted";
  if (containers.length > 0)
    return `Containers are in the namespace: ${containers.join(", ")}; remove them first`;
  return isTeardownBlocked ? "Its teardown is stuck since it was refused; restart the node" : undefined;
}

/**
 * Deletes a namespace; its endpoints stay, detached (Inferred), and its compartment goes. One with containers stays, and
 * shows that its teardown is blocked (hcn.md §4.5, microsoft/Windows-Containers#485).
 * @throws HcnError HCN_E_REQUEST_UNSUPPORTED while containers are in it, where it is stuck since, and for the host's own
 *   namespace.
 */
export function deleteNamespace(context: ServiceContext, id: Guid): void {
  const namespace = requireNamespace(context, id);
  const obstacle = obstacleOf(namespace);
  if (obstacle !== undefined) {
    if (!namespace.isBuiltIn) updateNamespace(context, namespace, { isTeardownBlocked: true });
    throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", { detail: obstacle, explanation: "hns-namespace-stuck" });
  }
  for (const endpointId of namespace.endpointIds) {
    const endpoint = context.state.endpoints.get(endpointId);
    if (endpoint !== undefined) detachEndpoint(context, endpoint);
  }
  removeNamespace(context, namespace);
  context.notify(NOTIFICATION_TYPES.NamespaceDelete, id);
}

function attachInNamespace(
  context: ServiceContext,
  namespace: NamespaceRecord,
  endpoint: EndpointRecord,
): EndpointRecord {
  if (namespace.compartmentId === HOST_COMPARTMENT) return attachToHost(context, endpoint, namespace.id);
  const attachment: EndpointAttachment = isGuest(namespace)
    ? { kind: "guest", namespaceId: namespace.id, portId: undefined }
    : { kind: "namespace", namespaceId: namespace.id, portId: context.prng.guid() };
  return attachEndpoint(context, endpoint, Object.freeze(attachment));
}

function checkNoPort(endpoint: EndpointRecord): void {
  if (endpoint.virtualMachine === undefined) return;
  throw new HcnError("HCN_E_ENDPOINT_ALREADY_ATTACHED", {
    detail: `Endpoint ${endpoint.id} is behind a port of virtual machine ${endpoint.virtualMachine.virtualMachineId}`,
  });
}

/** Adds an endpoint: its vNIC appears in the namespace's compartment. */
export function addNamespaceEndpoint(
  context: ServiceContext,
  namespace: NamespaceRecord,
  endpointId: Guid,
): void {
  const endpoint = requireEndpoint(context, endpointId);
  checkUnattached(endpoint, true);
  // Inferred: behind the port of a virtual machine it can be in a guest's namespace only.
  if (!isGuest(namespace)) checkNoPort(endpoint);
  checkSharing(context, endpoint, Math.max(0, namespace.containers.length - 1));
  const attached = attachInNamespace(context, namespace, endpoint);
  updateNamespace(context, namespace, {
    endpointIds: Object.freeze([...namespace.endpointIds, endpoint.id]),
  });
  if (namespace.containers.length > 0)
    updateEndpoint(context, attached, { containers: namespace.containers });
}

/** Inferred: an endpoint that is not in the namespace is "element not found". */
export function removeNamespaceEndpoint(
  context: ServiceContext,
  namespace: NamespaceRecord,
  endpointId: Guid,
): void {
  const endpoint = requireEndpoint(context, endpointId);
  if (endpoint.attachment?.namespaceId !== namespace.id) {
    throw new HcnError("ERROR_NOT_FOUND", {
      detail: `Endpoint ${endpointId} is not in namespace ${namespace.id}`,
    });
  }
  detachEndpoint(context, endpoint);
  updateNamespace(context, namespace, {
    endpointIds: Object.freeze(namespace.endpointIds.filter((id) => id !== endpoint.id)),
  });
}

function modifyEndpointMember(
  context: ServiceContext,
  namespace: NamespaceRecord,
  request: ModifyRequest<"Namespace">,
): void {
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const endpointId = reader.needed("EndpointId", reader.guid("EndpointId"), "the GUID of an endpoint");
  if (request.requestType === "Add") addNamespaceEndpoint(context, namespace, endpointId);
  else removeNamespaceEndpoint(context, namespace, endpointId);
}

function modifyContainerMember(
  context: ServiceContext,
  namespace: NamespaceRecord,
  request: ModifyRequest<"Namespace">,
): void {
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const containerId = reader.text("ContainerId");
  if (containerId === undefined || containerId === "")
    throw reader.fail("ContainerId", "the id of a container");
  if (request.requestType === "Add") addNamespaceContainer(context, namespace, containerId);
  else removeNamespaceContainer(context, namespace, containerId);
}

/** Carries out a modify request. */
export function modifyNamespace(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const namespace = requireNamespace(context, id);
  const request = parseModifyRequest("Namespace", settings);
  const isMembership = request.requestType === "Add" || request.requestType === "Remove";
  if (!isMembership || request.resourceType === undefined) throw requestUnsupported(request, "namespaces");
  if (request.resourceType === "Endpoint") modifyEndpointMember(context, namespace, request);
  else modifyContainerMember(context, namespace, request);
}
