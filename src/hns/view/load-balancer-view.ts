/** A load balancer as results show it: in v2 shape, and as the policy list that v1 calls it (hcn.md §2.7, §9.19). */
import type { JsonObject } from "#core/base/json.ts";
import { formatUpperGuid } from "#contracts/hcn/guid.ts";
import {
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
} from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type NotEnforced, notEnforcedOnLoadBalancer } from "../service/enforcement.ts";
import type {
  LoadBalancerPortMappingRecord,
  LoadBalancerRecord,
} from "../service/load-balancer/load-balancer-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { withKept } from "../store/kept-fields.ts";
import { baseFields, healthData, sortFields, withoutDefaults } from "./document-fields.ts";

/** hcn.md §2.10. */
const STATE_APPLIED = 2;
const STATE_DEGRADED = 4;
/** The schema that has the field `HostComputeNetwork` (hcn.md §2.7). */
const SCHEMA_WITH_NETWORK = 5;

/** How the health of a load balancer names an update that was ignored. */
export const IGNORED_UPDATE: NotEnforced = Object.freeze({
  Type: "Update",
  Reason: "HNS 15.4 takes an update and does not carry it out (load-balancer-update-ignored)",
});

const DEGRADED_BY_FAULT: NotEnforced = Object.freeze({
  Type: "State",
  Reason: "An injected fault has degraded it; its rules are in place (hns-fault-injected)",
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

function mappingDocument(mapping: LoadBalancerPortMappingRecord): JsonObject {
  return withoutDefaults({
    Protocol: mapping.protocol,
    InternalPort: mapping.internalPort,
    ExternalPort: mapping.externalPort,
    DistributionType: LOAD_BALANCER_DISTRIBUTIONS.indexOf(mapping.distribution),
    Flags: mapping.flags,
  });
}

/**
 * A load balancer in v2 shape. Inferred (hcn.md §8.5, §9.19): the ids of its endpoints come in upper case; kube-proxy
 * knows its load balancers again after a restart only if they do, and one published log has them in lower case.
 */
export function loadBalancerDocument(context: ServiceContext, loadBalancer: LoadBalancerRecord): JsonObject {
  const health: JsonObject = {
    Data: healthData(context, loadBalancer, notEnforced(context, loadBalancer)),
  };
  const hasNetwork = context.windows.profile.schemaMinor >= SCHEMA_WITH_NETWORK;
  return withKept(
    withoutDefaults({
      ...baseFields(loadBalancer, health, stateOf(context, loadBalancer)),
      HostComputeNetwork: hasNetwork ? loadBalancer.networkId : undefined,
      HostComputeEndpoints: loadBalancer.endpointIds.map(formatUpperGuid),
      SourceVIP: textOf(loadBalancer.sourceVip),
      FrontendVIPs: loadBalancer.frontendVips.map(formatIp),
      PortMappings: loadBalancer.portMappings.map(mappingDocument),
      Flags: loadBalancer.flags,
    }),
    loadBalancer.kept?.v2,
  );
}

/** One `ELB` policy per port mapping. */
function elbPolicy(loadBalancer: LoadBalancerRecord, mapping: LoadBalancerPortMappingRecord): JsonObject {
  const { ILB, LocalRoutedVip } = LOAD_BALANCER_PORT_FLAGS;
  return {
    Type: "ELB",
    Protocol: mapping.protocol,
    InternalPort: mapping.internalPort,
    ExternalPort: mapping.externalPort,
    ...(loadBalancer.sourceVip !== undefined && { SourceVIP: formatIp(loadBalancer.sourceVip) }),
    VIPs: loadBalancer.frontendVips.map(formatIp),
    IsDSR: (loadBalancer.flags & LOAD_BALANCER_FLAGS.DSR) !== 0,
    ...((mapping.flags & ILB) !== 0 && { ILB: true }),
    ...((mapping.flags & LocalRoutedVip) !== 0 && { LocalRoutedVip: true }),
  };
}

/** A load balancer as a v1 policy list. */
export function policyListDocument(context: ServiceContext, loadBalancer: LoadBalancerRecord): JsonObject {
  const state = stateOf(context, loadBalancer);
  return sortFields(
    withKept(
      {
        ActivityId: formatUpperGuid(loadBalancer.activityId),
        AdditionalParams: loadBalancer.additionalParams ?? {},
        // The flags of v2 are fields of the policies here.
        Flags: 0,
        Health: healthData(context, loadBalancer, notEnforced(context, loadBalancer)),
        HostComputeNetwork: formatUpperGuid(loadBalancer.networkId),
        ID: formatUpperGuid(loadBalancer.id),
        IsApplied: state === STATE_APPLIED,
        Policies: loadBalancer.portMappings.map((mapping) => elbPolicy(loadBalancer, mapping)),
        References: loadBalancer.endpointIds.map((id) => `/endpoints/${id}`),
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
