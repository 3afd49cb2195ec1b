/** The endpoint's document for HCN and for HNS v1 (cni.md §5.4 step 6). */
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type CniRoute, formatInterfaceAddress } from "#contracts/cni/result.ts";
import { type PolicyDocument, type Route, SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HnsEndpoint } from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import { familyOf, formatIp } from "#core/net/ip.ts";
import type { AzureDns } from "./name-resolution.ts";
import type { AzurePlan } from "./plan.ts";
import { type PolicyOptions, toAzureHcnPolicies, toAzureHnsPolicies } from "./policies.ts";
import type { AzureNetworkRecord } from "./state.ts";

function searchOf({ suffix }: AzureDns, compat: Compat): readonly string[] {
  // Upstream makes a list with one empty text of nothing.
  return suffix === "" && compat === "hardened" ? [] : suffix.split(",");
}

function dnsDocument(dns: AzureDns, compat: Compat): JsonObject {
  const search = searchOf(dns, compat);
  return {
    ...(search.length > 0 && { Search: search }),
    ...(dns.servers.length > 0 && { ServerList: dns.servers }),
    ...(dns.options.length > 0 && { Options: dns.options }),
  };
}

/** The device of the host works for the pod directly (network/policy/policy_windows.go, AddAccelnetPolicySetting). */
const ACCELERATED: PolicyDocument = {
  Type: "Iov",
  Settings: { IovOffloadWeight: 100, QueuePairsRequested: 1 },
};
/** Where another interface has the default routes, HNS is given one that leads nowhere. */
const DUMMY_ROUTE: Route = { NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0" };

function routeDocuments(routes: readonly CniRoute[], skipsDefaultRoutes: boolean): readonly Route[] {
  const own = routes.map(({ destination, gateway }) => ({
    NextHop: gateway === undefined ? "<nil>" : formatIp(gateway),
    DestinationPrefix: formatInterfaceAddress(destination),
  }));
  return skipsDefaultRoutes ? [...own, DUMMY_ROUTE] : own;
}

/** The document for HCN. @throws CniError */
export function azureEndpointDocument(
  network: AzureNetworkRecord,
  plan: AzurePlan,
  options: PolicyOptions,
): HostComputeEndpoint {
  const policies = toAzureHcnPolicies(plan.policies, options);
  const { ips, mac, type, skipsDefaultRoutes } = plan.nic;
  const isOwn = type === "FrontendNIC";
  const all = isOwn ? [...policies, ACCELERATED] : policies;
  const routes = routeDocuments(plan.routes, skipsDefaultRoutes);
  return {
    Name: plan.endpointName,
    HostComputeNetwork: network.hnsId,
    ...(all.length > 0 && { Policies: all }),
    ...(ips.length > 0 && {
      IpConfigurations: ips.map(({ address }) => ({
        IpAddress: formatIp(address.ip),
        PrefixLength: address.length,
      })),
    }),
    Dns: dnsDocument(plan.dns, options.compat),
    ...(routes.length > 0 && { Routes: routes }),
    // HNS wants dashes.
    ...(isOwn && { MacAddress: mac.replaceAll(":", "-") }),
    SchemaVersion: SCHEMA_V2_0,
  };
}

/** The document for HNS v1, which holds one address of each family and leaves the gateway to HNS. @throws CniError */
export function azureHnsEndpointDocument(
  network: AzureNetworkRecord,
  plan: AzurePlan,
  options: PolicyOptions,
): HnsEndpoint {
  const policies = toAzureHnsPolicies(plan.policies, "EndpointPolicy", options);
  const last = (family: 4 | 6) =>
    plan.nic.ips.findLast(({ address }) => familyOf(address.ip) === family)?.address;
  const v4 = last(4);
  const v6 = last(6);
  const gateway6 = network.subnets[1]?.gateway;
  return {
    Name: plan.endpointName,
    VirtualNetwork: network.hnsId,
    ...(policies.length > 0 && { Policies: policies as readonly HnsPolicy[] }),
    ...(v4 !== undefined && { IPAddress: formatIp(v4.ip), PrefixLength: v4.length }),
    ...(v6 !== undefined && { IPv6Address: formatIp(v6.ip), IPv6PrefixLength: v6.length }),
    ...(v6 !== undefined && gateway6 !== undefined && { GatewayAddressV6: formatIp(gateway6) }),
    ...(plan.dns.suffix !== "" && { DNSSuffix: plan.dns.suffix }),
    ...(plan.dns.servers.length > 0 && { DNSServerList: plan.dns.servers.join(",") }),
  };
}
