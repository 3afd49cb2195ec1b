/**
 * HNS v1: method and path to what is done (hcn.md §1.7). A slash at the end is optional, ids come in either letter
 * case. What is not served answers with the envelope of a failure and says so.
 */
import type { Guid, JsonObject, JsonValue } from "../../hcn/client.ts";
import { HcnError } from "../../hcn/error.ts";
import { parseGuid } from "../../hcn/guid.ts";
import { JsonReader } from "../../hcn/json-reader.ts";
import { parseJsonText } from "../../hcn/json-value.ts";
import { parseAttachRequest } from "../../hcn/v1-documents.ts";
import { attachToHost, checkLocal, checkUnattached, detachEndpoint } from "../attachment.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import { createEndpoint, deleteEndpoint, modifyPolicies, requireEndpoint } from "../endpoints.ts";
import { createLoadBalancer, deleteLoadBalancer, requireLoadBalancer } from "../load-balancers.ts";
import { removeFromNamespace } from "../namespace-members.ts";
import { HOST_COMPARTMENT } from "../namespace-record.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createNamespace,
  deleteNamespace,
  removeNamespaceContainer,
  removeNamespaceEndpoint,
  requireNamespace,
} from "../namespaces.ts";
import { createNetwork, deleteNetwork, requireNetwork, updateNetworkV1 } from "../networks.ts";
import type { ServiceContext } from "../service-context.ts";
import { endpointAddressesDocument, endpointStatisticsDocument } from "../view/endpoint-counters-view.ts";
import { endpointDocumentV1 } from "../view/endpoint-view.ts";
import { policyListDocument } from "../view/load-balancer-view.ts";
import { namespaceDocumentV1 } from "../view/namespace-view.ts";
import { networkDocumentV1 } from "../view/network-view-v1.ts";
import { loadBalancerFromV1 } from "./policy-list.ts";
import { endpointFromV1, namespaceFromV1, networkFromV1 } from "./request-mapping.ts";

interface V1Request {
  readonly context: ServiceContext;
  /** The id in the path; empty for lists. */
  readonly id: Guid;
  readonly body: string;
}

/** @returns `Output`; undefined for calls without a result. */
type Handler = (request: V1Request) => JsonValue | undefined;

function bodyOf(request: V1Request): JsonValue {
  return parseJsonText(request.body);
}

function endpointView(context: ServiceContext, id: Guid): JsonObject {
  return endpointDocumentV1(context, requireEndpoint(context, id));
}

function networkView(context: ServiceContext, id: Guid): JsonObject {
  return networkDocumentV1(context, requireNetwork(context, id), false);
}

function policyListView(context: ServiceContext, id: Guid): JsonObject {
  return policyListDocument(context, requireLoadBalancer(context, id));
}

function createNetworkV1(request: V1Request): JsonValue {
  const id = createNetwork(request.context, networkFromV1(bodyOf(request)), undefined);
  return networkView(request.context, id);
}

function createEndpointV1(request: V1Request): JsonValue {
  const document = endpointFromV1(bodyOf(request));
  return endpointView(request.context, createEndpoint(request.context, document, undefined, undefined));
}

/** A list of policies replaces all of them (hcn.md §3.5). */
function updateEndpointV1(request: V1Request): JsonValue {
  const endpoint = requireEndpoint(request.context, request.id);
  const policies = endpointFromV1(bodyOf(request)).Policies ?? [];
  modifyPolicies(request.context, endpoint, "Update", policies);
  return endpointView(request.context, request.id);
}

/** The endpoint that a body of attach or detach is about. @throws HcnError for what is not the host. */
function hostEndpoint(request: V1Request): EndpointRecord {
  const wanted = parseAttachRequest(bodyOf(request));
  const endpoint = requireEndpoint(request.context, request.id);
  if (wanted.SystemType !== "Host") {
    // No compute system is registered here that could be named.
    throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", {
      appendix: `SystemType ${wanted.SystemType ?? "Container"} is not served by this version; use a namespace`,
    });
  }
  if ((wanted.CompartmentId ?? HOST_COMPARTMENT) !== HOST_COMPARTMENT) {
    throw new HcnError("ERROR_INVALID_PARAMETER", {
      detail: `CompartmentId is ${wanted.CompartmentId ?? 0}; the host's is ${HOST_COMPARTMENT}`,
    });
  }
  return endpoint;
}

function attachV1(request: V1Request): undefined {
  const endpoint = hostEndpoint(request);
  checkUnattached(endpoint, false);
  attachToHost(request.context, endpoint, undefined);
  return undefined;
}

