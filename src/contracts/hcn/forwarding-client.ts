/** A client that hands every call on to another one: what looks at some calls, or breaks them, changes those alone. */
import type {
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  NotificationScope,
  ServiceProperties,
} from "./client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "./guid.ts";
import type { ComputeSystems } from "./compute-systems.ts";
import type { PortRangeEntry, PortRangeReservation, PortRequest } from "./documents/port-reservation.ts";

export class ForwardingHcnClient implements HcnClient {
  protected readonly inner: HcnClient;

  constructor(inner: HcnClient) {
    this.inner = inner;
  }

  get revision(): number | undefined {
    return this.inner.revision;
  }

  get computeSystems(): ComputeSystems | undefined {
    return this.inner.computeSystems;
  }

  enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return this.inner.enumerate(kind, query);
  }

  create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.inner.create(kind, settings, options);
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.inner.query(kind, id, query);
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.inner.modify(kind, id, settings);
  }

  delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.inner.delete(kind, id);
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

  call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.inner.call(method, path, body);
  }

  subscribe(listener: (notification: HcnNotification) => void, scope?: NotificationScope): () => void {
    return this.inner.subscribe(listener, scope);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
