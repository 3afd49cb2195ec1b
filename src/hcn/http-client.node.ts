/** `HcnClient` over HTTP: through a Unix socket, or through loopback TCP with a token. */
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { createInterface } from "node:readline";
import { LIMITS } from "../base/limits.ts";
import type {
  Guid,
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  JsonObject,
  JsonValue,
} from "./client.ts";
import { parseComputeSystemSummary } from "./compute-system-document.ts";
import type { ComputeSystem, ComputeSystems } from "./compute-systems.ts";
import { HcnError } from "./error.ts";
import { ZERO_GUID } from "./guid.ts";
import {
  HTTP_NOTIFICATIONS_PATH,
  type HttpCall,
  formatHttpCall,
  parseHttpError,
  parseHttpNotification,
} from "./http-protocol.ts";
import { isJsonObject, parseAnswerText } from "./json-value.ts";
import { NOTIFICATION_TYPES } from "./notification.ts";

/** Where the service listens. */
export type HttpAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly token: string };

export interface HttpHcnClientOptions {
  readonly address: HttpAddress;
  /** How long a call may take, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_DEFAULT_MS = 30_000;

type Listener = (notification: HcnNotification) => void;

/** `unix:/run/mullion/hns.sock` or `http://127.0.0.1:8080`. */
export function formatHttpAddress(address: HttpAddress): string {
  return "socketPath" in address ? `unix:${address.socketPath}` : `http://${address.host}:${address.port}`;
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such socket",
  ECONNREFUSED: "nobody listens there",
  EACCES: "this user may not open it",
  EPERM: "this user may not open it",
  ECONNRESET: "the service closed the connection",
  EPIPE: "the service closed the connection",
};

function unreachable(address: HttpAddress, why: string, cause?: unknown): HcnError {
  return new HcnError("RPC_S_SERVER_UNAVAILABLE", {
    detail: `No HNS answers at ${formatHttpAddress(address)}: ${why}. Start one with "mullion hns serve" or set MULLION_HNS`,
    explanation: "hns-unreachable",
    ...(cause !== undefined && { cause }),
  });
}

function reasonOf(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return CAUSES[code] ?? error.message;
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
      throw new HcnError("HCN_E_INVALID_JSON", {
        detail: `The answer is longer than ${LIMITS.httpResponseBytesMax} bytes`,
      });
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export class HttpHcnClient implements HcnClient {
  readonly computeSystems: ComputeSystems;
  private readonly address: HttpAddress;
  private readonly timeoutMs: number;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly listeners = new Set<Listener>();
  private stream: ClientRequest | undefined;
  /** Resolves when the service has registered the listener: calls wait for it, so no notification is missed. */
  private registered: Promise<void> = Promise.resolve();

  constructor(options: HttpHcnClientOptions) {
    this.address = options.address;
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_DEFAULT_MS;
    const change = async (call: HttpCall): Promise<void> => {
      await this.perform(call);
    };
    this.computeSystems = {
      list: async () => this.listComputeSystems(),
      create: (id, settings) => change({ operation: "systems/create", id, settings }),
      modify: (id, settings) => change({ operation: "systems/modify", id, settings }),
      terminate: (id) => change({ operation: "systems/terminate", id }),
    };
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    const result = await this.perform({
      operation: "enumerate",
      kind,
      ...(query !== undefined && { query }),
    });
    if (Array.isArray(result) && result.every((id) => typeof id === "string")) return result;
    throw this.unexpected("a list of GUIDs");
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Promise<Guid> {
    const result = await this.perform({
      operation: "create",
      kind,
      settings,
      ...(options.id !== undefined && { id: options.id }),
      ...(options.network !== undefined && { network: options.network }),
    });
    if (typeof result === "string") return result;
    throw this.unexpected("a GUID");
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document({ operation: "query", kind, id, ...(query !== undefined && { query }) });
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    await this.perform({ operation: "modify", kind, id, settings });
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    await this.perform({ operation: "delete", kind, id });
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document({ operation: "stats", id, ...(query !== undefined && { query }) });
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document({ operation: "addresses", id, ...(query !== undefined && { query }) });
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.document({ operation: "call", method, path, body });
  }

  /** Opens the stream of notifications with the first listener and closes it with the last. */
  subscribe(listener: Listener): () => void {
    const own: Listener = (notification) => listener(notification);
    this.listeners.add(own);
    if (this.stream === undefined) this.openStream();
    return () => {
      this.listeners.delete(own);
      if (this.listeners.size === 0) this.closeStream();
    };
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.closeStream();
    this.agent.destroy();
    return Promise.resolve();
  }

  private async listComputeSystems(): Promise<readonly ComputeSystem[]> {
    const result = await this.perform({ operation: "systems/list" });
    if (Array.isArray(result)) return result.map((system: JsonValue) => parseComputeSystemSummary(system));
    throw this.unexpected("a list of compute systems");
  }

  private async document(call: HttpCall): Promise<JsonObject> {
    const result = await this.perform(call);
    if (isJsonObject(result)) return result;
    throw this.unexpected("an object");
  }

  /** Makes a call and opens the answer. @throws HcnError what the service refused, or that nobody answers. */
  private async perform(call: HttpCall): Promise<JsonValue> {
    await this.registered;
    const { path, body } = formatHttpCall(call);
    const answer = parseAnswerText(await this.exchange(path, body));
    const refusal = parseHttpError(answer);
    if (refusal !== undefined) throw refusal;
    const result = isJsonObject(answer) ? answer["result"] : undefined;
    if (result === undefined) throw this.unexpected('a field "result"');
    return result;
  }

  private unexpected(expected: string): HcnError {
    return new HcnError("HCN_E_INVALID_JSON", {
      detail: `The answer of ${formatHttpAddress(this.address)} has to hold ${expected}; is it a Mullion HNS of this version?`,
    });
  }

  private requestOptions(method: string, path: string): RequestOptions {
    const { address } = this;
    if ("socketPath" in address) return { socketPath: address.socketPath, method, path };
    const headers = { authorization: `Bearer ${address.token}` };
    return { host: address.host, port: address.port, method, path, headers };
  }

  private async exchange(path: string, body: string): Promise<string> {
    const options: RequestOptions = {
      ...this.requestOptions("POST", path),
      agent: this.agent,
      signal: AbortSignal.timeout(this.timeoutMs),
    };
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = request(options, resolve);
        outgoing.on("error", reject);
        outgoing.setHeader("content-type", "application/json");
        outgoing.end(body);
      });
      return await readBody(response);
    } catch (error) {
      if (error instanceof HcnError || !(error instanceof Error)) throw error;
      const isLate = error.name === "AbortError" || error.name === "TimeoutError";
      const why = isLate ? `no answer within ${this.timeoutMs / 1_000} s` : reasonOf(error);
      throw unreachable(this.address, why, error);
    }
  }

