/** `HcnClient` over HTTP: through a Unix socket, or through loopback TCP with a token. */
import { Agent, type IncomingMessage, type RequestOptions, request as startRequest } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import {
  type HttpAddress,
  type HttpExchange,
  type HttpRequest,
  answerTooLong,
  formatHttpAddress,
} from "./http-exchange.node.ts";
import type {
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  NotificationScope,
  ServiceProperties,
} from "../client.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf, textOf } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { parseComputeSystemSummary } from "../documents/compute-system-document.ts";
import type { ComputeSystem, ComputeSystems } from "../compute-systems.ts";
import { HcnError } from "../error.ts";
import { HTTP_OPERATIONS, type HttpOperation } from "./http-operations.ts";
import { formatHttpCall, parseHttpError } from "./http-protocol.ts";
import { parseAnswerText } from "../description/json.ts";
import { NotificationStreams } from "./notification-streams.node.ts";
import {
  type PortRangeEntry,
  type PortRangeReservation,
  type PortRequest,
  parsePortRangeEntry,
  parsePortRangeReservation,
} from "../documents/port-reservation.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

export { type HttpAddress, formatHttpAddress } from "./http-exchange.node.ts";

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

/** Requests of a program that runs for long: several at a time, over connections of Node's own client. */
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
      const outgoing = startRequest(options, resolve);
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

export interface HttpHcnClientOptions {
  readonly address: HttpAddress;
  /** How long a call may take, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number;
  /** What carries the calls; default: a pool of connections. */
  readonly exchange?: HttpExchange;
}

const TIMEOUT_DEFAULT_MS = 30_000;
/** How a connection ends that the service closed while it lay idle. */
const STALE: readonly string[] = ["ECONNRESET", "EPIPE"];

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such socket",
  ECONNREFUSED: "nothing listens there",
  EACCES: "this user may not open it",
  EPERM: "this user may not open it",
  ECONNRESET: "the service closed the connection",
  EPIPE: "the service closed the connection",
};

function unreachable(address: HttpAddress, why: string, cause?: unknown): HcnError {
  return new HcnError("RPC_S_SERVER_UNAVAILABLE", {
    detail: WORDS.hnsUnreachable({ address: formatHttpAddress(address), why }),
    explanation: "hns-unreachable",
    ...(cause !== undefined && { cause }),
  });
}

function systemCode(error: Error): string {
  return textOf("code" in error ? error.code : undefined);
}

