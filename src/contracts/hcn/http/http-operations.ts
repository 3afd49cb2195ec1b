/**
 * The calls of `HcnClient` as they travel over HTTP: one row per operation, from which the server answers and the
 * published description is made (`openapi.ts`). What the description says of them is in `data/facts/hns-operations.yaml`.
 */
import { hnsOperations } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import {
  type HcnClient,
  type HcnObjectKind,
  type HostComputeQuery,
  type ServiceProperties,
  HCN_KINDS,
} from "../client.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { requireComputeSystems } from "../compute-systems.ts";
import { type Schema, readSchema } from "../description/description-schema.ts";
import { type JsonReader, checkJsonObject, parseJsonText } from "../description/json.ts";
import type { PortRequest } from "../documents/port-reservation.ts";

/** Names of the operations: the last parts of their paths. */
export type HttpOperation =
  | "enumerate"
  | "create"
  | "query"
  | "modify"
  | "delete"
  | "stats"
  | "addresses"
  | "systems"
  | "systems-create"
  | "systems-modify"
  | "systems-terminate"
  | "reserve-ports"
  | "release-ports"
  | "port-reservations"
  | "service"
  | "call";

/** Reads the request and makes the call. @throws HcnError HCN_E_INVALID_JSON, and what the call is refused with. */
type Perform = (client: HcnClient, request: JsonReader) => Promise<JsonValue>;

export interface HttpOperationRow {
  /** One line without a full stop. */
  readonly summary: string;
  /** The exports of Windows that it stands for; `*` is the kind of object. */
  readonly native: string;
  readonly request: Schema;
  readonly result: Schema;
  /** True when it changes nothing, so that it may be asked again. */
  readonly isRead: boolean;
  readonly perform: Perform;
}

const SERVICE_PROPERTIES: readonly ServiceProperties[] = ["Features", "Metrics"];

function requireText(reader: JsonReader, field: string): string {
  return reader.needed(field, reader.text(field), "a text");
}

function requireNumber(reader: JsonReader, field: string): number {
  return reader.needed(field, reader.u32(field), "a number");
}

function requireKind(reader: JsonReader): HcnObjectKind {
  return reader.needed("kind", reader.enumeration("kind", HCN_KINDS), `one of ${HCN_KINDS.join(", ")}`);
}

/** The document, also as the text that the native calls take. */
function requireSettings(reader: JsonReader): JsonObject {
  const given = reader.raw("settings");
  const settings = typeof given === "string" ? parseJsonText(given) : given;
  if (isJsonObject(settings)) return settings;
  throw reader.fail("settings", "a JSON object, or one written as text");
}

/** The service checks it, whatever it is. */
function optionalQuery(reader: JsonReader): HostComputeQuery | undefined {
  return reader.raw("query") as HostComputeQuery | undefined;
}

function portRequest(reader: JsonReader): PortRequest {
  if (reader.raw("portCount") !== undefined) return { portCount: requireNumber(reader, "portCount") };
  return {
    protocol: requireNumber(reader, "protocol"),
    access: requireNumber(reader, "access"),
    port: requireNumber(reader, "port"),
  };
}

/** A call without a result. */
function change(make: (client: HcnClient, request: JsonReader) => Promise<void>): Perform {
  return async (client, request) => {
    await make(client, request);
    return null;
  };
}

const PERFORM: Readonly<Record<HttpOperation, Perform>> = {
  enumerate: async (client, request) => client.enumerate(requireKind(request), optionalQuery(request)),
  create: async (client, request) => {
    const id = request.text("id");
    const network = request.text("network");
    return client.create(requireKind(request), requireSettings(request), {
      ...(id !== undefined && { id }),
      ...(network !== undefined && { network }),
    });
  },
  query: async (client, request) =>
    client.query(requireKind(request), requireText(request, "id"), optionalQuery(request)),
  modify: change((client, request) =>
    client.modify(requireKind(request), requireText(request, "id"), requireSettings(request)),
  ),
  delete: change((client, request) => client.delete(requireKind(request), requireText(request, "id"))),
  stats: async (client, request) =>
    client.queryEndpointStats(requireText(request, "id"), optionalQuery(request)),
  addresses: async (client, request) =>
    client.queryEndpointAddresses(requireText(request, "id"), optionalQuery(request)),
  systems: async (client) =>
    (await requireComputeSystems(client).list()).map((system) => checkJsonObject(system)),
  "systems-create": change((client, request) =>
    requireComputeSystems(client).create(requireText(request, "id"), requireSettings(request)),
  ),
  "systems-modify": change((client, request) =>
    requireComputeSystems(client).modify(requireText(request, "id"), requireSettings(request)),
  ),
  "systems-terminate": change((client, request) =>
    requireComputeSystems(client).terminate(requireText(request, "id")),
  ),
  "reserve-ports": async (client, request) => ({
    ...(await client.reservePorts(requireText(request, "id"), portRequest(request))),
  }),
  "release-ports": change((client, request) => client.releasePorts(requireText(request, "reservation"))),
  "port-reservations": async (client) => (await client.listPortReservations()).map((entry) => ({ ...entry })),
  service: async (client, request) => {
    const properties = request.enumeration("properties", SERVICE_PROPERTIES);
    return client.queryService(request.needed("properties", properties, "Features or Metrics"));
  },
  call: async (client, request) =>
    client.call(requireText(request, "method"), requireText(request, "path"), request.text("body") ?? ""),
};

function readOperation(row: CheckedFields, perform: Perform): HttpOperationRow {
  const required = row.texts("required");
  const operation = {
    summary: row.text("summary"),
    native: row.text("native"),
    request: {
      type: "object",
      properties: readSchema(row, "request"),
      ...(required.length > 0 && { required }),
    },
    result: readSchema(row, "result"),
    isRead: row.isSet("isRead"),
    perform,
  };
  row.end();
  return operation;
}

function readOperations(table: CheckedFields): Readonly<Record<HttpOperation, HttpOperationRow>> {
  const entries = Object.entries(PERFORM).map(
    ([name, perform]) => [name, readOperation(table.within(name), perform)] as const,
  );
  table.end();
  return Object.fromEntries(entries) as Record<HttpOperation, HttpOperationRow>;
}

/** All of them, in the order in which the description lists them. */
export const HTTP_OPERATIONS: Readonly<Record<HttpOperation, HttpOperationRow>> = readOperations(
  CheckedFields.ofTable(hnsOperations()),
);

export function isHttpOperation(text: string): text is HttpOperation {
  return Object.hasOwn(HTTP_OPERATIONS, text);
}
