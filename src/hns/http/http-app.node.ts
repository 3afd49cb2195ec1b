/** The paths of a served HNS and what answers them: `hcn/http-operations.ts`, notifications, health and metrics. */
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { LIMITS } from "#core/base/limits.ts";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import {
  HCN_KINDS,
  type HcnClient,
  type HcnNotification,
  NOTIFICATION_TYPES,
  type NotificationScope,
  checkScope,
} from "#contracts/hcn/client.ts";
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import { errorCodeOf } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { FAULT_PATHS } from "../failures/faults/fault-paths.ts";
import type { FaultStatus } from "../failures/faults/fault.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { HTTP_OPERATIONS, type HttpOperation, isHttpOperation } from "#contracts/hcn/http/http-operations.ts";
import {
  HTTP_NOTIFICATIONS_PATH,
  HTTP_PREFIX,
  HTTP_VERSION,
  HTTP_VERSION_HEADER,
  formatHttpError,
  httpStatusOf,
} from "#contracts/hcn/http/http-protocol.ts";
import { JsonReader, parseJsonText } from "#contracts/hcn/description/json.ts";
import { hnsOpenApi } from "./openapi.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { addDumpPaths } from "../dump/http-dumps.node.ts";
import type { FaultInjector } from "../failures/faults/fault-injector.ts";
import { HnsMetrics } from "./http-metrics.ts";
import { InProcessHcnClient } from "../service/in-process-client.ts";
import type { StoreFault } from "../store/folder-files.node.ts";
import type { ServerResponse } from "node:http";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// Notifications to those who listen over HTTP: one JSON object per line.

const GOODBYE: HcnNotification = Object.freeze({
  type: NOTIFICATION_TYPES.ServiceDisconnect,
  status: 0,
  data: Object.freeze({ ID: ZERO_GUID, Flags: 0 }),
});

/** An empty line so often, so that both ends notice when the other is gone. */
const KEEP_ALIVE_MS = 15_000;

function nameOf(type: number): string {
  const found = Object.entries(NOTIFICATION_TYPES).find(([, number]) => number === type);
  return found === undefined ? String(type) : found[0];
}

export class NotificationFeed {
  private readonly client: HcnClient;
  /** Each with what ends its registration. */
  private readonly streams = new Map<ServerResponse, () => void>();
  private readonly count: (type: string) => void;
  private stopCounting: () => void;
  private readonly keepAlive: NodeJS.Timeout;

  /** `count` hears the name of each notification of the service. */
  constructor(client: HcnClient, count: (type: string) => void) {
    this.client = client;
    this.count = count;
    this.stopCounting = this.startCounting();
    this.keepAlive = setInterval(() => {
      for (const stream of this.streams.keys()) this.write(stream, "\n");
    }, KEEP_ALIVE_MS);
    this.keepAlive.unref();
  }

  /** Goes on when the service behind the client has restarted. */
  private startCounting(): () => void {
    return this.client.subscribe(({ type }) => {
      this.count(nameOf(type));
      if (type === NOTIFICATION_TYPES.ServiceDisconnect) this.stopCounting = this.startCounting();
    }, "all");
  }

  /** Streams that are open. */
  get size(): number {
    return this.streams.size;
  }

  /** Makes a stream of a response. @throws HcnError when too many are open. */
  open(response: ServerResponse, scope: NotificationScope): void {
    if (this.streams.size >= LIMITS.notificationStreamsMax) {
      throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
        detail: `${LIMITS.notificationStreamsMax} streams of notifications are open already; close one of them`,
      });
    }
    const unsubscribe = this.client.subscribe((notification) => {
      this.write(response, `${JSON.stringify(notification)}\n`);
      if (notification.type === NOTIFICATION_TYPES.ServiceDisconnect) this.end(response);
    }, scope);
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.flushHeaders();
    this.streams.set(response, unsubscribe);
    response.on("close", () => this.forget(response));
  }

  /** Says good-bye to everybody (hcn.md §1.4). */
  close(): void {
    this.stopCounting();
    clearInterval(this.keepAlive);
    for (const stream of this.streams.keys()) {
      this.write(stream, `${JSON.stringify(GOODBYE)}\n`);
      this.end(stream);
    }
  }

  private write(stream: ServerResponse, line: string): void {
    stream.write(line);
    // Whoever does not read is cut off, and hears that the service disconnected.
    if (stream.writableLength > LIMITS.notificationBytesWaitingMax) stream.destroy();
  }

  private end(stream: ServerResponse): void {
    this.forget(stream);
    stream.end();
  }

  private forget(stream: ServerResponse): void {
    this.streams.get(stream)?.();
    this.streams.delete(stream);
  }
}

/** What the service says of itself beside its objects. */
export interface ServedFacts {
  /** `ws2022`. */
  readonly profile: string;
  /** Where objects are kept: `memory`, or the folder. */
  readonly store: string;
  /** Changes that the store has kept; undefined for memory. */
  readonly storeWrites?: number;
  /** Why the store cannot write; undefined while it can. */
  readonly storeFault?: StoreFault | undefined;
  /** How often the disk failed, by reason; undefined for memory. */
  readonly storeFaults?: ReadonlyMap<string, number>;
}

