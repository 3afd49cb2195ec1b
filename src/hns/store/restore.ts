/**
 * All objects of a service in stored form, and a service that is made from them: the records first, then what they stand
 * for in the datapath. Nothing is checked as a request is; what contradicts the rest is kept, out of use, and noted.
 */
import { HcnError } from "#contracts/hcn/error.ts";
import { plugIn } from "../service/endpoint/attachment.ts";
import { removeEndpoint } from "../service/endpoint/endpoints.ts";
import { deleteGuestNetworkService } from "../service/guest/guest-network-services.ts";
import { removeLoadBalancer } from "../service/load-balancer/load-balancers.ts";
import { createHostNamespace, removeNamespace } from "../service/namespace/namespaces.ts";
import { createOwnNetworks } from "../service/network/own-networks.ts";
import { deleteNetwork } from "../service/network/networks.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { removeSdnRoute } from "../service/sdn-routes.ts";
import { type LenientReader, type Report, readBaseFields } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";
import type {
  ImportedObject,
  RestoreNote,
  RestoreOptions,
  StoredKind,
  StoredObject,
} from "./stored-object.ts";
import { NO_GLOBALS, GLOBALS_ID } from "../service/state.ts";
import { STORED_ENDPOINT } from "./stored-endpoint.ts";
import { STORED_LOAD_BALANCER, STORED_SDN_ROUTE } from "./stored-policy-lists.ts";
import { STORED_NETWORK } from "./stored-network.ts";
import { NAMESPACE_TYPES } from "#contracts/hcn/documents/namespace.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import {
  type GuestNetworkServiceRecord,
  type NamespaceRecord,
  HOST_COMPARTMENT,
  NAMESPACE_STATES,
} from "../service/records.ts";
import { namespaceDocument, namespaceDocumentV1 } from "../view/namespace-view.ts";
import {
  GUEST_NETWORK_SERVICE_STATES,
  parseGuestNetworkService,
} from "#contracts/hcn/documents/guest-network-service.ts";
import { guestNetworkServiceDocument } from "../view/guest-network-service-view.ts";

// What containers and guests are in, in stored form: namespaces and guest network services.

function membersOf(reader: LenientReader, type: string): readonly string[] {
  const resources: readonly JsonObject[] = reader.objects("Resources");
  const ids = resources
    .filter((resource) => resource["Type"] === type)
    .map((resource) => reader.inside(resource).at("Data", "Id"));
  return Object.freeze(ids.filter((id) => typeof id === "string"));
}

function readNamespace(context: ServiceContext, reader: LenientReader): NamespaceRecord {
  const compartmentId = reader.number("NamespaceId");
  const endpointIds = membersOf(reader, "Endpoint").map(parseGuid);
  return {
    ...readBaseFields(context, reader),
    type: reader.attempt((strict) => strict.enumeration("Type", NAMESPACE_TYPES)) ?? "Host",
    compartmentId: compartmentId === 0 ? undefined : compartmentId,
    compartmentGuid: reader.guid("NamespaceGuid") ?? "",
    containers: membersOf(reader, "Container"),
    endpointIds: Object.freeze(endpointIds.filter((id): id is Guid => id !== undefined)),
    isBuiltIn: false,
    wasUsed: false,
    isTeardownBlocked: reader.number("State") === NAMESPACE_STATES.TeardownBlocked,
  };
}

/** The compartment comes back under its number. */
function compartmentOf(context: ServiceContext, namespace: NamespaceRecord): number | undefined {
  if (namespace.type === "HostDefault") return HOST_COMPARTMENT;
  if (namespace.type !== "Host") return undefined;
  const name = namespace.name === "" ? "namespace" : namespace.name;
  return context.datapath.createCompartment(name, namespace.compartmentId);
}

const STORED_NAMESPACE: StoredKindRow = storedKind<NamespaceRecord>({
  kind: "Namespace",
  records: (state) => state.namespaces,
  document: namespaceDocument,
  documentV1: namespaceDocumentV1,
  replace: (state, namespace) => state.namespaces.set(namespace.id, namespace),
  read: readNamespace,
  enter: (context, namespace, report) => {
    const compartmentId = compartmentOf(context, namespace);
    if (namespace.compartmentId !== undefined && compartmentId !== namespace.compartmentId)
      report(`Compartment ${namespace.compartmentId} is taken; the namespace has ${compartmentId ?? "none"}`);
    const { compartmentGuid } = namespace;
    const record: NamespaceRecord = {
      ...namespace,
      compartmentId,
      compartmentGuid: compartmentGuid === "" ? context.prng.guid() : compartmentGuid,
    };
    context.state.namespaces.set(record.id, Object.freeze(record));
  },
});

