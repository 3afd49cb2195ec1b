/**
 * Policy lists as results show them: load balancers in v2 shape and as v1 has them (hcn.md §2.7, §9.19), and SDN routes
 * (hcn.md §2.8).
 */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import { LOAD_BALANCER, LOAD_BALANCER_DISTRIBUTIONS } from "#contracts/hcn/documents/load-balancer.ts";
import { LOAD_BALANCER_FORM } from "#contracts/hcn/documents/v1-documents.ts";
import { type PrintableOf, printerOf } from "#contracts/hcn/description/object-json.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import {
  type NotEnforced,
  notEnforcedOnLoadBalancer,
  notEnforcedOnSdnRoute,
} from "../service/enforcement.ts";
import type { SdnRouteRecord, LoadBalancerRecord } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import { baseValues, healthData, sortFields } from "./document-fields.ts";
import { SDN_ROUTE } from "#contracts/hcn/documents/sdn-route.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** hcn.md §2.10. */
const STATE_APPLIED = 2;
const STATE_DEGRADED = 4;
/** The schema that has the field `HostComputeNetwork` (hcn.md §2.7, §2.8). */
const SCHEMA_WITH_NETWORK = 5;

/** How the health of a load balancer names an update that was ignored. */
export const IGNORED_UPDATE: NotEnforced = Object.freeze({
  Type: "Update",
  Reason: "HNS 15.4 takes an update and does not carry it out (load-balancer-update-ignored)",
});

const DEGRADED_BY_FAULT: NotEnforced = Object.freeze({
  Type: "State",
  Reason: WORDS.degradedByFault,
});

/** Degraded is one whose endpoints are all gone (hcn.md §4.4), or one that a fault has made so. */
function stateOf(context: ServiceContext, loadBalancer: LoadBalancerRecord): number {
  if (context.state.degradedLoadBalancers.has(loadBalancer.id)) return STATE_DEGRADED;
  const hasBackEnd = loadBalancer.endpointIds.some((id) => context.state.endpoints.has(id));
  return hasBackEnd ? STATE_APPLIED : STATE_DEGRADED;
}

function notEnforced(context: ServiceContext, loadBalancer: LoadBalancerRecord): readonly NotEnforced[] {
  const network = context.state.networks.get(loadBalancer.networkId);
  const found = [...notEnforcedOnLoadBalancer(loadBalancer, network)];
  if (context.state.degradedLoadBalancers.has(loadBalancer.id)) found.push(DEGRADED_BY_FAULT);
  return context.state.ignoredUpdates.has(loadBalancer.id) ? [...found, IGNORED_UPDATE] : found;
}

function textOf(ip: Ip | undefined): string | undefined {
  return ip === undefined ? undefined : formatIp(ip);
}

/** What both dialects show alike. */
function sharedValues(loadBalancer: LoadBalancerRecord): PrintableOf<typeof LOAD_BALANCER> {
  return {
    SourceVIP: textOf(loadBalancer.sourceVip),
    FrontendVIPs: loadBalancer.frontendVips.map(formatIp),
    PortMappings: loadBalancer.portMappings.map((mapping) => ({
      Protocol: mapping.protocol,
      InternalPort: mapping.internalPort,
      ExternalPort: mapping.externalPort,
      DistributionType: LOAD_BALANCER_DISTRIBUTIONS.indexOf(mapping.distribution),
      Flags: mapping.flags,
    })),
    Flags: loadBalancer.flags,
  };
}

const PRINTER = printerOf(LOAD_BALANCER);

/**
 * A load balancer in v2 shape. Inferred (hcn.md §8.5, §9.19): the ids of its endpoints come in upper case; kube-proxy
 * knows its load balancers again after a restart only if they do, and one published log has them in lower case.
 */
export function loadBalancerDocument(context: ServiceContext, loadBalancer: LoadBalancerRecord): JsonObject {
  const health: JsonObject = {
    Data: healthData(context, loadBalancer, notEnforced(context, loadBalancer)),
  };
  const hasNetwork = context.windows.profile.schemaMinor >= SCHEMA_WITH_NETWORK;
  const document = PRINTER.print({
    ...baseValues(loadBalancer, stateOf(context, loadBalancer)),
    ...sharedValues(loadBalancer),
    Health: health,
    HostComputeNetwork: hasNetwork ? loadBalancer.networkId : undefined,
    HostComputeEndpoints: loadBalancer.endpointIds.map(formatUpperGuid),
  });
  return withKept(document, loadBalancer.kept?.v2);
}

/** A load balancer as a v1 policy list. */
export function policyListDocument(context: ServiceContext, loadBalancer: LoadBalancerRecord): JsonObject {
  const state = stateOf(context, loadBalancer);
  return sortFields(
    withKept(
      {
        ...LOAD_BALANCER_FORM.print({
          ...sharedValues(loadBalancer),
          HostComputeEndpoints: loadBalancer.endpointIds,
        }),
        ActivityId: formatUpperGuid(loadBalancer.activityId),
        AdditionalParams: loadBalancer.additionalParams ?? {},
        // The flags of v2 are fields of the policies here.
        Flags: 0,
        Health: healthData(context, loadBalancer, notEnforced(context, loadBalancer)),
        HostComputeNetwork: formatUpperGuid(loadBalancer.networkId),
        ID: formatUpperGuid(loadBalancer.id),
        IsApplied: state === STATE_APPLIED,
        State: state,
        Version: loadBalancer.version,
      },
      loadBalancer.kept?.v1,
    ),
  );
}

/** The fields that filters compare (hcn.md §5.1). */
export function loadBalancerFilterFields(
  context: ServiceContext,
  loadBalancer: LoadBalancerRecord,
): JsonObject {
  return {
    ID: loadBalancer.id,
    Name: loadBalancer.name,
    Owner: loadBalancer.owner,
    HostComputeNetwork: loadBalancer.networkId,
    Flags: loadBalancer.flags,
    State: stateOf(context, loadBalancer),
  };
}

// An SDN route. HNS v1 has no shape for it: both dialects show this one.

/** hcn.md §2.10 has no row for routes. Inferred: applied is 2, as for the load balancers that they are kept with. */
const ROUTE_APPLIED = 2;

const ROUTE_PRINTER = printerOf(SDN_ROUTE);

/**
 * Inferred (hcn.md §11.24): the routes come back under both names, `Routes` as the schema has it and `Setting` as
 * hcsshim reads it, so that a client which writes back what it read loses none.
 */
export function sdnRouteDocument(context: ServiceContext, route: SdnRouteRecord): JsonObject {
  const network = context.state.networks.get(route.networkId);
  const health: JsonObject = { Data: healthData(context, route, notEnforcedOnSdnRoute(route, network)) };
  const hasNetwork = context.windows.profile.schemaMinor >= SCHEMA_WITH_NETWORK;
  const document = ROUTE_PRINTER.print({
    ...baseValues(route, ROUTE_APPLIED),
    Health: health,
    HostComputeNetwork: hasNetwork ? route.networkId : undefined,
    HostComputeEndpoints: route.endpointIds,
    Routes: route.routes,
    Setting: route.routes,
  });
  return withKept(document, route.kept?.v2);
}

/** The fields that filters compare (hcn.md §5.1). */
export function sdnRouteFilterFields(route: SdnRouteRecord): JsonObject {
  return {
    ID: route.id,
    Name: route.name,
    Owner: route.owner,
    HostComputeNetwork: route.networkId,
    State: ROUTE_APPLIED,
  };
}
