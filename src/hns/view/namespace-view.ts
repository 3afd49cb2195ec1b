/** A namespace as results show it, in both dialects (hcn.md §2.4, §9.16). */
import type { JsonObject } from "../../hcn/client.ts";
import { formatUpperGuid } from "../../hcn/guid.ts";
import type { NamespaceRecord } from "../namespace-record.ts";
import type { ServiceContext } from "../service-context.ts";
import { withKept } from "../stored/kept-fields.ts";
import { baseFields, healthData, sortFields, withoutDefaults } from "./document-fields.ts";

const NAMESPACE_STATE = 1;

function resourceList(namespace: NamespaceRecord): readonly JsonObject[] {
  return [
    ...namespace.containers.map((id) => ({ Type: "Container", Data: { Id: id } })),
    ...namespace.endpointIds.map((id) => ({ Type: "Endpoint", Data: { Id: id } })),
  ];
}

/** The allocator tagged `Network Compartment`; guests have none on the host. */
function resources(context: ServiceContext, namespace: NamespaceRecord): JsonObject | undefined {
  if (namespace.compartmentId === undefined) return undefined;
  const allocator = {
    AdditionalParams: {},
    AllocationOrder: 0,
    CompartmentGuid: formatUpperGuid(namespace.compartmentGuid),
    CompartmentId: namespace.compartmentId,
    CompartmentType: 0,
    Flags: 0,
    Health: { LastErrorCode: 0, LastUpdateTime: context.fileTime(namespace.changedAtMs) },
    ID: formatUpperGuid(namespace.activityId),
    IsPolicy: false,
    State: 3,
    Tag: "Network Compartment",
  };
  return {
    AdditionalParams: {},
    AllocationOrder: 1,
    Allocators: [allocator],
    CompartmentOperationTime: 0,
    Flags: 0,
    ID: formatUpperGuid(namespace.activityId),
    PortOperationTime: 0,
    State: 1,
    SwitchOperationTime: 0,
    VfpOperationTime: 0,
  };
}

/** A namespace in v2 shape. */
export function namespaceDocument(context: ServiceContext, namespace: NamespaceRecord): JsonObject {
  const allocated = resources(context, namespace);
  const health: JsonObject = {
    Data: healthData(context, namespace, []),
    ...(allocated !== undefined && { Extra: { Resources: allocated } }),
  };
  return withKept(
    withoutDefaults({
      ...baseFields(namespace, health, NAMESPACE_STATE),
      NamespaceId: namespace.compartmentId,
      NamespaceGuid: namespace.compartmentGuid,
      Type: namespace.type,
      Resources: resourceList(namespace),
    }),
    namespace.kept?.v2,
  );
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
        IsDefault: namespace.type === "HostDefault" || namespace.type === "GuestDefault",
        Policies: [],
        ResourceList: resourceList(namespace),
        Resources: resources(context, namespace),
        State: NAMESPACE_STATE,
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
    IsDefault: namespace.type === "HostDefault" || namespace.type === "GuestDefault",
    State: NAMESPACE_STATE,
  };
}
