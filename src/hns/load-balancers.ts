/** Load balancers: create, change, delete (hcn.md §4.7, §8.5). HNS tells nobody of them (hcn.md §1.4). */
import type { Guid, JsonObject } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { type HostComputeLoadBalancer, parseLoadBalancer } from "../hcn/load-balancer.ts";
import { checkSameNetwork } from "./back-end-list.ts";
import type { Ip } from "../net/ip.ts";
import { prefixContains } from "../net/prefix.ts";
import { asRestoring } from "./defects/restoring-front-ends.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";
import { type LoadBalancerFields, readLoadBalancer } from "./load-balancer-validation.ts";
import type { ServiceContext } from "./service-context.ts";

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
  const id = context.chooseId(wantedId ?? document.ID);
  if (context.state.loadBalancers.has(id))
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", { detail: `There is a load balancer ${id} already` });
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
      detail: "This version of HNS cannot change a load balancer; delete it and create it anew",
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

/**
 * An endpoint came or went that load balancers name. They live on: the ports are brought in line with the back ends that
 * are there, and the state of those without any is another one (hcn.md §4.4).
 */
export function followBackEnd(context: ServiceContext, endpointId: Guid, networkId: Guid): void {
  const concerned = context.state.loadBalancersOfEndpoint(endpointId);
  if (concerned.length === 0) return;
  for (const { id } of concerned) context.changed("LoadBalancer", id);
  context.ports.reprogram(networkId);
}
