/**
 * The HTTP API of a served HNS as an OpenAPI 3.1 description, made from the table of operations. Published as
 * schemas/hns.openapi.json and at `GET /openapi.json`.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { DUMP_PATH, RESTORE_PATH } from "#contracts/hcn/http/dump-protocol.ts";
import { type Schema, component } from "#contracts/hcn/description/description-schema.ts";
import { DOCUMENT_SCHEMAS } from "#contracts/hcn/description/document-schemas.ts";
import { FAULT_PATHS } from "../failures/faults/fault-paths.ts";
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import { HTTP_OPERATIONS, type HttpOperationRow } from "#contracts/hcn/http/http-operations.ts";
import { HTTP_NOTIFICATIONS_PATH, HTTP_PREFIX } from "#contracts/hcn/http/http-protocol.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** Of the description, not of the program. */
const API_VERSION = "1.0.0";

const REFUSALS: Readonly<Record<string, string>> = {
  "400": "Refused: the document or request is wrong.",
  "401": "The token is missing or wrong.",
  "404": "The object is not there.",
  "409": "Something is there already, or still used.",
  "413": "The request is longer than 10 MiB.",
  "500": WORDS.responseInternalError,
  "501": "This version of HNS has no such call.",
  "503": "The service is stopping, or its store fails.",
};

function json(schema: Schema): JsonObject {
  return { "application/json": { schema } };
}

/** By status, for each path. */
function refusals(): Readonly<Record<string, JsonObject>> {
  const reference = (status: string): JsonObject => ({ $ref: `#/components/responses/Refusal${status}` });
  return Object.fromEntries(Object.keys(REFUSALS).map((status) => [status, reference(status)]));
}

/** What the references mean. */
function refusalComponents(): Readonly<Record<string, JsonObject>> {
  const answer = (description: string): JsonObject => ({ description, content: json(component("Error")) });
  const entries = Object.entries(REFUSALS).map(([status, text]): [string, JsonObject] => [
    `Refusal${status}`,
    answer(text),
  ]);
  return Object.fromEntries(entries);
}

/** The schema of an operation's request. */
function requestSchema({ request }: HttpOperationRow): Schema {
  const fields = Object.entries(request);
  const required = fields.filter(([, field]) => field.isRequired === true).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
    ...(required.length > 0 && { required }),
  };
}

function operationPath(name: string, row: HttpOperationRow): JsonObject {
  const result: Schema = { type: "object", required: ["result"], properties: { result: row.result } };
  return {
    post: {
      operationId: name,
      summary: row.summary,
      description: `Windows: ${row.native}.`,
      requestBody: { required: true, content: json(requestSchema(row)) },
      responses: { "200": { description: "Done.", content: json(result) }, ...refusals() },
    },
  };
}

function getPath(
  operationId: string,
  summary: string,
  content: JsonObject,
  parameters: readonly JsonObject[] = [],
): JsonObject {
  return {
    get: {
      operationId,
      summary,
      ...(parameters.length > 0 && { parameters }),
      responses: { "200": { description: "The answer.", content }, ...refusals() },
    },
  };
}

function queryParameter(name: string, description: string, schema: Schema): JsonObject {
  return { name, in: "query", description, schema };
}

const NOTIFICATIONS: JsonObject = getPath(
  "notifications",
  WORDS.notificationStream,
  { "application/x-ndjson": { schema: component("Notification") } },
  [
    queryParameter("network", "Those of a network: endpoints attached and detached.", { type: "string" }),
    queryParameter("guestNetworkService", "Those of a guest network service.", { type: "string" }),
    queryParameter("computeSystem", "The end of a compute system, as reported by HCS.", { type: "string" }),
    queryParameter("scope", "service (default), or all.", { enum: ["service", "all"] }),
  ],
);

/** The paths of faults. */
function faultPaths(): Readonly<Record<string, JsonObject>> {
  const paths: Record<string, Record<string, JsonValue>> = {};
  const result: Schema = { type: "object", required: ["result"], properties: { result: {} } };
  for (const { method, path, operationId, summary } of FAULT_PATHS) {
    const hasId = path.includes("{id}");
    const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
    const row = (paths[path] ??= {});
    row[method.toLowerCase()] = {
      operationId,
      summary,
      ...(hasId && { parameters: [id] }),
      ...(method === "POST" && { requestBody: { required: true, content: json({ type: "object" }) } }),
      responses: { "200": { description: "Done.", content: json(result) }, ...refusals() },
    };
  }
  return paths;
}

/** The paths of dumps (`dump-protocol.ts`). The form of a dump has a schema of its own. */
function dumpPaths(): Readonly<Record<string, JsonObject>> {
  const dump: Schema = { type: "object", description: "schemas/hns-dump.v1alpha1.json" };
  const objects: Schema = { type: "array", items: { type: "object" }, description: "As a dump has them." };
  const replace: Schema = { type: "boolean", description: "What the service has may go." };
  const note: Schema = {
    type: "object",
    required: ["kind", "id", "text"],
    properties: { kind: { type: "string" }, id: { type: "string" }, text: { type: "string" } },
  };
  const result = (schema: Schema): JsonObject =>
    json({ type: "object", required: ["result"], properties: { result: schema } });
  const request: Schema = { type: "object", required: ["objects"], properties: { objects, replace } };
  const notes: Schema = { type: "object", properties: { notes: { type: "array", items: note } } };
  return {
    [DUMP_PATH]: getPath("dump", "Everything that the service holds", result(dump)),
    [RESTORE_PATH]: {
      post: {
        operationId: "restore",
        summary: WORDS.restoreSummary,
        requestBody: { required: true, content: json(request) },
        responses: { "200": { description: "Done.", content: result(notes) }, ...refusals() },
      },
    },
  };
}

/** The whole description. */
export function hnsOpenApi(): JsonObject {
  const text: JsonObject = { "text/plain": { schema: { type: "string" } } };
  const operations = Object.entries(HTTP_OPERATIONS).map(([name, row]): [string, JsonValue] => [
    `${HTTP_PREFIX}${name}`,
    operationPath(name, row),
  ]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Mullion HNS",
      version: API_VERSION,
      description: WORDS.apiDescription,
    },
    servers: [
      { url: "http://localhost", description: "Through the Unix socket, the named pipe, or loopback TCP." },
    ],
    security: [{ token: [] }, {}],
    paths: {
      ...Object.fromEntries(operations),
      [HTTP_NOTIFICATIONS_PATH]: NOTIFICATIONS,
      ...faultPaths(),
      ...dumpPaths(),
      "/healthz": getPath(
        "health",
        "How the service is; status 503 when it fails",
        json(component("Health")),
      ),
      "/metrics": getPath("metrics", "Counters in Prometheus' text format", text),
      "/openapi.json": getPath("openapi", "This description", json({ type: "object" })),
    },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "Over TCP only." } },
      responses: refusalComponents(),
      schemas: { ObjectKind: { enum: [...HCN_KINDS] }, ...DOCUMENT_SCHEMAS },
    },
  };
}
