/** The emulator's Kubernetes API on a port of TCP with TLS and a token, and the kubeconfig that leads to it. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:https";
import type { Server } from "node:https";
import { isIPv6 } from "node:net";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { stringify } from "yaml";
import { LIMITS } from "#core/base/limits.ts";
import { bearerCheck } from "#core/base/tcp-access.node.ts";
import type { Log } from "#core/base/log.ts";
import { replaceOwnerFile } from "#core/base/owner-only.node.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { KubeApi } from "./api-app.node.ts";
import type { PodAccess } from "./pod-access.ts";
import { PodStreams } from "./pod-streams.node.ts";
import { type ServerCertificate, makeCertificate } from "./self-signed.node.ts";
import type { ServedSource } from "./watch-stream.node.ts";

const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const GRACE_MS = 500;
const TOKEN_BYTES = 24;

/** By what clients know a server again: it outlives the server. */
export interface ServerIdentity extends ServerCertificate {
  readonly token: string;
}

export interface KubeServerOptions {
  readonly source: ServedSource;
  /** The address to listen on: loopback unless programs in other network namespaces are to reach it. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** `v1.34.4` */
  readonly gitVersion: string;
  /** That of an earlier server, whose kubeconfigs hold on; without it a new one is made. */
  readonly identity?: ServerIdentity | undefined;
  readonly log?: Log | undefined;
  /** How often watches get bookmarks; about once a minute. */
  readonly bookmarkMs?: number | undefined;
  /** What runs in pods, for `kubectl exec` and `kubectl logs`; undefined: nothing. */
  readonly access?: PodAccess | undefined;
}

function accessCheck(token: string): (authorization: string | undefined) => void {
  const isKnown = bearerCheck(token);
  return (authorization) => {
    if (isKnown(authorization)) return;
    throw new KubeError("kubernetes-access-denied", 401, "Unauthorized");
  };
}

function makeIdentity(host: string): ServerIdentity {
  const hosts = [...new Set(["localhost", "127.0.0.1", "::1", host])];
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { ...makeCertificate("mullion", hosts, Date.now()), token };
}

export class KubeServer {
  private readonly api: KubeApi;
  private readonly server: Server;
  private readonly streams: PodStreams;
  private readonly host: string;
  readonly identity: ServerIdentity;

  private constructor(options: KubeServerOptions) {
    this.host = options.host;
    this.identity = options.identity ?? makeIdentity(options.host);
    const { key, certificate, token } = this.identity;
    const { source, gitVersion, log, bookmarkMs, access } = options;
    const nowMs = (): number => Date.now();
    this.api = new KubeApi({
      source,
      gitVersion,
      nowMs,
      log,
      bookmarkMs,
      checkAccess: accessCheck(token),
      access,
    });
    this.streams = new PodStreams({ source, access, checkAccess: accessCheck(token), log });
    this.server = createAdaptorServer({
      fetch: this.api.app.fetch,
      createServer,
      serverOptions: {
        key,
        cert: certificate,
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      },
    }) as Server;
    this.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.streams.upgrade(request, socket, head);
    });
    this.server.maxConnections = LIMITS.kubeConnectionsMax;
  }

  /** Starts to listen. @throws Error of the system when the address cannot be had. */
  static async listen(options: KubeServerOptions): Promise<KubeServer> {
    const server = new KubeServer(options);
    await new Promise<void>((resolve, reject) => {
      server.server.once("error", reject);
      server.server.listen({ host: options.host, port: options.port }, () => {
        server.server.off("error", reject);
        resolve();
      });
    });
    return server;
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** `https://127.0.0.1:41234` */
  get url(): string {
    return `https://${isIPv6(this.host) ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** The kubeconfig with which kubectl and other programs come in. It holds the token. */
  get kubeconfig(): string {
    const data = Buffer.from(this.identity.certificate).toString("base64");
    return stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "mullion", cluster: { server: this.url, "certificate-authority-data": data } }],
      users: [{ name: "mullion", user: { token: this.identity.token } }],
      contexts: [{ name: "mullion", context: { cluster: "mullion", user: "mullion" } }],
      "current-context": "mullion",
    });
  }

  /** Writes the kubeconfig so that only its owner reads it. @throws ForeignFileError; errors of the system. */
  writeKubeconfig(path: string): void {
    replaceOwnerFile(path, this.kubeconfig);
  }

  /** Ends watches, lets answers under way finish, and ends connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.api.watches.close();
    this.api.logs?.close();
    this.streams.close();
    const cut = setTimeout(() => this.server.closeAllConnections(), GRACE_MS);
    await closed;
    clearTimeout(cut);
  }
}
