/** Endpoints: create, change, delete (hcn.md §4.4, §5.3). */
import { guidOf } from "../base/prng.ts";
import { readPolicies } from "../hcn/base-document.ts";
import type { PolicyDocument } from "../hcn/base-document.ts";
import type { Guid, JsonObject } from "../hcn/client.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../hcn/endpoint.ts";
import { HcnError } from "../hcn/error.ts";
import { JsonReader } from "../hcn/json-reader.ts";
import { type ModifyRequestType, parseModifyRequest } from "../hcn/modify.ts";
import { NOTIFICATION_TYPES } from "../hcn/notification.ts";
import { ENDPOINT_POLICY_TYPES } from "../hcn/policy-type.ts";
import { SCHEMA_V2_0, type SchemaVersion } from "../hcn/schema-version.ts";
import {
  checkHealthy,
  detachEndpoint,
  followPort,
  followFilters,
  followMtu,
  notifyNetwork,
  updateEndpoint,
} from "./attachment.ts";
import { type EndpointRecord, isRemoteEndpoint } from "./endpoint-record.ts";
import { modifyPort, refreshEndpoint, resetEndpoint } from "./endpoint-port.ts";
import { readIpConfigs } from "./endpoint-addresses.ts";
import { checkEndpointRequest, readEndpointRoutes, readMac } from "./endpoint-validation.ts";
import { type EndpointTraits, RemoteEndpointRecord, shareTraits } from "./remote-endpoint.ts";
import { followBackEnd } from "./load-balancers.ts";
import { removeFromNamespace } from "./namespace-members.ts";
import type { NetworkRecord } from "./network-record.ts";
import { changedEndpointPolicies, policiesOfNewEndpoint } from "./policies/endpoint-policies.ts";
import type { ServiceContext } from "./service-context.ts";

/** What the service calls an endpoint that the request does not name (hcn.md §2.3). */
const UNNAMED = "Ethernet";

/** @throws HcnError HCN_E_ENDPOINT_NOT_FOUND. */
export function requireEndpoint(context: ServiceContext, id: Guid): EndpointRecord {
  const endpoint = context.state.endpoints.get(id);
  if (endpoint !== undefined) return endpoint;
  throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND", { detail: `There is no endpoint ${id}` });
}

function networkFor(
  context: ServiceContext,
  document: HostComputeEndpoint,
  networkId: Guid | undefined,
): NetworkRecord {
  // The handle decides, not the document (hcn.md §2.3).
  const id = networkId ?? document.HostComputeNetwork ?? "";
  const network = context.state.networks.get(id);
  if (network !== undefined) return network;
  throw new HcnError("HCN_E_NETWORK_NOT_FOUND", {
    detail: id === "" ? "The endpoint names no network" : `There is no network ${id}`,
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
  const id = context.chooseId(wantedId ?? document.ID);
  if (context.state.endpoints.has(id))
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", { detail: `There is an endpoint ${id} already` });
  const isRemote = ((document.Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) !== 0;
  const policies = policiesOfNewEndpoint(context, network, { id, isRemote }, document.Policies ?? []);
  const ipConfigs = readIpConfigs(context, network, document, isRemote);
  const routes = readEndpointRoutes(network, document, ipConfigs);
  const activity = context.prng.guidWords();
  const name = document.Name ?? "";
  const traits: EndpointTraits = {
    owner: document.Owner ?? "",
    name: name === "" ? UNNAMED : name,
    additionalParams: document.AdditionalParams,
    schemaVersion: schemaOf(document),
    version: context.objectVersion,
    policies,
    ipConfigs,
    dns: document.Dns,
    routes,
    ...readMac(context, network, document.MacAddress, isRemote),
    flags: document.Flags ?? 0,
  };
  const own = { id, networkId: network.id, changedAtMs: context.nowMs };
  context.state.addEndpoint(
    isRemote
      ? new RemoteEndpointRecord(own, activity, shareTraits(traits))
      : Object.freeze({ ...traits, ...own, activityId: guidOf(activity), ...UNATTACHED }),
  );
  context.changed("Endpoint", id);
  // Load balancers may know it: one that was deleted comes back under its id.
  followBackEnd(context, id, network.id);
  const created = context.state.endpoints.get(id);
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

function unsupported(requestType: string, resourceType: string | undefined): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
    appendix: `${requestType} of ${resourceType ?? "nothing"} is not served for endpoints`,
  });
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
    throw unsupported(request.requestType, request.resourceType);
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  const documents = readPolicies(reader, ENDPOINT_POLICY_TYPES) ?? [];
  modifyPolicies(context, endpoint, request.requestType, documents);
}
