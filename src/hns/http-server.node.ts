/**
 * Serves an `HcnClient` over HTTP (`hcn/http-protocol.ts`): on a Unix socket that only its owner can open, or on
 * loopback TCP for those who know the token.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { dirname, join } from "node:path";
import { assert, unreachable } from "../base/assert.ts";
import { LIMITS } from "../base/limits.ts";
import { type Log, SILENT_LOG } from "../base/log.ts";
import type { HcnClient, JsonValue } from "../hcn/client.ts";
import type { ComputeSystems } from "../hcn/compute-systems.ts";
import { HcnError } from "../hcn/error.ts";
import {
  HTTP_NOTIFICATIONS_PATH,
  type HttpCall,
  formatHttpError,
  httpStatusOf,
  parseHttpCall,
} from "../hcn/http-protocol.ts";
import { checkJsonObject, parseJsonText } from "../hcn/json-value.ts";
import { isListening } from "../hcn/unix-socket.node.ts";

/** Where to listen. Port 0: the system chooses. */
export type ListenAddress =
  | { readonly socketPath: string }
  | { readonly host: "127.0.0.1" | "::1"; readonly port: number; readonly token: string };

export interface HnsHttpServerOptions {
  /** Who answers. The server does not close it. */
  readonly client: HcnClient;
  readonly address: ListenAddress;
  readonly log?: Log;
}

