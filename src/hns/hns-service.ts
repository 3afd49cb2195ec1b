/**
 * The Host Networking Service of one node: the calls of `computenetwork.dll` and of HNS v1 over one set of objects.
 *
 * Calls are synchronous and all or nothing: what is refused changes nothing. The service is part of a simulated world
 * and can be forked with it; clients, stores and sockets are outside (`in-process-client.ts`).
 */
import type { Environment } from "../base/environment.ts";
import type {
  Guid,
  HcnCreateOptions,
  HcnNotification,
  HcnObjectKind,
  HostComputeQuery,
  JsonObject,
  JsonValue,
} from "../hcn/client.ts";
import type { ComputeSystem } from "../hcn/compute-systems.ts";
import { readSchemaVersion } from "../hcn/base-document.ts";
import { HcnError } from "../hcn/error.ts";
import type { HnsVersion } from "../hcn/features.ts";
import { ZERO_GUID, checkGuid, parseGuid } from "../hcn/guid.ts";
import { JsonReader } from "../hcn/json-reader.ts";
import { checkJsonObject, checkJsonValue, isJsonObject } from "../hcn/json-value.ts";
import { type CheckedQuery, NULL_QUERY, parseQuery } from "../hcn/query.ts";
import { type Dialect, dialectOf } from "../hcn/schema-version.ts";
import {
  createComputeSystem,
  listComputeSystems,
  modifyComputeSystem,
  terminateComputeSystem,
} from "./compute-systems/compute-systems.ts";
import { degradeEndpoint } from "./endpoint-port.ts";
import { requireEndpoint } from "./endpoints.ts";
import { matchesFilter } from "./filter.ts";
import { KIND_TABLE, type KindRow } from "./kind-table.ts";
import { createNamespace } from "./namespaces.ts";
import { type HnsServiceOptions, ServiceContext, type StoreChange } from "./service-context.ts";
import { endpointAddressesDocument, endpointStatisticsDocument } from "./view/endpoint-counters-view.ts";
import { answerV1 } from "./v1/router.ts";

/** How stores keep objects: in v2 shape, without what can be worked out again. */
const STORED: CheckedQuery = Object.freeze({ ...NULL_QUERY, dialect: "v2" });

function notServed(kind: HcnObjectKind): HcnError {
  return new HcnError("E_NOTIMPL", { appendix: `Objects of kind ${kind} are not served by this version` });
}

function dialectOfDocument(settings: JsonObject): Dialect {
  return dialectOf(readSchemaVersion(new JsonReader(settings, "", "HCN_E_INVALID_JSON")));
}

/** @throws HcnError ERROR_NOT_FOUND: nobody can have made an object of a kind that is not served. */
function rowOfObject(kind: HcnObjectKind, id: Guid): KindRow {
  const row = KIND_TABLE[kind];
  if (row !== undefined) return row;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no ${kind} ${id}` });
}

export class HnsService {
  private readonly context: ServiceContext;

  constructor(env: Environment, options: HnsServiceOptions) {
    this.context = new ServiceContext(env, options);
    // A default namespace with compartment 1 always exists (hcn.md §2.4).
    createNamespace(this.context, { Type: "HostDefault" }, undefined, true);
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

  get version(): HnsVersion {
    return this.context.version;
  }

  enumerate(kind: HcnObjectKind, query?: HostComputeQuery): readonly Guid[] {
    const { filter } = this.checkQuery(query);
    const row = KIND_TABLE[kind];
    if (row === undefined) return [];
    const ids = this.candidates(row, filter["ID"]);
    if (Object.keys(filter).length === 0) return [...ids];
    const found: Guid[] = [];
    for (const id of ids) if (matchesFilter(filter, row.filterFields(this.context, id))) found.push(id);
    return found;
  }

  create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Guid {
    const row = KIND_TABLE[kind];
    if (row === undefined) throw notServed(kind);
    const document = checkJsonObject(settings);
    const id = options.id === undefined ? undefined : checkGuid(options.id);
    const wanted = id === ZERO_GUID ? undefined : id;
    const isV1 = dialectOfDocument(document) === "v1";
    return row.create(this.context, { document, isV1, id: wanted, options });
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): JsonObject {
    const checked = this.checkQuery(query);
    const guid = checkGuid(id);
    return rowOfObject(kind, guid).show(this.context, guid, checked);
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): void {
    const row = KIND_TABLE[kind];
    if (row === undefined) throw notServed(kind);
    row.modify(this.context, checkGuid(id), checkJsonObject(settings));
  }

  delete(kind: HcnObjectKind, id: Guid): void {
    const guid = checkGuid(id);
    rowOfObject(kind, guid).delete(this.context, guid);
  }

  queryEndpointStats(id: Guid, query?: HostComputeQuery): JsonObject {
    this.checkQuery(query);
    return endpointStatisticsDocument(this.context, requireEndpoint(this.context, checkGuid(id)));
  }

  queryEndpointAddresses(id: Guid, query?: HostComputeQuery): JsonObject {
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

  /** `HcsCreateComputeSystem`. */
  createComputeSystem(id: string, document: JsonObject): void {
    createComputeSystem(this.context, id, checkJsonObject(document));
  }

  /** `HcsModifyComputeSystem`. */
  modifyComputeSystem(id: string, request: JsonObject): void {
    modifyComputeSystem(this.context, id, checkJsonObject(request));
  }

  /** `HcsTerminateComputeSystem`. */
  terminateComputeSystem(id: string): void {
    terminateComputeSystem(this.context, id);
  }

  /** HNS v1: always an envelope, never a failure of the call itself. */
  call(method: string, path: string, body: string): JsonObject {
    return answerV1(this.context, method, path, body);
  }

  /** Notifications since the last call. */
  takeNotifications(): readonly HcnNotification[] {
    return this.context.takeNotifications();
  }

  /** Goes up with every change of an object: equal numbers, equal objects. */
  get revision(): number {
    return this.context.revision;
  }

  /** What has to be stored since the last call. */
  takeChanges(): readonly StoreChange[] {
    return this.context
      .takeChanges()
      .map(({ kind, id }) => ({ kind, id, document: this.storedDocument(kind, id) }));
  }

  /** Forgets what has to be stored, where nobody stores it. */
  dropChanges(): void {
    this.context.takeChanges();
  }

  /** An object as stores keep it; undefined when it is gone. */
  private storedDocument(kind: HcnObjectKind, id: Guid): JsonObject | undefined {
    const row = KIND_TABLE[kind];
    return row?.records(this.context.state).has(id) === true ? row.show(this.context, id, STORED) : undefined;
  }

  private checkQuery(query: HostComputeQuery | undefined): CheckedQuery {
    const value: JsonValue | undefined = query === undefined ? undefined : checkJsonValue(query);
    return parseQuery(isJsonObject(value) ? value : undefined);
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
