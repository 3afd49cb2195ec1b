/**
 * The calls that programs make, over any `HcnClient`, with the sequences of calls and the checks of hcsshim's
 * helpers (hcn.md §1.5): what works over these against one service works against the other.
 */
import { type PolicyDocument, SCHEMA_V2_0 } from "./documents/base-document.ts";
import { DEFAULT_QUERY, type HcnClient, type HcnObjectKind, type HostComputeQuery } from "./client.ts";
import { type JsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID, parseGuid } from "./guid.ts";
import { type HostComputeEndpoint, type StoredEndpoint, parseStoredEndpoint } from "./documents/endpoint.ts";
import { HcnError, HcnNotFoundError } from "./error.ts";
import { checkJsonObject } from "./description/json.ts";
import { type Stored, storedOf } from "./description/object-json.ts";
import { type HostComputeLoadBalancer, parseLoadBalancer } from "./documents/load-balancer.ts";
import { type ModifyRequestType, formatFilter } from "./documents/request.ts";
import {
  type HostComputeNamespace,
  type NamespaceResourceType,
  type NamespaceType,
  parseNamespace,
} from "./documents/namespace.ts";
import {
  type HostComputeNetwork,
  gatewayOf,
  isDefaultRoute,
  parseNetwork,
  subnetsOf,
} from "./documents/network.ts";
import { type HostComputeRoute, type SdnRoutePolicySetting, parseSdnRoute } from "./documents/sdn-route.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** As a service answers them. */
export type StoredNetwork = Stored<HostComputeNetwork>;
export type StoredNamespace = Stored<HostComputeNamespace>;
export type StoredLoadBalancer = Stored<HostComputeLoadBalancer>;
export type StoredRoute = Stored<HostComputeRoute>;

/** A query in v2 shape for the objects whose fields equal `filter`. */
export function queryBy(filter: JsonObject): HostComputeQuery {
  return { ...DEFAULT_QUERY, Filter: formatFilter(filter) };
}

/**
 * Enumerates and reads every object that matches. An object that vanishes between the two calls is left out
 * (hcn.md §1.5: hcsshim fails the whole listing then).
 */
async function listDocuments(
  client: HcnClient,
  kind: HcnObjectKind,
  query: HostComputeQuery,
): Promise<readonly JsonObject[]> {
  const documents: JsonObject[] = [];
  for (const id of await client.enumerate(kind, query)) {
    try {
      documents.push(await client.query(kind, id, query));
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      const remaining = await client.enumerate(kind, query);
      if (remaining.includes(id)) throw error;
    }
  }
  return documents;
}

/** A request document as JSON: fields that are undefined are left out. */
export function requestDocument(document: object): JsonObject {
  return checkJsonObject(document);
}

/** A new object's document, or one that replaces another: it gets schema version 2.0 when it has none. */
function wholeDocument(document: object): JsonObject {
  return requestDocument({ SchemaVersion: SCHEMA_V2_0, ...document });
}

// What the kinds of objects have in common.

/** A kind of objects, and how its documents are read out of answers. */
interface Kind<T> {
  readonly name: HcnObjectKind;
  readonly read: (document: JsonObject) => T;
}

const NETWORK: Kind<StoredNetwork> = {
  name: "Network",
  /** A missing `Type` in a result means NAT (hcn.md §1.6). */
  read: (document) => {
    const network = storedOf(parseNetwork(document), "network");
    return network.Type === undefined ? { ...network, Type: "NAT" } : network;
  },
};
const ENDPOINT: Kind<StoredEndpoint> = { name: "Endpoint", read: parseStoredEndpoint };
const NAMESPACE: Kind<StoredNamespace> = {
  name: "Namespace",
  read: (document) => storedOf(parseNamespace(document), "namespace"),
};
const LOAD_BALANCER: Kind<StoredLoadBalancer> = {
  name: "LoadBalancer",
  read: (document) => storedOf(parseLoadBalancer(document), "load balancer"),
};
const SDN_ROUTE: Kind<StoredRoute> = {
  name: "SdnRoute",
  read: (document) => storedOf(parseSdnRoute(document), "SDN route"),
};

type List<T> = (client: HcnClient, query?: HostComputeQuery) => Promise<readonly T[]>;
type Get<T> = (client: HcnClient, value: string) => Promise<T>;
type Create<D, T> = (client: HcnClient, document: D) => Promise<T>;
type Replace<D, T> = (client: HcnClient, id: Guid, document: D) => Promise<T>;
type Delete = (client: HcnClient, id: Guid) => Promise<void>;
type ModifyPolicies<T> = (
  client: HcnClient,
  id: Guid,
  requestType: ModifyRequestType,
  policies: readonly PolicyDocument[],
) => Promise<T>;

