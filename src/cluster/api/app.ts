/**
 * The control API: paths and what answers them. Pure: it takes a request and gives a response; `server.node.ts` puts
 * it on a socket, `inProcessClient` calls it directly.
 */
import { type Cluster, forkCluster } from "../cluster.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import type { ClusterSession, ObjectReference } from "../session/session.ts";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { encodeBase64 } from "hono/utils/encode";
import { LIMITS } from "#core/base/limits.ts";
import { CAPTURE_EPOCH_MS, captureTrace } from "../trace/capture.ts";
import { EXEC_SCHEMA, type ExecReport } from "../exec/exec-report.ts";
import { changesMachine, execute, executeChange } from "../exec/exec.ts";
import { RESOLUTION_SCHEMA, type ResolutionReport } from "../trace/resolve-report.ts";
import { withBytes } from "../trace/build-trace.ts";
import { resolveNames } from "../trace/resolve.ts";
import { TRACE_SCHEMA } from "../trace/trace-report.ts";
import { countPackets } from "../views/packet-counters.ts";
import { type Trace, tracePacket } from "../trace/trace.ts";
import { pageOfTrace } from "../verify/page-of-trace.ts";
import { viewServices } from "../views/service-view.ts";
import { OVN_DATABASES, viewOvnDatabase } from "../views/ovn-view.ts";
import { listNodePorts, viewNodePort } from "../views/vfp-ports.ts";
import type { VerifyReport } from "../verify/report.ts";
import { VERIFY_SCHEMA } from "../verify/report.ts";
import {
  APPLY_REQUEST,
  CONTROL_PLANE_REQUEST,
  EXEC_REQUEST,
  RESOLVE_REQUEST,
  TIME_REQUEST,
  VERIFY_REQUEST,
  type ApplyAnswer,
  type ControlPlaneAnswer,
  type DeleteAnswer,
  type ErrorAnswer,
  type ClusterHealth,
  type LiveAnswer,
  type LiveLogAnswer,
  type NodeAnswer,
  type OvnDatabaseAnswer,
  type PacketCounterList,
  type ShutdownAnswer,
  type TraceAnswer,
  type ServiceList,
  type TimeAnswer,
  type VfpPortList,
  type VfpPortView,
} from "./documents.ts";
import { ApiError, INTERNAL_FAULT, describeError, statusOf } from "./error-details.ts";
import { streamCapture } from "./capture-stream.ts";
import { streamEvents } from "./event-stream.ts";
import { HeldCluster, type HeldClusterOptions } from "./held-cluster.ts";
import { KUBE_KIND_TABLE, findKubeKind } from "./kube-kinds.ts";
import { listHns, listStacks, listObjects, summarizeCluster, summarizePods } from "./listings.ts";
import {
  refuseRequest,
  readRequest,
  readDeleteRequest,
  readNodeRequest,
  readTraceQuestion,
} from "./requests.ts";
import { apiOpenApi, apiSchema } from "./schema.ts";
import { CONTROL_API_VERSION, ControlClient, HNS_KINDS, STACK_KINDS } from "./client.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { LiveView } from "../live/live-places.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const ACCEPTED = 202;
const NOT_FOUND = 404;
const TOO_LARGE = 413;
const DEFAULT_NAMESPACE = "default";

/** As in the folder schemas/ of the package, so that they find each other. */
const SCHEMAS: ReadonlyMap<string, () => object> = new Map([
  ["api.v1alpha1.json", () => apiSchema()],
  ["api.openapi.json", () => apiOpenApi()],
  ["trace.v1alpha1.json", () => TRACE_SCHEMA],
  ["resolve.v1alpha1.json", () => RESOLUTION_SCHEMA],
  ["exec.v1alpha1.json", () => EXEC_SCHEMA],
  ["verify.v1alpha1.json", () => VERIFY_SCHEMA],
]);

function unknownPath(method: string, path: string): ApiError {
  return new ApiError(
    NOT_FOUND,
    "api-request-invalid",
    `there is no ${method} ${path}`,
    `Paths begin with /${CONTROL_API_VERSION}/; docs/reference/api.md lists them.`,
  );
}

async function readBody(context: Context): Promise<unknown> {
  const text = await context.req.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return refuseRequest("the body is not JSON", "Send one JSON object.");
  }
}

