/** What containers and guests are in, in stored form: namespaces and guest network services. */
import { NAMESPACE_TYPES } from "#contracts/hcn/documents/namespace.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import {
  HOST_COMPARTMENT,
  NAMESPACE_STATES,
  type NamespaceRecord,
} from "../service/namespace/namespace-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { namespaceDocument, namespaceDocumentV1 } from "../view/namespace-view.ts";
import { type LenientReader, readBaseFields } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";
import {
  GUEST_NETWORK_SERVICE_STATES,
  parseGuestNetworkService,
} from "#contracts/hcn/documents/guest-network-service.ts";
import type { GuestNetworkServiceRecord } from "../service/guest/guest-network-service-record.ts";
import { guestNetworkServiceDocument } from "../view/guest-network-service-view.ts";

function members(reader: LenientReader, type: string): readonly string[] {
  const resources: readonly JsonObject[] = reader.objects("Resources");
  const ids = resources
    .filter((resource) => resource["Type"] === type)
    .map((resource) => reader.inside(resource).at("Data", "Id"));
  return Object.freeze(ids.filter((id) => typeof id === "string"));
}

function readNamespace(context: ServiceContext, reader: LenientReader): NamespaceRecord {
  const compartmentId = reader.number("NamespaceId");
  const endpointIds = members(reader, "Endpoint").map(parseGuid);
  return {
    ...readBaseFields(context, reader),
    type: reader.attempt((strict) => strict.enumeration("Type", NAMESPACE_TYPES)) ?? "Host",
    compartmentId: compartmentId === 0 ? undefined : compartmentId,
    compartmentGuid: reader.guid("NamespaceGuid") ?? "",
    containers: members(reader, "Container"),
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

export const STORED_NAMESPACE: StoredKindRow = storedKind<NamespaceRecord>({
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

export const STORED_GUEST_NETWORK_SERVICE: StoredKindRow = storedKind<GuestNetworkServiceRecord>({
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
