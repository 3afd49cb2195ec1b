/**
 * The control API described: its JSON Schema (schemas/api.v1alpha1.json), its OpenAPI description
 * (schemas/api.openapi.json), and the table of paths that both pages and paths come from.
 */
import { NODE_REQUEST } from "../life/node-change.ts";
import {
  NODE_EVENT,
  NOTE_EVENT,
  OBJECT_EVENT,
  OBJECT_REFERENCE,
  INPUT_TEXT,
  PROGRESS_EVENT,
  SESSION_PROBLEM,
} from "../session/session.ts";
import { EXEC_REPORT } from "../exec/exec-report.ts";
import { RESOLUTION_REPORT } from "../trace/resolve-report.ts";
import { TRACE_REPORT } from "../trace/trace-report.ts";
import { PACKET_COMPONENT, PACKET_COUNT } from "../views/packet-counters.ts";
import { NODE_PORT } from "../views/vfp-ports.ts";
import { VERIFY_REPORT } from "../verify/report.ts";
import { type JsonSchema, type SchemaNames, type Shape, definitionOf, schemaOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { PROBLEM_PLACE } from "#core/catalogue/file-problem.ts";
import { LIMIT_REASON } from "../session/flow-limit.ts";
import {
  LISTED_CONDITION,
  LISTED_DROP,
  LISTED_GROUP,
  LISTED_LAYER,
  LISTED_PORT,
  LISTED_RULE,
} from "#dataplane/vfp/listing/listing.ts";
import {
  LIVE_ANSWER,
  LIVE_LOG_ANSWER,
  APPLY_ANSWER,
  APPLY_REQUEST,
  ADAPTER_LIST,
  CLUSTER_SUMMARY,
  COMPARTMENT_LIST,
  COMPUTE_SYSTEM_LIST,
  CONTROL_PLANE_ANSWER,
  CONTROL_PLANE_REQUEST,
  DELETE_ANSWER,
  DELETE_REQUEST,
  VERIFY_REQUEST,
  ERROR_ANSWER,
  GAP_EVENT,
  HEALTH,
  HNS_LIST,
  NODE_ANSWER,
  NODE_SUMMARY,
  OBJECT_LIST,
  OVN_DATABASE_ANSWER,
  PACKET_COUNTER_LIST,
  EXEC_REQUEST,
  RESOLVE_REQUEST,
  EFFECTIVE_ROUTE_LIST,
  DHCP_LEASE_LIST,
  DOCKER_NETWORK_LIST,
  EFFECTIVE_RULE_LIST,
  POD_SUMMARY_LIST,
  QUIRK_LIST,
  ROUTE_LIST,
  SERVICE_LIST,
  SHUTDOWN,
  TIME_ANSWER,
  TIME_REQUEST,
  TRACE_ANSWER,
  TRACE_REQUEST,
  VFP_PORT_LIST,
  VFP_PORT_VIEW,
} from "./documents.ts";
import { CONTROL_API_VERSION } from "./client.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Requests, answers, events, and parts that several of them have, by the names under which they are published. */
export const API_SHAPES: Readonly<Record<string, Shape>> = {
  Health: HEALTH,
  ClusterSummary: CLUSTER_SUMMARY,
  PodSummaryList: POD_SUMMARY_LIST,
  ObjectList: OBJECT_LIST,
  HnsList: HNS_LIST,
  ComputeSystemList: COMPUTE_SYSTEM_LIST,
  CompartmentList: COMPARTMENT_LIST,
  AdapterList: ADAPTER_LIST,
  RouteList: ROUTE_LIST,
  QuirkList: QUIRK_LIST,
  ServiceList: SERVICE_LIST,
  VfpPortList: VFP_PORT_LIST,
  VfpPortView: VFP_PORT_VIEW,
  PacketCounterList: PACKET_COUNTER_LIST,
  OvnDatabase: OVN_DATABASE_ANSWER,
  Live: LIVE_ANSWER,
  LiveLog: LIVE_LOG_ANSWER,
  ApplyRequest: APPLY_REQUEST,
  ApplyReport: APPLY_ANSWER,
  DeleteRequest: DELETE_REQUEST,
  DeleteReport: DELETE_ANSWER,
  TimeRequest: TIME_REQUEST,
  TimeReport: TIME_ANSWER,
  NodeRequest: NODE_REQUEST,
  NodeReport: NODE_ANSWER,
  ControlPlaneRequest: CONTROL_PLANE_REQUEST,
  ControlPlaneReport: CONTROL_PLANE_ANSWER,
  TraceRequest: TRACE_REQUEST,
  TraceAnswer: TRACE_ANSWER,
  ResolveRequest: RESOLVE_REQUEST,
  ExecRequest: EXEC_REQUEST,
  VerifyRequest: VERIFY_REQUEST,
  Shutdown: SHUTDOWN,
  Error: ERROR_ANSWER,
  ObjectEvent: OBJECT_EVENT,
  NodeEvent: NODE_EVENT,
  ProgressEvent: PROGRESS_EVENT,
  NoteEvent: NOTE_EVENT,
  GapEvent: GAP_EVENT,
  Reference: OBJECT_REFERENCE,
  Input: INPUT_TEXT,
  Place: PROBLEM_PLACE,
  Problem: SESSION_PROBLEM,
  Reason: LIMIT_REASON,
  Node: NODE_SUMMARY,
  VfpCondition: LISTED_CONDITION,
  VfpRule: LISTED_RULE,
  VfpGroup: LISTED_GROUP,
  VfpLayer: LISTED_LAYER,
  VfpDrop: LISTED_DROP,
  VfpNodePort: NODE_PORT,
  VfpListing: LISTED_PORT,
  PacketCount: PACKET_COUNT,
  PacketComponent: PACKET_COMPONENT,
};

/** Reports that have a schema file of their own. */
const ELSEWHERE: SchemaNames = new Map<Shape, string>([
  [TRACE_REPORT, "trace.v1alpha1.json"],
  [RESOLUTION_REPORT, "resolve.v1alpha1.json"],
  [EXEC_REPORT, "exec.v1alpha1.json"],
  [VERIFY_REPORT, "verify.v1alpha1.json"],
]);

/** The codes themselves stand in knowledge-entry.v1alpha1.json; a newer cluster may know more. */
const CODE: JsonSchema = { type: "string", pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" };

function namesOf(shapes: typeof API_SHAPES, prefix: string): Map<Shape, string> {
  return new Map(Object.entries(shapes).map(([name, shape]) => [shape, `${prefix}#/$defs/${name}`]));
}

/** JSON schema, draft 2020-12: every request and answer under `$defs`. Reports are those of the files beside it. */
export function apiSchema(shapes: typeof API_SHAPES = API_SHAPES): JsonSchema {
  const names: SchemaNames = new Map([
    ...namesOf(shapes, ""),
    ...ELSEWHERE,
    [KNOWLEDGE_CODES, "#/$defs/Code"],
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Mullion control API, v1alpha1",
    description: WORDS.apiSchemaDescription,
    $defs: {
      ...Object.fromEntries(
        Object.entries(shapes).map(([name, shape]) => [name, definitionOf(shape, names)]),
      ),
      Code: CODE,
    },
  };
}

/** A path of the API. Words in capitals stand for what the caller puts there. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names of what may stand behind the question mark; those that must end with `!`. */
  readonly query?: readonly string[];
  readonly request?: Shape;
  /** Absent: what `answers` says. */
  readonly answer?: Shape;
  readonly answers?: string;
  readonly status?: number;
  /** What it does. */
  readonly text: string;
}

function get(path: string, answer: Shape | undefined, text: string, ...query: readonly string[]): ApiRoute {
  return { method: "GET", path, ...(query.length > 0 && { query }), ...(answer && { answer }), text };
}

function post(path: string, request: Shape | undefined, answer: Shape, text: string): ApiRoute {
  return { method: "POST", path, ...(request !== undefined && { request }), answer, text };
}

export const API_ROUTES: readonly ApiRoute[] = [
  get("/health", HEALTH, "says who answers: name, version, process, `ready` or `ending`"),
  {
    ...get(
      "/schemas/FILE",
      undefined,
      "`api.v1alpha1.json`, `trace.v1alpha1.json`, `resolve.v1alpha1.json`, `exec.v1alpha1.json`, `verify.v1alpha1.json`; `api.openapi.json`",
    ),
    answers: "a JSON schema",
  },
  get("/cluster", CLUSTER_SUMMARY, "nodes, number of pods, outside hosts, virtual time"),
  get("/pods", POD_SUMMARY_LIST, WORDS.routePods, "node"),
  get(
    "/objects/KIND",
    OBJECT_LIST,
    "Kubernetes objects, as `kubectl get -o json`; all namespaces without one",
    "namespace",
  ),
  get(
    "/hns/KIND",
    HNS_LIST,
    "`networks`, `endpoints`, `namespaces`, `loadbalancers` of HNS, on all nodes or one",
    "node",
  ),
  get(
    "/stacks/computesystems",
    COMPUTE_SYSTEM_LIST,
    "containers and virtual machines of Windows nodes, with their endpoints",
    "node",
  ),
  get(
    "/stacks/compartments",
    COMPARTMENT_LIST,
    "compartments of Windows and network namespaces of Linux",
    "node",
  ),
  get("/stacks/adapters", ADAPTER_LIST, "network adapters in all compartments", "node"),
  get("/stacks/routes", ROUTE_LIST, "routes of all compartments", "node"),
  get(
    "/stacks/effectiveroutes",
    EFFECTIVE_ROUTE_LIST,
    "routes of nodes in a virtual network of Azure",
    "node",
  ),
  get(
    "/stacks/effectiverules",
    EFFECTIVE_RULE_LIST,
    "security rules of nodes in a virtual network of Azure",
    "node",
  ),
  get(
    "/stacks/dockernetworks",
    DOCKER_NETWORK_LIST,
    "networks of Docker, as `docker network inspect` prints them",
    "node",
  ),
  get("/stacks/dhcpleases", DHCP_LEASE_LIST, "leases and reservations of DHCP servers", "node"),
  get("/stacks/quirks", QUIRK_LIST, WORDS.routeQuirks, "node"),
  get("/services", SERVICE_LIST, WORDS.routeServices, "node"),
  get("/vfp/ports", VFP_PORT_LIST, "switch ports of Windows nodes, as `vfpctrl /list-vmswitch-port`", "node"),
  get("/vfp/port", VFP_PORT_VIEW, WORDS.routeVfpPort, "name!", "node"),
  get(
    "/vfp/counters",
    PACKET_COUNTER_LIST,
    "what adapters, filters and stacks counted and dropped, as `pktmon counters`",
    "node",
  ),
  get("/ovn/NAME", OVN_DATABASE_ANSWER, WORDS.routeOvn),
  get("/live", LIVE_ANSWER, "namespaces and processes of this machine that are the cluster"),
  get("/live/log", LIVE_LOG_ANSWER, "what the processes of a real pod printed last", "pod!"),
  post("/apply", APPLY_REQUEST, APPLY_ANSWER, "creates or changes the objects of manifests"),
  post("/delete", DELETE_REQUEST, DELETE_ANSWER, "deletes objects, by name or those that manifests name"),
  post("/node", NODE_REQUEST, NODE_ANSWER, WORDS.routeNode),
  post(
    "/control-plane",
    CONTROL_PLANE_REQUEST,
    CONTROL_PLANE_ANSWER,
    "begins or ends an outage of the API server",
  ),
  post("/time", TIME_REQUEST, TIME_ANSWER, WORDS.routeTime),
  post("/trace", TRACE_REQUEST, TRACE_ANSWER, WORDS.routeTrace),
  post("/resolve", RESOLVE_REQUEST, RESOLUTION_REPORT, WORDS.routeResolve),
  post("/exec", EXEC_REQUEST, EXEC_REPORT, WORDS.routeExec),
  post("/verify", VERIFY_REQUEST, VERIFY_REPORT, WORDS.routeVerify),
  { ...get("/events", undefined, "reports what happens"), answers: "an event stream" },
  { ...get("/capture", undefined, WORDS.routeCapture, "at", "now"), answers: "a pcapng stream" },
  { ...post("/shutdown", undefined, SHUTDOWN, "ends the cluster (status 202)"), status: 202 },
];

/** OpenAPI 3.1. The documents are those of the schema files, which lie beside it. */
export function apiOpenApi(routes: readonly ApiRoute[] = API_ROUTES): JsonSchema {
  const names: SchemaNames = new Map([...namesOf(API_SHAPES, "api.v1alpha1.json"), ...ELSEWHERE]);
  const json = (shape: Shape): JsonSchema => ({ "application/json": { schema: schemaOf(shape, names) } });
  const operation = ({
    path,
    query = [],
    request,
    answer,
    answers,
    status = 200,
    text,
  }: ApiRoute): JsonSchema => {
    const inPath = path.split("/").filter((part) => /^[A-Z]+$/.test(part));
    const parameters = [
      ...inPath.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
      ...query.map((name) => ({
        name: name.replace("!", ""),
        in: "query",
        required: name.endsWith("!"),
        schema: { type: "string" },
      })),
    ];
    const isStream = path === "/events";
    const content =
      answer === undefined
        ? { [isStream ? "text/event-stream" : "application/json"]: { schema: {} } }
        : json(answer);
    return {
      summary: text,
      ...(parameters.length > 0 && { parameters }),
      ...(request !== undefined && { requestBody: { required: true, content: json(request) } }),
      responses: {
        [status]: { description: answers ?? "The answer.", content },
        default: { description: "The request failed.", content: json(ERROR_ANSWER) },
      },
    };
  };
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = `/${CONTROL_API_VERSION}${route.path.replaceAll(/\/([A-Z]+)$/g, "/{$1}")}`;
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Mullion control API",
      version: CONTROL_API_VERSION,
      description: "A running cluster: docs/reference/api.md.",
    },
    servers: [{ url: "http://mullion", description: "Through the Unix socket of the cluster." }],
    paths,
  };
}
