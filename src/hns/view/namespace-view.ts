/** A namespace as results show it, in both dialects (hcn.md §2.4, §9.16). */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import { NAMESPACE, type NamespaceResource } from "#contracts/hcn/documents/namespace.ts";
import { printerOf } from "#contracts/hcn/description/object-json.ts";
import { type NamespaceRecord, NAMESPACE_STATES } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import { flagsOfValues } from "#contracts/hcn/v1-form/v1-form.ts";
import { baseValues, healthData, sortFields, allocator, resourcesDocument } from "./document-fields.ts";

function resourceList(namespace: NamespaceRecord): readonly NamespaceResource[] {
  return [
    ...namespace.containers.map((id) => ({ Type: "Container", Data: { Id: id } }) as const),
    ...namespace.endpointIds.map((id) => ({ Type: "Endpoint", Data: { Id: id } }) as const),
  ];
}

/** The allocator tagged `Network Compartment`; guests have none on the host. */
function resources(context: ServiceContext, namespace: NamespaceRecord): JsonObject | undefined {
  if (namespace.compartmentId === undefined) return undefined;
  const compartment = allocator(context, namespace, "Network Compartment", {
    CompartmentGuid: formatUpperGuid(namespace.compartmentGuid),
    CompartmentId: namespace.compartmentId,
    CompartmentType: 0,
  });
  return resourcesDocument(context, namespace, [compartment]);
}

/** What was written in no dialect reads as 2.0. */
function inV2(namespace: NamespaceRecord): NamespaceRecord {
  return namespace.schemaVersion.Major >= 2 ? namespace : { ...namespace, schemaVersion: SCHEMA_V2_0 };
}

/**
 * The namespace's `State` (hcn.md §2.10). Inferred: one whose teardown was blocked is as before when its containers are
 * gone.
 */
function namespaceState(namespace: NamespaceRecord): number {
  return namespace.isTeardownBlocked ? NAMESPACE_STATES.TeardownBlocked : NAMESPACE_STATES.Healthy;
}

const PRINTER = printerOf(NAMESPACE);

/** A namespace in v2 shape. */
export function namespaceDocument(context: ServiceContext, namespace: NamespaceRecord): JsonObject {
  const allocated = resources(context, namespace);
  const health: JsonObject = {
    Data: healthData(context, namespace, []),
    ...(allocated !== undefined && { Extra: { Resources: allocated } }),
  };
  const document = PRINTER.print({
    ...baseValues(inV2(namespace), namespaceState(namespace)),
    Health: health,
    NamespaceId: namespace.compartmentId,
    NamespaceGuid: namespace.compartmentGuid,
    Type: namespace.type,
    Resources: resourceList(namespace),
  });
  return withKept(document, namespace.kept?.v2);
}

/** A namespace in v1 shape. */
export function namespaceDocumentV1(context: ServiceContext, namespace: NamespaceRecord): JsonObject {
  return sortFields(
    withKept(
      {
        ActivityId: formatUpperGuid(namespace.activityId),
        AdditionalParams: namespace.additionalParams ?? {},
        CompartmentGuid: formatUpperGuid(namespace.compartmentGuid),
        CompartmentId: namespace.compartmentId ?? 0,
        Containers: namespace.containers,
        Flags: 0,
        Health: healthData(context, namespace, []),
        ID: formatUpperGuid(namespace.id),
        ...flagsOfValues(NAMESPACE, { Type: namespace.type }),
        Policies: [],
        ResourceList: resourceList(namespace),
        Resources: resources(context, namespace),
        // Only documents that say 0.0, as containerd's do, were seen to come back with one.
        SchemaVersion: namespace.schemaVersion.Major === 0 ? { ...namespace.schemaVersion } : undefined,
        State: namespaceState(namespace),
        Version: namespace.version,
      },
      namespace.kept?.v1,
    ),
  );
}

/** The fields that filters compare: the names of v1, and those of v2 where they differ (hcn.md §5.1). */
export function namespaceFilterFields(_context: ServiceContext, namespace: NamespaceRecord): JsonObject {
  return {
    ID: namespace.id,
    Name: namespace.name,
    Owner: namespace.owner,
    Type: namespace.type,
    CompartmentId: namespace.compartmentId ?? 0,
    NamespaceId: namespace.compartmentId ?? 0,
    CompartmentGuid: namespace.compartmentGuid,
    NamespaceGuid: namespace.compartmentGuid,
    ...flagsOfValues(NAMESPACE, { Type: namespace.type }),
    State: namespaceState(namespace),
  };
}
