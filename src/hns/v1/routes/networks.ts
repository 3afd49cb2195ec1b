/** `/networks` of HNS v1. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { createNetwork, deleteNetwork, updateNetworkV1 } from "../../service/network/networks.ts";
import { requireNetwork } from "../../service/network/network-facts.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { networkDocumentV1 } from "../../view/network-view.ts";
import { networkFromV1 } from "../request-mapping.ts";
import { type Routes, type V1Request, bodyOf } from "../route.ts";

function networkView(context: ServiceContext, id: Guid, isDetailed = false): JsonObject {
  return networkDocumentV1(context, requireNetwork(context, id), isDetailed);
}

function create(request: V1Request): JsonValue {
  const id = createNetwork(request.context, networkFromV1(bodyOf(request)), undefined);
  return networkView(request.context, id);
}

function update(request: V1Request): JsonValue {
  updateNetworkV1(request.context, request.id, networkFromV1(bodyOf(request)));
  return networkView(request.context, request.id);
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function remove({ context, id }: V1Request): JsonValue {
  const document = networkView(context, id);
  deleteNetwork(context, id);
  return document;
}

export const NETWORK_ROUTES: Routes = {
  "GET /networks": ({ context, isDetailed }) =>
    [...context.state.networks.values()].map((network) => networkDocumentV1(context, network, isDetailed)),
  "POST /networks": create,
  "GET /networks/{id}": ({ context, id, isDetailed }) => networkView(context, id, isDetailed),
  "GET /networks/{id}/detailed": ({ context, id }) => networkView(context, id, true),
  "POST /networks/{id}": update,
  "DELETE /networks/{id}": remove,
};
