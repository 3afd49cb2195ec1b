/**
 * The HTTP API of a served HNS as an OpenAPI 3.1 description, made from the table of operations, the descriptions of
 * objects and `data/facts/hns-api.yaml`. Published as schemas/hns.openapi.json and at `GET /openapi.json`.
 */
import { hnsApi } from "#data/facts.js";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  type Schema,
  component,
  readSchema,
  schemaOf,
} from "#contracts/hcn/description/description-schema.ts";
import { DNS, POLICY, ROUTE } from "#contracts/hcn/documents/base-document.ts";
import { IP_SUBNET, NETWORK, SUBNET } from "#contracts/hcn/documents/network.ts";
import { LOAD_BALANCER, PORT_MAPPING } from "#contracts/hcn/documents/load-balancer.ts";
import { GUEST_NETWORK_SERVICE, MIRRORED_INTERFACE } from "#contracts/hcn/documents/guest-network-service.ts";
import { SDN_ROUTE, SDN_ROUTE_SETTING } from "#contracts/hcn/documents/sdn-route.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { FAULT_PATHS } from "../failures/faults/fault-paths.ts";
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import { HTTP_OPERATIONS, type HttpOperationRow } from "#contracts/hcn/http/http-operations.ts";
import { HTTP_NOTIFICATIONS_PATH, HTTP_PREFIX } from "#contracts/hcn/http/http-protocol.ts";
import { NAMESPACE } from "#contracts/hcn/documents/namespace.ts";

/** Objects and their parts, in the order in which they are published. What is unknown in one is allowed. */
const DESCRIBED = [
  POLICY,
  ROUTE,
  DNS,
  IP_SUBNET,
  SUBNET,
  PORT_MAPPING,
  MIRRORED_INTERFACE,
  SDN_ROUTE_SETTING,
  NETWORK,
  ENDPOINT,
  NAMESPACE,
  LOAD_BALANCER,
  SDN_ROUTE,
  GUEST_NETWORK_SERVICE,
];

function json(schema: Schema): JsonObject {
  return { "application/json": { schema } };
}

/** An answer, and the refusals that every path has. */
function responses(refusals: readonly string[], done: JsonValue): JsonObject {
  const reference = (status: string): JsonObject => ({ $ref: `#/components/responses/Refusal${status}` });
  return { "200": done, ...Object.fromEntries(refusals.map((status) => [status, reference(status)])) };
}

function doneWith(schema: Schema): JsonObject {
  const result: Schema = { type: "object", required: ["result"], properties: { result: schema } };
  return { description: "Done.", content: json(result) };
}

function operationPath(name: string, row: HttpOperationRow, refusals: readonly string[]): JsonObject {
  return {
    post: {
      operationId: name,
      summary: row.summary,
      description: `Windows: ${row.native}.`,
      requestBody: { required: true, content: json(row.request) },
      responses: responses(refusals, doneWith(row.result)),
    },
  };
}

/** The paths of faults. */
function faultPaths(refusals: readonly string[]): Readonly<Record<string, JsonObject>> {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const { method, path, operationId, summary } of FAULT_PATHS) {
    const hasId = path.includes("{id}");
    const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
    const row = (paths[path] ??= {});
    row[method.toLowerCase()] = {
      operationId,
      summary,
      ...(hasId && { parameters: [id] }),
      ...(method === "POST" && { requestBody: { required: true, content: json({ type: "object" }) } }),
      responses: responses(refusals, doneWith({})),
    };
  }
  return paths;
}

/** A path of the table, with what every path may answer. */
function withRefusals(path: JsonObject, refusals: readonly string[]): JsonObject {
  const methods = Object.entries(path).flatMap(([method, operation]) =>
    isJsonObject(operation) && isJsonObject(operation["responses"])
      ? [
          [
            method,
            { ...operation, responses: responses(refusals, operation["responses"]["200"] ?? {}) },
          ] as const,
        ]
      : [],
  );
  return Object.fromEntries(methods);
}

/** The whole description. */
export function hnsOpenApi(): JsonObject {
  const table = CheckedFields.ofTable(hnsApi());
  const meanings = table.within("refusals");
  const refusals = meanings.names();
  const fixed = Object.fromEntries(
    table
      .within("paths")
      .names()
      .map((path) => [path, withRefusals(readSchema(table.within("paths"), path), refusals)] as const),
  );
  const { [HTTP_NOTIFICATIONS_PATH]: notifications = {}, ...others } = fixed;
  const refusal = (description: string): JsonObject => ({ description, content: json(component("Error")) });
  return {
    ...readSchema(table, "head"),
    paths: {
      ...Object.fromEntries(
        Object.entries(HTTP_OPERATIONS).map(([name, row]) => [
          `${HTTP_PREFIX}${name}`,
          operationPath(name, row, refusals),
        ]),
      ),
      [HTTP_NOTIFICATIONS_PATH]: notifications,
      ...faultPaths(refusals),
      ...others,
    },
    components: {
      securitySchemes: readSchema(table, "securitySchemes"),
      responses: Object.fromEntries(
        refusals.map((status) => [`Refusal${status}`, refusal(meanings.text(status))]),
      ),
      schemas: {
        ObjectKind: { enum: [...HCN_KINDS] },
        ...readSchema(table, "parts"),
        ...Object.fromEntries(DESCRIBED.map((each) => [each.name, schemaOf(each)])),
        ...readSchema(table, "calls"),
      },
    },
  };
}