function detachV1(request: V1Request): undefined {
  const endpoint = hostEndpoint(request);
  checkLocal(endpoint, false);
  const { attachment } = endpoint;
  if (attachment?.kind !== "host") {
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} is not attached to the host`,
    });
  }
  detachEndpoint(request.context, endpoint);
  if (attachment.namespaceId !== undefined)
    removeFromNamespace(request.context, attachment.namespaceId, endpoint.id);
  return undefined;
}

function createNamespaceV1(request: V1Request): JsonValue {
  const id = createNamespace(request.context, namespaceFromV1(bodyOf(request)), undefined);
  return namespaceDocumentV1(request.context, requireNamespace(request.context, id));
}

/** `{"Type": "Endpoint" or "Container", "Data": {"Id": …}}`. */
function changeResource(request: V1Request, isAddition: boolean): undefined {
  const { context } = request;
  const namespace = requireNamespace(context, request.id);
  const reader = JsonReader.of(bodyOf(request), "request", "HCN_E_INVALID_JSON");
  const type = reader.enumeration("Type", ["Container", "Endpoint"] as const);
  const data = reader.object("Data");
  const id = data?.text("Id");
  if (data === undefined || id === undefined || type === undefined)
    throw reader.fail("Data", 'an object with "Id", beside the Type "Endpoint" or "Container"');
  if (type === "Container") {
    if (isAddition) addNamespaceContainer(context, namespace, id);
    else removeNamespaceContainer(context, namespace, id);
    return undefined;
  }
  const endpointId = data.guid("Id") ?? "";
  if (isAddition) addNamespaceEndpoint(context, namespace, endpointId);
  else removeNamespaceEndpoint(context, namespace, endpointId);
  return undefined;
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function deleteNetworkV1({ context, id }: V1Request): JsonValue {
  const document = networkView(context, id);
  deleteNetwork(context, id);
  return document;
}

function deleteEndpointV1({ context, id }: V1Request): JsonValue {
  const document = endpointView(context, id);
  deleteEndpoint(context, id);
  return document;
}

function createPolicyListV1(request: V1Request): JsonValue {
  const document = loadBalancerFromV1(bodyOf(request));
  return policyListView(request.context, createLoadBalancer(request.context, document, undefined));
}

function deletePolicyListV1({ context, id }: V1Request): JsonValue {
  const document = policyListView(context, id);
  deleteLoadBalancer(context, id);
  return document;
}

const ROUTES: Readonly<Record<string, Handler>> = {
  "GET /globals/version": ({ context }) => ({
    Major: context.version.Major,
    Minor: context.version.Minor,
  }),
  "GET /networks": ({ context }) =>
    [...context.state.networks.values()].map((network) => networkDocumentV1(context, network, false)),
  "POST /networks": createNetworkV1,
  "GET /networks/{id}": ({ context, id }) => networkView(context, id),
  "POST /networks/{id}": (request) => {
    updateNetworkV1(request.context, request.id, networkFromV1(bodyOf(request)));
    return networkView(request.context, request.id);
  },
  "DELETE /networks/{id}": deleteNetworkV1,
  "GET /endpoints": ({ context }) =>
    [...context.state.endpoints.values()].map((endpoint) => endpointDocumentV1(context, endpoint)),
  "POST /endpoints": createEndpointV1,
  "GET /endpoints/{id}": ({ context, id }) => endpointView(context, id),
  "GET /endpoints/{id}/detailed": ({ context, id }) => endpointView(context, id),
  "GET /endpointstats/{id}": ({ context, id }) =>
    endpointStatisticsDocument(context, requireEndpoint(context, id)),
  "GET /endpointaddresses/{id}": ({ context, id }) => endpointAddressesDocument(requireEndpoint(context, id)),
  "POST /endpoints/{id}": updateEndpointV1,
  "DELETE /endpoints/{id}": deleteEndpointV1,
  "POST /endpoints/{id}/attach": attachV1,
  "POST /endpoints/{id}/detach": detachV1,
  "GET /namespaces": ({ context }) =>
    [...context.state.namespaces.values()].map((namespace) => namespaceDocumentV1(context, namespace)),
  "POST /namespaces": createNamespaceV1,
  "GET /namespaces/{id}": ({ context, id }) => namespaceDocumentV1(context, requireNamespace(context, id)),
  "DELETE /namespaces/{id}": ({ context, id }) => {
    deleteNamespace(context, id);
    return undefined;
  },
  "POST /namespaces/{id}/addresource": (request) => changeResource(request, true),
  "POST /namespaces/{id}/removeresource": (request) => changeResource(request, false),
  "GET /policylists": ({ context }) =>
    [...context.state.loadBalancers.values()].map((each) => policyListDocument(context, each)),
  "POST /policylists": createPolicyListV1,
  "GET /policylists/{id}": ({ context, id }) => policyListView(context, id),
  "DELETE /policylists/{id}": deletePolicyListV1,
};

interface ParsedPath {
  /** `/networks/{id}/…`: the key of a route without its method. */
  readonly pattern: string;
  readonly id: Guid;
}

function parsePath(path: string): ParsedPath {
  const [bare = ""] = path.split("?");
  const segments = bare.split("/").filter((segment) => segment !== "");
  let id: Guid = "";
  const pattern = segments.map((segment, index) => {
    const guid = index === 1 ? parseGuid(segment) : undefined;
    if (guid === undefined) return segment.toLowerCase();
    id = guid;
    return "{id}";
  });
  return { pattern: `/${pattern.join("/")}`, id };
}

/** Fields of the envelope in the order in which Windows writes them. */
function failure(error: HcnError): JsonObject {
  const record = error.toRecord();
  return { Error: record.Error, ErrorCode: record.ErrorCode, Success: false };
}

function notServed(method: string, pattern: string): HcnError {
  return new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
    appendix: `${method} ${pattern} is not served by this version`,
    explanation: "hns-v1-not-served",
  });
}

/** Answers one call with its envelope. */
export function answerV1(context: ServiceContext, method: string, path: string, body: string): JsonObject {
  try {
    const { pattern, id } = parsePath(path);
    const verb = method.toUpperCase();
    const handler = ROUTES[`${verb} ${pattern}`];
    if (handler === undefined) throw notServed(verb, pattern);
    const output = handler({ context, id, body });
    return output === undefined ? { Success: true } : { Success: true, Output: output };
  } catch (error) {
    if (error instanceof HcnError) return failure(error);
    throw error;
  }
}
