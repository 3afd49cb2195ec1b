/** `/networks`, `/endpoints`, `/policylists` and `/namespaces` of HNS v1: the objects, one table for each kind. */
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { JsonReader, checkJsonObject } from "#contracts/hcn/description/json.ts";
import { SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import { createEndpoint, deleteEndpoint, modifyPolicies } from "../../service/endpoint/endpoints.ts";
import { requireEndpoint } from "../../service/endpoint/attachment.ts";
import {
  createLoadBalancer,
  deleteLoadBalancer,
  modifyLoadBalancer,
  requireLoadBalancer,
} from "../../service/load-balancer/load-balancers.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createNamespace,
  deleteNamespace,
  removeNamespaceContainer,
  removeNamespaceEndpoint,
  requireNamespace,
} from "../../service/namespace/namespaces.ts";
import { createNetwork, deleteNetwork, updateNetworkV1 } from "../../service/network/networks.ts";
import { requireNetwork } from "../../service/network/network-facts.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import {
  endpointAddressesDocument,
  endpointDocumentV1,
  endpointStatisticsDocument,
} from "../../view/endpoint-view.ts";
import { namespaceDocumentV1 } from "../../view/namespace-view.ts";
import { networkDocumentV1 } from "../../view/network-view.ts";
import { policyListDocument } from "../../view/policy-list-view.ts";
import { loadBalancerFromV1 } from "../policy-mapping.ts";
import { endpointFromV1, namespaceFromV1, networkFromV1 } from "../request-mapping.ts";
import { type Handler, type Routes, type V1Request, bodyOf } from "../route.ts";
import { attach, detach } from "./attach.ts";

/** How answers show an object. */
type View = (context: ServiceContext, id: Guid) => JsonObject;

/** Answers with what was made. */
function creating(view: View, create: (request: V1Request) => Guid): Handler {
  return (request) => view(request.context, create(request));
}

