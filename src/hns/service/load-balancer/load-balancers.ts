/** Load balancers: create, change, delete (hcn.md §4.7, §8.5). HNS notifies no program of them (hcn.md §1.4). */
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type HostComputeLoadBalancer,
  parseLoadBalancer,
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  type LoadBalancerPortMapping,
} from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, isMulticastIp, parseIp, prefixContains } from "#core/net/ip.ts";
import {
  type LoadBalancerRecord,
  type LoadBalancerPortMappingRecord,
  type EndpointRecord,
  isRemoteEndpoint,
} from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import { BACK_ENDS_MAX } from "#core/catalogue/quirks.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { removeEndpoint } from "../endpoint/endpoints.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// What a load balancer document has to be (hcn.md §4.7, §8.5). Inferred: the order in which its faults are found. First
// what the document says, then what HNS keeps, then what VFP is asked for, as the texts of the errors name them.

/** The checked values of a document. */
export type LoadBalancerFields = Pick<
  LoadBalancerRecord,
  "networkId" | "endpointIds" | "sourceVip" | "frontendVips" | "portMappings" | "flags"
>;

/** TCP, UDP and SCTP: what kube-proxy sends (hcn.md §8.5). */
const PROTOCOLS: readonly number[] = [IpProtocol.tcp, IpProtocol.udp, IpProtocol.sctp];

/** Inferred: the codes for a mapping without a protocol or an external port, and for a document without mappings. */
function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_POLICY", { detail });
}

function readMapping(
  context: ServiceContext,
  mapping: LoadBalancerPortMapping,
  where: string,
): LoadBalancerPortMappingRecord {
  const { Protocol: protocol = 0, InternalPort: internalPort = 0, ExternalPort: externalPort = 0 } = mapping;
  if (!PROTOCOLS.includes(protocol))
    throw invalid(`${where}.Protocol is ${protocol}; it must be 6 (TCP), 17 (UDP) or 132 (SCTP)`);
  if (internalPort === 0)
    throw new HcnError("HCN_E_INVALID_INTERNAL_PORT", { detail: `${where}.InternalPort is 0 or missing` });
  if (externalPort === 0) throw invalid(`${where}.ExternalPort is 0 or missing`);
  // A service without the feature does not know the field, and ignores it as any unknown one (hcn.md §1.6, §8.3).
  const wanted = context.has("SessionAffinity") ? (mapping.DistributionType ?? 0) : 0;
  const distribution = LOAD_BALANCER_DISTRIBUTIONS[wanted] ?? "None";
  return Object.freeze({ protocol, internalPort, externalPort, distribution, flags: mapping.Flags ?? 0 });
}

/** Inferred: a service without DSR ignores the flag, as everything that it does not know (hcn.md §1.6, §7.1). */
function knownFlags(context: ServiceContext, flags: number): number {
  const hasDsr = context.has("DSR") && !context.hasQuirk("dsr-flag-ignored");
  return hasDsr ? flags : flags & ~LOAD_BALANCER_FLAGS.DSR;
}

function readVip(text: string, where: string): Ip {
  const ip = parseIp(text);
  if (ip !== undefined && !isMulticastIp(ip)) return ip;
  throw new HcnError("HCN_E_INVALID_IP", {
    detail: `${where} is ${JSON.stringify(text)}; it must be a unicast IP address`,
  });
}

/**
 * A back end whose switch port was taken away is refused; one that never had a port is fine, and so is a remote one
 * (hcn.md §4.7, §10 rows 35 and 68). Inferred: that this is the line between the two.
 */
function checkPorts(context: ServiceContext, backEnds: readonly EndpointRecord[]): void {
  if (context.hasQuirk("load-balancer-port-missing")) {
    throw new HcnError("HCN_E_PORT_NOT_FOUND", {
      detail: "The ports of all endpoints are there; the defect load-balancer-port-missing strikes",
      explanation: "hns-switch-port-missing",
    });
  }
  const gone = backEnds.find((endpoint) => endpoint.isPortGone);
  if (gone === undefined) return;
  throw new HcnError("HCN_E_PORT_NOT_FOUND", {
    detail: WORDS.endpointPortGone({ id: gone.id }),
  });
}