// Guest network services. The ports that they had reserved are not: handles end with the service.

function readGuestNetworkService(context: ServiceContext, reader: LenientReader): GuestNetworkServiceRecord {
  const document = reader.attempt((strict) => parseGuestNetworkService(strict.whole()));
  return {
    ...readBaseFields(context, reader),
    virtualMachineId: document?.VirtualMachineId ?? ZERO_GUID,
    mirrorsHost: document?.MirrorHostNetworking ?? false,
    rpcServer: document?.GnsRpcServerInformation,
    flags: document?.Flags ?? 0,
    state: GUEST_NETWORK_SERVICE_STATES[reader.number("State")] ?? "Created",
    interfaces: Object.freeze([]),
  };
}

const STORED_GUEST_NETWORK_SERVICE: StoredKindRow = storedKind<GuestNetworkServiceRecord>({
  kind: "GuestNetworkService",
  records: (state) => state.guestNetworkServices,
  document: guestNetworkServiceDocument,
  documentV1: guestNetworkServiceDocument,
  replace: (state, service) => state.guestNetworkServices.set(service.id, service),
  read: readGuestNetworkService,
  enter: (context, service) => {
    context.state.guestNetworkServices.set(service.id, Object.freeze(service));
  },
});

// What belongs to no object, in stored form: one entry, there as long as it differs from what a new service has.

function storedGlobals(context: ServiceContext): StoredObject | undefined {
  const { accelnetMacs } = context.state.globals;
  if (accelnetMacs.length === 0) return undefined;
  return { kind: "Globals", id: GLOBALS_ID, document: { AccelnetMacs: accelnetMacs } };
}

/** Takes everything away that belongs to no object. */
function clearGlobals(context: ServiceContext): void {
  if (context.state.globals === NO_GLOBALS) return;
  context.state.setGlobals(NO_GLOBALS);
  context.changed("Globals", GLOBALS_ID);
}

const STORED_GLOBALS: StoredKindRow = {
  kind: "Globals",
  list: (context) => {
    const stored = storedGlobals(context);
    return stored === undefined ? [] : [stored];
  },
  store: (context) => storedGlobals(context),
  ids: (context) => (storedGlobals(context) === undefined ? [] : [GLOBALS_ID]),
  enter: (context, { document }, report) => {
    const macs = document["AccelnetMacs"];
    if (!Array.isArray(macs) || !macs.every((mac) => typeof mac === "string")) {
      report("AccelnetMacs is not a list of texts; left out");
      return undefined;
    }
    context.state.setGlobals({ accelnetMacs: Object.freeze([...macs]) });
    return GLOBALS_ID;
  },
  keep: () => undefined,
};

/**
 * The kinds that are stored, each one row, in the order in which they come back: what stands below may refer to what
 * stands above.
 */
const STORED_KINDS: readonly StoredKindRow[] = [
  STORED_NETWORK,
  STORED_NAMESPACE,
  STORED_ENDPOINT,
  STORED_LOAD_BALANCER,
  STORED_SDN_ROUTE,
  STORED_GUEST_NETWORK_SERVICE,
  STORED_GLOBALS,
];

/** All objects, by kind and then in order of creation. */
export function exportObjects(context: ServiceContext): readonly StoredObject[] {
  return STORED_KINDS.flatMap((row) => row.list(context));
}

/** The row of a kind; undefined for a kind that is not stored. */
export function storedRowOf(kind: StoredKind): StoredKindRow | undefined {
  return STORED_KINDS.find((row) => row.kind === kind);
}

/** Takes all objects away, with what they have in the datapath. No listener is told. */
export function clearObjects(context: ServiceContext): void {
  const { state } = context;
  for (const each of state.loadBalancers.values()) removeLoadBalancer(context, each);
  for (const each of state.sdnRoutes.values()) removeSdnRoute(context, each);
  for (const id of state.guestNetworkServices.keys()) deleteGuestNetworkService(context, id);
  for (const each of state.endpoints.values()) removeEndpoint(context, each);
  for (const each of state.namespaces.values()) removeNamespace(context, each);
  for (const id of state.networks.keys()) deleteNetwork(context, id);
  clearGlobals(context);
  context.takeNotifications();
}

