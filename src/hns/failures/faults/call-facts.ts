/** What of a call faults ask for: the same for HCN and for HNS v1, which are two ways to one service. */
import type { HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { CallMatch, CallOperation, DegradableKind, RestartState } from "#contracts/hcn/faults/fault.ts";
import { equalGuids, parseGuid } from "#contracts/hcn/guid.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import type { QuirkStatus } from "#contracts/hcn/faults/hns-faults.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsService } from "../../service/hns-service.ts";

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

// The service as faults reach it: what no client can do, done behind everybody's back.

/** Brings a degraded endpoint back (hcn.md §5.2). */
const REFRESH = Object.freeze({ RequestType: "Refresh" });

/** Defects that let the service hang. */
const HANGING: readonly QuirkName[] = ["service-deadlock", "load-balancers-of-one-endpoint-hang"];

export class ServiceTarget implements FaultTarget {
  private readonly service: HnsService;
  /** Does something to the service, stores what it changed and tells it. */
  private readonly administer: <T>(action: () => T) => Promise<T>;

  constructor(service: HnsService, administer: <T>(action: () => T) => Promise<T>) {
    this.service = service;
    this.administer = administer;
  }

  get windows(): WindowsBuild {
    return this.service.windows;
  }

  countObjects(): number {
    return this.service.endpointAndLoadBalancerCount;
  }

  get mayHang(): boolean {
    return HANGING.some((name) => this.service.quirks.mayStrike(name));
  }

  hangs(facts: CallFacts): QuirkName | undefined {
    const { quirks } = this.service;
    if (quirks.has("service-deadlock")) return "service-deadlock";
    const ids = backEndsMade(facts);
    const isShared = ids.some((id) => this.service.isBalanced(id));
    return isShared && quirks.has("load-balancers-of-one-endpoint-hang")
      ? "load-balancers-of-one-endpoint-hang"
      : undefined;
  }

  async forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]> {
    return this.administer(() => {
      const wanted = ids ?? this.service.enumerate("LoadBalancer");
      // All are there, or none is touched.
      for (const id of wanted) this.service.query("LoadBalancer", id);
      for (const id of wanted) this.service.delete("LoadBalancer", id);
      return wanted;
    });
  }

  async degrade(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      this.service.query(kind, id);
      if (kind === "LoadBalancer") this.service.degradeLoadBalancer(id);
      else this.service.degradeEndpoint(id, HCN_ERRORS.HCN_E_DEGRADED_OPERATION.hresult);
    });
  }

  async repair(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      if (kind === "LoadBalancer") this.service.repairLoadBalancer(id);
      else if (this.service.enumerate("Endpoint", { Filter: JSON.stringify({ ID: id }) }).length > 0)
        this.service.modify("Endpoint", id, REFRESH);
    });
  }

  async createRemoteEndpoint(network: Guid, address: string, faultId: string): Promise<Guid> {
    return this.administer(() =>
      this.service.create(
        "Endpoint",
        {
          Name: `stale-${faultId}`,
          Flags: ENDPOINT_FLAGS.RemoteEndpoint,
          IpConfigurations: [{ IpAddress: address }],
          SchemaVersion: { Major: 2, Minor: 0 },
        },
        { network },
      ),
    );
  }

  async deleteEndpoint(id: Guid): Promise<void> {
    return this.administer(() => {
      try {
        this.service.delete("Endpoint", id);
      } catch (error) {
        // Whoever clears up stale endpoints was faster.
        if (!(error instanceof HcnError && error.code === "HCN_E_ENDPOINT_NOT_FOUND")) throw error;
      }
    });
  }

  async restart(state?: RestartState): Promise<void> {
    return this.administer(() => this.service.restart(state));
  }

  async reboot(): Promise<void> {
    return this.administer(() => this.service.reboot());
  }

  quirks(): readonly QuirkStatus[] {
    return this.service.quirks.list();
  }

  setQuirk(name: QuirkName, setting: QuirkSetting): void {
    this.service.setQuirk(name, setting);
  }
}

// An endpoint that is listed and not found: which enumerations list it.

function filterOf(query: HostComputeQuery | undefined): JsonObject {
  const text = query?.Filter ?? "";
  if (text === "") return {};
  const filter = parseJsonText(text);
  return isJsonObject(filter) ? filter : {};
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