function listOf<T>({ name, read }: Kind<T>): List<T> {
  return async (client, query = DEFAULT_QUERY) =>
    (await listDocuments(client, name, query)).map((document) => read(document));
}

/** The first whose field has the value. It throws HcnNotFoundError `<what> "x" not found`. */
function getBy<T>(list: List<T>, field: string, what: string): Get<T> {
  return async (client, value) => {
    const [found] = await list(client, queryBy({ [field]: value }));
    if (found === undefined) throw new HcnNotFoundError(what, value);
    return found;
  };
}

async function readBack<T>(client: HcnClient, { name, read }: Kind<T>, id: Guid): Promise<T> {
  return read(await client.query(name, id, DEFAULT_QUERY));
}

function creationOf<D extends object, T>(kind: Kind<T>): Create<D, T> {
  return async (client, document) =>
    readBack(client, kind, await client.create(kind.name, wholeDocument(document)));
}

/** Replaces what an object says: the request carries the whole document (hcn.md §8.5). */
function replacementOf<D extends object, T>(kind: Kind<T>): Replace<D, T> {
  return async (client, id, document) => {
    await client.modify(kind.name, id, wholeDocument({ ...document, ID: id }));
    return readBack(client, kind, id);
  };
}

function deletionOf({ name }: Kind<unknown>): Delete {
  return async (client, id) => client.delete(name, id);
}

/** Adds, removes or updates policies of an object and reads it back. */
function policyChangeOf<T>(kind: Kind<T>): ModifyPolicies<T> {
  return async (client, id, requestType, policies) => {
    const settings = { ResourceType: "Policy", RequestType: requestType, Settings: { Policies: policies } };
    await client.modify(kind.name, id, requestDocument(settings));
    return readBack(client, kind, id);
  };
}

/** An object of which endpoints are a part. */
type OfEndpoints = Stored<{ readonly ID?: Guid; readonly HostComputeEndpoints?: readonly Guid[] }>;

/**
 * Gives an object other endpoints as hcsshim does: not a modify, but delete and create under the id that its document
 * holds (hcn.md §1.5).
 */
function endpointChangeOf<T extends OfEndpoints>(
  kind: Kind<T>,
  change: (before: readonly Guid[], endpoint: Guid) => readonly Guid[],
): (client: HcnClient, object: T, endpoint: Guid) => Promise<T> {
  const create = creationOf<object, T>(kind);
  return async (client, object, endpoint) => {
    await client.delete(kind.name, object.ID);
    const endpoints = change(object.HostComputeEndpoints ?? [], endpoint);
    return create(client, { ...object, HostComputeEndpoints: endpoints });
  };
}

function withEndpoint(before: readonly Guid[], endpoint: Guid): readonly Guid[] {
  return [...before, endpoint];
}

function withoutEndpoint(before: readonly Guid[], endpoint: Guid): readonly Guid[] {
  return before.filter((id) => parseGuid(id) !== parseGuid(endpoint));
}

// Networks.

export const listNetworks: List<StoredNetwork> = listOf(NETWORK);
/** @throws HcnNotFoundError `Network name "x" not found`. */
export const getNetworkByName: Get<StoredNetwork> = getBy(listNetworks, "Name", "Network name");
/** @throws HcnNotFoundError `Network ID "x" not found`. */
export const getNetworkById: Get<StoredNetwork> = getBy(listNetworks, "ID", "Network ID");
export const deleteNetwork: Delete = deletionOf(NETWORK);
/** Adds, removes or updates policies of a network and reads it back. */
export const modifyNetworkPolicies: ModifyPolicies<StoredNetwork> = policyChangeOf(NETWORK);

/** What hcsshim refuses before it calls the service (hcn.md §4.1). */
function checkNetworkRequest(network: HostComputeNetwork): void {
  for (const subnet of subnetsOf(network)) {
    if ((subnet.IpAddressPrefix ?? "") === "") continue;
    if (subnet.Routes?.some((route) => (route.NextHop ?? "") === "") === true) {
      throw new HcnError("HCN_E_INVALID_NETWORK", {
        detail: "network create error, subnet has address prefix but no gateway specified",
      });
    }
    if (subnet.Routes?.some(isDefaultRoute) !== true || gatewayOf(subnet) === undefined) {
      throw new HcnError("HCN_E_INVALID_NETWORK", { detail: "network create error, no default gateway" });
    }
  }
}

