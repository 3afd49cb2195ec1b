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
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** As a service answers them. */
export type StoredNetwork = Stored<HostComputeNetwork>;
export type StoredNamespace = Stored<HostComputeNamespace>;
export type StoredLoadBalancer = Stored<HostComputeLoadBalancer>;

/** A query in v2 shape for the objects whose fields equal `filter`. */
export function queryBy(filter: JsonObject): HostComputeQuery {
  return { ...DEFAULT_QUERY, Filter: formatFilter(filter) };
}

/**
 * Enumerates and reads every object that matches. An object that vanishes between the two calls is left out
 * (hcn.md §1.5: hcsshim fails the whole listing then).
 */
export async function listDocuments(
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

/** The first of what a look-up found. @throws HcnNotFoundError when it found nothing. */
export function firstFound<T>(found: readonly T[], what: string, value: string): T {
  const [object] = found;
  if (object === undefined) throw new HcnNotFoundError(what, value);
  return object;
}

// Networks.

/** A missing `Type` in a result means NAT (hcn.md §1.6). */
function networkOf(document: JsonObject): StoredNetwork {
  const network = storedOf(parseNetwork(document), "network");
  return network.Type === undefined ? { ...network, Type: "NAT" } : network;
}

export async function listNetworks(
  client: HcnClient,
  query: HostComputeQuery = DEFAULT_QUERY,
): Promise<readonly StoredNetwork[]> {
  return (await listDocuments(client, "Network", query)).map(networkOf);
}

/** @throws HcnNotFoundError `Network name "x" not found`. */
export async function getNetworkByName(client: HcnClient, name: string): Promise<StoredNetwork> {
  return firstFound(await listNetworks(client, queryBy({ Name: name })), "Network name", name);
}

/** @throws HcnNotFoundError `Network ID "x" not found`. */
export async function getNetworkById(client: HcnClient, id: Guid): Promise<StoredNetwork> {
  return firstFound(await listNetworks(client, queryBy({ ID: id })), "Network ID", id);
}

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
  const id = await client.create("Network", requestDocument({ SchemaVersion: SCHEMA_V2_0, ...network }));
  return networkOf(await client.query("Network", id, DEFAULT_QUERY));
}

export async function deleteNetwork(client: HcnClient, id: Guid): Promise<void> {
  await client.delete("Network", id);
}

/** Adds, removes or updates policies of a network and reads it back. */
export async function modifyNetworkPolicies(
  client: HcnClient,
  id: Guid,
  requestType: ModifyRequestType,
  policies: readonly PolicyDocument[],
): Promise<StoredNetwork> {
  const settings = { ResourceType: "Policy", RequestType: requestType, Settings: { Policies: policies } };
  await client.modify("Network", id, requestDocument(settings));
  return networkOf(await client.query("Network", id, DEFAULT_QUERY));
}

// Endpoints.

export async function listEndpoints(
  client: HcnClient,
  query: HostComputeQuery = DEFAULT_QUERY,
): Promise<readonly StoredEndpoint[]> {
  return (await listDocuments(client, "Endpoint", query)).map(parseStoredEndpoint);
}

/** The filter carries the v1 name of the field, also in a v2 query, as hcsshim's does (hcn.md §1.5). */
export async function listEndpointsOfNetwork(
  client: HcnClient,
  network: Guid,
): Promise<readonly StoredEndpoint[]> {
  return listEndpoints(client, queryBy({ VirtualNetwork: network }));
}

/** @throws HcnNotFoundError `Endpoint ID "x" not found`. */
export async function getEndpointById(client: HcnClient, id: Guid): Promise<StoredEndpoint> {
  return firstFound(await listEndpoints(client, queryBy({ ID: id })), "Endpoint ID", id);
}

/** The first of that name. @throws HcnNotFoundError `Endpoint name "x" not found`. */
export async function getEndpointByName(client: HcnClient, name: string): Promise<StoredEndpoint> {
  return firstFound(await listEndpoints(client, queryBy({ Name: name })), "Endpoint name", name);
}

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
  const document = requestDocument({ SchemaVersion: SCHEMA_V2_0, ...endpoint, HostComputeNetwork: network });
  return client.create("Endpoint", document, { network });
}

