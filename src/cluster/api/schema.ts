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
  CLUSTER_SUMMARY,
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
  POD_SUMMARY_LIST,
  SERVICE_LIST,
  SHUTDOWN,
  STACK_LISTS,
  TIME_ANSWER,
  TIME_REQUEST,
  TRACE_ANSWER,
  TRACE_REQUEST,
  VFP_PORT_LIST,
  VFP_PORT_VIEW,
} from "./documents.ts";
import { CONTROL_API_VERSION } from "./client.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { apiRoutes } from "#data/facts.js";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Requests, answers, events, and parts that several of them have, by the names under which they are published. */
export const API_SHAPES: Readonly<Record<string, Shape>> = {
  Health: HEALTH,
  ClusterSummary: CLUSTER_SUMMARY,
  PodSummaryList: POD_SUMMARY_LIST,
  ObjectList: OBJECT_LIST,
  HnsList: HNS_LIST,
  ComputeSystemList: STACK_LISTS.computesystems,
  CompartmentList: STACK_LISTS.compartments,
  AdapterList: STACK_LISTS.adapters,
  RouteList: STACK_LISTS.routes,
  QuirkList: STACK_LISTS.quirks,
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

/** What paths take and give, by name: with those that have a schema file of their own, and those that stand in answers alone. */
const DOCUMENTS: Readonly<Record<string, Shape>> = {
  ...API_SHAPES,
  ResolutionReport: RESOLUTION_REPORT,
  ExecReport: EXEC_REPORT,
  VerifyReport: VERIFY_REPORT,
  EffectiveRouteList: STACK_LISTS.effectiveroutes,
  EffectiveRuleList: STACK_LISTS.effectiverules,
  DockerNetworkList: STACK_LISTS.dockernetworks,
  DhcpLeaseList: STACK_LISTS.dhcpleases,
};

function readRoute(name: string, row: CheckedFields): ApiRoute {
  const [method, path = ""] = name.split(" ");
  const documentOf = (field: "request" | "answer"): Partial<ApiRoute> => {
    const document = row.optionalWord(field, Object.keys(DOCUMENTS));
    return document === undefined ? {} : { [field]: DOCUMENTS[document] };
  };
  const answers = row.optionalText("answers");
  const status = row.optionalNumber("status");
  const route: ApiRoute = {
    method: row.toWord("method", method, ["GET", "POST"]),
    path,
    query: row.texts("query"),
    ...documentOf("request"),
    ...documentOf("answer"),
    ...(answers !== undefined && { answers }),
    ...(status !== undefined && { status }),
    text: row.text("text"),
  };
  row.end();
  return route;
}

export const API_ROUTES: readonly ApiRoute[] = CheckedFields.ofTable(apiRoutes())
  .rows()
  .map(([name, row]) => readRoute(name, row));

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
