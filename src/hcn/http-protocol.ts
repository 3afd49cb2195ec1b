/**
 * `HcnClient` over HTTP: one POST per call, JSON both ways, and a stream of notifications.
 *
 * ```
 * POST /hcn/enumerate  {"kind", "query"?}                          → {"result": [guid…]}
 * POST /hcn/create     {"kind", "settings", "id"?, "network"?}     → {"result": guid}
 * POST /hcn/query      {"kind", "id", "query"?}                    → {"result": {…}}
 * POST /hcn/modify     {"kind", "id", "settings"}                  → {"result": null}
 * POST /hcn/delete     {"kind", "id"}                              → {"result": null}
 * POST /hcn/stats      {"id", "query"?}                            → {"result": {…}}
 * POST /hcn/addresses  {"id", "query"?}                            → {"result": {…}}
 * POST /hcn/systems/list       {}                                  → {"result": [{…}…]}
 * POST /hcn/systems/create     {"id", "settings"}                  → {"result": null}
 * POST /hcn/systems/modify     {"id", "settings"}                  → {"result": null}
 * POST /hcn/systems/terminate  {"id"}                              → {"result": null}
 * POST /hcn/call       {"method", "path", "body"}                  → {"result": {envelope}}
 * GET  /hcn/notifications                                          → one JSON object per line, until somebody leaves
 * ```
 *
 * A refusal has a status of 400 or higher and the body `{"error": {"Success": false, "Error", "ErrorCode", "Detail"?,
 * "Explanation"?}}`: Windows' record, and what Mullion says beyond it. Over TCP each request carries
 * `Authorization: Bearer <token>`.
 */
import { KNOWLEDGE_CODES, type KnowledgeCode } from "../knowledge/codes.ts";
import type { HcnNotification, HcnObjectKind, HostComputeQuery, JsonObject, JsonValue } from "./client.ts";
import { type HcnErrorCode, errorCodeOf } from "./error-codes.ts";
import { HcnError } from "./error.ts";
import { JsonReader } from "./json-reader.ts";
import { isJsonObject } from "./json-value.ts";

export const HTTP_PREFIX = "/hcn/";
export const HTTP_NOTIFICATIONS_PATH = "/hcn/notifications";

/** One call as it travels. */
export type HttpCall =
  | { readonly operation: "enumerate"; readonly kind: HcnObjectKind; readonly query?: HostComputeQuery }
  | {
      readonly operation: "create";
      readonly kind: HcnObjectKind;
      readonly settings: JsonObject;
      readonly id?: string;
      readonly network?: string;
    }
  | {
      readonly operation: "query";
      readonly kind: HcnObjectKind;
      readonly id: string;
      readonly query?: HostComputeQuery;
    }
  | {
      readonly operation: "modify";
      readonly kind: HcnObjectKind;
      readonly id: string;
      readonly settings: JsonObject;
    }
  | { readonly operation: "delete"; readonly kind: HcnObjectKind; readonly id: string }
  | { readonly operation: "stats" | "addresses"; readonly id: string; readonly query?: HostComputeQuery }
  | { readonly operation: "systems/list" }
  | {
      readonly operation: "systems/create" | "systems/modify";
      readonly id: string;
      readonly settings: JsonObject;
    }
  | { readonly operation: "systems/terminate"; readonly id: string }
  | { readonly operation: "call"; readonly method: string; readonly path: string; readonly body: string };

export type HttpOperation = HttpCall["operation"];

const KINDS = [
  "Network",
  "Endpoint",
  "Namespace",
  "LoadBalancer",
  "SdnRoute",
  "GuestNetworkService",
] as const satisfies readonly HcnObjectKind[];

function requireText(reader: JsonReader, field: string): string {
  const text = reader.text(field);
  if (text === undefined) throw reader.fail(field, "a text");
  return text;
}

function requireKind(reader: JsonReader): HcnObjectKind {
  const kind = reader.enumeration("kind", KINDS);
  if (kind === undefined) throw reader.fail("kind", `one of ${KINDS.join(", ")}`);
  return kind;
}

function requireSettings(reader: JsonReader): JsonObject {
  const settings = reader.object("settings");
  if (settings === undefined) throw reader.fail("settings", "a JSON object");
  return settings.whole();
}

function optionalQuery(reader: JsonReader): { readonly query?: HostComputeQuery } {
  const query = reader.object("query");
  return query === undefined ? {} : { query: query.whole() };
}

function optionalText<Field extends string>(
  reader: JsonReader,
  field: Field,
): { readonly [F in Field]?: string } {
  const text = reader.text(field);
  return (text === undefined ? {} : { [field]: text }) as { readonly [F in Field]?: string };
}

