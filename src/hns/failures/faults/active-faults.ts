/** What faults ask for: of a call, of the service, and of themselves, as long as they are in force. */
import type { HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { type Guid, equalGuids, parseGuid } from "#contracts/hcn/guid.ts";
import type {
  CallMatch,
  CallOperation,
  DegradableKind,
  FaultSchedule,
  FaultStatus,
  HnsFault,
  QuirkStatus,
  RestartState,
} from "./fault.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { type HcnErrorCode, errorCodeOf } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { Prng } from "#core/base/prng.ts";
import { hresultOf } from "./read-fault.ts";

// What of a call faults ask for: the same for HCN and for HNS v1, which are two ways to one service.

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
function matchesCall(match: CallMatch | undefined, facts: CallFacts): boolean {
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
function endpointAddedBy(facts: CallFacts): Guid | undefined {
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

// What faults do to the service itself, and ask of it.

export interface FaultTarget {
  readonly windows: WindowsBuild;
  /** Endpoints and load balancers that are there: calls take longer, the more there are. */
  countObjects(): number;
  /** True when a defect can let calls hang. */
  readonly mayHang: boolean;
  /** The defect that lets a call hang, and all calls behind it; undefined: it goes on. */
  hangs(facts: CallFacts): QuirkName | undefined;
  /** Takes load balancers away; all, or those named. @returns their ids. */
  forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]>;
  /** Puts an object into the state Degraded. @throws HcnError when it is not there. */
  degrade(kind: DegradableKind, id: Guid): Promise<void>;
  /** Puts an object back into the state that it should have. */
  repair(kind: DegradableKind, id: Guid): Promise<void>;
  /** Makes a remote endpoint. @returns its id. */
  createRemoteEndpoint(network: Guid, address: string, faultId: string): Promise<Guid>;
  /** Deletes an endpoint; one that is gone already is none of its concern. */
  deleteEndpoint(id: Guid): Promise<void>;
  restart(state?: RestartState): Promise<void>;
  reboot(): Promise<void>;
  quirks(): readonly QuirkStatus[];
  setQuirk(name: QuirkName, setting: QuirkSetting): void;
}

// An endpoint that is listed and not found: which enumerations list it.

function filterOf(query: HostComputeQuery | undefined): JsonObject {
  const text = query?.Filter ?? "";
  if (text === "") return {};
  return mappingOf(parseJsonText(text));
}

/** True when an enumeration of endpoints lists `id`, of `network`: by its id, by its network, or without a filter. */
export function listsGhost(
  query: HostComputeQuery | undefined,
  id: Guid,
  network: Guid | undefined,
): boolean {
  return Object.entries(filterOf(query)).every(([key, value]) => {
    if (typeof value !== "string") return false;
    if (key === "ID") return equalGuids(value, id);
    const isNetwork = key === "VirtualNetwork" || key === "HostComputeNetwork";
    return isNetwork && network !== undefined && equalGuids(value, network);
  });
}

// One fault in force: what it concerns, what it strikes, what it has done.

const CHANCE_STEPS = 0x1_0000_0000;

function scheduleOf(fault: HnsFault): FaultSchedule {
  return fault.effect === "stop" || fault.effect === "stale-endpoint" || fault.effect === "degrade"
    ? {}
    : fault;
}

function callsOf(fault: HnsFault): CallMatch | undefined {
  return "calls" in fault ? fault.calls : undefined;
}

export class ActiveFault {
  readonly id: string;
  readonly fault: HnsFault;
  /** Ids of objects that exist for it. */
  readonly objects: string[] = [];
  private readonly prng: Prng;
  private seen = 0;
  private struck = 0;
  private expiresAtMs: number | undefined;

  constructor(id: string, fault: HnsFault, seed: string) {
    this.id = id;
    this.fault = fault;
    this.prng = new Prng(`${seed}/fault/${id}`);
  }

  /** Counts a call that it concerns. @returns true when it strikes the call. */
  strikes(facts: CallFacts): boolean {
    return matchesCall(callsOf(this.fault), facts) && this.strikesNext();
  }

  /** Counts one more of what it concerns. @returns true when it strikes. */
  strikesNext(): boolean {
    this.seen++;
    const { nth, after = 0, every = 1, rate, times } = scheduleOf(this.fault);
    if (times !== undefined && this.struck >= times) return false;
    if (nth !== undefined && this.seen !== nth) return false;
    if (this.seen <= after || (this.seen - after) % every !== 0) return false;
    if (rate !== undefined && this.prng.nextU32() >= rate * CHANCE_STEPS) return false;
    this.struck++;
    return true;
  }

  /** A number from 0 up to `limit`, drawn from its seed. */
  draw(limit: number): number {
    return (this.prng.nextU32() / CHANCE_STEPS) * limit;
  }

  /** A GUID of its own. */
  guid(): string {
    return this.prng.guid();
  }

  /** The service is away because of it until then. */
  goesDownUntil(atMs: number): void {
    this.expiresAtMs = atMs;
  }

  isDown(nowMs: number): boolean {
    return this.fault.effect === "stop" || (this.expiresAtMs !== undefined && nowMs < this.expiresAtMs);
  }

  status(waiting: number): FaultStatus {
    return { id: this.id, fault: this.fault, seen: this.seen, struck: this.struck, waiting };
  }
}

// Faults that refuse calls as long as they are there: a service that is away, objects that are not as they should be.

export interface Refusal {
  /** Name or number of the error. */
  readonly error: string | number;
  /** What happens, for the message. */
  readonly what: string;
}

/** What a call fails with because the service is away. */
export function absenceRefusal(active: ActiveFault, facts: CallFacts, nowMs: number): Refusal | undefined {
  if (!active.isDown(nowMs)) return undefined;
  const { fault } = active;
  const error = fault.effect === "stop" ? fault.error : undefined;
  return {
    error: error ?? "RPC_S_SERVER_UNAVAILABLE",
    what: `${describeCall(facts)}: the service is not running`,
  };
}

/** What a call fails with that concerns an endpoint which is only listed, or changes an object which is degraded. */
export function objectRefusal({ fault, objects }: ActiveFault, facts: CallFacts): Refusal | undefined {
  const added = endpointAddedBy(facts);
  if (fault.effect === "stale-endpoint" && fault.address === undefined) {
    if (!objects.some((id) => id === facts.id || id === added)) return undefined;
    return {
      error: "HCN_E_ENDPOINT_NOT_FOUND",
      what: `endpoint ${objects.join()} is listed, but is not there`,
    };
  }
  if (fault.effect !== "degrade") return undefined;
  const isChange = facts.operation === "modify" || facts.operation === "delete";
  const changed = added ?? (isChange ? facts.id : undefined);
  if (fault.object.toLowerCase() !== changed) return undefined;
  return { error: "HCN_E_DEGRADED_OPERATION", what: `${fault.kind} ${fault.object} is degraded` };
}

// What calls fail with because of faults: each error names its fault, so that it is not looked for in Windows.

/** An error of a fault, given by name or number. */
export function injectedError(error: string | number, faultId: string, what: string): HcnError {
  const options = {
    detail: `injected fault ${faultId}: ${what}`,
    explanation: "hns-fault-injected",
  } as const;
  const hresult = hresultOf(error) ?? 0;
  const code: HcnErrorCode | undefined = errorCodeOf(hresult);
  if (code !== undefined) return new HcnError(code, options);
  const text = `Injected error 0x${hresult.toString(16).padStart(8, "0")}. `;
  return HcnError.fromRecord({ Error: text, ErrorCode: hresult }, options);
}

/** True when a failing v1 call has to fail as a whole, and not in its envelope: there is no service to write one. */
export function isUnreachable(error: HcnError): boolean {
  return error.code === "RPC_S_SERVER_UNAVAILABLE" || error.code === "EPT_S_NOT_REGISTERED";
}
