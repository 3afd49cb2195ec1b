/**
 * SDN route objects: create, change, delete (hcn.md §2.8, §4.7, §9.20). Each stands for an SDNRoute policy on every
 * endpoint that it names. HNS v1 has no such object.
 */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type HostComputeRoute,
  parseSdnRoute,
  routesOfSdnRoute,
} from "#contracts/hcn/documents/sdn-route.ts";
import { checkSameNetwork, readBackEndList } from "./load-balancer/load-balancers.ts";
import { checkTakesSdnRoutes } from "./policies/features.ts";
import type { SdnRouteRecord } from "./records.ts";
import type { ServiceContext } from "./service-context.ts";

/** Inferred (hcn.md §11.25): the code for a route that is not there. */
export function requireSdnRoute(context: ServiceContext, id: Guid): SdnRouteRecord {
  const route = context.state.sdnRoutes.get(id);
  if (route !== undefined) return route;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no SDN route ${id}` });
}

/**
 * What a document says. Inferred (hcn.md §11.24): a document without routes is taken, because the service may not know
 * the name under which one client sends them.
 */
function readFields(
  context: ServiceContext,
  document: HostComputeRoute,
): Pick<SdnRouteRecord, "networkId" | "endpointIds" | "routes"> {
  const endpoints = readBackEndList(context, document.HostComputeEndpoints ?? [], "an SDN route");
  const [{ networkId }] = endpoints;
  const network = context.state.networks.get(networkId);
  if (network !== undefined) checkTakesSdnRoutes(network, "The SDN route");
  return {
    networkId,
    endpointIds: Object.freeze(endpoints.map((endpoint) => endpoint.id)),
    routes: Object.freeze([...routesOfSdnRoute(document)]),
  };
}

/** Creates an SDN route from a document of checked shape. @returns its id. */
export function createSdnRoute(
  context: ServiceContext,
  document: HostComputeRoute,
  wantedId: Guid | undefined,
): Guid {
  const id = context.newId(wantedId ?? document.ID, context.state.sdnRoutes, "an SDN route");
  const fields = readFields(context, document);
  context.state.setSdnRoute(Object.freeze({ ...context.baseOf(id, document), ...fields }));
  context.changed("SdnRoute", id);
  context.ports.reprogram(fields.networkId);
  return id;
}

/**
 * Replaces what a route says. Inferred: the request is the whole document, as that for load balancers is, and owner and
 * name stay where it has none.
 */
export function modifySdnRoute(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const before = requireSdnRoute(context, id);
  const document = parseSdnRoute(settings);
  const fields = readFields(context, document);
  checkSameNetwork(before.networkId, fields.networkId, "the SDN route");
  const updated: SdnRouteRecord = Object.freeze({
    ...before,
    ...context.rewritten(document),
    ...fields,
  });
  context.state.setSdnRoute(updated);
  context.changed("SdnRoute", id);
  context.ports.reprogram(updated.networkId);
}

/** Takes a route away; the ports of its network are the caller's. */
export function removeSdnRoute(context: ServiceContext, route: SdnRouteRecord): void {
  context.state.removeSdnRoute(route);
  context.changed("SdnRoute", route.id);
}

export function deleteSdnRoute(context: ServiceContext, id: Guid): void {
  const route = requireSdnRoute(context, id);
  removeSdnRoute(context, route);
  context.ports.reprogram(route.networkId);
}
