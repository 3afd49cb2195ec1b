/** Results as they are printed (cni.md §5.4 step 7, §5.2). */
import { readPrevResult } from "../../cni/configuration.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import type { CniIp, CniResult } from "../../cni/result.ts";
import { betterResult } from "../windows-endpoint/hcn-result.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import type { AzureEndpointRecord } from "./state.ts";

function plainIp({ address, gateway }: CniIp): CniIp {
  return gateway === undefined ? { address } : { address, gateway };
}

/** The reference prints IPAM's name resolution, no MAC and no sandbox; better that of the endpoint, and both. */
export function addResult(
  { request }: AzureCall,
  { ipamResult, dns }: AzurePlan,
  endpoint: AzureEndpointRecord,
  compat: Compat,
): CniResult {
  const ips = ipamResult.ips.map(plainIp);
  if (compat === "reference") {
    const { nameservers, domain } = ipamResult.dns;
    return {
      interfaces: [{ name: request.ifName }],
      ips,
      routes: ipamResult.routes,
      dns: { nameservers, domain, search: [], options: [] },
    };
  }
  const search = dns.suffix === "" ? [] : dns.suffix.split(",");
  const ownDns = { nameservers: dns.servers, domain: "", search, options: dns.options };
  const previous = readPrevResult(request.configuration);
  const result = betterResult(request, { mac: endpoint.mac, ips, dns: ownDns }, previous);
  return { ...result, routes: [...result.routes, ...ipamResult.routes] };
}

/** What the reference prints for CHECK. */
export function getResult({ ifName }: PluginRequest, endpoint: AzureEndpointRecord): CniResult {
  const [gateway] = endpoint.gateways;
  return {
    interfaces: [{ name: ifName }],
    ips: endpoint.addresses.map((address) => ({
      address,
      interface: 0,
      ...(gateway !== undefined && { gateway }),
    })),
    routes: endpoint.routes,
    dns: { nameservers: endpoint.dns.servers, domain: endpoint.dns.suffix, search: [], options: [] },
  };
}
