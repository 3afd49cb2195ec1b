/** `/endpoints` of HNS v1, and the counters and addresses of one. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { isJsonObject } from "#core/base/json.ts";
import { createEndpoint, deleteEndpoint, modifyPolicies } from "../../service/endpoint/endpoints.ts";
import { requireEndpoint } from "../../service/endpoint/attachment.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import {
  endpointDocumentV1,
  endpointAddressesDocument,
  endpointStatisticsDocument,
} from "../../view/endpoint-view.ts";
import { endpointFromV1 } from "../request-mapping.ts";
import { type Routes, type V1Request, bodyOf } from "../route.ts";
import { attach, detach } from "./attach.ts";

function endpointView(context: ServiceContext, id: Guid): JsonObject {
  return endpointDocumentV1(context, requireEndpoint(context, id));
}

function create(request: V1Request): JsonValue {
  const document = endpointFromV1(bodyOf(request));
  return endpointView(request.context, createEndpoint(request.context, document, undefined, undefined));
}

/**
 * A list of policies replaces all of them (hcn.md §3.5). Inferred: a document without one leaves them, and its other
 * fields change nothing, because no client was seen to change more.
 */
function update(request: V1Request): JsonValue {
  const body = bodyOf(request);
  const endpoint = requireEndpoint(request.context, request.id);
  const document = endpointFromV1(body);
  if (isJsonObject(body) && Array.isArray(body["Policies"]))
    modifyPolicies(request.context, endpoint, "Update", document.Policies ?? []);
  return endpointView(request.context, request.id);
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function remove({ context, id }: V1Request): JsonValue {
  const document = endpointView(context, id);
  deleteEndpoint(context, id);
  return document;
}

export const ENDPOINT_ROUTES: Routes = {
  "GET /endpoints": ({ context }) =>
    [...context.state.endpoints.values()].map((endpoint) => endpointDocumentV1(context, endpoint)),
  "POST /endpoints": create,
  "GET /endpoints/{id}": ({ context, id }) => endpointView(context, id),
  "GET /endpoints/{id}/detailed": ({ context, id }) => endpointView(context, id),
  "POST /endpoints/{id}": update,
  "DELETE /endpoints/{id}": remove,
  "POST /endpoints/{id}/attach": attach,
  "POST /endpoints/{id}/detach": detach,
  "GET /endpointstats/{id}": ({ context, id }) =>
    endpointStatisticsDocument(context, requireEndpoint(context, id)),
  "GET /endpointaddresses/{id}": ({ context, id }) => endpointAddressesDocument(requireEndpoint(context, id)),
};