export interface HnsAppOptions {
  readonly client: HcnClient;
  readonly facts?: (() => ServedFacts) | undefined;
  readonly log?: Log | undefined;
  /** @throws HcnError E_ACCESSDENIED for a request that may not ask. */
  readonly checkAccess: (authorization: string | undefined) => void;
}

type AppContext = Context<{ Bindings: HttpBindings }>;

const UNKNOWN_FACTS: ServedFacts = Object.freeze({ profile: "unknown", store: "unknown" });
const JSON_TYPE = { "content-type": "application/json" };
const MS_PER_SECOND = 1_000;
const TOO_LARGE = 413;
const OK = 200;
const UNAVAILABLE = 503;
const INTERNAL = 500;

function unsupported(method: string, path: string): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
    detail: `There is no ${method} ${path}; GET /openapi.json lists what there is`,
  });
}

/** The body as JSON. @throws HcnError HCN_E_INVALID_JSON for bytes that are no UTF-8, and for what is no JSON. */
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/** While one request is read, all others wait. @throws HcnError when it has more values than that takes a moment. */
function checkMarks(bytes: Uint8Array): void {
  let marks = 0;
  for (const byte of bytes) if (byte === COMMA || byte === BRACKET || byte === BRACE) marks++;
  if (marks <= LIMITS.hnsRequestMarksMax) return;
  throw new HcnError("HCN_E_INVALID_JSON", {
    detail: WORDS.requestTooComplex({ marks, hnsRequestMarksMax: LIMITS.hnsRequestMarksMax }),
  });
}

async function readBody(context: AppContext): Promise<JsonValue> {
  const bytes = await context.req.arrayBuffer();
  checkMarks(new Uint8Array(bytes));
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HcnError("HCN_E_INVALID_JSON", { detail: "The request is not written in UTF-8", cause });
  }
  return parseJsonText(text);
}

/** @throws HcnError RPC_S_UNKNOWN_IF, as Windows' RPC says it of another version of an interface. */
function checkVersion(version: string | undefined): void {
  if (version === undefined || version === HTTP_VERSION) return;
  throw new HcnError("RPC_S_UNKNOWN_IF", {
    detail: WORDS.httpVersionMismatch({ version, httpVersion: HTTP_VERSION }),
    explanation: "hns-unreachable",
  });
}

/** The kind that a call is about, if its request says one. */
function kindOf(request: JsonReader): string {
  const kind = request.raw("kind");
  return HCN_KINDS.find((known) => known === kind) ?? "";
}

/** `ok`, or the error that a v1 envelope holds. */
function resultOf(operation: HttpOperation, result: JsonValue): string {
  if (operation !== "call" || !isJsonObject(result) || result["Success"] === true) return "ok";
  const code = result["ErrorCode"];
  return (typeof code === "number" ? errorCodeOf(code) : undefined) ?? "unknown";
}

function scopeOf(context: AppContext): NotificationScope {
  const network = context.req.query("network");
  const guestNetworkService = context.req.query("guestNetworkService");
  if (network !== undefined) return checkScope({ network });
  if (guestNetworkService !== undefined) return checkScope({ guestNetworkService });
  const computeSystem = context.req.query("computeSystem");
  if (computeSystem !== undefined) return { computeSystem };
  const scope = context.req.query("scope") ?? "service";
  if (scope === "service" || scope === "all") return scope;
  throw new HcnError("ERROR_INVALID_PARAMETER", { detail: `scope is ${scope}; it must be service or all` });
}

/** One served HNS. */
export class HnsApp {
  readonly app: Hono<{ Bindings: HttpBindings }> = new Hono();
  readonly feed: NotificationFeed;
  private readonly client: HcnClient;
  private readonly log: Log;
  private readonly facts: () => ServedFacts;
  private readonly metrics = new HnsMetrics();
  /** The service, where it is at hand: health is asked of it behind the faults, which are not to count that. */
  private readonly direct: InProcessHcnClient | undefined;
  private readonly faults: FaultInjector | undefined;

  constructor(options: HnsAppOptions) {
    this.client = options.client;
    this.direct = options.client instanceof InProcessHcnClient ? options.client : undefined;
    this.faults = this.direct?.faults;
    this.log = options.log ?? SILENT_LOG;
    this.facts = options.facts ?? ((): ServedFacts => UNKNOWN_FACTS);
    this.feed = new NotificationFeed(options.client, (type) => this.metrics.countNotification(type));
    this.app.onError((error) => this.refuse(error));
    this.app.notFound((context) => this.refuse(unsupported(context.req.method, context.req.path)));
    this.app.use(async (context, next) => {
      // Every answer says it, streams as well; a request that came over no connection has nowhere to say it.
      const { outgoing }: Partial<HttpBindings> = context.env;
      outgoing?.setHeader(HTTP_VERSION_HEADER, HTTP_VERSION);
      checkVersion(context.req.header(HTTP_VERSION_HEADER));
      options.checkAccess(context.req.header("authorization"));
      await next();
    });
    if (this.direct !== undefined) addDumpPaths(this.app, this.direct.dumps);
    this.addPaths();
  }

