/** Endpoints: create, change, delete (hcn.md §4.4, §5.3). */
import {
  requireEndpoint,
  checkHealthy,
  detachEndpoint,
  followPort,
  followFilters,
  followMtu,
  notifyNetwork,
  updateEndpoint,
  renewVnic,
} from "./attachment.ts";
import { guidOf } from "#core/base/prng.ts";
import { readPolicies } from "#contracts/hcn/description/object-json.ts";
import { type PolicyDocument, SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import {
  type ModifyRequest,
  type ModifyRequestType,
  parseModifyRequest,
  requestUnsupported,
} from "#contracts/hcn/documents/request.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { ENDPOINT_POLICY_TYPES } from "#contracts/hcn/documents/policy-type.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import { type EndpointRecord, type NetworkRecord, isRemoteEndpoint } from "../records.ts";
import {
  checkEndpointRequest,
  defaultLengths,
  readEndpointRoutes,
  readIpConfigs,
  readMac,
} from "./endpoint-document.ts";
import { type EndpointTraits, RemoteEndpointRecord } from "./remote-endpoint.ts";
import { removeFromNamespace } from "../namespace/namespaces.ts";
import { changedEndpointPolicies, policiesOfNewEndpoint } from "../policies/endpoint-policies.ts";
import type { ServiceContext } from "../service-context.ts";
import {
  addVirtualMachinePort,
  readVirtualMachinePort,
  removeVirtualMachinePort,
} from "../compute-systems/container-attachment.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// What requests do to an endpoint's port: a virtual machine's adapter, refresh, reset, and breaking down (hcn.md §5.2).

/** Carries out a request on the resource `Port`: `VmEndpointRequest` on Add, nothing on Remove. */
export function modifyPort(
  context: ServiceContext,
  endpoint: EndpointRecord,
  request: ModifyRequest<"Endpoint">,
): void {
  if (request.requestType === "Remove") {
    removeVirtualMachinePort(context, endpoint);
    return;
  }
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  addVirtualMachinePort(context, endpoint, readVirtualMachinePort(context, reader));
}

function heal(context: ServiceContext, endpoint: EndpointRecord): EndpointRecord {
  // What contradicts other objects since it was restored still does.
  if (endpoint.errorCode === 0) return endpoint;
  return updateEndpoint(context, endpoint, { degraded: undefined, errorCode: 0 });
}

/**
 * Brings the port in line with what the endpoint says. Inferred (hcn.md §11.7): a degraded endpoint is whole again then;
 * that the request needs no settings and succeeds is what WSL relies on.
 */
export function refreshEndpoint(context: ServiceContext, endpoint: EndpointRecord): void {
  const healed = heal(context, endpoint);
  context.ports.reprogram(healed.networkId);
}

/**
 * Inferred (hcn.md §11.7): reset makes the vNIC anew with the same port. Flows and counters begin from nothing;
 * addresses, policies and the place of the endpoint stay.
 */
export function resetEndpoint(context: ServiceContext, endpoint: EndpointRecord): void {
  if (isRemoteEndpoint(endpoint)) {
    throw new HcnError("HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", {
      detail: WORDS.resetRemoteEndpoint({ id: endpoint.id }),
    });
  }
  const healed = heal(context, endpoint);
  renewVnic(context, healed);
  context.ports.reprogram(healed.networkId);
}

/**
 * Marks an endpoint as broken, as HNS does when an operation on its port failed: State 5, and what is asked of it is
 * HCN_E_DEGRADED_OPERATION until it is refreshed or deleted (hcn.md §4.5).
 * @throws HcnError HCN_E_ENDPOINT_NOT_FOUND.
 */
export function degradeEndpoint(context: ServiceContext, id: Guid, errorCode: number): void {
  const endpoint = requireEndpoint(context, id);
  const degraded = `an operation on its port failed with 0x${errorCode.toString(16)}`;
  updateEndpoint(context, endpoint, { degraded, errorCode });
}

// Create, change, delete.

/** What the service calls an endpoint that the request does not name (hcn.md §2.3). */
const UNNAMED = "Ethernet";

function networkFor(
  context: ServiceContext,
  document: HostComputeEndpoint,
  networkId: Guid | undefined,
): NetworkRecord {
  // The handle decides, not the document (hcn.md §2.3).
  const id = networkId ?? document.HostComputeNetwork;
  const network = id === undefined ? undefined : context.state.networks.get(id);
  if (network !== undefined) return network;
  throw new HcnError("HCN_E_NETWORK_NOT_FOUND", {
    detail: id === undefined || id === "" ? "The endpoint names no network" : `There is no network ${id}`,
  });
}

/** What every endpoint begins with. */
const UNATTACHED = Object.freeze({
  attachment: undefined,
  isPortGone: false,
  containers: Object.freeze([]) as readonly string[],
  virtualMachine: undefined,
  wasUsed: false,
  errorCode: 0,
});

/** The service itself writes 2.0. */
function schemaOf({ SchemaVersion }: HostComputeEndpoint): SchemaVersion {
  return SchemaVersion !== undefined && SchemaVersion.Major >= 2 ? SchemaVersion : SCHEMA_V2_0;
}

/**
 * An endpoint came or went that load balancers may name. They live on: the ports are brought in line with the back ends that
 * are there, and the state of those without any is another one (hcn.md §4.4).
 */
function followBackEnd(context: ServiceContext, endpointId: Guid, networkId: Guid): void {
  const concerned = context.state.loadBalancersOfEndpoint(endpointId);
  if (concerned.length === 0) return;
  for (const { id } of concerned) context.changed("LoadBalancer", id);
  context.ports.reprogram(networkId);
}

/** What the document alone says of the traits. */
type Said = Omit<EndpointTraits, "policies" | "ipConfigs" | "routes" | "mac" | "macText">;

function saidBy(context: ServiceContext, document: HostComputeEndpoint): Said {
  const { Name: name = "" } = document;
  return {
    owner: document.Owner ?? "",
    name: name === "" ? UNNAMED : name,
    additionalParams: document.AdditionalParams,
    schemaVersion: schemaOf(document),
    version: context.objectVersion,
    dns: document.Dns,
    flags: document.Flags ?? 0,
  };
}

/**
 * What an earlier remote endpoint of this document came to, most often on another node, where all that it came of is the
 * same here. A large cluster makes the same ones on every node.
 */
function knownTraits(
  { shared }: ServiceContext,
  network: NetworkRecord,
  { IpConfigurations: configs, MacAddress: mac, Routes: routes = [] }: HostComputeEndpoint,
  said: Said,
  policies: EndpointTraits["policies"],
): EndpointTraits | undefined {
  if (configs === undefined || mac === undefined || mac === "" || routes.length > 0) return undefined;
  const known = shared.traitsOf(configs, defaultLengths(network));
  const isSame =
    known?.policies === policies &&
    known.routes.length === 0 &&
    known.macText === mac &&
    known.flags === said.flags &&
    known.name === said.name &&
    known.owner === said.owner &&
    known.dns === said.dns &&
    known.additionalParams === said.additionalParams &&
    known.version === said.version &&
    known.schemaVersion === said.schemaVersion;
  return isSame ? known : undefined;
}

/**
 * Creates an endpoint from a checked document. Inferred: the order in which its faults are found: network, what a request
 * may not say, id, policies, addresses, routes, MAC.
 * @returns its id.
 */
export function createEndpoint(
  context: ServiceContext,
  document: HostComputeEndpoint,
  wantedId: Guid | undefined,
  networkId: Guid | undefined,
): Guid {
  const network = networkFor(context, document, networkId);
  checkEndpointRequest(network, document);
  const id = context.newId(wantedId ?? document.ID, context.state.endpoints, "an endpoint");
  const isRemote = ((document.Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) !== 0;
  const policies = policiesOfNewEndpoint(context, network, { id, isRemote }, document.Policies ?? []);
  const said = saidBy(context, document);
  const known = isRemote ? knownTraits(context, network, document, said, policies) : undefined;
  const ipConfigs = known?.ipConfigs ?? readIpConfigs(context, network, document, isRemote);
  const routes = known?.routes ?? readEndpointRoutes(network, document, ipConfigs);
  const activity = context.prng.guidWords();
  const traits: EndpointTraits =
    known ??
    Object.freeze({
      ...said,
      policies,
      ipConfigs,
      routes,
      ...readMac(context, network, document.MacAddress, isRemote),
    });
  const own = { id, networkId: network.id, changedAtMs: context.nowMs };
  if (isRemote && known === undefined) context.shared.keepTraits(document.IpConfigurations ?? [], traits);
  context.state.addEndpoint(
    isRemote
      ? new RemoteEndpointRecord(own, activity, traits)
      : Object.freeze({ ...traits, ...own, activityId: guidOf(activity), ...UNATTACHED }),
  );
  context.changed("Endpoint", id);
  // Load balancers may know it: one that was deleted comes back under its id.
  followBackEnd(context, id, network.id);
  // Rules of other networks name attached endpoints alone.
  const created = network.type === "Overlay" ? context.state.endpoints.get(id) : undefined;
  if (created !== undefined) context.ports.followUnattached(created);
  return id;
}

/** Takes an endpoint away with its vNIC and its place in a namespace. */
export function removeEndpoint(context: ServiceContext, endpoint: EndpointRecord): void {
  const namespaceId = endpoint.attachment?.namespaceId;
  const detached = detachEndpoint(context, endpoint);
  if (namespaceId !== undefined) removeFromNamespace(context, namespaceId, endpoint.id);
  if (endpoint.virtualMachine !== undefined)
    notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointDetached);
  context.state.removeEndpoint(detached);
  context.cache.forget(endpoint.id);
  if (context.ports.defects.release(endpoint.id)) context.ports.renew(endpoint.networkId);
  context.changed("Endpoint", endpoint.id);
  followBackEnd(context, endpoint.id, endpoint.networkId);
  context.ports.followUnattached(endpoint);
}

/** Inferred (hcn.md §4.4): an attached endpoint is detached on the way. */
export function deleteEndpoint(context: ServiceContext, id: Guid): void {
  const endpoint = requireEndpoint(context, id);
  // The call succeeds, and the endpoint stays (dataplane.md §9, F-25).
  if (isRemoteEndpoint(endpoint) && context.hasQuirk("remote-endpoint-left-behind")) {
    context.ports.defects.leave(
      id,
      endpoint.ipConfigs.map(({ ip }) => ip),
    );
    context.ports.reprogram(endpoint.networkId);
    return;
  }
  removeEndpoint(context, endpoint);
}

/** Changes the policies of an endpoint; its port follows when it is attached. */
export function modifyPolicies(
  context: ServiceContext,
  endpoint: EndpointRecord,
  requestType: ModifyRequestType,
  documents: readonly PolicyDocument[],
): void {
  const network = context.state.networks.get(endpoint.networkId);
  if (network === undefined) return;
  checkHealthy(endpoint);
  const subject = {
    id: endpoint.id,
    isRemote: isRemoteEndpoint(endpoint),
    policies: endpoint.policies,
  };
  const policies = changedEndpointPolicies(context, network, subject, requestType, documents);
  const updated = updateEndpoint(context, endpoint, { policies });
  followMtu(context, updated);
  followFilters(context, updated);
  followPort(context, updated);
  context.ports.reprogram(network.id);
}

const PORT_REQUESTS: readonly ModifyRequestType[] = ["Add", "Remove"];
const POLICY_REQUESTS: readonly ModifyRequestType[] = ["Add", "Remove", "Update"];

/** Carries out a modify request; `Refresh` and `Reset` have no settings (hcn.md §5.2). */
export function modifyEndpoint(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const endpoint = requireEndpoint(context, id);
  const request = parseModifyRequest("Endpoint", settings);
  if (request.requestType === "Refresh") {
    refreshEndpoint(context, endpoint);
    return;
  }
  if (request.requestType === "Reset") {
    resetEndpoint(context, endpoint);
    return;
  }
  if (request.resourceType === "Port" && PORT_REQUESTS.includes(request.requestType)) {
    modifyPort(context, endpoint, request);
    return;
  }
  if (request.resourceType !== "Policy" || !POLICY_REQUESTS.includes(request.requestType))
    throw requestUnsupported(request, "endpoints");
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const documents = readPolicies(reader, ENDPOINT_POLICY_TYPES) ?? [];
  modifyPolicies(context, endpoint, request.requestType, documents);
}
