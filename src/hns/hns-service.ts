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
import { HcnError } from "../hcn/error.ts";
import { parseEndpoint } from "../hcn/endpoint.ts";
import type { HnsVersion } from "../hcn/features.ts";
import { ZERO_GUID, parseGuid } from "../hcn/guid.ts";
import { JsonReader } from "../hcn/json-reader.ts";
import { checkJsonObject, checkJsonValue, isJsonObject } from "../hcn/json-value.ts";
import { parseLoadBalancer } from "../hcn/load-balancer.ts";
import { parseNetwork } from "../hcn/network.ts";
import { type CheckedQuery, NULL_QUERY, parseQuery } from "../hcn/query.ts";
import { readSchemaVersion } from "../hcn/base-document.ts";
import { type Dialect, dialectOf } from "../hcn/schema-version.ts";
import { createEndpoint, deleteEndpoint, modifyEndpoint, requireEndpoint } from "./endpoints.ts";
import { matchesFilter } from "./filter.ts";
import {
  createLoadBalancer,
  deleteLoadBalancer,
  modifyLoadBalancer,
  requireLoadBalancer,
} from "./load-balancers.ts";
import { createNamespace, deleteNamespace, modifyNamespace, requireNamespace } from "./namespaces.ts";
import { createNetwork, deleteNetwork, modifyNetwork, requireNetwork } from "./networks.ts";
import type { RecordBase } from "./network-record.ts";
import { type HnsServiceOptions, ServiceContext, type StoreChange } from "./service-context.ts";
import { loadBalancerFromV1 } from "./v1/policy-list.ts";
import { endpointFromV1, namespaceFromV1, networkFromV1 } from "./v1/request-mapping.ts";
import { answerV1 } from "./v1/router.ts";
import { endpointDocument, endpointDocumentV1, endpointFilterFields } from "./view/endpoint-view.ts";
import {
  loadBalancerDocument,
  loadBalancerFilterFields,
  policyListDocument,
} from "./view/load-balancer-view.ts";
import { namespaceDocument, namespaceDocumentV1, namespaceFilterFields } from "./view/namespace-view.ts";
import { networkDocument, networkDocumentV1, networkFilterFields } from "./view/network-view.ts";

/** The kinds of objects that this version keeps. */
type ServedKind = "Network" | "Endpoint" | "Namespace" | "LoadBalancer";
const SERVED_KINDS: readonly HcnObjectKind[] = ["Network", "Endpoint", "Namespace", "LoadBalancer"];

/** How stores keep objects: in v2 shape, without what can be worked out again. */
const STORED: CheckedQuery = Object.freeze({ ...NULL_QUERY, dialect: "v2" });

function isServed(kind: HcnObjectKind): kind is ServedKind {
  return SERVED_KINDS.includes(kind);
}

function notServed(kind: HcnObjectKind): HcnError {
  return new HcnError("E_NOTIMPL", { appendix: `Objects of kind ${kind} are not served by this version` });
}

function dialectOfDocument(settings: JsonObject): Dialect {
  return dialectOf(readSchemaVersion(new JsonReader(settings, "", "HCN_E_INVALID_JSON")));
}

/** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE. */
function checkGuid(id: Guid): Guid {
  const guid = parseGuid(id);
  if (guid !== undefined) return guid;
  throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", { detail: `${JSON.stringify(id)} is no GUID` });
}

interface Records<T> {
  get(id: Guid): T | undefined;
  values(): Iterable<T>;
}

