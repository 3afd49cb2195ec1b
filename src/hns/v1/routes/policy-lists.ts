/** `/policylists` of HNS v1: the load balancers. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import { SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import {
  deleteLoadBalancer,
  createLoadBalancer,
  modifyLoadBalancer,
  requireLoadBalancer,
} from "../../service/load-balancer/load-balancers.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { policyListDocument } from "../../view/policy-list-view.ts";
import { loadBalancerFromV1 } from "../policy-list.ts";
import { type Routes, type V1Request, bodyOf } from "../route.ts";

function policyListView(context: ServiceContext, id: Guid): JsonObject {
  return policyListDocument(context, requireLoadBalancer(context, id));
}

function create(request: V1Request): JsonValue {
  const document = loadBalancerFromV1(bodyOf(request));
  return policyListView(request.context, createLoadBalancer(request.context, document, undefined));
}

/**
 * Replaces what the list says. Inferred: it is the change of a load balancer that v2 has, in the versions that have it;
 * no client was seen to make the call.
 */
function update(request: V1Request): JsonValue {
  const document = loadBalancerFromV1(bodyOf(request));
  const settings = checkJsonObject({ SchemaVersion: SCHEMA_V2_0, ...document, ID: request.id });
  modifyLoadBalancer(request.context, request.id, settings);
  return policyListView(request.context, request.id);
}

/** The object as it was goes back with the answer (hcn.md §1.7). */
function remove({ context, id }: V1Request): JsonValue {
  const document = policyListView(context, id);
  deleteLoadBalancer(context, id);
  return document;
}

export const POLICY_LIST_ROUTES: Routes = {
  "GET /policylists": ({ context }) =>
    [...context.state.loadBalancers.values()].map((each) => policyListDocument(context, each)),
  "POST /policylists": create,
  "GET /policylists/{id}": ({ context, id }) => policyListView(context, id),
  "POST /policylists/{id}": update,
  "DELETE /policylists/{id}": remove,
};