const READERS: { readonly [O in HttpOperation]: (reader: JsonReader) => HttpCall } = {
  enumerate: (reader) => ({ operation: "enumerate", kind: requireKind(reader), ...optionalQuery(reader) }),
  create: (reader) => ({
    operation: "create",
    kind: requireKind(reader),
    settings: requireSettings(reader),
    ...optionalText(reader, "id"),
    ...optionalText(reader, "network"),
  }),
  query: (reader) => ({
    operation: "query",
    kind: requireKind(reader),
    id: requireText(reader, "id"),
    ...optionalQuery(reader),
  }),
  modify: (reader) => ({
    operation: "modify",
    kind: requireKind(reader),
    id: requireText(reader, "id"),
    settings: requireSettings(reader),
  }),
  delete: (reader) => ({ operation: "delete", kind: requireKind(reader), id: requireText(reader, "id") }),
  stats: (reader) => ({ operation: "stats", id: requireText(reader, "id"), ...optionalQuery(reader) }),
  addresses: (reader) => ({
    operation: "addresses",
    id: requireText(reader, "id"),
    ...optionalQuery(reader),
  }),
  "systems/list": () => ({ operation: "systems/list" }),
  "systems/create": (reader) => ({
    operation: "systems/create",
    id: requireText(reader, "id"),
    settings: requireSettings(reader),
  }),
  "systems/modify": (reader) => ({
    operation: "systems/modify",
    id: requireText(reader, "id"),
    settings: requireSettings(reader),
  }),
  "systems/terminate": (reader) => ({ operation: "systems/terminate", id: requireText(reader, "id") }),
  call: (reader) => ({
    operation: "call",
    method: requireText(reader, "method"),
    path: requireText(reader, "path"),
    body: reader.text("body") ?? "",
  }),
};

function isOperation(text: string): text is HttpOperation {
  return Object.hasOwn(READERS, text);
}

/**
 * Reads a call from the path and body of a request; undefined when the path names none.
 * @throws HcnError HCN_E_INVALID_JSON.
 */
export function parseHttpCall(path: string, body: JsonValue): HttpCall | undefined {
  const operation = path.startsWith(HTTP_PREFIX) ? path.slice(HTTP_PREFIX.length) : "";
  if (!isOperation(operation)) return undefined;
  return READERS[operation](JsonReader.of(body, "request", "HCN_E_INVALID_JSON"));
}

/** Path and body of a call. */
export function formatHttpCall(call: HttpCall): { readonly path: string; readonly body: string } {
  const { operation, ...fields } = call;
  return { path: `${HTTP_PREFIX}${operation}`, body: JSON.stringify(fields) };
}

const NOT_FOUND: readonly string[] = [
  "HCS_E_SYSTEM_NOT_FOUND",
  "ERROR_NOT_FOUND",
  "HCN_E_NETWORK_NOT_FOUND",
  "HCN_E_ENDPOINT_NOT_FOUND",
];
const CONFLICT: readonly string[] = [
  "HCS_E_SYSTEM_ALREADY_EXISTS",
  "HCN_E_NETWORK_ALREADY_EXISTS",
  "HCN_E_PORT_ALREADY_EXISTS",
  "HCN_E_ENDPOINT_ALREADY_ATTACHED",
  "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS",
  "ERROR_OBJECT_ALREADY_EXISTS",
];

/** The HTTP status that goes with a refusal. Clients read the code in the body. */
export function httpStatusOf(error: HcnError): number {
  if (error.code === "E_NOTIMPL") return 501;
  if (error.code === "E_ACCESSDENIED") return 401;
  if (NOT_FOUND.includes(error.code)) return 404;
  return CONFLICT.includes(error.code) ? 409 : 400;
}

/** The body of a refusal. */
export function formatHttpError(error: HcnError): string {
  const record = error.toRecord();
  return JSON.stringify({
    error: { ...record, Detail: error.detail, Explanation: error.explanation },
  });
}

function isKnowledgeCode(text: string | undefined): text is KnowledgeCode {
  return KNOWLEDGE_CODES.some((code) => code === text);
}

/** The refusal in a body; undefined when the body holds none. */
export function parseHttpError(body: JsonValue): HcnError | undefined {
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (!isJsonObject(error)) return undefined;
  const reader = new JsonReader(error, "error", "HCN_E_INVALID_JSON");
  const detail = reader.text("Detail");
  const explanation = reader.text("Explanation");
  const reported = { Error: reader.text("Error") ?? "", ErrorCode: reader.u32("ErrorCode") ?? 0 };
  const code: HcnErrorCode | "unknown" = errorCodeOf(reported.ErrorCode) ?? "unknown";
  return new HcnError(code, {
    reported,
    ...(detail !== undefined && { detail }),
    ...(isKnowledgeCode(explanation) && { explanation }),
  });
}

/** Reads one line of the notification stream; undefined when it is none (an empty line keeps the stream alive). */
export function parseHttpNotification(value: JsonValue): HcnNotification | undefined {
  if (!isJsonObject(value)) return undefined;
  const reader = new JsonReader(value, "notification", "HCN_E_INVALID_JSON");
  const data = reader.object("data");
  const detail = data?.raw("Data");
  return {
    type: reader.u32("type") ?? 0,
    status: reader.u32("status") ?? 0,
    data: {
      ID: data?.text("ID") ?? "",
      Flags: data?.u32("Flags") ?? 0,
      ...(detail !== undefined && { Data: detail }),
    },
  };
}
