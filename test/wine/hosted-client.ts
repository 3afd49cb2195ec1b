/** A client that is in another process (`dll-host.ts`), as this one sees it. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import { createInterface } from "node:readline";
import {
  type HcnClient,
  type HcnCreateOptions,
  type HcnNotification,
  type HcnObjectKind,
  type HostComputeQuery,
  type NotificationScope,
  type ServiceProperties,
  checkScope,
} from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { ComputeSystem, ComputeSystems } from "#contracts/hcn/compute-systems.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type {
  PortRangeEntry,
  PortRangeReservation,
  PortRequest,
} from "#contracts/hcn/documents/port-reservation.ts";
import type { HostAnswer, HostError, HostRequest } from "./dll-host.ts";

/** An answer that is waited for. */
interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

function errorOf({ code, record, detail, message }: HostError): Error {
  if (record === undefined) return new Error(message);
  return new HcnError(code as HcnErrorCode, { reported: record, ...(detail !== undefined && { detail }) });
}

/** The process and what is asked of it; it outlives the clients. */
export class ClientHost {
  private readonly child: ChildProcess;
  private readonly socket: Socket;
  private readonly waiting = new Map<number, Waiting>();
  private readonly listeners = new Map<number, (notification: HcnNotification) => void>();
  private next = 1;

  private constructor(child: ChildProcess, socket: Socket) {
    this.child = child;
    this.socket = socket;
    createInterface({ input: socket }).on("line", (line) => this.hear(JSON.parse(line) as HostAnswer));
    child.on("exit", (code) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`The host ended with ${code}`));
    });
  }

  /** `run` starts `dll-host.ts` with the port that it is given. @throws an error when the host ends before it connects. */
  static async start(run: (port: number) => ChildProcess): Promise<ClientHost> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const child = run((server.address() as AddressInfo).port);
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`The host ended with ${code}`);
    });
    const connected = once(server, "connection") as Promise<[Socket]>;
    const [socket] = await Promise.race([connected, ended]);
    ended.catch(() => undefined);
    server.close();
    return new ClientHost(child, socket);
  }

  async open(variables: Readonly<Record<string, string>>): Promise<void> {
    await this.ask((id) => ({ id, open: variables }));
  }

  async call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.ask((id) => ({ id, call: name, args }));
  }

  subscribe(listener: (notification: HcnNotification) => void, scope: NotificationScope): () => void {
    const subscription = this.next++;
    this.listeners.set(subscription, listener);
    this.send({ subscription, scope });
    return () => {
      this.listeners.delete(subscription);
      this.send({ unsubscribe: subscription });
    };
  }

  /** The exit code. */
  async end(): Promise<number | null> {
    const ended = once(this.child, "exit") as Promise<[number | null]>;
    this.socket.end();
    const [code] = await ended;
    return code;
  }

  private async ask(request: (id: number) => HostRequest): Promise<unknown> {
    const id = this.next++;
    return new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send(request(id));
    });
  }

  private send(request: HostRequest): void {
    this.socket.write(`${JSON.stringify(request)}\n`);
  }

  private hear(answer: HostAnswer): void {
    if ("subscription" in answer) {
      this.listeners.get(answer.subscription)?.(answer.notification);
      return;
    }
    const waiting = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if ("error" in answer) waiting?.reject(errorOf(answer.error));
    else waiting?.resolve(answer.result);
  }
}

export class HostedClient implements HcnClient {
  readonly computeSystems: ComputeSystems;
  private readonly host: ClientHost;

  constructor(host: ClientHost) {
    this.host = host;
    this.computeSystems = {
      list: async () => (await host.call("computeSystems.list")) as readonly ComputeSystem[],
      create: async (id, document) => void (await host.call("computeSystems.create", id, document)),
      modify: async (id, request) => void (await host.call("computeSystems.modify", id, request)),
      terminate: async (id) => void (await host.call("computeSystems.terminate", id)),
    };
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return (await this.host.call("enumerate", kind, query)) as readonly Guid[];
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return (await this.host.call("create", kind, settings, options)) as Guid;
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.host.call("query", kind, id, query)) as JsonObject;
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    await this.host.call("modify", kind, id, settings);
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    await this.host.call("delete", kind, id);
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.host.call("queryEndpointStats", id, query)) as JsonObject;
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.host.call("queryEndpointAddresses", id, query)) as JsonObject;
  }

  async reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation> {
    return (await this.host.call("reservePorts", guestNetworkService, request)) as PortRangeReservation;
  }

  async releasePorts(reservation: Guid): Promise<void> {
    await this.host.call("releasePorts", reservation);
  }

  async listPortReservations(): Promise<readonly PortRangeEntry[]> {
    return (await this.host.call("listPortReservations")) as readonly PortRangeEntry[];
  }

  async queryService(properties: ServiceProperties): Promise<JsonObject> {
    return (await this.host.call("queryService", properties)) as JsonObject;
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    return (await this.host.call("call", method, path, body)) as JsonObject;
  }

  subscribe(
    listener: (notification: HcnNotification) => void,
    scope: NotificationScope = "service",
  ): () => void {
    return this.host.subscribe(listener, checkScope(scope));
  }

  async close(): Promise<void> {
    await this.host.call("close");
  }
}
