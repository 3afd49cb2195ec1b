/**
 * The socket between `ovn-k8s-cni-overlay` and the server of its node: HTTP over a Unix socket that only its owner can open, as
 * upstream on Linux. On Windows upstream listens on 127.0.0.1:3996, for anybody on the node, and wishes for a named pipe: it is one here.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import { isPipeName } from "#contracts/hcn/http/http-exchange.node.ts";
import { listen, listenOnSocket } from "#contracts/hcn/http/unix-socket.node.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { LIMITS } from "#core/base/limits.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { CniServerAnswer, CniServerExchange } from "./cni-requests.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** Where plugins look for another socket. */
const SOCKET_VARIABLE = "MULLION_OVN_CNI_SOCKET";
const LINUX_SOCKET = "/var/run/ovn-kubernetes/cni/ovn-cni-server.sock";
const WINDOWS_PIPE = "\\\\.\\pipe\\ovn-cni-server";
/** As long as kubelet waits for a sandbox; the server answers before. */
const TIMEOUT_MS = 120_000;
/** What the header `Retry-After` says where the annotation may come yet. */
const RETRY_SECONDS = "1";

/** Of this machine. */
export function cniSocketPath(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env[SOCKET_VARIABLE] ?? "";
  if (chosen !== "") return chosen;
  return process.platform === "win32" ? WINDOWS_PIPE : LINUX_SOCKET;
}

async function readText(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = chunk as Buffer;
    length += bytes.length;
    // A configuration in base64, and its environment.
    if (length > 2 * LIMITS.jsonBytesMax) throw new Error("the message is too long");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function exchange(path: string, body: string): Promise<CniServerAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: path, path: "/", method: "POST", headers: { "content-type": "application/json" } },
      (response) => {
        const mayComeYet = response.headers["retry-after"] !== undefined;
        const status = response.statusCode === 200 ? 200 : 400;
        readText(response).then((text) => resolve({ status, text, mayComeYet }), reject);
      },
    );
    asked.setTimeout(TIMEOUT_MS, () => asked.destroy(new Error("no answer in time")));
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Asks the server of this node. @throws CniError when nobody listens. */
export const askCniServer: CniServerExchange = async (body, env) => {
  const path = cniSocketPath(env);
  try {
    return await exchange(path, body);
  } catch (error) {
    const text = WORDS.cniServerAway({ error: messageOf(error), path });
    throw new CniError(CNI_CODES.tryAgainLater, text, { cause: error });
  }
};

/** Answers one body. */
export type CniAnswerer = (body: string) => Promise<CniServerAnswer>;

async function answer(
  answerer: CniAnswerer,
  asked: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Upstream's plugin also tells how long a call took; nobody reads that here.
  if (asked.method !== "POST" || asked.url !== "/") {
    response.writeHead(404).end("404 page not found\n");
    return;
  }
  const { status, text, mayComeYet } = await answerer(await readText(asked));
  response.writeHead(status, {
    "content-type": status === 200 ? "application/json" : "text/plain; charset=utf-8",
    ...(mayComeYet && { "retry-after": RETRY_SECONDS }),
  });
  response.end(text);
}

/** Listens until it is closed. @throws an error of the system. */
export async function serveCniSocket(path: string, answerer: CniAnswerer): Promise<() => Promise<void>> {
  const server: Server = createServer((asked, response) => {
    answer(answerer, asked, response).catch(() => response.destroy());
  });
  server.maxConnections = LIMITS.httpConnectionsMax;
  if (isPipeName(path)) await listen(server, { path });
  else await listenOnSocket(server, path);
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
}
