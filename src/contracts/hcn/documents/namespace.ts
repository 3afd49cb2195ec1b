/** `HostComputeNamespace` (hcn.md §2.4). */
import type { BaseDocument } from "./base-document.ts";
import { readBase } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { JsonReader, present } from "../description/json.ts";

/** Types at their number in the schema. */
export const NAMESPACE_TYPES = ["Host", "HostDefault", "Guest", "GuestDefault"] as const;
export type NamespaceType = (typeof NAMESPACE_TYPES)[number];

export const NAMESPACE_RESOURCE_TYPES = ["Container", "Endpoint"] as const;
export type NamespaceResourceType = (typeof NAMESPACE_RESOURCE_TYPES)[number];

/** A container or endpoint of a namespace. Containers carry their HCS id, endpoints their GUID. */
export interface NamespaceResource {
  readonly Type: NamespaceResourceType;
  readonly Data: { readonly Id: string };
}

export interface HostComputeNamespace extends BaseDocument {
  /** Id of the compartment. */
  readonly NamespaceId?: number;
  readonly NamespaceGuid?: Guid;
  readonly Type?: NamespaceType;
  readonly Resources?: readonly NamespaceResource[];
  readonly CreateWithCompartment?: boolean;
}

function readResource(reader: JsonReader): NamespaceResource {
  const Type = reader.enumeration("Type", NAMESPACE_RESOURCE_TYPES);
  const Id = reader.object("Data")?.text("Id");
  if (Type === undefined) throw reader.fail("Type", "Container or Endpoint");
  if (Id === undefined) throw reader.fail("Data", 'an object with the field "Id"');
  return Object.freeze({ Type, Data: Object.freeze({ Id }) });
}

/**
 * Checks the shape of a v2 namespace document.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseNamespace(document: JsonValue): HostComputeNamespace {
  const reader = JsonReader.of(document, "namespace", "HCN_E_INVALID_JSON");
  return present<HostComputeNamespace>({
    ...readBase(reader),
    NamespaceId: reader.u32("NamespaceId"),
    NamespaceGuid: reader.guid("NamespaceGuid"),
    Type: reader.enumeration("Type", NAMESPACE_TYPES),
    Resources: reader.list("Resources", readResource),
    CreateWithCompartment: reader.boolean("CreateWithCompartment"),
  });
}
