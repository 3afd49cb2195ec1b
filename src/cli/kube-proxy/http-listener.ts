/** Servers of kube-proxy on the machine's sockets. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { splitHostPort } from "#programs/kube-proxy/configuration/go-texts.ts";
import type { HttpHandler, Listen } from "#programs/kube-proxy/daemon/health/http-answer.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** Connections at a time; probes and scrapes need a few. */
const CONNECTIONS_MAX = 256;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there already",
  EADDRNOTAVAIL: "this machine does not have the address",
  EACCES: WORDS.listenForbidden,
};

function reasonOf(error: NodeJS.ErrnoException): Error {
  const reason = REASONS[error.code ?? ""];
  return reason === undefined ? error : new Error(`${reason} (${error.code})`, { cause: error });
}

async function answer(
  handler: HttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  const { status, headers, body } = await handler(path);
  response.writeHead(status, headers);
  response.end(request.method === "HEAD" ? undefined : body);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Listens on `host:port`; port 0 takes a free one. */
export const listenOnMachine: Listen = (address, handler) => {
  const { host = "", port = "" } = splitHostPort(address) ?? {};
  const server = createServer((request, response) => {
    answer(handler, request, response).catch(() => response.destroy());
  });
  server.maxConnections = CONNECTIONS_MAX;
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(reasonOf(error)));
    server.listen({ host, port: Number(port) }, () => {
      const { address: bound, family, port: taken } = server.address() as AddressInfo;
      const shown = family === "IPv6" ? `[${bound}]:${taken}` : `${bound}:${taken}`;
      resolve({ address: shown, close: () => closed(server) });
    });
  });
};