async function apply(held: HeldCluster, body: unknown): Promise<ApplyAnswer> {
  const { inputs, namespace } = readRequest(APPLY_REQUEST, body);
  return held.inTurn(async (session) => {
    const read = held.readManifests(inputs, namespace ?? DEFAULT_NAMESPACE);
    const { objects, problems, notes, limits = [] } = read;
    const report = await session.apply(objects);
    const refused = report.results.flatMap(({ problem }) => problem ?? []);
    const texts = inputs.map(({ name }) => name);
    const said = { problems: [...problems, ...refused], notes: [...notes, ...report.applied], limits };
    held.remark(texts, said);
    return {
      apiVersion: DOCUMENT_VERSION,
      kind: "ApplyReport",
      results: report.results,
      problems,
      notes: [...notes, ...report.notes],
    };
  });
}

/**
 * What files name, the last first, as what needs another stands behind it, and namespaces at the very end: they take
 * along what lies in them, which would then not be found.
 */
function inOrderOfDeletion(named: readonly ObjectReference[]): readonly ObjectReference[] {
  const last = named.toReversed();
  return [
    ...last.filter(({ kind }) => kind !== "Namespace"),
    ...last.filter(({ kind }) => kind === "Namespace"),
  ];
}

async function remove(held: HeldCluster, body: unknown): Promise<DeleteAnswer> {
  const { inputs = [], references, namespace } = readDeleteRequest(body);
  return held.inTurn(async (session) => {
    const read = inputs.length === 0 ? undefined : held.readManifests(inputs, namespace ?? DEFAULT_NAMESPACE);
    const named = (read?.objects ?? []).map(({ object: { kind, metadata } }) => ({
      kind,
      namespace: metadata.namespace,
      name: metadata.name,
    }));
    const report = await session.delete([...references, ...inOrderOfDeletion(named)]);
    // What was said about these texts when they were applied is out of date.
    held.remark(
      inputs.map(({ name }) => name),
      { problems: [], notes: [] },
    );
    const { problems = [], notes = [] } = read ?? {};
    return {
      apiVersion: DOCUMENT_VERSION,
      kind: "DeleteReport",
      results: report.results,
      problems,
      notes: [...notes, ...report.notes],
    };
  });
}

async function trace(held: HeldCluster, body: unknown): Promise<TraceAnswer> {
  const asked = readTraceQuestion(body);
  const { from, to, protocol = "tcp", family, port, capture, inject, captureNode, capturePlace } = asked;
  const scope = {
    ...(captureNode === undefined ? {} : { node: captureNode }),
    ...(capturePlace === undefined ? {} : { place: capturePlace }),
  };
  return held.inTurn(async (session) => {
    const request = { from, to, protocol, port, family, isInjected: inject === true };
    const question = (cluster: Cluster): Trace => tracePacket(cluster, request, held.limits);
    // A packet that changes what it passes is sent once.
    if (request.isInjected) await session.raise();
    const traced = request.isInjected ? question(session.cluster) : await session.ask(question);
    const { heard } = traced;
    const report = asked.bytes === true ? withBytes(traced.report, heard) : traced.report;
    const documentation = pageOfTrace(session.cluster, report);
    const bytes = capture === true ? captureTrace(heard, CAPTURE_EPOCH_MS, scope) : undefined;
    return {
      apiVersion: DOCUMENT_VERSION,
      kind: "TraceAnswer",
      report: documentation === undefined ? report : { ...report, documentation },
      ...(bytes === undefined ? {} : { capture: encodeBase64(bytes.slice().buffer) }),
    };
  });
}

async function resolve(held: HeldCluster, body: unknown): Promise<ResolutionReport> {
  const { as: program, ...request } = readRequest(RESOLVE_REQUEST, body);
  return held.inTurn(async (session) =>
    session.ask((cluster) => resolveNames(cluster, { ...request, program }, held.limits)),
  );
}

/** What only looks runs in a copy; a command that changes something where it counts. */
async function exec(held: HeldCluster, body: unknown): Promise<ExecReport> {
  const question = readRequest(EXEC_REQUEST, body);
  return held.inTurn(async (session) => {
    const isChange = await session.ask((cluster) => changesMachine(cluster, question));
    if (!isChange) {
      const looked = await session.ask((cluster) => execute(forkCluster(cluster), question));
      return onNetwork(looked, held.limits);
    }
    await session.raise();
    return onNetwork(await executeChange(session.cluster, question), held.limits);
  });
}

/** What a command shows and sends rests on the network that stands in for one that is not carried out. */
function onNetwork(report: ExecReport, limits: readonly FlowLimit[]): ExecReport {
  const lacks = limits.filter(({ code }) => code === "network-not-emulated");
  if (lacks.length === 0) return report;
  const notJudged = lacks.map(({ code, message, where }) => ({
    code,
    message,
    ...(where === undefined ? {} : { where }),
  }));
  return { ...report, notJudged };
}

async function verify(held: HeldCluster, body: unknown): Promise<VerifyReport> {
  const { whole = false } = readRequest(VERIFY_REQUEST, body);
  return held.inTurn(async (session) => {
    await session.raise();
    return held.verify(session, held.input, whole);
  });
}

