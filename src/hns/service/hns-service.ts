/**
 * The Host Networking Service of one node: the calls of `computenetwork.dll` and of HNS v1 over one set of objects.
 *
 * Calls are synchronous and all or nothing: what is refused changes nothing. The service is part of a simulated world
 * and can be forked with it; clients, stores and sockets are outside (`in-process-client.ts`).
 */
import { addToList } from "#core/base/keyed-lists.ts";
import type { Clock } from "#core/base/clock.ts";
import { type NotEnforced, asksForIpv6Nat, undecidedOnEndpoint } from "./enforcement.ts";
import type { Environment } from "#core/base/environment.ts";
import type {
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  ServiceProperties,
} from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue, equalJson } from "#core/base/json.ts";
import { type Guid, ZERO_GUID, checkGuid, parseGuid, equalGuids } from "#contracts/hcn/guid.ts";
import type { ComputeSystem } from "#contracts/hcn/compute-systems.ts";
import { type Dialect, dialectOf, readSchemaVersion } from "#contracts/hcn/description/object-json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { JsonReader, checkJsonObject, checkJsonValue } from "#contracts/hcn/description/json.ts";
import type {
  PortRangeEntry,
  PortRangeReservation,
  PortRequest,
} from "#contracts/hcn/documents/port-reservation.ts";
import { type CheckedQuery, parseQuery } from "#contracts/hcn/documents/request.ts";
import {
  createComputeSystem,
  listComputeSystems,
  modifyComputeSystem,
  terminateComputeSystem,
} from "./compute-systems/compute-systems.ts";
import { endRestoration, rebootNode, restartService } from "./service-life.ts";
import { degradeEndpoint } from "./endpoint/endpoints.ts";
import { requireEndpoint } from "./endpoint/attachment.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { followMirroredEndpoints } from "./guest/guest-network-services.ts";
import { KIND_TABLE, type KindRow } from "./kind-table.ts";
import { createHostNamespace } from "./namespace/namespaces.ts";
import { createOwnNetworks, requestMirroring, settleMirroring } from "./network/own-networks.ts";
import { listPortReservations, releasePorts, reservePorts } from "./guest/port-reservations.ts";
import type { QuirkSet } from "../failures/quirk-set.ts";
import { type HnsServiceOptions, ServiceContext } from "./service-context.ts";
import type { RestartState } from "../failures/faults/fault.ts";
import { exportObjects, restoreObjects, storedRowOf } from "../store/restore.ts";
import type {
  ImportedObject,
  RestoreNote,
  RestoreOptions,
  StoredChange,
  StoredObject,
} from "../store/stored-object.ts";
import { endpointAddressesDocument, endpointStatisticsDocument } from "../view/endpoint-view.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { answerV1 } from "../v1/router.ts";
import { featuresDocument, metricsDocument } from "../view/service-view.ts";

// Which objects a query's filter lets through (hcn.md §5.1). All pairs have to hold; values are compared as whole
// JSON values, so that `Flags` is not a mask and a list is found by the whole list. GUIDs compare without letter case.
// Inferred (hcn.md §11.10): an unknown key matches nothing. Inferred: so does `Flags` as a mask.

function equalValues(wanted: JsonValue | undefined, actual: JsonValue | undefined): boolean {
  if (typeof wanted === "string" && typeof actual === "string" && parseGuid(actual) !== undefined)
    return equalGuids(wanted, actual);
  return equalJson(wanted, actual);
}

/** `fields` are those of the object that can be asked for. */
function matchesFilter(filter: JsonObject, fields: JsonObject): boolean {
  return Object.entries(filter).every(
    ([key, wanted]) => fields[key] !== undefined && equalValues(wanted, fields[key]),
  );
}

// The service.

function notServed(kind: HcnObjectKind): HcnError {
  return new HcnError("E_NOTIMPL", { appendix: `Objects of kind ${kind} are not served by this version` });
}

function dialectOfDocument(settings: JsonObject): Dialect {
  return dialectOf(readSchemaVersion(new JsonReader(settings, "", "HCN_E_INVALID_JSON")));
}

