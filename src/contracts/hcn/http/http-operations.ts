/**
 * The calls of `HcnClient` as they travel over HTTP: one row per operation, from which the server answers and the
 * published description is made (`openapi.ts`).
 */
import {
  type HcnClient,
  type HcnObjectKind,
  type HostComputeQuery,
  type ServiceProperties,
  HCN_KINDS,
} from "../client.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { requireComputeSystems } from "../compute-systems.ts";
import { type Schema, component } from "../description/description-schema.ts";
import { type JsonReader, checkJsonObject, parseJsonText } from "../description/json.ts";
import type { PortRequest } from "../documents/port-reservation.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** A field of a request. */
export interface RequestField {
  readonly schema: Schema;
  readonly isRequired?: true;
}

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

export interface HttpOperationRow {
  /** One line without a full stop. */
  readonly summary: string;
  /** The exports of Windows that it stands for; `*` is the kind of object. */
  readonly native: string;
  readonly request: Readonly<Record<string, RequestField>>;
  readonly result: Schema;
  /** True when it changes nothing, so that it may be asked again. */
  readonly isRead: boolean;
  /** Reads the request and makes the call. @throws HcnError HCN_E_INVALID_JSON, and what the call is refused with. */
  readonly perform: (client: HcnClient, request: JsonReader) => Promise<JsonValue>;
}

const SERVICE_PROPERTIES: readonly ServiceProperties[] = ["Features", "Metrics"];

const TEXT: Schema = { type: "string" };
const GUID: Schema = component("Guid");
const KIND: RequestField = { schema: component("ObjectKind"), isRequired: true };
const ID: RequestField = {
  schema: { ...TEXT, description: "A GUID in either letter case." },
  isRequired: true,
};
const SYSTEM_ID: RequestField = {
  schema: { ...TEXT, description: "The id that who creates a compute system chooses for it." },
  isRequired: true,
};
const QUERY: RequestField = {
  schema: {
    anyOf: [component("HostComputeQuery"), { type: "string", description: "The same, written as text." }],
  },
};
const DOCUMENT: Schema = {
  type: "object",
  description: WORDS.hcnDocument,
};
const NOTHING: Schema = { type: "null" };
const PORT: Schema = { type: "integer", minimum: 1, maximum: 65_535 };

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
function change(
  make: (client: HcnClient, request: JsonReader) => Promise<void>,
): HttpOperationRow["perform"] {
  return async (client, request) => {
    await make(client, request);
    return null;
  };
}