/** Creates a network and reads it back. The document gets schema version 2.0 when it has none. */
export async function createNetwork(client: HcnClient, network: HostComputeNetwork): Promise<StoredNetwork> {
  checkNetworkRequest(network);
  return readBack(client, NETWORK, await client.create("Network", wholeDocument(network)));
}

// Endpoints.

export const listEndpoints: List<StoredEndpoint> = listOf(ENDPOINT);
/** The filter carries the v1 name of the field, also in a v2 query, as hcsshim's does (hcn.md §1.5). */
export async function listEndpointsOfNetwork(
  client: HcnClient,
  network: Guid,
): Promise<readonly StoredEndpoint[]> {
  return listEndpoints(client, queryBy({ VirtualNetwork: network }));
}

/** @throws HcnNotFoundError `Endpoint ID "x" not found`. */
export const getEndpointById: Get<StoredEndpoint> = getBy(listEndpoints, "ID", "Endpoint ID");
/** The first of that name. @throws HcnNotFoundError `Endpoint name "x" not found`. */
export const getEndpointByName: Get<StoredEndpoint> = getBy(listEndpoints, "Name", "Endpoint name");
export const deleteEndpoint: Delete = deletionOf(ENDPOINT);
/** Adds, removes or replaces policies of an endpoint (`Update` replaces the whole list) and reads it back. */
export const modifyEndpointPolicies: ModifyPolicies<StoredEndpoint> = policyChangeOf(ENDPOINT);

/**
 * Creates an endpoint on a network, for callers to whom its identifier is enough.
 * @throws HcnError HCN_E_INVALID_ENDPOINT when the document names a namespace: only the service sets it.
 */
export async function createEndpointOnly(
  client: HcnClient,
  network: Guid,
  endpoint: HostComputeEndpoint,
): Promise<Guid> {
  if (endpoint.HostComputeNamespace !== undefined && endpoint.HostComputeNamespace !== "") {
    throw new HcnError("HCN_E_INVALID_ENDPOINT", {
      detail: WORDS.endpointNamespaceReadOnly,
    });
  }
  const document = { SchemaVersion: SCHEMA_V2_0, ...endpoint, HostComputeNetwork: network };
  return client.create("Endpoint", requestDocument(document), { network });
}

/** Creates an endpoint on a network and reads it back. @throws as `createEndpointOnly`. */
export async function createEndpoint(
  client: HcnClient,
  network: Guid,
  endpoint: HostComputeEndpoint,
): Promise<StoredEndpoint> {
  const id = await createEndpointOnly(client, network, endpoint);
  return readBack(client, ENDPOINT, id);
}

// Namespaces.

export const listNamespaces: List<StoredNamespace> = listOf(NAMESPACE);
/** @throws HcnNotFoundError `Namespace ID "x" not found`. */
export const getNamespaceById: Get<StoredNamespace> = getBy(listNamespaces, "ID", "Namespace ID");
export const deleteNamespace: Delete = deletionOf(NAMESPACE);

/** Creates a namespace, without a type as containerd does when none is given, and reads it back. */
export async function createNamespace(client: HcnClient, type?: NamespaceType): Promise<StoredNamespace> {
  const id = await client.create("Namespace", requestDocument({ Type: type, SchemaVersion: SCHEMA_V2_0 }));
  return readBack(client, NAMESPACE, id);
}

/** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE before any call when `id` is no GUID. */
function namespaceGuid(id: string): Guid {
  const guid = parseGuid(id);
  if (guid !== undefined) return guid;
  throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", {
    detail: `The namespace "${id}" is not a GUID`,
    explanation: "cni-namespace-not-guid",
  });
}

type ModifyMembers = (client: HcnClient, namespace: Guid, id: string) => Promise<void>;

/** `field` is what the settings call the id of a member. */
function memberChangeOf(
  RequestType: "Add" | "Remove",
  ResourceType: NamespaceResourceType,
  field: string,
): ModifyMembers {
  return async (client, namespace, id) => {
    const settings = { ResourceType, RequestType, Settings: { [field]: id } };
    await client.modify("Namespace", namespaceGuid(namespace), requestDocument(settings));
  };
}

export const addNamespaceEndpoint: ModifyMembers = memberChangeOf("Add", "Endpoint", "EndpointId");
export const removeNamespaceEndpoint: ModifyMembers = memberChangeOf("Remove", "Endpoint", "EndpointId");
export const addNamespaceContainer: ModifyMembers = memberChangeOf("Add", "Container", "ContainerId");
export const removeNamespaceContainer: ModifyMembers = memberChangeOf("Remove", "Container", "ContainerId");