/** @throws HcnError ERROR_NOT_FOUND: there cannot be an object of a kind that is not served. */
function rowOfObject(kind: HcnObjectKind, id: Guid): KindRow {
  const row = KIND_TABLE[kind];
  if (row !== undefined) return row;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no ${kind} ${id}` });
}

export class HnsService {
  private readonly context: ServiceContext;
  private isStopped = false;

  constructor(env: Environment, options: HnsServiceOptions) {
    this.context = new ServiceContext(env, options);
    createHostNamespace(this.context);
    createOwnNetworks(this.context);
    this.context.takeNotifications();
  }

  /** Makes forks of the world that it is part of cheap. */
  settle(): void {
    this.context.state.settle();
  }

  /** The node it serves. */
  get node(): string {
    return this.context.node;
  }

  /** Friendly names of the node's adapters. */
  get adapterNames(): readonly string[] {
    return this.context.adapters.map((adapter) => adapter.name);
  }

  get version(): HnsVersion {
    return this.context.version;
  }

  get windows(): WindowsBuild {
    return this.context.windows;
  }

  get clock(): Clock {
    return this.context.clock;
  }

  /** The defects that it has. */
  get quirks(): QuirkSet {
    return this.context.quirks;
  }

  setQuirk(name: QuirkName, setting: QuirkSetting): void {
    this.context.setQuirk(name, setting);
  }

  /** How many objects of a kind there are. */
  countOf(kind: HcnObjectKind): number {
    return [...(KIND_TABLE[kind]?.records(this.context.state).keys() ?? [])].length;
  }

  /** The node's switches, for listings; none where no packets move. */
  listSwitches(): readonly VirtualSwitch[] {
    return this.context.datapath.listVirtualSwitches();
  }

  /** True when a load balancer names the endpoint. */
  isBalanced(endpointId: Guid): boolean {
    return this.context.state.loadBalancersOfEndpoint(endpointId).length > 0;
  }

  /**
   * By HCN namespace: what of the policies of its endpoints may decide about packets on Windows and decides about none
   * here. Namespaces without any are left out.
   */
  listUndecided(): ReadonlyMap<Guid, readonly NotEnforced[]> {
    const { state } = this.context;
    const found = new Map<Guid, NotEnforced[]>();
    for (const endpoint of state.localEndpoints()) {
      const { attachment } = endpoint;
      if (attachment?.kind !== "namespace") continue;
      const own = undecidedOnEndpoint(endpoint, state.networks.get(endpoint.networkId));
      const { namespaceId } = attachment;
      for (const each of own) addToList(found, namespaceId, each);
    }
    return found;
  }

  /** HCN namespaces whose endpoints ask for source NAT of IPv6, which no port does here. */
  listUntranslated(): readonly Guid[] {
    return [...this.context.state.localEndpoints()].flatMap(({ attachment, policies }) =>
      attachment?.kind === "namespace" && policies.some(asksForIpv6Nat) ? [attachment.namespaceId] : [],
    );
  }

  /** How many endpoints and load balancers there are. */
  get endpointAndLoadBalancerCount(): number {
    return this.context.state.endpoints.size + this.context.state.loadBalancers.size;
  }

  /** Puts a load balancer into the state Degraded because a fault says so. */
  degradeLoadBalancer(id: Guid): void {
    this.context.state.degradedLoadBalancers.add(id);
  }

  /** Puts a load balancer back into the state that follows from its endpoints. */
  repairLoadBalancer(id: Guid): void {
    this.context.state.degradedLoadBalancers.delete(id);
  }

  enumerate(kind: HcnObjectKind, query?: HostComputeQuery): readonly Guid[] {
    this.checkRunning();
    const { filter } = this.checkQuery(query);
    this.catchUp();
    const row = KIND_TABLE[kind];
    if (row === undefined) return [];
    const ids = this.candidates(row, filter["ID"]);
    if (Object.keys(filter).length === 0) return [...ids];
    const found: Guid[] = [];
    for (const id of ids) if (matchesFilter(filter, row.filterFields(this.context, id))) found.push(id);
    if (kind === "Network" && filter["Flags"] !== undefined) requestMirroring(this.context, filter["Flags"]);
    return found;
  }

  create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Guid {
    this.checkRunning();
    this.catchUp();
    const row = KIND_TABLE[kind];
    if (row === undefined) throw notServed(kind);
    const document = checkJsonObject(settings);
    const id = options.id === undefined ? undefined : checkGuid(options.id);
    const wanted = id === ZERO_GUID ? undefined : id;
    const isV1 = dialectOfDocument(document) === "v1";
    return row.create(this.context, { document, isV1, id: wanted, options });
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): JsonObject {
    this.checkRunning();
    const checked = this.checkQuery(query);
    this.catchUp();
    const guid = checkGuid(id);
    return rowOfObject(kind, guid).show(this.context, guid, checked);
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): void {
    this.checkRunning();
    this.catchUp();
    const row = KIND_TABLE[kind];
    if (row === undefined) throw notServed(kind);
    row.modify(this.context, checkGuid(id), checkJsonObject(settings));
  }

  delete(kind: HcnObjectKind, id: Guid): void {
    this.checkRunning();
    this.catchUp();
    const guid = checkGuid(id);
    rowOfObject(kind, guid).delete(this.context, guid);
  }

  queryEndpointStats(id: Guid, query?: HostComputeQuery): JsonObject {
    this.checkRunning();
    this.checkQuery(query);
    return endpointStatisticsDocument(this.context, requireEndpoint(this.context, checkGuid(id)));
  }

  queryEndpointAddresses(id: Guid, query?: HostComputeQuery): JsonObject {
    this.checkRunning();
    this.checkQuery(query);
    return endpointAddressesDocument(requireEndpoint(this.context, checkGuid(id)));
  }

  /** Marks an endpoint as broken (State 5): what is asked of it is refused until it is refreshed or deleted. */
  degradeEndpoint(id: Guid, errorCode: number): void {
    degradeEndpoint(this.context, checkGuid(id), errorCode);
  }

  /** `HcsEnumerateComputeSystems`. */
  listComputeSystems(): readonly ComputeSystem[] {
    return listComputeSystems(this.context);
  }

  /** `HcsCreateComputeSystem`. It needs HNS to attach what the document names. */
  createComputeSystem(id: string, document: JsonObject): void {
    this.checkRunning();
    this.catchUp();
    createComputeSystem(this.context, id, checkJsonObject(document));
  }

  /** `HcsModifyComputeSystem`. */
  modifyComputeSystem(id: string, request: JsonObject): void {
    this.checkRunning();
    this.catchUp();
    modifyComputeSystem(this.context, id, checkJsonObject(request));
  }

  /** `HcsTerminateComputeSystem`. */
  terminateComputeSystem(id: string): void {
    terminateComputeSystem(this.context, id);
  }

  reservePorts(guestNetworkService: Guid, request: PortRequest): PortRangeReservation {
    this.checkRunning();
    return reservePorts(this.context, checkGuid(guestNetworkService), request);
  }

  releasePorts(reservation: Guid): void {
    this.checkRunning();
    releasePorts(this.context, checkGuid(reservation));
  }

  listPortReservations(): readonly PortRangeEntry[] {
    this.checkRunning();
    return listPortReservations(this.context);
  }

  queryService(properties: ServiceProperties): JsonObject {
    this.checkRunning();
    return properties === "Features" ? featuresDocument(this.context) : metricsDocument(this.context);
  }

  /** HNS v1: always an envelope, and never a failure of the call itself while the service runs. */
  call(method: string, path: string, body: string): JsonObject {
    this.checkRunning();
    this.catchUp();
    return answerV1(this.context, method, path, body);
  }

  /** Notifications since the last call. */
  takeNotifications(): readonly HcnNotification[] {
    if (this.context.state.guestNetworkServices.size > 0) followMirroredEndpoints(this.context);
    this.catchUp();
    return this.context.takeNotifications();
  }

  /** Goes up with every change of an object: equal numbers, equal objects. */
  get revision(): number {
    this.catchUp();
    return this.context.revision;
  }

  /** The next moment of the clock at which objects come or change without a call; undefined: there is none. */
  get nextMomentMs(): number | undefined {
    return this.context.nextMomentMs;
  }

  /** What has to be stored since the last call. */
  takeChanges(): readonly StoredChange[] {
    this.catchUp();
    return this.context
      .takeChanges()
      .map(({ kind, id }) => ({ kind, id, object: storedRowOf(kind)?.store(this.context, id) }));
  }

  /** All objects in stored form, by kind and then in order of creation. */
  export(): readonly StoredObject[] {
    this.catchUp();
    return exportObjects(this.context);
  }

  /**
   * Puts these objects in the place of all that the service has, without checking them as requests. Listeners hear
   * nothing of it.
   * @returns what of the objects is not as it was: what they say and cannot be.
   */
  restore(objects: readonly ImportedObject[], options: RestoreOptions = {}): readonly RestoreNote[] {
    return restoreObjects(this.context, objects, options);
  }

  /** The service goes down: until it starts again, every call fails with 0x800706ba (hcn.md §4.6). */
  stop(): void {
    this.isStopped = true;
  }

  /** The service is there again, with the objects that it had. */
  start(): void {
    this.isStopped = false;
  }

  /**
   * What a restart of the service does to the objects; it runs afterwards. The caller reports it to the listeners
   * (ServiceDisconnect), which are gone then. Without a state the defects of the build decide.
   */
  restart(state?: RestartState): void {
    restartService(this.context, state);
    this.start();
  }

  /** What a reboot of the node does to the objects; the service runs afterwards. Host stacks are the caller's. */
  reboot(): void {
    rebootNode(this.context);
    this.start();
  }

  /** Forgets what has to be stored, where there is no store. */
  dropChanges(): void {
    this.context.dropChanges();
  }

  /** Does what the clock has brought since the last call. */
  private catchUp(): void {
    if (!this.context.isBehind) return;
    settleMirroring(this.context);
    endRestoration(this.context);
  }

  private checkRunning(): void {
    if (this.isStopped)
      throw new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: `The HNS of ${this.context.node} is down` });
  }

  private checkQuery(query: HostComputeQuery | undefined): CheckedQuery {
    const value: JsonValue | undefined = query === undefined ? undefined : checkJsonValue(query);
    return parseQuery(value);
  }

  /**
   * The objects that a filter may let through. Clients get an object by listing with its id (hcn.md §1.5); with
   * thousands of them all others are left alone.
   */
  private candidates(row: KindRow, wanted: JsonValue | undefined): Iterable<Guid> {
    const records = row.records(this.context.state);
    const id = typeof wanted === "string" ? parseGuid(wanted) : undefined;
    if (id === undefined) return records.keys();
    return records.has(id) ? [id] : [];
  }
}