/** All of them, in the order in which the description lists them. */
export const HTTP_OPERATIONS: Readonly<Record<HttpOperation, HttpOperationRow>> = {
  enumerate: {
    summary: "GUIDs of the objects of a kind that match",
    native: "HcnEnumerate*s",
    request: { kind: KIND, query: QUERY },
    result: { type: "array", items: GUID },
    isRead: true,
    perform: async (client, request) => client.enumerate(requireKind(request), optionalQuery(request)),
  },
  create: {
    summary: "Makes an object and answers its GUID",
    native: "HcnCreate*",
    request: {
      kind: KIND,
      settings: {
        schema: { type: ["object", "string"], description: "The document, in v2 or v1 form; also as text." },
        isRequired: true,
      },
      id: {
        schema: { ...TEXT, description: WORDS.createRequestId },
      },
      network: {
        schema: { ...TEXT, description: "For endpoints: the network whose handle Windows is given." },
      },
    },
    result: GUID,
    isRead: false,
    perform: async (client, request) => {
      const id = request.text("id");
      const network = request.text("network");
      return client.create(requireKind(request), requireSettings(request), {
        ...(id !== undefined && { id }),
        ...(network !== undefined && { network }),
      });
    },
  },
  query: {
    summary: "An object's document",
    native: "HcnOpen*, HcnQuery*Properties",
    request: { kind: KIND, id: ID, query: QUERY },
    result: DOCUMENT,
    isRead: true,
    perform: async (client, request) =>
      client.query(requireKind(request), requireText(request, "id"), optionalQuery(request)),
  },
  modify: {
    summary: "Changes an object",
    native: "HcnModify*",
    request: {
      kind: KIND,
      id: ID,
      settings: { schema: { anyOf: [component("ModifySettings"), TEXT] }, isRequired: true },
    },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) =>
      client.modify(requireKind(request), requireText(request, "id"), requireSettings(request)),
    ),
  },
  delete: {
    summary: "Deletes an object",
    native: "HcnDelete*",
    request: { kind: KIND, id: ID },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) => client.delete(requireKind(request), requireText(request, "id"))),
  },
  stats: {
    summary: "What has passed an endpoint's switch port",
    native: "HcnQueryEndpointStats",
    request: { id: ID, query: QUERY },
    result: component("EndpointStatistics"),
    isRead: true,
    perform: async (client, request) =>
      client.queryEndpointStats(requireText(request, "id"), optionalQuery(request)),
  },
  addresses: {
    summary: "An endpoint's addresses",
    native: "HcnQueryEndpointAddresses",
    request: { id: ID, query: QUERY },
    result: component("EndpointAddresses"),
    isRead: true,
    perform: async (client, request) =>
      client.queryEndpointAddresses(requireText(request, "id"), optionalQuery(request)),
  },
  systems: {
    summary: "Containers and virtual machines that endpoints can be attached to",
    native: "HcsEnumerateComputeSystems",
    request: {},
    result: { type: "array", items: component("ComputeSystem") },
    isRead: true,
    perform: async (client) =>
      (await requireComputeSystems(client).list()).map((system) => checkJsonObject(system)),
  },
  "systems-create": {
    summary: "Creates and starts a compute system",
    native: "HcsCreateComputeSystem",
    request: {
      id: SYSTEM_ID,
      settings: { schema: { type: "object", description: "HCS's own document." }, isRequired: true },
    },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) =>
      requireComputeSystems(client).create(requireText(request, "id"), requireSettings(request)),
    ),
  },
  "systems-modify": {
    summary: "Adds or removes a network adapter of a compute system",
    native: "HcsModifyComputeSystem",
    request: {
      id: SYSTEM_ID,
      settings: { schema: { type: "object", description: "HCS's own request." }, isRequired: true },
    },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) =>
      requireComputeSystems(client).modify(requireText(request, "id"), requireSettings(request)),
    ),
  },
  "systems-terminate": {
    summary: "Ends a compute system and detaches what was attached to it",
    native: "HcsTerminateComputeSystem",
    request: { id: SYSTEM_ID },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) => requireComputeSystems(client).terminate(requireText(request, "id"))),
  },
  "reserve-ports": {
    summary: WORDS.reservePortsSummary,
    native: "HcnReserveGuestNetworkServicePort, HcnReserveGuestNetworkServicePortRange",
    request: {
      id: ID,
      protocol: { schema: { enum: [1, 2, 3], description: "1 TCP, 2 UDP, 3 both." } },
      access: { schema: { enum: [1, 2], description: "1 exclusive, 2 shared." } },
      port: { schema: PORT },
      portCount: { schema: { ...PORT, description: "The last port is so many behind the first." } },
    },
    result: component("PortRangeReservation"),
    isRead: false,
    perform: async (client, request) => ({
      ...(await client.reservePorts(requireText(request, "id"), portRequest(request))),
    }),
  },
  "release-ports": {
    summary: "Gives a reservation back",
    native: "HcnReleaseGuestNetworkServicePortReservationHandle",
    request: { reservation: ID },
    result: NOTHING,
    isRead: false,
    perform: change((client, request) => client.releasePorts(requireText(request, "reservation"))),
  },
  "port-reservations": {
    summary: "All reservations of ports",
    native: "HcnEnumerateGuestNetworkPortReservations",
    request: {},
    result: { type: "array", items: component("PortRangeEntry") },
    isRead: true,
    perform: async (client) => (await client.listPortReservations()).map((entry) => ({ ...entry })),
  },
  service: {
    summary: "What the service reports about itself",
    native: "HcnQueryFeatures, HcnQueryMetrics",
    request: { properties: { schema: { enum: SERVICE_PROPERTIES }, isRequired: true } },
    result: { type: "object" },
    isRead: true,
    perform: async (client, request) => {
      const properties = request.enumeration("properties", SERVICE_PROPERTIES);
      return client.queryService(request.needed("properties", properties, "Features or Metrics"));
    },
  },
  call: {
    summary: "HNS v1: method, path and body, answered with the envelope",
    native: "HNSCall",
    request: {
      method: { schema: TEXT, isRequired: true },
      path: { schema: TEXT, isRequired: true },
      body: { schema: { ...TEXT, description: "JSON as text; empty where there is none." } },
    },
    result: component("V1Envelope"),
    isRead: false,
    perform: async (client, request) =>
      client.call(requireText(request, "method"), requireText(request, "path"), request.text("body") ?? ""),
  },
};

export function isHttpOperation(text: string): text is HttpOperation {
  return Object.hasOwn(HTTP_OPERATIONS, text);
}
