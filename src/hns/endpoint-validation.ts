/** What an endpoint document has to be (hcn.md §4.2–4.4). */
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../hcn/endpoint.ts";
import { HcnError } from "../hcn/error.ts";
import { type Mac, formatMac, isGroupMac, parseMac } from "../net/mac.ts";
import type { IpConfigRecord } from "./endpoint-record.ts";
import type { NetworkRecord, RouteRecord, SubnetRecord } from "./network-record.ts";
import { readRouteRecords } from "./network-validation.ts";
import { traitsOf } from "./network/type-traits.ts";
import type { ServiceContext } from "./service-context.ts";

function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_ENDPOINT", { detail });
}

/** Refuses what this version does not do, and what a request may not say. */
export function checkEndpointRequest(network: NetworkRecord, endpoint: HostComputeEndpoint): void {
  if (endpoint.HostComputeNamespace !== undefined)
    throw invalid(
      "HostComputeNamespace is set by the service; create the endpoint, then add it to the namespace",
    );
  const { ipams, needsIcs } = traitsOf(network.type);
  // Internet Connection Sharing has a DHCP server of its own.
  const takesDhcp = ipams.includes("Dhcp") || needsIcs;
  if (((endpoint.Flags ?? 0) & ENDPOINT_FLAGS.EnableDhcp) !== 0 && !takesDhcp)
    throw invalid(`Flags has EnableDhcp (32); a network of type ${network.type} has static addresses only`);
}

/**
 * The endpoint's own MAC, else one of the network's pool. Kept as it was written; several remote endpoints may have
 * one MAC, and old versions of kube-proxy gave all of them the same (hcn.md §4.3).
 * Inferred: two local endpoints cannot share a MAC, because the switch finds its ports by them.
 * @throws HcnError HCN_E_INVALID_ENDPOINT, ERROR_OBJECT_ALREADY_EXISTS.
 */
export function readMac(
  context: ServiceContext,
  network: NetworkRecord,
  text: string | undefined,
  isRemote: boolean,
): { readonly mac: Mac; readonly macText: string } {
  const { macs } = context.state;
  if (text === undefined || text === "") {
    const mac = macs.allocate(network.macRanges, context.prng);
    return { mac, macText: formatMac(mac) };
  }
  const mac = parseMac(text);
  if (mac === undefined || isGroupMac(mac))
    throw invalid(
      `MacAddress is ${JSON.stringify(text)}; it has to be a unicast MAC such as 00-15-5D-01-02-03`,
    );
  const owner = isRemote ? undefined : ownerOfMac(context, network, mac);
  if (owner !== undefined) {
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
      detail: `${formatMac(mac)} belongs to endpoint ${owner}; leave MacAddress out or choose another one`,
    });
  }
  return { mac, macText: text };
}

/**
 * Who has a MAC, as far as an endpoint of `network` is concerned. On an overlay network it counts inside the network
 * only, and the node's own one is for the address that its load balancers send from: kube-proxy makes that endpoint with
 * it (dataplane.md §3.5).
 */
export function ownerOfMac(context: ServiceContext, network: NetworkRecord, mac: Mac): string | undefined {
  const { state } = context;
  const owner = state.macs.ownerOf(mac);
  if (network.type !== "Overlay" || owner === undefined) return owner;
  if (mac === context.adapterOf(network)?.mac) return undefined;
  const { local } = state.membersOf(network.id);
  return [...local.values()].find((endpoint) => endpoint.mac === mac)?.id;
}

function subnetOf(network: NetworkRecord, config: IpConfigRecord): SubnetRecord | undefined {
  return network.subnets.find(
    (subnet) =>
      subnet.id === config.ipSubnetId || subnet.ipSubnets.some((block) => block.id === config.ipSubnetId),
  );
}

const NO_ROUTES: readonly RouteRecord[] = Object.freeze([]);

/** The endpoint's routes; without any, a default route through the gateway of each of its subnets (hcn.md §2.3). */
export function readEndpointRoutes(
  network: NetworkRecord,
  endpoint: HostComputeEndpoint,
  configs: readonly IpConfigRecord[],
): readonly RouteRecord[] {
  const routes = readRouteRecords(endpoint.Routes ?? [], "Routes", "HCN_E_INVALID_ENDPOINT");
  if (routes.length > 0) return routes;
  const defaults: RouteRecord[] = [];
  for (const config of configs) {
    const subnet = subnetOf(network, config);
    const route = subnet?.routes.find((candidate) => candidate.destination.length === 0);
    if (route?.nextHop !== undefined) defaults.push(route);
  }
  return defaults.length === 0 ? NO_ROUTES : Object.freeze(defaults);
}
