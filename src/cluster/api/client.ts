/** Talks to a control API, over whatever carries requests: the same calls in process and over a socket. */
import type { NodeRequest } from "../life/node-change.ts";
import type { ExecReport } from "../exec/exec-report.ts";
import type { ResolutionReport } from "../trace/resolve-report.ts";
import type { OvnDatabaseName } from "../views/ovn-view.ts";
import type { VerifyReport } from "../verify/report.ts";
import type {
  ApplyAnswer,
  ApplyBody,
  ClusterSummary,
  ControlPlaneAnswer,
  DeleteAnswer,
  DeleteBody,
  ErrorAnswer,
  ClusterHealth,
  LiveAnswer,
  LiveLogAnswer,
  HnsList,
  NodeAnswer,
  ObjectList,
  OvnDatabaseAnswer,
  PacketCounterList,
  ShutdownAnswer,
  ExecQuestion,
  ResolveQuestion,
  TraceAnswer,
  TraceQuestion,
  ServiceList,
  StackLists,
  TimeAnswer,
  VfpPortList,
  VfpPortView,
} from "./documents.ts";
import { isFields, mappingOf } from "#core/base/json.ts";
import { ApiError, ReportedError } from "./error-details.ts";

/** The version that paths begin with. */
export const CONTROL_API_VERSION = "v1alpha1";

/** Kinds of HNS objects that can be listed. */
export const HNS_KINDS = ["networks", "endpoints", "namespaces", "loadbalancers"] as const;
export type HnsKind = (typeof HNS_KINDS)[number];

/** Kinds of what machines consist of below their pods, and of what the network around counts for them. */
export const STACK_KINDS = [
  "computesystems",
  "compartments",
  "adapters",
  "routes",
  "effectiveroutes",
  "effectiverules",
  "dockernetworks",
  "dhcpleases",
  "quirks",
] as const;
export type StackKind = (typeof STACK_KINDS)[number];

export interface ControlRequest {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
}

export interface ControlResponse {
  readonly status: number;
  readonly body: string;
}

/** Carries one request. */
export type Transport = (request: ControlRequest) => Promise<ControlResponse>;

const SUCCESS_BEGIN = 200;
const SUCCESS_END = 300;
const BAD_GATEWAY = 502;

function isErrorAnswer(value: unknown): value is ErrorAnswer {
  const error = mappingOf(value)["error"];
  return isFields(error) && typeof error["code"] === "string" && typeof error["message"] === "string";
}

function foreign(): ApiError {
  return new ApiError(
    BAD_GATEWAY,
    "cluster-unreachable",
    "what listens on the socket does not speak Mullion's control API",
    "Check --socket; another program may listen there.",
  );
}

function query(fields: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** What an answer that is no success says. */
export function refusalOf(body: string): ReportedError | ApiError {
  try {
    const answer: unknown = JSON.parse(body);
    if (isErrorAnswer(answer)) return new ReportedError(answer.error);
  } catch {
    // No JSON: it is not ours.
  }
  return foreign();
}

/** The path of a capture. `places` as `mullion capture` takes them; `nowMs`: since 1970. */
export function capturePath(places: readonly string[], nowMs: number): string {
  const at = places.map((place) => `at=${encodeURIComponent(place)}&`).join("");
  return `/${CONTROL_API_VERSION}/capture?${at}now=${nowMs}`;
}

export class ControlClient {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  health(): Promise<ClusterHealth> {
    return this.get("/health");
  }

  cluster(): Promise<ClusterSummary> {
    return this.get("/cluster");
  }

  /** Objects of a kind by its plural; of all namespaces when none is given. */
  objects(plural: string, namespace?: string): Promise<ObjectList> {
    return this.get(`/objects/${encodeURIComponent(plural)}${query({ namespace })}`);
  }

  hns(kind: HnsKind, node?: string): Promise<HnsList> {
    return this.get(`/hns/${kind}${query({ node })}`);
  }

  /** Of all machines, or of one node. */
  stacks<Kind extends StackKind>(kind: Kind, node?: string): Promise<StackLists[Kind]> {
    return this.get(`/stacks/${kind}${query({ node })}`);
  }

  /** Services on Windows nodes, or on one of them, with what HNS and VFP have of them. */
  services(node?: string): Promise<ServiceList> {
    return this.get(`/services${query({ node })}`);
  }

  vfpPorts(node?: string): Promise<VfpPortList> {
    return this.get(`/vfp/ports${query({ node })}`);
  }

  /** `port` is a GUID, a friendly name, an address, or `pod/NAMESPACE/NAME`. */
  vfpPort(port: string, node?: string): Promise<VfpPortView> {
    return this.get(`/vfp/port${query({ name: port, node })}`);
  }

  packetCounters(node?: string): Promise<PacketCounterList> {
    return this.get(`/vfp/counters${query({ node })}`);
  }

  /** A database of OVN. @throws ReportedError `unknown-object` for a cluster without it. */
  ovn(name: OvnDatabaseName): Promise<OvnDatabaseAnswer> {
    return this.get(`/ovn/${name}`);
  }

  /** What of the cluster is on this machine. @throws ReportedError `cluster-not-live` when nothing is. */
  live(): Promise<LiveAnswer> {
    return this.get("/live");
  }

  /** What the processes of a real pod printed last; the pod is `web` or `shop/web`. */
  liveLog(pod: string): Promise<LiveLogAnswer> {
    return this.get(`/live/log${query({ pod })}`);
  }

  apply(request: ApplyBody): Promise<ApplyAnswer> {
    return this.post("/apply", request);
  }

  delete(request: DeleteBody): Promise<DeleteAnswer> {
    return this.post("/delete", request);
  }

  /** Lets something happen to a node. */
  changeNode(request: NodeRequest): Promise<NodeAnswer> {
    return this.post("/node", request);
  }

  /** Begins or ends an outage of the API server. */
  setApiServer(apiServer: "up" | "down"): Promise<ControlPlaneAnswer> {
    return this.post("/control-plane", { apiServer });
  }

  passTime(milliseconds: number): Promise<TimeAnswer> {
    return this.post("/time", { milliseconds });
  }

  trace(question: TraceQuestion): Promise<TraceAnswer> {
    return this.post("/trace", question);
  }

  resolve(question: ResolveQuestion): Promise<ResolutionReport> {
    return this.post("/resolve", question);
  }

  exec(question: ExecQuestion): Promise<ExecReport> {
    return this.post("/exec", question);
  }

  /** Tries what something has touched since it was tried last, or all flows. */
  verify(isWhole = false): Promise<VerifyReport> {
    return this.post("/verify", isWhole ? { whole: true } : {});
  }

  shutdown(): Promise<ShutdownAnswer> {
    return this.post("/shutdown", {});
  }

  private get<T>(path: string): Promise<T> {
    return this.send({ method: "GET", path: `/${CONTROL_API_VERSION}${path}` });
  }

  private post<T>(path: string, body: object): Promise<T> {
    return this.send({ method: "POST", path: `/${CONTROL_API_VERSION}${path}`, body: JSON.stringify(body) });
  }

  /** @throws ReportedError with what the API says when it refuses; ApiError when it is none. */
  private async send<T>(request: ControlRequest): Promise<T> {
    const { status, body } = await this.transport(request);
    let answer: unknown;
    try {
      answer = JSON.parse(body);
    } catch {
      throw foreign();
    }
    if (status >= SUCCESS_BEGIN && status < SUCCESS_END) return answer as T;
    if (isErrorAnswer(answer)) throw new ReportedError(answer.error);
    throw foreign();
  }
}
