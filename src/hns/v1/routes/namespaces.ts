/** `/namespaces` of HNS v1. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import { addNamespaceContainer, removeNamespaceContainer } from "../../service/namespace/namespaces.ts";
import {
  addNamespaceEndpoint,
  createNamespace,
  deleteNamespace,
  removeNamespaceEndpoint,
  requireNamespace,
} from "../../service/namespace/namespaces.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { namespaceDocumentV1 } from "../../view/namespace-view.ts";
import { namespaceFromV1 } from "../request-mapping.ts";
import { type Routes, type V1Request, bodyOf } from "../route.ts";

function namespaceView(context: ServiceContext, id: Guid): JsonObject {
  return namespaceDocumentV1(context, requireNamespace(context, id));
}

function create(request: V1Request): JsonValue {
  const id = createNamespace(request.context, namespaceFromV1(bodyOf(request)), undefined);
  return namespaceView(request.context, id);
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function remove({ context, id }: V1Request): JsonValue {
  const document = namespaceView(context, id);
  deleteNamespace(context, id);
  return document;
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
  "POST /namespaces": create,
  "GET /namespaces/{id}": ({ context, id }) => namespaceView(context, id),
  "DELETE /namespaces/{id}": remove,
  "POST /namespaces/{id}/addresource": (request) => changeResource(request, true),
  "POST /namespaces/{id}/removeresource": (request) => changeResource(request, false),
};