/** One turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export class HttpHcnClient implements HcnClient {
  readonly computeSystems: ComputeSystems;
  private readonly address: HttpAddress;
  private readonly timeoutMs: number;
  private readonly carrier: HttpExchange;
  private readonly streams: NotificationStreams;

  constructor(options: HttpHcnClientOptions) {
    const { address } = options;
    this.address = address;
    this.carrier = options.exchange ?? new PooledExchange(address);
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_DEFAULT_MS;
    const change = async (operation: HttpOperation, fields: object): Promise<void> => {
      await this.perform(operation, fields);
    };
    this.computeSystems = {
      list: async () => this.listComputeSystems(),
      create: (id, settings) => change("systems-create", { id, settings }),
      modify: (id, settings) => change("systems-modify", { id, settings }),
      terminate: (id) => change("systems-terminate", { id }),
    };
    this.streams = new NotificationStreams((path) => requestOptionsOf(address, "GET", path));
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    const result = await this.perform("enumerate", { kind, query });
    if (Array.isArray(result) && result.every((id) => typeof id === "string")) return result;
    throw this.unexpected("a list of GUIDs");
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Promise<Guid> {
    const { id, network } = options;
    const result = await this.perform("create", { kind, settings, id, network });
    if (typeof result === "string") return result;
    throw this.unexpected("a GUID");
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document("query", { kind, id, query });
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    await this.perform("modify", { kind, id, settings });
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    await this.perform("delete", { kind, id });
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document("stats", { id, query });
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.document("addresses", { id, query });
  }

  async reservePorts(guestNetworkService: Guid, ports: PortRequest): Promise<PortRangeReservation> {
    const fields = { id: guestNetworkService, ...ports };
    return parsePortRangeReservation(await this.document("reserve-ports", fields));
  }

  async releasePorts(reservation: Guid): Promise<void> {
    await this.perform("release-ports", { reservation });
  }

  async listPortReservations(): Promise<readonly PortRangeEntry[]> {
    const result = await this.perform("port-reservations", {});
    if (Array.isArray(result)) return result.map(parsePortRangeEntry);
    throw this.unexpected("a list of reservations");
  }

  async queryService(properties: ServiceProperties): Promise<JsonObject> {
    return this.document("service", { properties });
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.document("call", { method, path, body });
  }

  /** Opens a stream of notifications with the first listener of a scope and closes it with the last. */
  subscribe(
    listener: (notification: HcnNotification) => void,
    scope: NotificationScope = "service",
  ): () => void {
    return this.streams.subscribe(listener, scope);
  }

  async close(): Promise<void> {
    this.streams.close();
    this.carrier.close();
    return Promise.resolve();
  }

  private async listComputeSystems(): Promise<readonly ComputeSystem[]> {
    const result = await this.perform("systems", {});
    if (Array.isArray(result)) return result.map((system: JsonValue) => parseComputeSystemSummary(system));
    throw this.unexpected("a list of compute systems");
  }

  private async document(operation: HttpOperation, fields: object): Promise<JsonObject> {
    const result = await this.perform(operation, fields);
    if (isJsonObject(result)) return result;
    throw this.unexpected("an object");
  }

  private async perform(operation: HttpOperation, fields: object): Promise<JsonValue> {
    // A listener that is under way hears what this call does.
    await this.streams.registered();
    const { path, body } = formatHttpCall(operation, fields);
    return this.open(await this.exchange("POST", path, body, HTTP_OPERATIONS[operation].isRead));
  }

  /**
   * Asks for a path beside the calls, such as those of faults.
   * @throws HcnError what the service refused, or that no service answers.
   */
  async request(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<JsonValue> {
    const text = body === undefined ? "" : JSON.stringify(body);
    return this.open(await this.exchange(method, path, text, method === "GET"));
  }

  /** What an answer holds. @throws HcnError what it refuses with. */
  private open(text: string): JsonValue {
    const answer = parseAnswerText(text);
    const refusal = parseHttpError(answer);
    if (refusal !== undefined) throw refusal;
    const result = mappingOf(answer)["result"];
    if (result === undefined) throw this.unexpected('a field "result"');
    return result;
  }

  private unexpected(expected: string): HcnError {
    return new HcnError("HCN_E_INVALID_JSON", {
      detail: WORDS.hnsAnswerInvalid({ address: formatHttpAddress(this.address), expected }),
    });
  }

  /**
   * A service that was started anew has closed the connections that lay idle. In one turn of the event loop they are
   * noticed and given up, so that the call takes a new one. What only reads may also be asked twice; a change may have
   * been made by a service that died before it answered, so it is not.
   */
  private async exchange(method: string, path: string, body: string, isRead: boolean): Promise<string> {
    await nextTurn();
    const request = { method, path, body, timeoutMs: this.timeoutMs };
    try {
      return await this.carrier.exchange(request);
    } catch (error) {
      if (!(error instanceof Error) || !isRead || !STALE.includes(systemCode(error)))
        throw this.explain(error);
    }
    try {
      return await this.carrier.exchange(request);
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** What ended a call, as the HCN line says it. */
  private explain(error: unknown): unknown {
    if (error instanceof HcnError || !(error instanceof Error)) return error;
    const isLate = error.name === "AbortError" || error.name === "TimeoutError";
    const why = isLate
      ? `no answer within ${this.timeoutMs / 1_000} s`
      : (CAUSES[systemCode(error)] ?? error.message);
    return unreachable(this.address, why, error);
  }
}