const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const TOKEN_LENGTH_MIN = 16;
const REQUEST_TIMEOUT_MS = 30_000;

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Collects a body, at most `LIMITS.jsonBytesMax` bytes. */
async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > LIMITS.jsonBytesMax) {
      throw new HcnError("HCN_E_INVALID_JSON", {
        detail: `The request is longer than ${LIMITS.jsonBytesMax} bytes`,
      });
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** @throws HcnError E_NOTIMPL when whoever answers keeps no compute systems. */
function systemsOf(client: HcnClient): ComputeSystems {
  if (client.computeSystems !== undefined) return client.computeSystems;
  throw new HcnError("E_NOTIMPL", { detail: "This service keeps no compute systems" });
}

async function perform(client: HcnClient, call: HttpCall): Promise<JsonValue> {
  switch (call.operation) {
    case "systems/list":
      return (await systemsOf(client).list()).map((system) => checkJsonObject(system));
    case "systems/create":
      await systemsOf(client).create(call.id, call.settings);
      return null;
    case "systems/modify":
      await systemsOf(client).modify(call.id, call.settings);
      return null;
    case "systems/terminate":
      await systemsOf(client).terminate(call.id);
      return null;
    case "enumerate":
      return client.enumerate(call.kind, call.query);
    case "create":
      return client.create(call.kind, call.settings, {
        ...(call.id !== undefined && { id: call.id }),
        ...(call.network !== undefined && { network: call.network }),
      });
    case "query":
      return client.query(call.kind, call.id, call.query);
    case "modify":
      await client.modify(call.kind, call.id, call.settings);
      return null;
    case "delete":
      await client.delete(call.kind, call.id);
      return null;
    case "stats":
      return client.queryEndpointStats(call.id, call.query);
    case "addresses":
      return client.queryEndpointAddresses(call.id, call.query);
    case "call":
      return client.call(call.method, call.path, call.body);
    default:
      return unreachable(call);
  }
}

async function listen(
  server: Server,
  where: { path: string } | { host: string; port: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * Listens on a socket that nobody else can open at any moment: it is made in a private folder and then moved to its
 * name.
 */
async function listenOnSocket(server: Server, socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  const present = lstatSync(socketPath, { throwIfNoEntry: false });
  if (present !== undefined && !present.isSocket())
    throw new Error(`${socketPath} is there already and is no socket; choose another path`);
  if (present !== undefined && (await isListening(socketPath)))
    throw new Error(`Another service listens on ${socketPath}; stop it or choose another path`);
  const privateFolder = mkdtempSync(join(folder, ".hns-"));
  try {
    const madeAt = join(privateFolder, "s");
    await listen(server, { path: madeAt });
    chmodSync(madeAt, OWNER_ONLY);
    renameSync(madeAt, socketPath);
    rmdirSync(privateFolder);
  } catch (error) {
    rmSync(privateFolder, { recursive: true, force: true });
    throw error;
  }
}

export class HnsHttpServer {
  private readonly client: HcnClient;
  private readonly log: Log;
  private readonly server: Server;
  private readonly socketPath: string | undefined;
  private readonly tokenDigest: Buffer | undefined;
  private readonly streams = new Set<ServerResponse>();

  private constructor(options: HnsHttpServerOptions) {
    const { address } = options;
    this.client = options.client;
    this.log = options.log ?? SILENT_LOG;
    this.socketPath = "socketPath" in address ? address.socketPath : undefined;
    this.tokenDigest = "token" in address ? digest(`Bearer ${address.token}`) : undefined;
    this.server = createServer((request, response) => {
      void this.answer(request, response);
    });
    this.server.maxConnections = LIMITS.httpConnectionsMax;
    this.server.requestTimeout = REQUEST_TIMEOUT_MS;
  }

  /** Starts to listen. @throws Error when the address is taken, or the token is too short to be one. */
  static async listen(options: HnsHttpServerOptions): Promise<HnsHttpServer> {
    const { address } = options;
    if ("token" in address && address.token.length < TOKEN_LENGTH_MIN)
      throw new Error(`The token has to have at least ${TOKEN_LENGTH_MIN} characters`);
    const server = new HnsHttpServer(options);
    if ("socketPath" in address) await listenOnSocket(server.server, address.socketPath);
    else await listen(server.server, { host: address.host, port: address.port });
    return server;
  }

  /** The TCP port it listens on; undefined for a Unix socket. */
  get port(): number | undefined {
    const address = this.server.address();
    return typeof address === "object" ? address?.port : undefined;
  }

  /** Ends streams and connections and removes the socket. */
  async close(): Promise<void> {
    for (const stream of this.streams) stream.end();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeAllConnections();
    await closed;
    if (this.socketPath !== undefined) {
      try {
        unlinkSync(this.socketPath);
      } catch {
        // Somebody took the socket away already.
      }
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.checkToken(request);
      if (request.method === "GET" && request.url === HTTP_NOTIFICATIONS_PATH) {
        this.stream(response);
        return;
      }
      await this.answerCall(request, response);
    } catch (error) {
      // What is left of a request that was too long is not read.
      if (!request.complete) response.setHeader("connection", "close");
      this.refuse(response, error);
    }
  }

  private async answerCall(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (request.method !== "POST") throw unsupported(request.method ?? "", path);
    const call = parseHttpCall(path, parseJsonText(await readBody(request)));
    if (call === undefined) throw unsupported("POST", path);
    const result = await perform(this.client, call);
    send(response, 200, JSON.stringify({ result }));
  }

  /** @throws HcnError E_ACCESSDENIED unless the request has the token, or came through the socket. */
  private checkToken(request: IncomingMessage): void {
    if (this.tokenDigest === undefined) return;
    const given = digest(request.headers.authorization ?? "");
    if (timingSafeEqual(given, this.tokenDigest)) return;
    throw new HcnError("E_ACCESSDENIED", {
      detail: "The request needs the header Authorization: Bearer <token of this service>",
      explanation: "hns-unreachable",
    });
  }

  private stream(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.flushHeaders();
    this.streams.add(response);
    const unsubscribe = this.client.subscribe((notification) => {
      response.write(`${JSON.stringify(notification)}\n`);
      // Whoever does not read is cut off, and hears that the service disconnected.
      if (response.writableLength > LIMITS.jsonBytesMax) response.destroy();
    });
    response.on("close", () => {
      unsubscribe();
      this.streams.delete(response);
    });
  }

  private refuse(response: ServerResponse, error: unknown): void {
    if (error instanceof HcnError) {
      send(response, httpStatusOf(error), formatHttpError(error));
      return;
    }
    // A bug or a broken store: the caller hears that it failed, the log hears why.
    this.log.write("error", "request failed", { error });
    const failure = new HcnError("unknown", {
      reported: { Error: "Unspecified error. ", ErrorCode: 0x80004005 },
    });
    send(response, 500, formatHttpError(failure));
  }
}

function unsupported(method: string, path: string): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", { detail: `There is no ${method} ${path}` });
}

function send(response: ServerResponse, status: number, body: string): void {
  assert(!response.headersSent, "an answer is sent once");
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
}

/**
 * Serves an HNS to other programs, until it is closed.
 *
 * ```ts
 * const { client } = createHns();
 * const server = await startHnsServer({ client, address: { socketPath: "/tmp/hns.sock" } });
 * ```
 * @throws Error when the address is taken, or the token is too short to be one.
 */
export async function startHnsServer(options: HnsHttpServerOptions): Promise<HnsHttpServer> {
  return HnsHttpServer.listen(options);
}
