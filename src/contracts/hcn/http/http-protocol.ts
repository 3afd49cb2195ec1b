/**
 * `HcnClient` over HTTP: one POST per call, `/hcn/NAME` for each row of `http-operations.ts`, JSON both ways:
 *
 * ```
 * POST /hcn/query  {"kind": "Network", "id": "…"}       → {"result": {…}}
 * GET  /hcn/notifications?network=GUID                  → one JSON object per line, until one side leaves
 * ```
 *
 * A refusal has a status of 400 or higher and the body `{"error": {"Success": false, "Error", "ErrorCode", "Detail"?,
 * "Explanation"?}}`: Windows' record, and what Mullion says beyond it. Over TCP each request carries
 * `Authorization: Bearer <token>`. `docs/reference/hns-api.md` is the description for people.
 */
import { KNOWLEDGE_CODES, type KnowledgeCode } from "#core/catalogue/codes.ts";
import type { HcnNotification } from "../client.ts";
import { type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { type HcnErrorCode, errorCodeOf } from "../error-codes.ts";
import { HcnError } from "../error.ts";
import type { HttpOperation } from "./http-operations.ts";
import { JsonReader } from "../description/json.ts";

/**
 * The version of what is spoken here, in each answer of the service. A client that was built for one version, as the
 * DLLs of `shim/` are, says its own with each request and is refused by a service of another.
 */
export const HTTP_VERSION_HEADER = "mullion-hns-version";
export const HTTP_VERSION = "1";

export const HTTP_PREFIX = "/hcn/";
export const HTTP_NOTIFICATIONS_PATH = "/hcn/notifications";

/** Path and body of a call. */
export function formatHttpCall(
  operation: HttpOperation,
  fields: object,
): { readonly path: string; readonly body: string } {
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
  "ERROR_ALREADY_EXISTS",
  "HCN_E_ENTITY_HAS_REFERENCES",
];
const UNAVAILABLE: readonly string[] = [
  "HCN_E_MANAGER_STOPPED",
  "RPC_S_SERVER_UNAVAILABLE",
  "EPT_S_NOT_REGISTERED",
];

/** The HTTP status that goes with a refusal. Clients read the code in the body. */
export function httpStatusOf(error: HcnError): number {
  if (error.code === "E_NOTIMPL") return 501;
  if (error.code === "E_ACCESSDENIED") return 401;
  if (NOT_FOUND.includes(error.code)) return 404;
  if (UNAVAILABLE.includes(error.code)) return 503;
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
  const error = mappingOf(body)["error"];
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
  const scope = reader.text("scope");
  const computeSystem = reader.text("computeSystem");
  return {
    type: reader.u32("type") ?? 0,
    status: reader.u32("status") ?? 0,
    data: {
      ID: data?.text("ID") ?? "",
      Flags: data?.u32("Flags") ?? 0,
      ...(detail !== undefined && { Data: detail }),
    },
    ...(scope !== undefined && { scope }),
    ...(computeSystem !== undefined && { computeSystem }),
  };
}
