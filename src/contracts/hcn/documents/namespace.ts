/** `HostComputeNamespace` (hcn.md §2.4). */
import { BASE } from "./base-document.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { ObjectOf } from "../description/description.ts";
import { JsonReader } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** The one place that names the fields of a namespace; `description.ts` says what comes from it. */
export const NAMESPACE = {
  text: "A namespace.",
  name: "HostComputeNamespace",
  base: (): typeof BASE => BASE,
  fields: {
    NamespaceId: {
      is: "u32",
      text: "The id of its compartment.",
      absent: "chosen by the service",
      v1: { answer: "CompartmentId", none: 0 },
    },
    NamespaceGuid: {
      is: "guid",
      text: "The GUID of its compartment.",
      absent: "chosen by the service",
      v1: { answer: "CompartmentGuid" },
    },
    Type: {
      is: "enumeration",
      names: ["Host", "HostDefault", "Guest", "GuestDefault"],
      text: (): string => WORDS.namespaceType,
      absent: "Host",
      v1: { dump: "Type" },
    },
    Resources: {
      is: "list",
      of: {
        text: "A member.",
        fields: {
          Type: { is: "enumeration", names: ["Container", "Endpoint"], text: "What it is.", v1: "Type" },
          Data: {
            is: "object",
            of: {
              text: "Who.",
              fields: {
                Id: {
                  is: "text",
                  text: "Of a container its HCS id, of an endpoint its GUID.",
                  v1: "Data.Id",
                },
              },
              needs: ["Id"],
            },
            text: "Who it is.",
          },
        },
        needs: ["Type", "Data"],
      },
      text: "The containers and endpoints in it.",
      absent: "none",
      v1: { answer: "ResourceList" },
    },
    CreateWithCompartment: { is: "boolean", text: "Of a request: the compartment is made with it." },
  },
  always: ["ID", "Type", "SchemaVersion"],
  v1Only: {
    IsDefault: {
      is: "boolean",
      text: "It is the host's compartment: `Type` HostDefault.",
      flag: { of: "Type", for: ["HostDefault", "GuestDefault"] },
    },
  },
} as const;

export const NAMESPACE_TYPES: (typeof NAMESPACE)["fields"]["Type"]["names"] = NAMESPACE.fields.Type.names;
export type NamespaceType = (typeof NAMESPACE_TYPES)[number];

type Members = (typeof NAMESPACE)["fields"]["Resources"]["of"];
export const NAMESPACE_RESOURCE_TYPES: Members["fields"]["Type"]["names"] =
  NAMESPACE.fields.Resources.of.fields.Type.names;
export type NamespaceResourceType = (typeof NAMESPACE_RESOURCE_TYPES)[number];

export type HostComputeNamespace = ObjectOf<typeof NAMESPACE>;
/** A container or endpoint of a namespace. Containers carry their HCS id, endpoints their GUID. */
export type NamespaceResource = ObjectOf<Members>;

const READER: ObjectReader<HostComputeNamespace> = readerOf(NAMESPACE);

/**
 * Checks the shape of a v2 namespace document.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseNamespace(document: JsonValue): HostComputeNamespace {
  return READER.read(JsonReader.of(document, "namespace", "HCN_E_INVALID_JSON"));
}
