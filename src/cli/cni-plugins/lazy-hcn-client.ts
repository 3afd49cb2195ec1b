/** HNS, looked for when it is first needed: VERSION, and a configuration that is refused, need none. */
import type {
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  ServiceProperties,
} from "#contracts/hcn/client.ts";
import { type ComputeSystems, requireComputeSystems } from "#contracts/hcn/compute-systems.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type {
  PortRangeEntry,
  PortRangeReservation,
  PortRequest,
} from "#contracts/hcn/documents/port-reservation.ts";

export class LazyHcnClient implements HcnClient {
  private readonly open: () => Promise<HcnClient>;
  private opened: Promise<HcnClient> | undefined;

  constructor(open: () => Promise<HcnClient>) {
    this.open = open;
  }

  /** Those of the service, looked for by the first call. */
  get computeSystems(): ComputeSystems {
    const systems = async (): Promise<ComputeSystems> => requireComputeSystems(await this.client());
    return {
      list: async () => (await systems()).list(),
      create: async (id, document) => (await systems()).create(id, document),
      modify: async (id, request) => (await systems()).modify(id, request),
      terminate: async (id) => (await systems()).terminate(id),
    };
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return (await this.client()).enumerate(kind, query);
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return (await this.client()).create(kind, settings, options);
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.client()).query(kind, id, query);
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return (await this.client()).modify(kind, id, settings);
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return (await this.client()).delete(kind, id);
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.client()).queryEndpointStats(id, query);
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return (await this.client()).queryEndpointAddresses(id, query);
  }

  async reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation> {
    return (await this.client()).reservePorts(guestNetworkService, request);
  }

  async releasePorts(reservation: Guid): Promise<void> {
    return (await this.client()).releasePorts(reservation);
  }

  async listPortReservations(): Promise<readonly PortRangeEntry[]> {
    return (await this.client()).listPortReservations();
  }

  async queryService(properties: ServiceProperties): Promise<JsonObject> {
    return (await this.client()).queryService(properties);
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    return (await this.client()).call(method, path, body);
  }

  /** A plugin's process lives for one call: it hears nothing. */
  subscribe(_listener: (notification: HcnNotification) => void): () => void {
    return () => undefined;
  }

  /** Closes what was opened. */
  async close(): Promise<void> {
    const opened = this.opened;
    this.opened = undefined;
    if (opened === undefined) return;
    try {
      await (await opened).close();
    } catch {
      // What could not be opened needs no closing; the call that wanted it has said so.
    }
  }

  private client(): Promise<HcnClient> {
    this.opened ??= this.open().catch((error: unknown) => {
      // The next call looks again: a service may come later.
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }
}

/** HNS for one call of a plugin. */
export interface CallHns {
  readonly client: HcnClient;
  readonly close: () => Promise<void>;
}

/**
 * The node's HNS for a process that lives for one call: looked for by the first call, over one connection.
 * @param given that of the process, which serves it, and keeps it when the call is over.
 */
export function openHns(given: HcnClient | undefined): CallHns {
  if (given !== undefined) return { client: given, close: () => Promise.resolve() };
  const client = new LazyHcnClient(async () => {
    const { findHns } = await import("#contracts/hcn/http/find-hns.node.ts");
    const { SerialExchange } = await import("#contracts/hcn/http/serial-exchange.node.ts");
    return findHns({ variables: process.env, exchange: (address) => new SerialExchange(address) });
  });
  return { client, close: () => client.close() };
}