/** How many destinations the VFP rule of a load balancer takes (kube-proxy.md §3.13, dataplane.md §3.6). */
function checkCount(context: ServiceContext, count: number): void {
  const most = BACK_ENDS_MAX[context.hasQuirk("back-ends-limited-to-64") ? "limited" : "raised"];
  if (count <= most) return;
  throw new HcnError("ERROR_INVALID_PARAMETER", {
    appendix: "Unable to initialize VFP LB rule: invalid number of destinations.",
    detail: WORDS.loadBalancerEndpointsTooMany({ count, most }),
    explanation: "too-many-back-ends",
  });
}

/**
 * Checks a document as a whole, for the load balancer `id`.
 * @throws HcnError with the code that Windows gives.
 */
export function readLoadBalancer(
  context: ServiceContext,
  document: HostComputeLoadBalancer,
  id: Guid,
): LoadBalancerFields {
  const backEnds = readBackEndList(context, document.HostComputeEndpoints ?? [], "a load balancer");
  const mappings = document.PortMappings ?? [];
  if (mappings.length === 0) throw invalid("PortMappings is empty; write at least one");
  const sourceVip = document.SourceVIP ?? "";
  const fields: LoadBalancerFields = {
    networkId: backEnds[0].networkId,
    endpointIds: Object.freeze(backEnds.map((endpoint) => endpoint.id)),
    portMappings: Object.freeze(
      mappings.map((mapping, index) => readMapping(context, mapping, `PortMappings[${index}]`)),
    ),
    // It need not lie in a subnet of the network (hcn.md §8.4).
    sourceVip: sourceVip === "" ? undefined : readVip(sourceVip, "SourceVIP"),
    frontendVips: Object.freeze(
      (document.FrontendVIPs ?? []).map((text, index) => readVip(text, `FrontendVIPs[${index}]`)),
    ),
    flags: knownFlags(context, document.Flags ?? 0),
  };
  context.state.frontEnds.checkFree(fields, id);
  for (const mapping of fields.portMappings)
    context.checkNotListening(mapping.protocol, mapping.externalPort);
  checkPorts(context, backEnds);
  checkCount(context, backEnds.length);
  return fields;
}

// Load balancers that a restarted service has not yet restored, and what requests for their front ends meet.

/** What a request meets whose front end is about to come back: 0xb7 in place of 0x803b0013. */
export function asRestoring(context: ServiceContext, error: unknown): unknown {
  const isTaken = error instanceof HcnError && error.code === "HCN_E_PORT_ALREADY_EXISTS";
  if (!isTaken || context.state.restoration === undefined) return error;
  return new HcnError("ERROR_ALREADY_EXISTS", {
    detail: WORDS.frontEndRestoring,
    explanation: "hns-load-balancers-lost",
  });
}

// The list `HostComputeEndpoints` of load balancers and SDN routes (hcn.md §4.7).

/** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE, HCN_E_ENDPOINT_NOT_FOUND. */
function requireReferenced(context: ServiceContext, text: string, where: string): EndpointRecord {
  const id = parseGuid(text);
  if (id === undefined) {
    throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", {
      detail: `${where} is ${JSON.stringify(text)}; it must be the GUID of an endpoint`,
    });
  }
  const endpoint = context.state.endpoints.get(id);
  if (endpoint !== undefined) return endpoint;
  throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND", { detail: `${where}: there is no endpoint ${id}` });
}

/**
 * The endpoints that a document names: at least one, all known, all of one network. `what` names the object that the
 * document describes.
 *
 * Inferred (hcn.md §11.9): one unknown endpoint among others refuses the whole request.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE, HCN_E_GUID_CONVERSION_FAILURE, HCN_E_ENDPOINT_NOT_FOUND.
 */