/** Creates an endpoint on a network and reads it back. @throws as `createEndpointOnly`. */
export async function createEndpoint(
  client: HcnClient,
  network: Guid,
  endpoint: HostComputeEndpoint,
): Promise<StoredEndpoint> {
  const id = await createEndpointOnly(client, network, endpoint);
  return parseStoredEndpoint(await client.query("Endpoint", id, DEFAULT_QUERY));
}

export async function deleteEndpoint(client: HcnClient, id: Guid): Promise<void> {
  await client.delete("Endpoint", id);
}

/** Adds, removes or replaces policies of an endpoint (`Update` replaces the whole list) and reads it back. */
export async function modifyEndpointPolicies(
  client: HcnClient,
  id: Guid,
  requestType: ModifyRequestType,
  policies: readonly PolicyDocument[],
): Promise<StoredEndpoint> {
  const settings = { ResourceType: "Policy", RequestType: requestType, Settings: { Policies: policies } };
  await client.modify("Endpoint", id, requestDocument(settings));
  return parseStoredEndpoint(await client.query("Endpoint", id, DEFAULT_QUERY));
}

// Namespaces.

function namespaceFrom(document: JsonObject): StoredNamespace {
  return storedOf(parseNamespace(document), "namespace");
}

export async function listNamespaces(
  client: HcnClient,
  query: HostComputeQuery = DEFAULT_QUERY,
): Promise<readonly StoredNamespace[]> {
  return (await listDocuments(client, "Namespace", query)).map(namespaceFrom);
}

/** @throws HcnNotFoundError `Namespace ID "x" not found`. */
export async function getNamespaceById(client: HcnClient, id: Guid): Promise<StoredNamespace> {
  return firstFound(await listNamespaces(client, queryBy({ ID: id })), "Namespace ID", id);
}

/** Creates a namespace, without a type as containerd does when none is given, and reads it back. */
export async function createNamespace(client: HcnClient, type?: NamespaceType): Promise<StoredNamespace> {
  const id = await client.create("Namespace", requestDocument({ Type: type, SchemaVersion: SCHEMA_V2_0 }));
  return namespaceFrom(await client.query("Namespace", id, DEFAULT_QUERY));
}