type MemberIds = (client: HcnClient, namespace: Guid) => Promise<readonly string[]>;

function memberIdsOf(type: NamespaceResourceType): MemberIds {
  return async (client, namespace) => {
    const { Resources = [] } = await getNamespaceById(client, namespace);
    return Resources.filter((resource) => resource.Type === type).map((resource) => resource.Data.Id);
  };
}

/** GUIDs of the endpoints in a namespace. @throws HcnNotFoundError when there is no such namespace. */
export const getNamespaceEndpointIds: MemberIds = memberIdsOf("Endpoint");
/** HCS ids of the containers in a namespace. @throws HcnNotFoundError when there is no such namespace. */
export const getNamespaceContainerIds: MemberIds = memberIdsOf("Container");

/** The namespace an endpoint is in; undefined when it is in none (absent, empty or the zero GUID). */
export function namespaceOf(endpoint: HostComputeEndpoint): Guid | undefined {
  const id = endpoint.HostComputeNamespace;
  return id === undefined || id === "" || id === ZERO_GUID ? undefined : id;
}

// Load balancers.

export const listLoadBalancers: List<StoredLoadBalancer> = listOf(LOAD_BALANCER);
/** @throws HcnNotFoundError `LoadBalancer "x" not found`. */
export const getLoadBalancerById: Get<StoredLoadBalancer> = getBy(listLoadBalancers, "ID", "LoadBalancer");

/**
 * Creates a load balancer, for callers to whom its identifier is enough. The document gets schema version 2.0 when it
 * has none.
 */
export async function createLoadBalancerOnly(
  client: HcnClient,
  loadBalancer: HostComputeLoadBalancer,
): Promise<Guid> {
  return client.create("LoadBalancer", wholeDocument(loadBalancer));
}

/** Creates a load balancer and reads it back. */
export const createLoadBalancer: Create<HostComputeLoadBalancer, StoredLoadBalancer> =
  creationOf(LOAD_BALANCER);
export const modifyLoadBalancer: Replace<HostComputeLoadBalancer, StoredLoadBalancer> =
  replacementOf(LOAD_BALANCER);
export const deleteLoadBalancer: Delete = deletionOf(LOAD_BALANCER);

type ChangeBackEnds = (
  client: HcnClient,
  loadBalancer: StoredLoadBalancer,
  endpoint: Guid,
) => Promise<StoredLoadBalancer>;

/** hcsshim's `AddEndpoint` of a load balancer. */
export const addLoadBalancerEndpoint: ChangeBackEnds = endpointChangeOf(LOAD_BALANCER, withEndpoint);
/** hcsshim's `RemoveEndpoint` of a load balancer. */
export const removeLoadBalancerEndpoint: ChangeBackEnds = endpointChangeOf(LOAD_BALANCER, withoutEndpoint);

// SDN routes (hcn.md §2.8).

export const listSdnRoutes: List<StoredRoute> = listOf(SDN_ROUTE);
/** @throws HcnNotFoundError `SDN Route "x" not found`. */
export const getSdnRouteById: Get<StoredRoute> = getBy(listSdnRoutes, "ID", "SDN Route");
/** Creates an SDN route and reads it back. */
export const createSdnRoute: Create<HostComputeRoute, StoredRoute> = creationOf(SDN_ROUTE);
export const modifySdnRoute: Replace<HostComputeRoute, StoredRoute> = replacementOf(SDN_ROUTE);
export const deleteSdnRoute: Delete = deletionOf(SDN_ROUTE);

/**
 * A route of some endpoints to a prefix, as hcsshim's `AddRoute` makes it.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE before any call when there is no endpoint.
 */
export async function addSdnRoute(
  client: HcnClient,
  endpoints: readonly Guid[],
  setting: SdnRoutePolicySetting,
): Promise<StoredRoute> {
  if (endpoints.length === 0)
    throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", { detail: "missing endpoints" });
  return createSdnRoute(client, { HostComputeEndpoints: endpoints, Setting: [setting] });
}

type ChangeRouted = (client: HcnClient, route: StoredRoute, endpoint: Guid) => Promise<StoredRoute>;

/** hcsshim's `AddEndpoint` of a route. */
export const addSdnRouteEndpoint: ChangeRouted = endpointChangeOf(SDN_ROUTE, withEndpoint);
/** hcsshim's `RemoveEndpoint` of a route. */
export const removeSdnRouteEndpoint: ChangeRouted = endpointChangeOf(SDN_ROUTE, withoutEndpoint);
