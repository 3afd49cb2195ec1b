/** `HcnClient` for a service in the same process. One client per service: it takes its notifications and changes. */
import {
  type HcnClient,
  type HcnCreateOptions,
  type HcnNotification,
  type HcnObjectKind,
  type HostComputeQuery,
  NOTIFICATION_TYPES,
  type NotificationScope,
  type ServiceProperties,
  checkScope,
  isHeardBy,
} from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import type { ComputeSystems } from "#contracts/hcn/compute-systems.ts";
import type {
  PortRangeEntry,
  PortRangeReservation,
  PortRequest,
} from "#contracts/hcn/documents/port-reservation.ts";
import type { HnsDumps } from "#contracts/hcn/dumps.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type ActiveFault,
  type CallFacts,
  factsOfCall,
  factsOfV1Call,
  isUnreachable,
  backEndsMade,
  type FaultTarget,
} from "../failures/faults/active-faults.ts";
import { FaultInjector } from "../failures/faults/fault-injector.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { ServiceDumps } from "../dump/service-dumps.ts";
import type { HnsService } from "./hns-service.ts";
import type { ObjectStore, StoredChange } from "../store/stored-object.ts";
import { failureEnvelope } from "../v1/router.ts";
import type { DegradableKind, QuirkStatus, RestartState } from "../failures/faults/fault.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";

// The service as faults reach it: what no client can do.

/** Brings a degraded endpoint back (hcn.md §5.2). */
const REFRESH = Object.freeze({ RequestType: "Refresh" });

/** Defects that let the service hang. */
const HANGING: readonly QuirkName[] = ["service-deadlock", "load-balancers-of-one-endpoint-hang"];

class ServiceTarget implements FaultTarget {
  private readonly service: HnsService;
  /** Does something to the service, stores what it changed and tells it. */
  private readonly administer: <T>(action: () => T) => Promise<T>;

  constructor(service: HnsService, administer: <T>(action: () => T) => Promise<T>) {
    this.service = service;
    this.administer = administer;
  }

  get windows(): WindowsBuild {
    return this.service.windows;
  }

  countObjects(): number {
    return this.service.endpointAndLoadBalancerCount;
  }

  get mayHang(): boolean {
    return HANGING.some((name) => this.service.quirks.mayStrike(name));
  }

  hangs(facts: CallFacts): QuirkName | undefined {
    const { quirks } = this.service;
    if (quirks.has("service-deadlock")) return "service-deadlock";
    const ids = backEndsMade(facts);
    const isShared = ids.some((id) => this.service.isBalanced(id));
    return isShared && quirks.has("load-balancers-of-one-endpoint-hang")
      ? "load-balancers-of-one-endpoint-hang"
      : undefined;
  }

  async forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]> {
    return this.administer(() => {
      const wanted = ids ?? this.service.enumerate("LoadBalancer");
      // All are there, or none is touched.
      for (const id of wanted) this.service.query("LoadBalancer", id);
      for (const id of wanted) this.service.delete("LoadBalancer", id);
      return wanted;
    });
  }

  async degrade(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      this.service.query(kind, id);
      if (kind === "LoadBalancer") this.service.degradeLoadBalancer(id);
      else this.service.degradeEndpoint(id, HCN_ERRORS.HCN_E_DEGRADED_OPERATION.hresult);
    });
  }

  async repair(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      if (kind === "LoadBalancer") this.service.repairLoadBalancer(id);
      else if (this.service.enumerate("Endpoint", { Filter: JSON.stringify({ ID: id }) }).length > 0)
        this.service.modify("Endpoint", id, REFRESH);
    });
  }

  async createRemoteEndpoint(network: Guid, address: string, faultId: string): Promise<Guid> {
    return this.administer(() =>
      this.service.create(
        "Endpoint",
        {
          Name: `stale-${faultId}`,
          Flags: ENDPOINT_FLAGS.RemoteEndpoint,
          IpConfigurations: [{ IpAddress: address }],
          SchemaVersion: { Major: 2, Minor: 0 },
        },
        { network },
      ),
    );
  }

  async deleteEndpoint(id: Guid): Promise<void> {
    return this.administer(() => {
      try {
        this.service.delete("Endpoint", id);
      } catch (error) {
        // The program that clears up stale endpoints was faster.
        if (!(error instanceof HcnError && error.code === "HCN_E_ENDPOINT_NOT_FOUND")) throw error;
      }
    });
  }

  async restart(state?: RestartState): Promise<void> {
    return this.administer(() => this.service.restart(state));
  }

  async reboot(): Promise<void> {
    return this.administer(() => this.service.reboot());
  }

  quirks(): readonly QuirkStatus[] {
    return this.service.quirks.list();
  }

  setQuirk(name: QuirkName, setting: QuirkSetting): void {
    this.service.setQuirk(name, setting);
  }
}

