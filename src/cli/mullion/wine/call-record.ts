/** What `mullion wine --trace-calls` writes: one record per call of HCN, and one per notification. */
import { type JsonSchema, type Leaf, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf, textOf } from "#core/base/json.ts";
import { errorCodeOf } from "#contracts/hcn/error-codes.ts";
import { HTTP_OPERATIONS, isHttpOperation } from "#contracts/hcn/http/http-operations.ts";
import { HTTP_NOTIFICATIONS_PATH, HTTP_PREFIX } from "#contracts/hcn/http/http-protocol.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import { HCS_NOTIFICATION_TYPES, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

const JSON_VALUE: Leaf<JsonValue> = { schema: {} };
const JSON_OBJECT: Leaf<JsonObject> = { schema: { type: "object" } };
const TIME: Leaf<string> = {
  schema: { type: "string", pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$` },
};
const HRESULT: Leaf<string> = { schema: { type: "string", pattern: "^0x[0-9a-f]{8}$" } };

export const CALL_RECORD = {
  text: "A call that reached HNS.",
  fields: {
    event: ["call"],
    at: { is: (): Leaf<string> => TIME, text: "When it began, by the clock of this machine." },
    milliseconds: { is: "number", min: 0, text: "How long the service took for it." },
    function: { is: "text", text: "The function of Windows' DLL." },
    arguments: {
      is: (): Leaf<JsonObject> => JSON_OBJECT,
      text: (): string => WORDS.callRecordArguments,
    },
    hresult: {
      is: (): Leaf<string> => HRESULT,
      text: (): string => WORDS.callRecordHresult,
    },
  },
  optional: {
    name: { is: "text", text: "The name of an hresult that is not a success." },
    result: {
      is: (): Leaf<JsonValue> => JSON_VALUE,
      text: (): string => WORDS.callRecordResult,
    },
    error: { is: (): Leaf<JsonObject> => JSON_OBJECT, text: "The error record of a refused call." },
    failure: { is: "text", text: "Why there is no answer." },
  },
} as const;
export type CallRecord = ValueOf<typeof CALL_RECORD>;

export const NOTIFICATION_RECORD = {
  text: "A notification that a callback was given.",
  fields: {
    event: ["notification"],
    at: { is: (): Leaf<string> => TIME, text: "By the clock of this machine." },
    type: {
      is: "count",
      text: "The number of HCN_NOTIFICATIONS; of a compute system, of HCS_NOTIFICATIONS.",
    },
    status: (): Leaf<string> => HRESULT,
    data: { is: (): Leaf<JsonValue> => JSON_VALUE, text: "NotificationData." },
  },
  optional: {
    name: { is: "text", text: "The name of the type." },
    scope: {
      is: "text",
      text: (): string => WORDS.notificationRecordScope,
    },
  },
} as const;
export type NotificationRecord = ValueOf<typeof NOTIFICATION_RECORD>;

export type TraceRecord = CallRecord | NotificationRecord;

/** The JSON Schema of a line, published as schemas/hns-calls.v1alpha1.json. */
export function callSchema(): JsonSchema {
  const shape = { oneOf: [CALL_RECORD, NOTIFICATION_RECORD] };
  return documentSchema("A line of mullion wine --trace-calls", shape, "draft-07");
}

/** A request of the DLLs, and what became of it. */
export interface Exchange {
  readonly at: string;
  readonly milliseconds: number;
  /** Path and query of its URL. */
  readonly path: string;
  readonly request: string;
  /** Absent when it ended without one. */
  readonly answer?: { readonly status: number; readonly body: string };
  readonly failure?: string;
}

/** What a call returns when there is no answer, as the DLLs do it. */
const RPC_S_SERVER_UNAVAILABLE = 0x8007_06ba;

/** Arguments that Windows takes as text and that hold documents. */
const DOCUMENTS: readonly string[] = ["settings", "query", "body"];

function formatHresult(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, "0")}`;
}

function parseOrKeep(text: string): JsonValue {
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}

function readArguments(request: string): JsonObject {
  const parsed = parseOrKeep(request);
  if (!isJsonObject(parsed)) return {};
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [
      name,
      typeof value === "string" && DOCUMENTS.includes(name) ? parseOrKeep(value) : value,
    ]),
  );
}

