/** `HcnClient` for a service in the same process. One client per service: it takes its notifications and changes. */
import type {
  Guid,
  HcnClient,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  JsonObject,
} from "../hcn/client.ts";
import { NOTIFICATION_TYPES } from "../hcn/notification.ts";
import { ZERO_GUID } from "../hcn/guid.ts";
import type { ComputeSystems } from "../hcn/compute-systems.ts";
import type { HnsService } from "./hns-service.ts";
import type { ObjectStore } from "./store.ts";

type Listener = (notification: HcnNotification) => void;

/** Not part of the forkable world: it holds call-backs and promises. */
export class InProcessHcnClient implements HcnClient {
  private readonly service: HnsService;
  private readonly store: ObjectStore | undefined;
  private readonly listeners = new Set<Listener>();
  readonly computeSystems: ComputeSystems;

  /** Without a store the objects are in the service alone, as those of a simulated node are. */
  constructor(service: HnsService, store?: ObjectStore) {
    this.service = service;
    this.store = store;
    this.computeSystems = {
      list: async () => this.perform(() => service.listComputeSystems()),
      create: async (id, document) => this.perform(() => service.createComputeSystem(id, document)),
      modify: async (id, request) => this.perform(() => service.modifyComputeSystem(id, request)),
      terminate: async (id) => this.perform(() => service.terminateComputeSystem(id)),
    };
  }

  get revision(): number {
    return this.service.revision;
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return this.perform(() => this.service.enumerate(kind, query));
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.perform(() => this.service.create(kind, settings, options));
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.perform(() => this.service.query(kind, id, query));
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.perform(() => this.service.modify(kind, id, settings));
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.perform(() => this.service.delete(kind, id));
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.perform(() => this.service.queryEndpointStats(id, query));
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.perform(() => this.service.queryEndpointAddresses(id, query));
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.perform(() => this.service.call(method, path, body));
  }

  subscribe(listener: Listener): () => void {
    // A registration of its own, so that one function can be registered twice.
    const registered: Listener = (notification) => listener(notification);
    this.listeners.add(registered);
    return () => {
      this.listeners.delete(registered);
    };
  }

  /** Stores and tells what happened without a call: what a timer of the service did. */
  async flush(): Promise<void> {
    return this.perform(() => undefined);
  }

  /** Tells all listeners that the service goes away (hcn.md §1.4). */
  async close(): Promise<void> {
    const goodbye: HcnNotification = {
      type: NOTIFICATION_TYPES.ServiceDisconnect,
      status: 0,
      data: { ID: ZERO_GUID, Flags: 0 },
    };
    for (const listener of this.listeners) listener(goodbye);
    this.listeners.clear();
    return Promise.resolve();
  }

  /** Makes a call, stores what it changed, and only then answers and tells. */
  private async perform<T>(call: () => T): Promise<T> {
    const result = call();
    const notifications = this.service.takeNotifications();
    if (this.store === undefined) {
      this.service.dropChanges();
    } else {
      const changes = this.service.takeChanges();
      if (changes.length > 0) await this.store.write(changes);
    }
    for (const notification of notifications) for (const listener of this.listeners) listener(notification);
    return result;
  }
}