// The client.

type Listener = (notification: HcnNotification) => void;

/** A registration of its own, so that one function can be registered twice. */
interface Registration {
  readonly listener: Listener;
  readonly scope: NotificationScope;
}

/** Asks for no object of any kind. */
const QUERY_OF_SERVICE: CallFacts = Object.freeze({
  operation: "query",
  kind: undefined,
  id: undefined,
  document: undefined,
  v1: undefined,
});

/** Not part of the forkable world: it holds call-backs and promises. */
export class InProcessHcnClient implements HcnClient {
  private readonly service: HnsService;
  private readonly store: ObjectStore | undefined;
  readonly computeSystems: ComputeSystems;
  private storedCount = 0;
  private readonly registrations = new Set<Registration>();
  /** Faults between programs and the service; without any it does nothing. */
  readonly faults: FaultInjector;
  /** All that the service holds, as data and back. */
  readonly dumps: HnsDumps;
  /** The service has changes that the store refused. */
  private isAhead = false;
  private fallingBack: Promise<void> | undefined;
  /** How often the service went back to what is stored. */
  private reloads = 0;

  /**
   * Without a store the objects are in the service alone, as those of a simulated node are. `inForce`: faults that several clients
   * of the service share; absent: it has its own.
   */
  constructor(service: HnsService, store?: ObjectStore, inForce?: Map<string, ActiveFault>) {
    this.service = service;
    this.store = store;
    // Calls of HCS: faults of HNS do not concern them.
    this.computeSystems = {
      list: async () => this.carryOut(() => service.listComputeSystems()),
      create: async (id, document) => this.carryOut(() => service.createComputeSystem(id, document)),
      modify: async (id, request) => this.carryOut(() => service.modifyComputeSystem(id, request)),
      terminate: async (id) => this.carryOut(() => service.terminateComputeSystem(id)),
    };
    this.dumps = new ServiceDumps(service, this);
    this.faults = new FaultInjector({
      target: new ServiceTarget(service, async (action) => this.carryOut(action)),
      clock: service.clock,
      disconnect: () => this.disconnect(),
      seed: service.node,
      ...(inForce === undefined ? {} : { inForce }),
    });
  }

  /** Changes that the store has kept. */
  get storedChanges(): number {
    return this.storedCount;
  }

  /** Undefined while faults are in force: a call may then make its change later. */
  get revision(): number | undefined {
    return this.faults.isIdle ? this.service.revision : undefined;
  }

  get version(): HnsVersion {
    return this.service.version;
  }

  /** How many objects of a kind there are, whatever faults say. */
  countOf(kind: HcnObjectKind): number {
    return this.service.countOf(kind);
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    const found = await this.ask(["enumerate", kind], (service) => service.enumerate(kind, query));
    return kind === "Endpoint" && !this.faults.isIdle ? [...found, ...this.faults.ghosts(query)] : found;
  }