/** Namespaces list the endpoints that are attached in them, and no others. */
function settleMembers(context: ServiceContext, report: (id: string) => Report): void {
  const { state } = context;
  const members = new Map<string, string[]>();
  for (const endpoint of state.endpoints.values()) {
    const namespaceId = endpoint.attachment?.namespaceId;
    if (namespaceId === undefined) continue;
    const ids = members.get(namespaceId) ?? [];
    members.set(namespaceId, ids);
    ids.push(endpoint.id);
  }
  for (const namespace of state.namespaces.values()) {
    const present = members.get(namespace.id) ?? [];
    const isPresent = new Set(present);
    const listed = namespace.endpointIds.filter((id) => isPresent.has(id));
    const isListed = new Set(listed);
    const gone = namespace.endpointIds.filter((id) => !isPresent.has(id));
    if (gone.length > 0) report(namespace.id)(`Endpoint ${gone.join(", ")} is not in it; taken off its list`);
    if (gone.length === 0 && listed.length === present.length) continue;
    const endpointIds = Object.freeze([...listed, ...present.filter((id) => !isListed.has(id))]);
    state.namespaces.set(namespace.id, Object.freeze({ ...namespace, endpointIds }));
  }
}

/** The host's own namespace always exists (hcn.md §2.4). */
function settleBuiltIn(context: ServiceContext): void {
  const { state } = context;
  const all = [...state.namespaces.values()];
  if (all.some((namespace) => namespace.isBuiltIn)) return;
  const host = all.find((namespace) => namespace.type === "HostDefault");
  if (host === undefined) createHostNamespace(context);
  else state.namespaces.set(host.id, Object.freeze({ ...host, isBuiltIn: true }));
}

/** Blocks of ports of load balancers; what finds none left is without, as after an update that shares them less. */
function reservePorts(context: ServiceContext, report: (id: string) => Report): void {
  for (const loadBalancer of context.state.loadBalancers.values()) {
    try {
      context.ports.reserveServicePorts(loadBalancer);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      report(loadBalancer.id)(error.message);
    }
  }
}

/** Makes the vNICs of attached endpoints, and programs all ports. */
function settleDatapath(context: ServiceContext, report: (id: string) => Report): void {
  const { state } = context;
  for (const endpoint of state.endpoints.values()) {
    if (endpoint.attachment !== undefined) plugIn(context, endpoint);
  }
  reservePorts(context, report);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
}

/** @returns what of the objects is not as it was, in words. */
export function restoreObjects(
  context: ServiceContext,
  objects: readonly ImportedObject[],
  options: RestoreOptions = {},
): readonly RestoreNote[] {
  const notes: RestoreNote[] = [];
  const reportOn =
    (kind: StoredKind, id: string): Report =>
    (text) => {
      notes.push({ kind, id, text });
    };
  const entered: (() => void)[] = [];
  clearObjects(context);
  if (options.incarnation !== undefined) context.reseed(options.incarnation);
  for (const row of STORED_KINDS)
    for (const object of objects)
      if (object.kind === row.kind) {
        const id = row.enter(context, object, reportOn(object.kind, object.id));
        if (id !== undefined) entered.push(() => row.keep(context, id, object));
      }
  for (const { kind, id } of objects)
    if (storedRowOf(kind) === undefined) reportOn(kind, id)(`Objects of kind ${kind} are not restored`);
  // What the service adds of its own from here on is news to the store.
  if (options.areStored === true) context.takeChanges();
  createOwnNetworks(context);
  settleMembers(context, (id) => reportOn("Namespace", id));
  settleBuiltIn(context);
  settleDatapath(context, (id) => reportOn("LoadBalancer", id));
  // Last: what is shown of an object depends on the others, such as counts and names.
  if (options.keepsUnknownFields === true) for (const keep of entered) keep();
  context.takeNotifications();
  if (options.areStored !== true)
    for (const row of STORED_KINDS) for (const id of row.ids(context)) context.changed(row.kind, id);
  return notes;
}
