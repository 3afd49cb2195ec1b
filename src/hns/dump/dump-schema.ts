/** The JSON schema of our own dumps (schemas/hns-dump.v1alpha1.json). */
import type { JsonSchema } from "#core/base/json-schema.ts";
import { DUMP_KINDS, DUMP_VERSION } from "#contracts/hcn/dumps.ts";

const GUID: JsonSchema = {
  type: "string",
  pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
};
const VERSION_PART: JsonSchema = { type: "integer", minimum: 0 };

const OBJECT: JsonSchema = {
  type: "object",
  description: "One object, in the form in which the durable store keeps it.",
  required: ["kind", "id", "document"],
  properties: {
    kind: { enum: [...DUMP_KINDS] },
    id: GUID,
    document: { type: "object", description: "The object as an HCN query with schema 2.0 returns it." },
    internal: {
      type: "object",
      description:
        "What the service knows beyond the document. May be left out; its fields change between versions.",
    },
    v1: {
      type: "object",
      description:
        "The object in v1 form, where a dump of a node showed it so. Its fields come back in v1 results.",
    },
  },
};

/** JSON schema, draft 7. Fields that it does not name are kept for later versions and ignored. */
export function dumpSchema(): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Mullion dump of HNS",
    description: "What mullion hns dump writes and mullion hns restore reads.",
    type: "object",
    required: ["apiVersion", "kind", "objects"],
    properties: {
      apiVersion: { const: DUMP_VERSION },
      kind: { const: "HnsDump" },
      service: {
        type: "object",
        description: "The service that it comes from; absent for a file that was converted.",
        properties: {
          node: { type: "string" },
          version: {
            type: "object",
            description: "Of HNS, as GET /globals/version returns it.",
            required: ["Major", "Minor"],
            properties: { Major: VERSION_PART, Minor: VERSION_PART },
          },
        },
      },
      objects: { type: "array", items: OBJECT, description: "Networks first, then what refers to them." },
    },
  };
}