  private openStream(): void {
    const stream = request(this.requestOptions("GET", HTTP_NOTIFICATIONS_PATH));
    this.stream = stream;
    this.registered = new Promise((resolve) => {
      stream.on("response", (response) => {
        resolve();
        void this.readStream(stream, response);
      });
      stream.on("error", () => {
        resolve();
        this.disconnected(stream);
      });
    });
    stream.end();
  }

  private async readStream(stream: ClientRequest, response: IncomingMessage): Promise<void> {
    try {
      for await (const line of createInterface({ input: response })) {
        const notification = line === "" ? undefined : parseHttpNotification(parseAnswerText(line));
        if (notification !== undefined) this.tell(notification);
      }
    } catch {
      // A stream that breaks off ends like one that was closed: listeners hear that the service is gone.
    }
    this.disconnected(stream);
  }

  /** The service went away: registrations are dead, and whoever wants to hear more subscribes again. */
  private disconnected(stream: ClientRequest): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    this.tell({
      type: NOTIFICATION_TYPES.ServiceDisconnect,
      status: 0,
      data: { ID: ZERO_GUID, Flags: 0 },
    });
    this.listeners.clear();
  }

  private tell(notification: HcnNotification): void {
    for (const listener of this.listeners) listener(notification);
  }

  private closeStream(): void {
    const { stream } = this;
    this.stream = undefined;
    stream?.destroy();
  }
}
