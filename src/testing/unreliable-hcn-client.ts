/** An HNS that fails now and then, as a program sees it: calls are refused, or not answered in time. */
import type { Prng } from "../base/prng.ts";
import type {
  Guid,
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  JsonObject,
  NotificationScope,
  ServiceProperties,
} from "../hcn/client.ts";
import type { HcnErrorCode } from "../hcn/error-codes.ts";
import { HcnError } from "../hcn/error.ts";
import type { PortRangeEntry, PortRangeReservation, PortRequest } from "../hcn/port-reservation.ts";

const REFUSALS: readonly HcnErrorCode[] = [
  "HCN_E_PORT_NOT_FOUND",
  "HCN_E_PORT_ALREADY_EXISTS",
  "ERROR_INVALID_PARAMETER",
  "HCN_E_MANAGER_STOPPED",
];

export class UnreliableHcnClient implements HcnClient {
  private readonly inner: HcnClient;
  private readonly prng: Prng;
  /** Of a thousand calls so many fail. */
  failuresPerMille = 0;

  constructor(inner: HcnClient, prng: Prng) {
    this.inner = inner;
    this.prng = prng;
  }

  /** Not known, as over a socket. */
  get revision(): undefined {
    return undefined;
  }

  enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return this.perform(() => this.inner.enumerate(kind, query));
  }

  create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.perform(() => this.inner.create(kind, settings, options));
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.perform(() => this.inner.query(kind, id, query));
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.perform(() => this.inner.modify(kind, id, settings));
  }

  delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.perform(() => this.inner.delete(kind, id));
  }

  queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.inner.queryEndpointStats(id, query);
  }

  queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.inner.queryEndpointAddresses(id, query);
  }

  reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation> {
    return this.inner.reservePorts(guestNetworkService, request);
  }

  releasePorts(reservation: Guid): Promise<void> {
    return this.inner.releasePorts(reservation);
  }

  listPortReservations(): Promise<readonly PortRangeEntry[]> {
    return this.inner.listPortReservations();
  }

  queryService(properties: ServiceProperties): Promise<JsonObject> {
    return this.inner.queryService(properties);
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    try {
      return await this.perform(() => this.inner.call(method, path, body));
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      const { Error: text, ErrorCode } = error.toRecord();
      return { Success: false, Error: text, ErrorCode };
    }
  }

  subscribe(listener: (notification: HcnNotification) => void, scope?: NotificationScope): () => void {
    return this.inner.subscribe(listener, scope);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  /** A third is refused; a third hangs and is carried out all the same; a third hangs and is lost. */
  private async perform<T>(call: () => Promise<T>): Promise<T> {
    if (this.prng.below(1_000) >= this.failuresPerMille) return call();
    const kind = this.prng.below(3);
    if (kind === 0) throw new HcnError(REFUSALS[this.prng.below(REFUSALS.length)] ?? "E_NOTIMPL");
    if (kind === 1) await call();
    throw new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: "no answer within 30 s" });
  }
}
