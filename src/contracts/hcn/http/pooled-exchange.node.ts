/** Requests of a program that runs for long: several at a time, over connections of Node's own client. */
import { Agent, type IncomingMessage, type RequestOptions, request } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import {
  type HttpAddress,
  type HttpExchange,
  type HttpRequest,
  answerTooLong,
} from "./http-exchange.node.ts";

/** Calls that run at a time; more wait, so that one program does not take all connections of the service. */
const CONNECTIONS_MAX = 32;

/** How `path` of the service at `address` is requested. */
export function requestOptionsOf(address: HttpAddress, method: string, path: string): RequestOptions {
  if ("socketPath" in address) return { socketPath: address.socketPath, method, path };
  const headers = { authorization: `Bearer ${address.token}` };
  return { host: address.host, port: address.port, method, path, headers };
}

/** Collects a body, at most `LIMITS.httpResponseBytesMax` bytes. */
async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > LIMITS.httpResponseBytesMax) {
      response.destroy();
      throw answerTooLong();
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export class PooledExchange implements HttpExchange {
  private readonly address: HttpAddress;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });

  constructor(address: HttpAddress) {
    this.address = address;
  }

  async exchange({ method, path, body, timeoutMs }: HttpRequest): Promise<string> {
    const options: RequestOptions = {
      ...requestOptionsOf(this.address, method, path),
      agent: this.agent,
      signal: AbortSignal.timeout(timeoutMs),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(options, resolve);
      outgoing.on("error", reject);
      outgoing.setHeader("content-type", "application/json");
      outgoing.end(body);
    });
    return readBody(response);
  }

  close(): void {
    this.agent.destroy();
  }
}
