/** What `mullion wine --trace-calls` writes: one record per call of HCN, and one per notification. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { errorCodeOf } from "#contracts/hcn/error-codes.ts";
import { HTTP_OPERATIONS, isHttpOperation } from "#contracts/hcn/http/http-operations.ts";
import { HTTP_NOTIFICATIONS_PATH, HTTP_PREFIX } from "#contracts/hcn/http/http-protocol.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import { HCS_NOTIFICATION_TYPES, NOTIFICATION_TYPES } from "#contracts/hcn/notification.ts";

export interface CallRecord {
  readonly event: "call";
  /** When it began, by the clock of this machine. */
  readonly at: string;
  /** How long the service took for it. */
  readonly milliseconds: number;
  /** The function of Windows' DLL. */
  readonly function: string;
  readonly arguments: JsonObject;
  /** What HNS answered, as eight hexadecimal digits. HNSCall returns it or, with the envelope, zero (shim/README.md). */
  readonly hresult: string;
  /** The name of that, when it is no success and has one. */
  readonly name?: string;
  readonly result?: JsonValue;
  /** What HNS said with a refusal. */
  readonly error?: JsonObject;
  /** Why there is no answer. */
  readonly failure?: string;
}

export interface NotificationRecord {
  readonly event: "notification";
  readonly at: string;
  readonly type: number;
  readonly name?: string;
  readonly status: string;
  readonly data: JsonValue;
  /** The network, guest network service or compute system whose callback received it. */
  readonly scope?: string;
}

export type TraceRecord = CallRecord | NotificationRecord;

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
  const kind = typeof asked["kind"] === "string" ? asked["kind"] : "";
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
  const result = answer?.status === 200 && isJsonObject(body) ? body["result"] : undefined;
  if (result !== undefined) {
    if (called === "HNSCall") return describeEnvelope(result);
    // Opening answers a handle, and the document only shows that there is something to open.
    return called.startsWith("HcnOpen") ? describeCode(0) : { ...describeCode(0), result };
  }
  const error = isJsonObject(body) ? body["error"] : undefined;
  const code = isJsonObject(error) ? error["ErrorCode"] : undefined;
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