  private addPaths(): void {
    const limit = bodyLimit({
      maxSize: LIMITS.jsonBytesMax,
      onError: () => {
        const error = new HcnError("HCN_E_INVALID_JSON", {
          detail: `The request is longer than ${LIMITS.jsonBytesMax} bytes`,
        });
        // What is left of the request is not read.
        const headers = { ...JSON_TYPE, connection: "close" };
        return new Response(formatHttpError(error), { status: TOO_LARGE, headers });
      },
    });
    this.app.get(HTTP_NOTIFICATIONS_PATH, (context) => {
      this.feed.open(context.env.outgoing, scopeOf(context));
      return RESPONSE_ALREADY_SENT;
    });
    this.addFaultPaths(limit);
    this.app.post(`${HTTP_PREFIX}:operation`, limit, async (context) => this.answerCall(context));
    this.app.get("/healthz", async () => this.answerHealth());
    this.app.get("/metrics", async () => this.answerMetrics());
    this.app.get("/openapi.json", (context) => context.json(hnsOpenApi()));
  }

  /** Faults are for a service of Mullion's own; another one answers that there is no such path. */
  private addFaultPaths(limit: MiddlewareHandler): void {
    const { faults } = this;
    if (faults === undefined) return;
    for (const { method, path, perform } of FAULT_PATHS) {
      this.app.on(method, path.replace("{id}", ":id"), limit, async (context) => {
        const body = method === "POST" ? await readBody(context) : null;
        return Response.json({ result: await perform(faults, context.req.param("id") ?? "", body) });
      });
    }
  }

  private async answerCall(context: AppContext): Promise<Response> {
    const operation = context.req.param("operation") ?? "";
    if (!isHttpOperation(operation)) throw unsupported("POST", context.req.path);
    const startedAtMs = performance.now();
    let kind = "";
    let outcome = "unknown";
    try {
      const request = JsonReader.of(await readBody(context), "request", "HCN_E_INVALID_JSON");
      kind = kindOf(request);
      const result = await HTTP_OPERATIONS[operation].perform(this.client, request);
      outcome = resultOf(operation, result);
      const text = JSON.stringify({ result });
      if (text.length > LIMITS.httpResponseBytesMax) {
        throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
          detail: WORDS.responseTooLong({ httpResponseBytesMax: LIMITS.httpResponseBytesMax }),
        });
      }
      return new Response(text, { headers: JSON_TYPE });
    } catch (error) {
      outcome = error instanceof HcnError ? error.code : "unknown";
      throw error;
    } finally {
      const seconds = (performance.now() - startedAtMs) / MS_PER_SECOND;
      this.metrics.countCall({ operation, kind, result: outcome, seconds });
    }
  }

  private async countObjects(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const kind of HCN_KINDS)
      counts[kind] = this.direct?.countOf(kind) ?? (await this.client.enumerate(kind)).length;
    return counts;
  }

  private async askVersion(): Promise<HnsVersion> {
    return this.direct?.version ?? getHnsVersion(this.client);
  }

  /** What health says of faults: nothing where there are none. */
  private async faultHealth(): Promise<{ readonly faults?: readonly FaultStatus[] }> {
    const faults = (await this.faults?.list()) ?? [];
    return faults.length === 0 ? {} : { faults };
  }

  private async answerHealth(): Promise<Response> {
    const { profile, store, storeFault } = this.facts();
    const fault = storeFault === undefined ? {} : { storeFault };
    try {
      const version = await this.askVersion();
      const objects = await this.countObjects();
      const isFailing = this.faults?.isAway === true || storeFault !== undefined;
      const body = { status: isFailing ? "failing" : "ok", version, profile, objects, store, ...fault };
      return Response.json(
        { ...body, ...(await this.faultHealth()) },
        { status: isFailing ? UNAVAILABLE : OK },
      );
    } catch (error) {
      this.log.write("error", "health check failed", { error });
      return Response.json({ status: "failing", profile, store, ...fault }, { status: UNAVAILABLE });
    }
  }

  private async answerMetrics(): Promise<Response> {
    const { profile, storeWrites, storeFault, storeFaults } = this.facts();
    const { Major, Minor } = await this.askVersion();
    const text = this.metrics.format({
      profile,
      version: `${Major}.${Minor}`,
      objects: await this.countObjects(),
      listeners: this.feed.size,
      storeWrites,
      ...(storeFaults !== undefined && { storeFaults, storeFault: storeFault?.reason }),
      faults: (await this.faults?.list()) ?? [],
    });
    return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
  }

  private refuse(error: unknown): Response {
    if (error instanceof HcnError)
      return new Response(formatHttpError(error), { status: httpStatusOf(error), headers: JSON_TYPE });
    // A bug or a broken store: the caller hears that it failed, the log hears why.
    this.log.write("error", "request failed", { error });
    const failure = new HcnError("unknown", {
      reported: { Error: "Unspecified error. ", ErrorCode: 0x80004005 },
    });
    return new Response(formatHttpError(failure), { status: INTERNAL, headers: JSON_TYPE });
  }
}