export function readBackEndList(
  context: ServiceContext,
  texts: readonly string[],
  what: string,
): readonly [EndpointRecord, ...EndpointRecord[]] {
  const [first, ...others] = texts.map((text, index) =>
    requireReferenced(context, text, `HostComputeEndpoints[${index}]`),
  );
  if (first === undefined) {
    throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
      appendix: "A Reference is required",
      detail: "HostComputeEndpoints is empty; name at least one endpoint",
    });
  }
  const stranger = others.find((endpoint) => endpoint.networkId !== first.networkId);
  if (stranger === undefined) return [first, ...others];
  // Inferred: the network is found through the references (hcn.md §8.5), so they have to agree.
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: WORDS.loadBalancerNetworksDiffer({
      id: stranger.id,
      networkId: stranger.networkId,
      firstNetworkId: first.networkId,
      what,
    }),
  });
}

/**
 * Inferred: the code. An object stays in its network, because it is programmed into the ports of one.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE.
 */
export function checkSameNetwork(before: Guid, after: Guid, what: string): void {
  if (before === after) return;
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: `The endpoints are of network ${after}; ${what} belongs to ${before}`,
  });
}

/** Inferred (hcn.md §11.25): the code for a load balancer that is not there. */
export function requireLoadBalancer(context: ServiceContext, id: Guid): LoadBalancerRecord {
  const loadBalancer = context.state.loadBalancers.get(id);
  if (loadBalancer !== undefined) return loadBalancer;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no load balancer ${id}` });
}

/** What a new load balancer has in place of what was asked for. */
function defectiveFields(
  context: ServiceContext,
  fields: LoadBalancerFields,
): Partial<Pick<LoadBalancerRecord, "sourceVip" | "endpointIds">> {
  const sourceVip = networkAddressFor(context, fields);
  const former = context.state.formerBackEnds.of(fields);
  const keeps = former !== undefined && context.hasQuirk("front-end-keeps-back-ends");
  return { ...(sourceVip !== undefined && { sourceVip }), ...(keeps && { endpointIds: former }) };
}

/** With `source-vip-is-network-address`: the first address of the subnet that SourceVIP is in (dataplane.md §9, F-06). */
function networkAddressFor(
  context: ServiceContext,
  { networkId, sourceVip }: LoadBalancerFields,
): Ip | undefined {
  const subnets = context.state.networks.get(networkId)?.subnets ?? [];
  const subnet = subnets.find(({ prefix }) => sourceVip !== undefined && prefixContains(prefix, sourceVip));
  if (subnet === undefined || !context.hasQuirk("source-vip-is-network-address")) return undefined;
  return subnet.prefix.address;
}

function readNew(context: ServiceContext, document: HostComputeLoadBalancer, id: Guid): LoadBalancerFields {
  try {
    return readLoadBalancer(context, document, id);
  } catch (error) {
    throw asRestoring(context, error);
  }
}

/** Creates a load balancer from a document of checked shape. @returns its id. */
export function createLoadBalancer(
  context: ServiceContext,
  document: HostComputeLoadBalancer,
  wantedId: Guid | undefined,
): Guid {
  const id = context.newId(wantedId ?? document.ID, context.state.loadBalancers, "a load balancer");
  const fields = readNew(context, document, id);
  const loadBalancer: LoadBalancerRecord = Object.freeze({
    ...context.baseOf(id, document),
    ...fields,
    ...defectiveFields(context, fields),
  });
  context.ports.reserveServicePorts(loadBalancer);
  context.state.addLoadBalancer(loadBalancer);
  context.changed("LoadBalancer", id);
  context.ports.reprogram(loadBalancer.networkId);
  return id;
}

/** hcsshim's range for the call, which the defect of 15.4 is about (hcn.md §7.1). */
const MODIFY_SINCE_MAJOR = 15;
const MODIFY_SINCE_MINOR = 4;

function takesModify(context: ServiceContext): boolean {
  const { Major, Minor } = context.version;
  return Major > MODIFY_SINCE_MAJOR || (Major === MODIFY_SINCE_MAJOR && Minor >= MODIFY_SINCE_MINOR);
}

/**
 * Replaces what a load balancer says; the request is the whole document (hcn.md §5.2). HNS has that from 15.5 on. 15.4
 * takes the call and leaves the load balancer as it is, which its health data says here; older versions refuse.
 * Inferred: that a document without an owner or a name keeps them.
 */
export function modifyLoadBalancer(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const before = requireLoadBalancer(context, id);
  const document = parseLoadBalancer(settings);
  if (!takesModify(context)) {
    throw new HcnError("E_NOTIMPL", {
      detail: WORDS.loadBalancerModifyUnsupported,
    });
  }
  if (context.hasQuirk("load-balancer-update-ignored")) {
    context.state.ignoredUpdates.add(id);
    context.changed("LoadBalancer", id);
    return;
  }
  const fields = readLoadBalancer(context, document, id);
  checkSameNetwork(before.networkId, fields.networkId, "the load balancer");
  const updated: LoadBalancerRecord = Object.freeze({
    ...before,
    ...context.rewritten(document),
    ...fields,
  });
  context.ports.reserveServicePorts(updated);
  if (context.hasQuirk("load-balancer-rules-left-on-change"))
    context.state.membersOf(before.networkId).services.leave(id);
  context.state.replaceLoadBalancer(updated);
  context.state.ignoredUpdates.delete(id);
  context.changed("LoadBalancer", id);
  context.ports.reprogram(updated.networkId);
}

/** Takes a load balancer away; the ports of its network are the caller's. */
export function removeLoadBalancer(
  context: ServiceContext,
  loadBalancer: LoadBalancerRecord,
  isFrontEndLeft = false,
): void {
  context.state.removeLoadBalancer(loadBalancer, isFrontEndLeft);
  context.cache.forget(loadBalancer.id);
  context.changed("LoadBalancer", loadBalancer.id);
}

// Deleting a load balancer, and what defects leave of it (hcn.md §4.7).

export function deleteLoadBalancer(context: ServiceContext, id: Guid): void {
  const loadBalancer = requireLoadBalancer(context, id);
  const { endpoints } = context.state;
  const isDegraded = !loadBalancer.endpointIds.some((endpointId) => endpoints.has(endpointId));
  if (isDegraded && context.hasQuirk("degraded-load-balancer-not-deleted")) {
    throw new HcnError("HCN_E_DEGRADED_OPERATION", {
      detail: WORDS.loadBalancerDegraded({ id }),
      explanation: "hns-object-degraded",
    });
  }
  // The next one there is refused, until the service restarts (hcn.md §4.7).
  const isFrontEndLeft = context.hasQuirk("front-end-stale-after-delete");
  // The rules stay and lead where they led (dataplane.md §9, F-16).
  if (context.hasQuirk("load-balancer-rules-stale"))
    context.state.membersOf(loadBalancer.networkId).services.leave(id);
  if (context.quirks.mayStrike("front-end-keeps-back-ends")) context.state.formerBackEnds.note(loadBalancer);
  const shared = sharedRemoteBackEnds(context, loadBalancer);
  removeLoadBalancer(context, loadBalancer, isFrontEndLeft);
  for (const endpoint of shared) removeEndpoint(context, endpoint);
  context.ports.reprogram(loadBalancer.networkId);
}

/** With `shared-back-ends-removed`: remote back ends that others lead to, too (dataplane.md §9, F-20). */
function sharedRemoteBackEnds(
  context: ServiceContext,
  loadBalancer: LoadBalancerRecord,
): readonly EndpointRecord[] {
  if (!context.hasQuirk("shared-back-ends-removed")) return [];
  return loadBalancer.endpointIds.flatMap((id) => {
    const endpoint = context.state.endpoints.get(id);
    const isShared = context.state.loadBalancersOfEndpoint(id).length > 1;
    return endpoint !== undefined && isShared && isRemoteEndpoint(endpoint) ? [endpoint] : [];
  });
}