export async function deleteNamespace(client: HcnClient, id: Guid): Promise<void> {
  await client.delete("Namespace", id);
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

async function modifyNamespace(
  client: HcnClient,
  namespace: Guid,
  requestType: "Add" | "Remove",
  resource: { readonly type: NamespaceResourceType; readonly settings: JsonObject },
): Promise<void> {
  const settings = { ResourceType: resource.type, RequestType: requestType, Settings: resource.settings };
  await client.modify("Namespace", namespaceGuid(namespace), requestDocument(settings));
}

export async function addNamespaceEndpoint(
  client: HcnClient,
  namespace: Guid,
  endpoint: Guid,
): Promise<void> {
  await modifyNamespace(client, namespace, "Add", { type: "Endpoint", settings: { EndpointId: endpoint } });
}

export async function removeNamespaceEndpoint(
  client: HcnClient,
  namespace: Guid,
  endpoint: Guid,
): Promise<void> {
  await modifyNamespace(client, namespace, "Remove", {
    type: "Endpoint",
    settings: { EndpointId: endpoint },
  });
}

export async function addNamespaceContainer(
  client: HcnClient,
  namespace: Guid,
  container: string,
): Promise<void> {
  await modifyNamespace(client, namespace, "Add", {
    type: "Container",
    settings: { ContainerId: container },
  });
}

export async function removeNamespaceContainer(
  client: HcnClient,
  namespace: Guid,
  container: string,
): Promise<void> {
  await modifyNamespace(client, namespace, "Remove", {
    type: "Container",
    settings: { ContainerId: container },
  });
}

function resourceIds(namespace: HostComputeNamespace, type: NamespaceResourceType): readonly string[] {
  return (namespace.Resources ?? [])
    .filter((resource) => resource.Type === type)
    .map((resource) => resource.Data.Id);
}

/** GUIDs of the endpoints in a namespace. @throws HcnNotFoundError when there is no such namespace. */
export async function getNamespaceEndpointIds(client: HcnClient, namespace: Guid): Promise<readonly Guid[]> {
  return resourceIds(await getNamespaceById(client, namespace), "Endpoint");
}

/** HCS ids of the containers in a namespace. @throws HcnNotFoundError when there is no such namespace. */
export async function getNamespaceContainerIds(
  client: HcnClient,
  namespace: Guid,
): Promise<readonly string[]> {
  return resourceIds(await getNamespaceById(client, namespace), "Container");
}

/** The namespace an endpoint is in; undefined when it is in none (absent, empty or the zero GUID). */
export function namespaceOf(endpoint: HostComputeEndpoint): Guid | undefined {
  const id = endpoint.HostComputeNamespace;
  return id === undefined || id === "" || id === ZERO_GUID ? undefined : id;
}

// Load balancers.

function loadBalancerFrom(document: JsonObject): StoredLoadBalancer {
  return storedOf(parseLoadBalancer(document), "load balancer");
}

export async function listLoadBalancers(
  client: HcnClient,
  query: HostComputeQuery = DEFAULT_QUERY,
): Promise<readonly StoredLoadBalancer[]> {
  return (await listDocuments(client, "LoadBalancer", query)).map(loadBalancerFrom);
}

/** @throws HcnNotFoundError `LoadBalancer "x" not found`. */
export async function getLoadBalancerById(client: HcnClient, id: Guid): Promise<StoredLoadBalancer> {
  return firstFound(await listLoadBalancers(client, queryBy({ ID: id })), "LoadBalancer", id);
}

/**
 * Creates a load balancer, for callers to whom its identifier is enough. The document gets schema version 2.0 when it
 * has none.
 */
export async function createLoadBalancerOnly(
  client: HcnClient,
  loadBalancer: HostComputeLoadBalancer,
): Promise<Guid> {
  return client.create("LoadBalancer", requestDocument({ SchemaVersion: SCHEMA_V2_0, ...loadBalancer }));
}

/** Creates a load balancer and reads it back. */
export async function createLoadBalancer(
  client: HcnClient,
  loadBalancer: HostComputeLoadBalancer,
): Promise<StoredLoadBalancer> {
  const id = await createLoadBalancerOnly(client, loadBalancer);
  return loadBalancerFrom(await client.query("LoadBalancer", id, DEFAULT_QUERY));
}

/** Replaces what a load balancer says: the request carries the whole document (hcn.md §8.5). */
export async function modifyLoadBalancer(
  client: HcnClient,
  id: Guid,
  loadBalancer: HostComputeLoadBalancer,
): Promise<StoredLoadBalancer> {
  const settings = requestDocument({ SchemaVersion: SCHEMA_V2_0, ...loadBalancer, ID: id });
  await client.modify("LoadBalancer", id, settings);
  return loadBalancerFrom(await client.query("LoadBalancer", id, DEFAULT_QUERY));
}

export async function deleteLoadBalancer(client: HcnClient, id: Guid): Promise<void> {
  await client.delete("LoadBalancer", id);
}

/** Deletes the load balancer and creates it again with other endpoints, under the id that its document holds. */
async function remakeLoadBalancer(
  client: HcnClient,
  loadBalancer: StoredLoadBalancer,
  endpoints: readonly Guid[],
): Promise<StoredLoadBalancer> {
  await deleteLoadBalancer(client, loadBalancer.ID);
  return createLoadBalancer(client, { ...loadBalancer, HostComputeEndpoints: endpoints });
}

/** hcsshim's `AddEndpoint` of a load balancer: not a modify, but delete and create (hcn.md §1.5). */
export async function addLoadBalancerEndpoint(
  client: HcnClient,
  loadBalancer: StoredLoadBalancer,
  endpoint: Guid,
): Promise<StoredLoadBalancer> {
  return remakeLoadBalancer(client, loadBalancer, [...(loadBalancer.HostComputeEndpoints ?? []), endpoint]);
}

/** hcsshim's `RemoveEndpoint` of a load balancer. */
export async function removeLoadBalancerEndpoint(
  client: HcnClient,
  loadBalancer: StoredLoadBalancer,
  endpoint: Guid,
): Promise<StoredLoadBalancer> {
  const ids = loadBalancer.HostComputeEndpoints ?? [];
  const left = ids.filter((id) => parseGuid(id) !== parseGuid(endpoint));
  return remakeLoadBalancer(client, loadBalancer, left);
}