/** The record of that id, when there is one; all without an id. */
function select<T>(records: Records<T>, id: Guid | undefined): readonly T[] {
  if (id === undefined) return [...records.values()];
  const record = records.get(id);
  return record === undefined ? [] : [record];
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
    // Nobody can have made an object of a kind that is not served.
    if (!isServed(kind)) return [];
    const found: Guid[] = [];
    const wanted = filter["ID"];
    // Clients get an object by listing with its id (hcn.md §1.5); with thousands of them all others are left alone.
    const only = typeof wanted === "string" ? parseGuid(wanted) : undefined;
    for (const [id, fields] of this.filterFields(kind, only))
      if (matchesFilter(filter, fields)) found.push(id);
    return found;
  }

  create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Guid {
    if (!isServed(kind)) throw notServed(kind);
    const document = checkJsonObject(settings);
    const id = options.id === undefined ? undefined : checkGuid(options.id);
    const wanted = id === ZERO_GUID ? undefined : id;
    const isV1 = dialectOfDocument(document) === "v1";
    switch (kind) {
      case "Network":
        return createNetwork(this.context, isV1 ? networkFromV1(document) : parseNetwork(document), wanted);
      case "Endpoint": {
        const network = options.network === undefined ? undefined : checkGuid(options.network);
        const endpoint = isV1 ? endpointFromV1(document) : parseEndpoint(document);
        return createEndpoint(this.context, endpoint, wanted, network);
      }
      case "Namespace":
        return createNamespace(this.context, namespaceFromV1(document), wanted);
      case "LoadBalancer": {
        const loadBalancer = isV1 ? loadBalancerFromV1(document) : parseLoadBalancer(document);
        return createLoadBalancer(this.context, loadBalancer, wanted);
      }
    }
  }

  query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): JsonObject {
    const checked = this.checkQuery(query);
    const guid = checkGuid(id);
    if (!isServed(kind)) throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no ${kind} ${guid}` });
    return this.documentOf(kind, guid, checked);
  }

  modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): void {
    if (!isServed(kind)) throw notServed(kind);
    const document = checkJsonObject(settings);
    const guid = checkGuid(id);
    switch (kind) {
      case "Network":
        modifyNetwork(this.context, guid, document);
        return;
      case "Endpoint":
        modifyEndpoint(this.context, guid, document);
        return;
      case "Namespace":
        modifyNamespace(this.context, guid, document);
        return;
      case "LoadBalancer":
        modifyLoadBalancer(this.context, guid, document);
    }
  }

  delete(kind: HcnObjectKind, id: Guid): void {
    const guid = checkGuid(id);
    if (!isServed(kind)) throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no ${kind} ${guid}` });
    switch (kind) {
      case "Network":
        deleteNetwork(this.context, guid);
        return;
      case "Endpoint":
        deleteEndpoint(this.context, guid);
        return;
      case "Namespace":
        deleteNamespace(this.context, guid);
        return;
      case "LoadBalancer":
        deleteLoadBalancer(this.context, guid);
    }
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
    const { networks, endpoints, namespaces, loadBalancers } = this.context.state;
    const isThere = [networks, endpoints, namespaces, loadBalancers].some((records) => records.has(id));
    return isServed(kind) && isThere ? this.documentOf(kind, id, STORED) : undefined;
  }

  private checkQuery(query: HostComputeQuery | undefined): CheckedQuery {
    const value: JsonValue | undefined = query === undefined ? undefined : checkJsonValue(query);
    return parseQuery(isJsonObject(value) ? value : undefined);
  }

  /** What filters compare, of all objects of a kind or of the one that the filter asks for by its id. */
  private filterFields(kind: ServedKind, id: Guid | undefined): readonly (readonly [Guid, JsonObject])[] {
    const { state } = this.context;
    const fieldsOf = <T extends RecordBase>(
      records: Records<T>,
      show: (context: ServiceContext, record: T) => JsonObject,
    ): readonly (readonly [Guid, JsonObject])[] =>
      select(records, id).map((record) => [record.id, show(this.context, record)]);
    switch (kind) {
      case "Network":
        return fieldsOf(state.networks, networkFilterFields);
      case "Endpoint":
        return fieldsOf(state.endpoints, endpointFilterFields);
      case "Namespace":
        return fieldsOf(state.namespaces, namespaceFilterFields);
      case "LoadBalancer":
        return fieldsOf(state.loadBalancers, loadBalancerFilterFields);
    }
  }

  private documentOf(kind: ServedKind, id: Guid, query: CheckedQuery): JsonObject {
    const isV1 = query.dialect === "v1";
    switch (kind) {
      case "Network": {
        const show = isV1 ? networkDocumentV1 : networkDocument;
        return show(this.context, requireNetwork(this.context, id), query.isDetailed);
      }
      case "Endpoint": {
        const show = isV1 ? endpointDocumentV1 : endpointDocument;
        return show(this.context, requireEndpoint(this.context, id));
      }
      case "Namespace": {
        const show = isV1 ? namespaceDocumentV1 : namespaceDocument;
        return show(this.context, requireNamespace(this.context, id));
      }
      case "LoadBalancer": {
        const show = isV1 ? policyListDocument : loadBalancerDocument;
        return show(this.context, requireLoadBalancer(this.context, id));
      }
    }
  }
}