/** Answers with what the object is then. */
function updating(view: View, update: (request: V1Request) => void): Handler {
  return (request) => {
    update(request);
    return view(request.context, request.id);
  };
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function removing(view: View, remove: (context: ServiceContext, id: Guid) => void): Handler {
  return ({ context, id }) => {
    const document = view(context, id);
    remove(context, id);
    return document;
  };
}

function networkView(context: ServiceContext, id: Guid, isDetailed = false): JsonObject {
  return networkDocumentV1(context, requireNetwork(context, id), isDetailed);
}

export const NETWORK_ROUTES: Routes = {
  "GET /networks": ({ context, isDetailed }) =>
    [...context.state.networks.values()].map((network) => networkDocumentV1(context, network, isDetailed)),
  "POST /networks": creating(networkView, (request) =>
    createNetwork(request.context, networkFromV1(bodyOf(request)), undefined),
  ),
  "GET /networks/{id}": ({ context, id, isDetailed }) => networkView(context, id, isDetailed),
  "GET /networks/{id}/detailed": ({ context, id }) => networkView(context, id, true),
  "POST /networks/{id}": updating(networkView, (request) =>
    updateNetworkV1(request.context, request.id, networkFromV1(bodyOf(request))),
  ),
  "DELETE /networks/{id}": removing(networkView, deleteNetwork),
};

function endpointView(context: ServiceContext, id: Guid): JsonObject {
  return endpointDocumentV1(context, requireEndpoint(context, id));
}

/**
 * A list of policies replaces all of them (hcn.md §3.5). Inferred: a document without one leaves them, and its other
 * fields change nothing, because no client was seen to change more.
 */
function updateEndpoint(request: V1Request): void {
  const body = bodyOf(request);
  const endpoint = requireEndpoint(request.context, request.id);
  const document = endpointFromV1(body);
  if (isJsonObject(body) && Array.isArray(body["Policies"]))
    modifyPolicies(request.context, endpoint, "Update", document.Policies ?? []);
}

export const ENDPOINT_ROUTES: Routes = {
  "GET /endpoints": ({ context }) =>
    [...context.state.endpoints.values()].map((endpoint) => endpointDocumentV1(context, endpoint)),
  "POST /endpoints": creating(endpointView, (request) =>
    createEndpoint(request.context, endpointFromV1(bodyOf(request)), undefined, undefined),
  ),
  "GET /endpoints/{id}": ({ context, id }) => endpointView(context, id),
  "GET /endpoints/{id}/detailed": ({ context, id }) => endpointView(context, id),
  "POST /endpoints/{id}": updating(endpointView, updateEndpoint),
  "DELETE /endpoints/{id}": removing(endpointView, deleteEndpoint),
  "POST /endpoints/{id}/attach": attach,
  "POST /endpoints/{id}/detach": detach,
  // The counters and the addresses of one.
  "GET /endpointstats/{id}": ({ context, id }) =>
    endpointStatisticsDocument(context, requireEndpoint(context, id)),
  "GET /endpointaddresses/{id}": ({ context, id }) => endpointAddressesDocument(requireEndpoint(context, id)),
};

function policyListView(context: ServiceContext, id: Guid): JsonObject {
  return policyListDocument(context, requireLoadBalancer(context, id));
}

/**
 * Replaces what the list says. Inferred: it is the change of a load balancer that v2 has, in the versions that have it;
 * no client was seen to make the call.
 */
function updatePolicyList(request: V1Request): void {
  const document = loadBalancerFromV1(bodyOf(request));
  const settings = checkJsonObject({ SchemaVersion: SCHEMA_V2_0, ...document, ID: request.id });
  modifyLoadBalancer(request.context, request.id, settings);
}

/** The load balancers. */
export const POLICY_LIST_ROUTES: Routes = {
  "GET /policylists": ({ context }) =>
    [...context.state.loadBalancers.values()].map((each) => policyListDocument(context, each)),
  "POST /policylists": creating(policyListView, (request) =>
    createLoadBalancer(request.context, loadBalancerFromV1(bodyOf(request)), undefined),
  ),
  "GET /policylists/{id}": ({ context, id }) => policyListView(context, id),
  "POST /policylists/{id}": updating(policyListView, updatePolicyList),
  "DELETE /policylists/{id}": removing(policyListView, deleteLoadBalancer),
};

function namespaceView(context: ServiceContext, id: Guid): JsonObject {
  return namespaceDocumentV1(context, requireNamespace(context, id));
}

/** `{"Type": "Endpoint" or "Container", "Data": {"Id": …}}`. */
function changeResource(request: V1Request, isAddition: boolean): undefined {
  const { context } = request;
  const namespace = requireNamespace(context, request.id);
  const reader = JsonReader.of(bodyOf(request), "request", "HCN_E_INVALID_JSON");
  const type = reader.enumeration("Type", ["Container", "Endpoint"] as const);
  const data = reader.object("Data");
  const id = data?.text("Id");
  if (data === undefined || id === undefined || id === "" || type === undefined)
    throw reader.fail("Data", 'an object with "Id", beside the Type "Endpoint" or "Container"');
  if (type === "Container") {
    if (isAddition) addNamespaceContainer(context, namespace, id);
    else removeNamespaceContainer(context, namespace, id);
    return undefined;
  }
  const endpointId = data.guid("Id") ?? id;
  if (isAddition) addNamespaceEndpoint(context, namespace, endpointId);
  else removeNamespaceEndpoint(context, namespace, endpointId);
  return undefined;
}

export const NAMESPACE_ROUTES: Routes = {
  "GET /namespaces": ({ context }) =>
    [...context.state.namespaces.values()].map((namespace) => namespaceDocumentV1(context, namespace)),
  "POST /namespaces": creating(namespaceView, (request) =>
    createNamespace(request.context, namespaceFromV1(bodyOf(request)), undefined),
  ),
  "GET /namespaces/{id}": ({ context, id }) => namespaceView(context, id),
  "DELETE /namespaces/{id}": removing(namespaceView, deleteNamespace),
  "POST /namespaces/{id}/addresource": (request) => changeResource(request, true),
  "POST /namespaces/{id}/removeresource": (request) => changeResource(request, false),
};