/** The name of an operation with two functions is decided by what only one of them sends. */
function chooseFunction(native: string, asked: JsonObject): string {
  const [first = native, second = first] = native.split(", ");
  const properties = asked["properties"];
  if (typeof properties === "string") return `HcnQuery${properties}`;
  return asked["query"] === undefined && asked["portCount"] === undefined ? first : second;
}

function nameRegistration(query: URLSearchParams): string {
  if (query.has("computeSystem")) return "HcsRegisterComputeSystemCallback";
  if (query.has("network")) return "HcnRegisterNetworkCallback";
  return query.has("guestNetworkService")
    ? "HcnRegisterGuestNetworkServiceCallback"
    : "HcnRegisterServiceCallback";
}

function describeCall(path: string, request: string): Pick<CallRecord, "function" | "arguments"> {
  const url = new URL(path, "http://hns");
  if (url.pathname === HTTP_NOTIFICATIONS_PATH) {
    return { function: nameRegistration(url.searchParams), arguments: Object.fromEntries(url.searchParams) };
  }
  const operation = url.pathname.startsWith(HTTP_PREFIX) ? url.pathname.slice(HTTP_PREFIX.length) : "";
  const asked = readArguments(request);
  if (!isHttpOperation(operation)) return { function: url.pathname, arguments: asked };
  const { native } = HTTP_OPERATIONS[operation];
  const kind = textOf(asked["kind"]);
  return { function: chooseFunction(native, asked).replace("*", kind), arguments: asked };
}

type Outcome = Pick<CallRecord, "hresult" | "name" | "result" | "error" | "failure">;

function describeCode(code: number): Pick<CallRecord, "hresult" | "name"> {
  const name = errorCodeOf(code);
  return { hresult: formatHresult(code), ...(name !== undefined && { name }) };
}

/** HNS v1 refuses with an envelope, which older builds leave without a code. */
function describeEnvelope(result: JsonValue): Outcome {
  const code = isJsonObject(result) && result["Success"] === false ? result["ErrorCode"] : 0;
  return { ...describeCode(typeof code === "number" ? code : 0), result };
}

function describeOutcome({ answer, failure = "There was no answer" }: Exchange, called: string): Outcome {
  const body = answer === undefined ? undefined : parseOrKeep(answer.body);
  const result = answer?.status === 200 ? mappingOf(body)["result"] : undefined;
  if (result !== undefined) {
    if (called === "HNSCall") return describeEnvelope(result);
    // Opening answers a handle, and the document only shows that there is something to open.
    return called.startsWith("HcnOpen") ? describeCode(0) : { ...describeCode(0), result };
  }
  const error = mappingOf(body)["error"];
  const code = mappingOf(error)["ErrorCode"];
  if (isJsonObject(error) && typeof code === "number") return { ...describeCode(code), error };
  return {
    ...describeCode(RPC_S_SERVER_UNAVAILABLE),
    failure: answer === undefined ? failure : `The answer, with status ${answer.status}, is not from HNS`,
  };
}

/** The record of a call. Never throws: whatever was asked and answered is written down. */
export function recordCall(exchange: Exchange): CallRecord {
  const { at, milliseconds, path, request } = exchange;
  const call = describeCall(path, request);
  return {
    event: "call",
    at,
    milliseconds: Math.round(milliseconds * 1_000) / 1_000,
    ...call,
    ...describeOutcome(exchange, call.function),
  };
}

/** The record of a line of the stream of notifications; undefined for one that only keeps the stream alive. */
export function recordNotification(at: string, line: string): NotificationRecord | undefined {
  const parsed = parseOrKeep(line);
  if (!isJsonObject(parsed) || typeof parsed["type"] !== "number") return undefined;
  const { type, status, data = null, computeSystem } = parsed;
  const scope = computeSystem ?? parsed["scope"];
  const types = computeSystem === undefined ? NOTIFICATION_TYPES : HCS_NOTIFICATION_TYPES;
  const name = Object.entries(types).find(([, value]) => value === type)?.[0];
  return {
    event: "notification",
    at,
    type,
    ...(name !== undefined && { name }),
    status: formatHresult(typeof status === "number" ? status : 0),
    data,
    ...(typeof scope === "string" && { scope }),
  };
}

/** True for a call that did not do what it was asked for. */
export function isRefused({ function: called, hresult, result }: CallRecord): boolean {
  if (hresult !== formatHresult(0)) return true;
  return called === "HNSCall" && isJsonObject(result) && result["Success"] === false;
}
