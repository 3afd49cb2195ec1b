/** Namespaces in stored form. */
import { NAMESPACE_TYPES } from "#contracts/hcn/documents/namespace.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import {
  HOST_COMPARTMENT,
  NAMESPACE_STATES,
  type NamespaceRecord,
} from "../service/namespace/namespace-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { namespaceDocument, namespaceDocumentV1 } from "../view/namespace-view.ts";
import { readBaseFields } from "./base-fields.ts";
import type { LenientReader } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";

function members(reader: LenientReader, type: string): readonly string[] {
  const resources: readonly JsonObject[] = reader.objects("Resources");
  const ids = resources
    .filter((resource) => resource["Type"] === type)
    .map((resource) => reader.inside(resource).at("Data", "Id"));
  return Object.freeze(ids.filter((id) => typeof id === "string"));
}

function read(context: ServiceContext, reader: LenientReader): NamespaceRecord {
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
  read,
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
