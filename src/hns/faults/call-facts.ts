/** What of a call faults ask for: the same for HCN and for HNS v1, which are two ways to one service. */
import type { Guid, HcnObjectKind, JsonObject, JsonValue } from "../../hcn/client.ts";
import type { CallMatch, CallOperation } from "../../hcn/faults/fault.ts";
import { equalGuids, parseGuid } from "../../hcn/guid.ts";
import { isJsonObject, parseJsonText } from "../../hcn/json-value.ts";
import { LOAD_BALANCER_FLAGS } from "../../hcn/load-balancer.ts";

/** A v1 call as it came. */
interface V1Call {
  readonly method: string;
  readonly path: string;
}

export interface CallFacts {
  readonly operation: CallOperation;
  readonly kind: HcnObjectKind | undefined;
  /** In lower case. */
  readonly id: Guid | undefined;
  /** The document of a create or a change. */
  readonly document: JsonObject | undefined;
  /** Set for calls of HNS v1. */
  readonly v1: V1Call | undefined;
}

/** Facts of an HCN call. */
export function factsOfCall(
  operation: CallOperation,
  kind: HcnObjectKind,
  id?: Guid,
  document?: JsonObject,
): CallFacts {
  return { operation, kind, id: id === undefined ? undefined : parseGuid(id), document, v1: undefined };
}

const V1_KINDS: Readonly<Record<string, HcnObjectKind>> = {
  networks: "Network",
  endpoints: "Endpoint",
  namespaces: "Namespace",
  policylists: "LoadBalancer",
};

function operationOfV1(method: string, hasId: boolean, isKnown: boolean): CallOperation {
  if (!isKnown) return "call";
  if (method === "GET") return hasId ? "query" : "enumerate";
  if (method === "DELETE") return "delete";
  return hasId ? "modify" : "create";
}

function documentOf(body: string): JsonObject | undefined {
  try {
    const value = body === "" ? undefined : parseJsonText(body);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // What is wrong with it is the service's to say.
    return undefined;
  }
}

function segmentsOf(path: string): readonly string[] {
  const [bare = ""] = path.split("?");
  return bare
    .toLowerCase()
    .split("/")
    .filter((segment) => segment !== "");
}

/** Facts of a v1 call: what it would be as a call of HCN (hcn.md §1.7). */
export function factsOfV1Call(method: string, path: string, body: string): CallFacts {
  const [collection = "", second = ""] = segmentsOf(path);
  const kind = Object.hasOwn(V1_KINDS, collection) ? V1_KINDS[collection] : undefined;
  const id = parseGuid(second);
  const verb = method.toUpperCase();
  return {
    operation: operationOfV1(verb, id !== undefined, kind !== undefined),
    kind,
    id,
    document: documentOf(body),
    v1: { method: verb, path },
  };
}

function matchesSegment(pattern: string, segment: string): boolean {
  const parts = pattern.split("*");
  const [first = ""] = parts;
  if (parts.length === 1) return pattern === segment;
  const last = parts.at(-1) ?? "";
  if (!segment.startsWith(first) || segment.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of parts.slice(1, -1)) {
    const at = segment.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return segment.endsWith(last) && segment.length - last.length >= from;
}

/** True when a v1 path fits a pattern, segment by segment. Letter case and a slash at the end do not matter. */
export function matchesPath(pattern: string, path: string): boolean {
  const wanted = segmentsOf(pattern);
  const segments = segmentsOf(path);
  return (
    wanted.length === segments.length &&
    wanted.every((part, index) => matchesSegment(part, segments[index] ?? ""))
  );
}

function matchesV1(match: CallMatch, v1: V1Call | undefined): boolean {
  if (match.method === undefined && match.path === undefined) return true;
  if (v1 === undefined) return false;
  if (match.method !== undefined && match.method.toUpperCase() !== v1.method) return false;
  return match.path === undefined || matchesPath(match.path, v1.path);
}

function matchesOperation(operation: CallOperation | undefined, facts: CallFacts): boolean {
  if (operation === undefined || operation === facts.operation) return true;
  return operation === "call" && facts.v1 !== undefined;
}

/** True when a fault's match takes a call. */
export function matchesCall(match: CallMatch | undefined, facts: CallFacts): boolean {
  if (match === undefined) return true;
  if (!matchesOperation(match.operation, facts)) return false;
  if (match.kind !== undefined && match.kind !== facts.kind) return false;
  if (match.id !== undefined && (facts.id === undefined || !equalGuids(match.id, facts.id))) return false;
  if (match.name !== undefined && match.name !== facts.document?.["Name"]) return false;
  return matchesV1(match, facts.v1);
}

/** `Create LoadBalancer`, `POST /policylists/`: a call as messages name it. */
export function describeCall(facts: CallFacts): string {
  if (facts.v1 !== undefined) return `${facts.v1.method} ${facts.v1.path}`;
  const verb = `${facts.operation.slice(0, 1).toUpperCase()}${facts.operation.slice(1)}`;
  return `${verb} ${facts.kind ?? ""}`.trimEnd();
}

function isDsrOfV1(document: JsonObject): boolean {
  const policies = document["Policies"];
  if (!Array.isArray(policies)) return false;
  return (policies as readonly JsonValue[]).some(
    (policy) => isJsonObject(policy) && policy["IsDSR"] === true,
  );
}

/** True when a call makes or changes a load balancer that needs ports of the node: one without DSR (hcn.md §8.5). */
export function needsPorts(facts: CallFacts): boolean {
  const makes = facts.operation === "create" || facts.operation === "modify";
  if (!makes || facts.kind !== "LoadBalancer") return false;
  const document = facts.document ?? {};
  if (isDsrOfV1(document)) return false;
  const flags = document["Flags"];
  return ((typeof flags === "number" ? flags : 0) & LOAD_BALANCER_FLAGS.DSR) === 0;
}

/** The endpoint that a change adds to a namespace; undefined when it adds none (hcn.md §4.5). */
export function endpointAddedBy(facts: CallFacts): Guid | undefined {
  if (facts.kind !== "Namespace" || facts.operation !== "modify") return undefined;
  const settings = facts.document?.["Settings"] ?? facts.document?.["Data"];
  if (!isJsonObject(settings)) return undefined;
  const id = settings["EndpointId"] ?? settings["Id"];
  return typeof id === "string" ? parseGuid(id) : undefined;
}

/** The endpoints of the load balancer that a call makes. */
export function backEndsMade(facts: CallFacts): readonly Guid[] {
  if (facts.operation !== "create" || facts.kind !== "LoadBalancer") return [];
  const named = facts.document?.["HostComputeEndpoints"] ?? facts.document?.["References"];
  const texts: readonly JsonValue[] = Array.isArray(named) ? (named as readonly JsonValue[]) : [];
  return texts.flatMap((text) => {
    const id = typeof text === "string" ? parseGuid(text.replace(/^\/endpoints\//i, "")) : undefined;
    return id ?? [];
  });
}