  create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.ask(["create", kind, options?.id, settings], (service) =>
      service.create(kind, settings, options),
    );
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask(["query", kind, id], (service) => service.query(kind, id, query));
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.ask(["modify", kind, id, settings], (service) => service.modify(kind, id, settings));
  }

  delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.ask(["delete", kind, id], (service) => service.delete(kind, id));
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask(["query", "Endpoint", id], (service) => service.queryEndpointStats(id, query));
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask(["query", "Endpoint", id], (service) => service.queryEndpointAddresses(id, query));
  }

  async reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation> {
    return this.ask(["modify", "GuestNetworkService", guestNetworkService], (service) =>
      service.reservePorts(guestNetworkService, request),
    );
  }

  async releasePorts(reservation: Guid): Promise<void> {
    return this.ask(["modify", "GuestNetworkService"], (service) => service.releasePorts(reservation));
  }

  async listPortReservations(): Promise<readonly PortRangeEntry[]> {
    return this.ask(["enumerate", "GuestNetworkService"], (service) => service.listPortReservations());
  }

  async queryService(properties: ServiceProperties): Promise<JsonObject> {
    return this.perform(
      () => QUERY_OF_SERVICE,
      () => this.service.queryService(properties),
    );
  }

  async call(method: string, path: string, body: string): Promise<JsonObject> {
    try {
      return await this.perform(
        () => factsOfV1Call(method, path, body),
        () => this.service.call(method, path, body),
      );
    } catch (error) {
      // The service itself answers with an envelope; where it is gone, there is no answer (hcn.md §1.7).
      if (error instanceof HcnError && !isUnreachable(error))
        return failureEnvelope(error, this.service.version);
      throw error;
    }
  }

  subscribe(listener: Listener, scope: NotificationScope = "service"): () => void {
    const registration: Registration = { listener, scope: checkScope(scope) };
    this.registrations.add(registration);
    return () => {
      this.registrations.delete(registration);
    };
  }

  /** Stores and reports what happened without a call: what a timer of the service did. */
  async flush(): Promise<void> {
    return this.carryOut(() => undefined);
  }

  /** Reports to all listeners that the service goes away (hcn.md §1.4). */
  async close(): Promise<void> {
    this.faults.close();
    this.disconnect();
    return Promise.resolve();
  }

  private disconnect(): void {
    const goodbye: HcnNotification = {
      type: NOTIFICATION_TYPES.ServiceDisconnect,
      status: 0,
      data: { ID: ZERO_GUID, Flags: 0 },
    };
    // What registers while it hears of the end has registered with what comes after it.
    const registered = [...this.registrations].filter(({ scope }) => isHeardBy(scope, goodbye));
    for (const registration of registered) this.registrations.delete(registration);
    for (const { listener } of registered) listener(goodbye);
  }

  private ask<T>(asked: Parameters<typeof factsOfCall>, call: (service: HnsService) => T): Promise<T> {
    return this.perform(
      () => factsOfCall(...asked),
      () => call(this.service),
    );
  }

  /** Makes a call with the faults that are in force, which alone ask for its facts. */
  private perform<T>(factsOf: () => CallFacts, call: () => T): Promise<T> {
    return this.faults.isIdle
      ? this.carryOut(call)
      : this.faults.perform(factsOf(), async () => this.carryOut(call));
  }

  /**
   * Makes a call, stores what it changed, and only then answers and tells. What a timer did before a call that is
   * refused is stored and told, too.
   */
  private async carryOut<T>(call: () => T): Promise<T> {
    if (this.isAhead) await this.fallBack();
    try {
      return call();
    } finally {
      const notifications = this.service.takeNotifications();
      if (this.store === undefined) this.service.dropChanges();
      else await this.save(this.store);
      if (notifications.length > 0)
        this.announce(notifications.filter((notification) => this.faults.delivers(notification)));
    }
  }

  private async save(store: ObjectStore): Promise<void> {
    const changes = this.service.takeChanges();
    if (changes.length > 0) await this.keep(store, changes);
  }

  private announce(notifications: readonly HcnNotification[]): void {
    for (const notification of notifications)
      for (const { listener, scope } of this.registrations)
        if (isHeardBy(scope, notification)) listener(notification);
  }

  private async keep(store: ObjectStore, changes: readonly StoredChange[]): Promise<void> {
    const { reloads } = this;
    try {
      await store.write(changes);
      this.storedCount += changes.length;
    } catch (error) {
      // Others that waited with this one fail with it: the service goes back once for all of them.
      if (reloads === this.reloads) await this.fallBack();
      throw error;
    }
  }

  /** Puts the service back to what is stored, after changes that could not be: those calls changed nothing. */
  private async fallBack(): Promise<void> {
    this.isAhead = true;
    this.fallingBack ??= this.reload();
    await this.fallingBack;
  }

  /** Where the store cannot even be read, calls go on failing with its error until it can. */
  private async reload(): Promise<void> {
    try {
      const objects = (await this.store?.list()) ?? [];
      this.service.restore(objects, { areStored: true });
      this.isAhead = false;
      this.reloads++;
    } finally {
      this.fallingBack = undefined;
    }
  }
}