async function passTime(held: HeldCluster, body: unknown): Promise<TimeAnswer> {
  const { milliseconds } = readRequest(TIME_REQUEST, body);
  return held.inTurn(async (session) => ({
    apiVersion: DOCUMENT_VERSION,
    kind: "TimeReport",
    ...(await session.passTime(milliseconds)),
  }));
}

async function changeNode(held: HeldCluster, body: unknown): Promise<NodeAnswer> {
  const { node, ...change } = readNodeRequest(body);
  return held.inTurn(async (session) => ({
    apiVersion: DOCUMENT_VERSION,
    kind: "NodeReport",
    ...(await session.changeNode(node, change)),
  }));
}

async function setControlPlane(held: HeldCluster, body: unknown): Promise<ControlPlaneAnswer> {
  const { apiServer } = readRequest(CONTROL_PLANE_REQUEST, body);
  return held.inTurn(async (session) => ({
    apiVersion: DOCUMENT_VERSION,
    kind: "ControlPlaneReport",
    ...(await session.setApiServer(apiServer)),
  }));
}

function health(held: HeldCluster): ClusterHealth {
  const status = held.isEnding ? "ending" : "ready";
  return { apiVersion: DOCUMENT_VERSION, kind: "Health", status, ...held.identity };
}

function shutdown(held: HeldCluster): ShutdownAnswer {
  held.end();
  return { apiVersion: DOCUMENT_VERSION, kind: "Shutdown", cluster: held.clusterName, status: "ending" };
}

/** What `look` sees of all nodes, or of the one that is asked for; they are up then. */
async function ofMachines<T extends object>(
  context: Context,
  held: HeldCluster,
  look: (session: ClusterSession, node: string | undefined) => T | Promise<T>,
): Promise<Response> {
  const node = context.req.query("node");
  const answer = held.inTurn(async (session) => {
    await session.raise(node);
    return look(session, node);
  });
  return context.json(await answer);
}

/** What looks at machines of nodes. */
function addMachines(app: Hono, held: HeldCluster): void {
  const apiVersion = DOCUMENT_VERSION;
  app.get("/hns/:kind", (context) => {
    const text = context.req.param("kind");
    const kind = HNS_KINDS.find((each) => each === text);
    if (kind === undefined)
      return refuseRequest(`HNS has no ${JSON.stringify(text)}`, `It has: ${HNS_KINDS.join(", ")}.`);
    return ofMachines(context, held, (session, node) => listHns(session, kind, node));
  });
  for (const kind of STACK_KINDS)
    app.get(`/stacks/${kind}`, (context) =>
      ofMachines(context, held, (session, node) => listStacks(session, kind, node)),
    );
  app.get("/services", (context) =>
    ofMachines<ServiceList>(context, held, async (session, node) => {
      const items = await viewServices(session.cluster, (name) => session.servicesOn(name), node);
      return { apiVersion, kind: "ServiceList", items, repairs: session.repairs(node) };
    }),
  );
  app.get("/vfp/ports", (context) =>
    ofMachines<VfpPortList>(context, held, ({ cluster }, node) => {
      return { apiVersion, kind: "VfpPortList", items: listNodePorts(cluster, node) };
    }),
  );
  app.get("/vfp/port", (context) => {
    const name = context.req.query("name") ?? "";
    if (name === "") return refuseRequest("name is missing", "Say which port: /vfp/port?name=GUID");
    return ofMachines<VfpPortView>(context, held, ({ cluster }, node) => {
      return { apiVersion, kind: "VfpPortView", ...viewNodePort(cluster, name, node) };
    });
  });
  app.get("/vfp/counters", (context) =>
    ofMachines<PacketCounterList>(context, held, ({ cluster }, node) => {
      return { apiVersion, kind: "PacketCounterList", items: countPackets(cluster, node) };
    }),
  );
}

function addOvn(app: Hono, held: HeldCluster): void {
  app.get("/ovn/:name", async (context) => {
    const text = context.req.param("name");
    const name = OVN_DATABASES.find((each) => each === text);
    if (name === undefined)
      return refuseRequest(`OVN has no database ${JSON.stringify(text)}`, "It has: nb, sb.");
    const answer = held.inTurn((session): Promise<OvnDatabaseAnswer> => {
      const view = viewOvnDatabase(session.cluster, name);
      return Promise.resolve({ apiVersion: DOCUMENT_VERSION, kind: "OvnDatabase", ...view });
    });
    return context.json(await answer);
  });
}

