/**
 * Serves an `HcnClient` over HTTP (`hcn/http-protocol.ts`): on a Unix socket that only its owner can open, or on
 * loopback TCP for those who know the token.
 */
import { createAdaptorServer } from "@hono/node-server";
import { unlinkSync } from "node:fs";
import type { Server } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import { bearerCheck, isOwnHost } from "#core/base/tcp-access.node.ts";
import type { Log } from "#core/base/log.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { isPipeName } from "#contracts/hcn/http/http-exchange.node.ts";
import { listen, listenOnSocket } from "#contracts/hcn/http/unix-socket.node.ts";
import { HnsApp, type ServedFacts } from "./http-app.node.ts";

/** Where to listen. On Windows the socket's path is the name of a pipe. Port 0: the system chooses. */
export type ListenAddress =
  | { readonly socketPath: string }
  | { readonly host: "127.0.0.1" | "::1"; readonly port: number; readonly token: string };

export interface HnsHttpServerOptions {
  /** Who answers. The server does not close it. */
  readonly client: HcnClient;
  readonly address: ListenAddress;
  /** What health and metrics say of the service beside its objects. */
  readonly facts?: () => ServedFacts;
  readonly log?: Log;
  /** How long a peer may take to send a request, in milliseconds. Default 30 000. */
  readonly requestTimeoutMs?: number;
}

const MISDIRECTED = 421;
const TOKEN_LENGTH_MIN = 16;
const REQUEST_TIMEOUT_MS = 30_000;
/** Headers are short. */
const HEADERS_TIMEOUT_MS = 10_000;
/** How long a connection may lie idle. */
const KEEP_ALIVE_TIMEOUT_MS = 60_000;
/** How long answers under way may take when the server ends, in milliseconds. */
const GRACE_MS = 2_000;
const IDLE_CHECK_MS = 20;

/** What refuses requests without the token, and without anything to check, because the socket is private. */
function accessCheck(address: ListenAddress): (authorization: string | undefined) => void {
  if (!("token" in address)) return () => undefined;
  const isKnown = bearerCheck(address.token);
  return (authorization) => {
    if (isKnown(authorization)) return;
    throw new HcnError("E_ACCESSDENIED", {
      detail: "The request needs the header Authorization: Bearer <token of this service>",
      explanation: "hns-unreachable",
    });
  };
}

/** Peers who send slowly or never end cannot hold a connection for ever. */
function createServer(app: HnsApp, requestTimeoutMs: number, address: ListenAddress): Server {
  const server = createAdaptorServer({
    fetch: (request, env) => {
      const isMeant =
        !("host" in address) || isOwnHost(request.headers.get("host") ?? undefined, address.host);
      return isMeant ? app.app.fetch(request, env) : new Response(null, { status: MISDIRECTED });
    },
    serverOptions: {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
  }) as Server;
  server.maxConnections = LIMITS.httpConnectionsMax;
  return server;
}

export class HnsHttpServer {
  private readonly app: HnsApp;
  private readonly server: Server;
  private readonly socketPath: string | undefined;

  private constructor(options: HnsHttpServerOptions) {
    const { address, client, facts, log } = options;
    this.socketPath =
      "socketPath" in address && !isPipeName(address.socketPath) ? address.socketPath : undefined;
    this.app = new HnsApp({ client, facts, log, checkAccess: accessCheck(address) });
    this.server = createServer(this.app, options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS, address);
  }

  /** Starts to listen. @throws Error when the address is taken, or the token is too short to be one. */
  static async listen(options: HnsHttpServerOptions): Promise<HnsHttpServer> {
    const { address } = options;
    if ("token" in address && address.token.length < TOKEN_LENGTH_MIN)
      throw new Error(`The token has to have at least ${TOKEN_LENGTH_MIN} characters`);
    const server = new HnsHttpServer(options);
    try {
      if (!("socketPath" in address)) await listen(server.server, { host: address.host, port: address.port });
      else if (isPipeName(address.socketPath)) await listen(server.server, { path: address.socketPath });
      else await listenOnSocket(server.server, address.socketPath);
    } catch (error) {
      server.app.feed.close();
      throw error;
    }
    return server;
  }

  /** The TCP port it listens on; undefined for a socket. */
  get port(): number | undefined {
    const address = this.server.address();
    return typeof address === "object" ? address?.port : undefined;
  }

  /** Says good-bye to listeners, lets answers under way finish, ends connections and removes the socket. */
  async close(): Promise<void> {
    this.app.feed.close();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    // A connection whose answer is sent lies idle then, and is not closed by itself.
    const idle = setInterval(() => this.server.closeIdleConnections(), IDLE_CHECK_MS);
    const cut = setTimeout(() => this.server.closeAllConnections(), GRACE_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    if (this.socketPath !== undefined) {
      try {
        unlinkSync(this.socketPath);
      } catch {
        // Somebody took the socket away already.
      }
    }
  }
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
