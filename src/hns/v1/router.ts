/**
 * HNS v1: method and path to what is done, and the envelope of the answer (hcn.md §1.7). A slash at the end is optional,
 * words and ids come in either letter case, and what stands behind a question mark is about the answer's form.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Guid, checkGuid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { Handler, Routes } from "./route.ts";
import { ACCELNET_ROUTES, DIAGNOSTIC_ROUTES } from "./routes/diagnostics.ts";
import { ENDPOINT_ROUTES, NAMESPACE_ROUTES, NETWORK_ROUTES, POLICY_LIST_ROUTES } from "./routes/objects.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";

// The envelope of an answer of HNS v1 (hcn.md §1.7). Its keys come in alphabetical order, as Windows writes them.

/** From 1809 on failures have a number; before, HNS 7 and 8 said only the text. */
const ERROR_CODE_SINCE_MAJOR = 9;

/** `output` is undefined for calls without a result. */
export function successEnvelope(output: JsonValue | undefined): JsonObject {
  return output === undefined ? { Success: true } : { Output: output, Success: true };
}

/** The envelope of a refusal, as `version` of HNS writes it. */
export function failureEnvelope(error: HcnError, version: HnsVersion): JsonObject {
  const { Error: text, ErrorCode } = error.toRecord();
  if (version.Major < ERROR_CODE_SINCE_MAJOR) return { Error: text, Success: false };
  return { Error: text, ErrorCode, Success: false };
}

const ALL_ROUTES: Routes = {
  ...NETWORK_ROUTES,
  ...ENDPOINT_ROUTES,
  ...POLICY_LIST_ROUTES,
  ...NAMESPACE_ROUTES,
  ...ACCELNET_ROUTES,
  ...DIAGNOSTIC_ROUTES,
};

const ROUTES: ReadonlyMap<string, Handler> = new Map(Object.entries(ALL_ROUTES));

/** First words of the paths whose second word is an id. */
const COLLECTIONS: ReadonlySet<string> = new Set(
  [...ROUTES.keys()].filter((route) => route.includes("{id}")).map((route) => route.split("/")[1] ?? ""),
);

/** No path that is served is longer. */
const PATH_LENGTH_MAX = 1_024;

interface ParsedPath {
  /** `/networks/{id}/…`: the key of a route without its method. */
  readonly pattern: string;
  readonly id: Guid;
  readonly isDetailed: boolean;
}

/** @throws HcnError HCN_E_REQUEST_UNSUPPORTED; HCN_E_GUID_CONVERSION_FAILURE for an id that is none. */
function parsePath(path: string): ParsedPath {
  if (path.length > PATH_LENGTH_MAX) throw unsupported(`a path of ${path.length} characters`);
  const [bare = "", query = ""] = path.split("?");
  const segments = bare.split("/").filter((segment) => segment !== "");
  const words = segments.map((segment) => segment.toLowerCase());
  const isDetailed = query.toLowerCase().split("&").includes("detailed=true");
  const [collection = "", id] = words;
  if (id === undefined || !COLLECTIONS.has(collection))
    return { pattern: `/${words.join("/")}`, id: "", isDetailed };
  return { pattern: `/${[collection, "{id}", ...words.slice(2)].join("/")}`, id: checkGuid(id), isDetailed };
}

function unsupported(what: string): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", { detail: `HNS has no ${what}` });
}

/** Answers one call with its envelope. */
export function answerV1(context: ServiceContext, method: string, path: string, body: string): JsonObject {
  try {
    const { pattern, id, isDetailed } = parsePath(path);
    const verb = method.toUpperCase();
    const handler = ROUTES.get(`${verb} ${pattern}`);
    if (handler === undefined) throw unsupported(`${verb} ${pattern}`);
    return successEnvelope(handler({ context, id, body, isDetailed }));
  } catch (error) {
    if (error instanceof HcnError) return failureEnvelope(error, context.version);
    throw error;
  }
}