/** What of the cluster is on this machine. */
function addLive(app: Hono, held: HeldCluster): void {
  const live = (): LiveView => {
    if (held.live !== undefined) return held.live;
    throw new ApiError(NOT_FOUND, "cluster-not-live", WORDS.clusterNotLive, WORDS.adviceClusterNotLive);
  };
  app.get("/live", (context) => {
    const answer: LiveAnswer = { apiVersion: DOCUMENT_VERSION, kind: "Live", ...live().places };
    return context.json(answer);
  });
  app.get("/live/log", (context) => {
    const pod = context.req.query("pod") ?? "";
    const text = live().logOf(pod);
    if (text === undefined)
      throw new ApiError(
        NOT_FOUND,
        "cluster-not-live",
        WORDS.podWithoutProcess({ pod: JSON.stringify(pod) }),
        WORDS.advicePodWithoutProcess,
      );
    const answer: LiveLogAnswer = { apiVersion: DOCUMENT_VERSION, kind: "LiveLog", pod, text };
    return context.json(answer);
  });
}

/** What only looks. */
function addReading(app: Hono, held: HeldCluster): void {
  app.get("/health", (context) => context.json(health(held)));
  app.get("/schemas/:file", (context) => {
    const { path } = context.req;
    const schema = SCHEMAS.get(context.req.param("file"));
    if (schema === undefined) throw unknownPath("GET", path);
    return context.json(schema());
  });
  app.get("/cluster", (context) => context.json(summarizeCluster(held.session)));
  app.get("/pods", (context) => context.json(summarizePods(held.session, context.req.query("node"))));
  app.get("/objects/:kind", (context) => {
    const kind = context.req.param("kind");
    const names = findKubeKind(kind);
    if (names === undefined) {
      const known = KUBE_KIND_TABLE.map(({ plural }) => plural).join(", ");
      return refuseRequest(`there is no kind ${JSON.stringify(kind)}`, `Kinds are: ${known}.`);
    }
    return context.json(listObjects(held.session, names, context.req.query("namespace")));
  });
  addMachines(app, held);
  addOvn(app, held);
  addLive(app, held);
  app.get("/events", (context) => streamEvents(context, held));
  app.get("/capture", async (context) => streamCapture(context, held));
}

/** What asks for work, or changes the cluster. */
function addWorking(app: Hono, held: HeldCluster): void {
  app.post("/apply", async (context) => context.json(await apply(held, await readBody(context))));
  app.post("/delete", async (context) => context.json(await remove(held, await readBody(context))));
  app.post("/node", async (context) => context.json(await changeNode(held, await readBody(context))));
  app.post("/control-plane", async (context) =>
    context.json(await setControlPlane(held, await readBody(context))),
  );
  app.post("/time", async (context) => context.json(await passTime(held, await readBody(context))));
  app.post("/trace", async (context) => context.json(await trace(held, await readBody(context))));
  app.post("/resolve", async (context) => context.json(await resolve(held, await readBody(context))));
  app.post("/exec", async (context) => context.json(await exec(held, await readBody(context))));
  app.post("/verify", async (context) => context.json(await verify(held, await readBody(context))));
  app.post("/shutdown", (context) => context.json(shutdown(held), ACCEPTED));
}

/** The API over one cluster. */
export function createApp(held: HeldCluster): Hono {
  const app = new Hono();
  app.onError((error, context) => {
    const answer: ErrorAnswer = { error: describeError(error) };
    // A bug: the caller hears that it failed, the log hears where.
    if (answer.error.code === INTERNAL_FAULT)
      held.log.write("error", "request failed", { path: context.req.path, error });
    return context.newResponse(JSON.stringify(answer), statusOf(error) as 400, {
      "content-type": "application/json",
    });
  });
  app.notFound((context) => {
    throw unknownPath(context.req.method, context.req.path);
  });
  app.use(
    bodyLimit({
      maxSize: LIMITS.apiRequestBytesMax,
      onError: () => {
        throw new ApiError(
          TOO_LARGE,
          "api-request-too-large",
          `the request is longer than ${LIMITS.apiRequestBytesMax} bytes`,
          "Send the manifests in several requests.",
        );
      },
    }),
  );
  const versioned = new Hono();
  addReading(versioned, held);
  addWorking(versioned, held);
  app.route(`/${CONTROL_API_VERSION}`, versioned);
  return app;
}

/** A client of a cluster of this process, without a socket: for verbs that build their cluster from `-f` and forget it. */
export function inProcessClient(options: Omit<HeldClusterOptions, "onShutdown">): ControlClient {
  const app = createApp(new HeldCluster({ ...options, onShutdown: () => undefined }));
  return new ControlClient(async ({ method, path, body }) => {
    const response = await app.request(path, { method, ...(body === undefined ? {} : { body }) });
    return { status: response.status, body: await response.text() };
  });
}
