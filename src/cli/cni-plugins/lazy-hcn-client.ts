/** HNS, looked for when it is first needed: VERSION, and a configuration that is refused, need none. */
import type { HcnClient, HcnNotification } from "#contracts/hcn/client.ts";
import { type ComputeSystems, requireComputeSystems } from "#contracts/hcn/compute-systems.ts";

export class LazyHcnClient implements HcnClient {
  private readonly open: () => Promise<HcnClient>;
  private opened: Promise<HcnClient> | undefined;
  // Each call goes to what was opened.
  readonly enumerate: HcnClient["enumerate"] = async (...words) => (await this.client()).enumerate(...words);
  readonly create: HcnClient["create"] = async (...words) => (await this.client()).create(...words);
  readonly query: HcnClient["query"] = async (...words) => (await this.client()).query(...words);
  readonly modify: HcnClient["modify"] = async (...words) => (await this.client()).modify(...words);
  readonly delete: HcnClient["delete"] = async (...words) => (await this.client()).delete(...words);
  readonly queryEndpointStats: HcnClient["queryEndpointStats"] = async (...words) =>
    (await this.client()).queryEndpointStats(...words);
  readonly queryEndpointAddresses: HcnClient["queryEndpointAddresses"] = async (...words) =>
    (await this.client()).queryEndpointAddresses(...words);
  readonly reservePorts: HcnClient["reservePorts"] = async (...words) =>
    (await this.client()).reservePorts(...words);
  readonly releasePorts: HcnClient["releasePorts"] = async (...words) =>
    (await this.client()).releasePorts(...words);
  readonly listPortReservations: HcnClient["listPortReservations"] = async (...words) =>
    (await this.client()).listPortReservations(...words);
  readonly queryService: HcnClient["queryService"] = async (...words) =>
    (await this.client()).queryService(...words);
  readonly call: HcnClient["call"] = async (...words) => (await this.client()).call(...words);

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
