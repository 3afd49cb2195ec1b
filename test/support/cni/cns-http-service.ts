/** CNS on a port of the loopback, as a node has it. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { LIMITS } from "#core/base/limits.ts";
import type { CnsService } from "#programs/plugins/cns/service.ts";

const LOOPBACK = "127.0.0.1";
const HTTP_TOO_LARGE = 413;
const HTTP_FAILED = 500;
const REQUEST_TIMEOUT_MS = 10_000;

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  let text = "";
  request.setEncoding("utf8");
  for await (const part of request) {
    text += part as string;
    if (text.length > LIMITS.jsonBytesMax) return undefined;
  }
  return text;
}

export class CnsHttpService {
  /** As "cnsurl" takes it. */
  url = "";
  private readonly server: Server;

  private constructor(service: CnsService) {
    this.server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, answer) => {
      void respond(service, request, answer);
    });
  }

  /** Listens on the loopback; port 0: the system chooses. */
  static async listen(service: CnsService, port = 0): Promise<CnsHttpService> {
    const made = new CnsHttpService(service);
    await new Promise<void>((resolve, reject) => {
      made.server.once("error", reject);
      made.server.listen(port, LOOPBACK, resolve);
    });
    made.url = `http://${LOOPBACK}:${(made.server.address() as AddressInfo).port}`;
    return made;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
    });
  }
}

async function respond(service: CnsService, request: IncomingMessage, answer: ServerResponse): Promise<void> {
  try {
    const body = await readBody(request);
    if (body === undefined) {
      answer.writeHead(HTTP_TOO_LARGE).end();
      return;
    }
    const path = (request.url ?? "/").split(/[?#]/, 1)[0] ?? "/";
    const { status, text } = await service.handle(request.method ?? "GET", path, body);
    answer.writeHead(status, { "Content-Type": "application/json; charset=UTF-8" }).end(text);
  } catch {
    answer.writeHead(HTTP_FAILED).end();
  }
}
