/** Results as they are printed (cni.md §5.4 step 7, §5.2). */
import type { Compat } from "#core/base/compat.ts";
import { readPrevResult } from "#contracts/cni/plugin-input.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniInterface, CniIp, CniResult } from "#contracts/cni/result.ts";
import { hardenedResult } from "../windows-endpoint/hcn-endpoint.ts";
import { type AzureAllocation, PLAIN_NIC } from "./nics.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import type { AzureEndpointRecord } from "./state.ts";

function plainIp({ address, gateway }: CniIp): CniIp {
  return gateway === undefined ? { address } : { address, gateway };
}

/** An interface of the pod as it was made. */
export interface MadeInterface {
  readonly plan: AzurePlan;
  readonly record: AzureEndpointRecord;
  /** A device as the runtime hands it to the pod; empty: there is none, or it was handed over before. */
  readonly pciId: string;
}

/** Devices go to the runtime, which has HNS no part in. */
function deviceInterfaces(made: readonly MadeInterface[]): readonly CniInterface[] {
  return made
    .filter(({ plan }) => plan.nic.type === "BackendNIC")
    .map(({ plan, pciId }) => ({
      name: plan.master,
      mac: plan.nic.mac,
      ...(pciId !== "" && { pciId }),
    }));
}

/**
 * The interface of the cluster's network, else the first; devices behind it. Upstream prints IPAM's name resolution, a
 * MAC only when CNS gave it, and no sandbox; hardened that of the endpoint, and both.
 */
export function addResult(
  { request }: AzureCall,
  { nics }: AzureAllocation,
  made: readonly MadeInterface[],
  compat: Compat,
): CniResult {
  const shown = made.find(({ plan }) => plan.nic.type === "InfraNIC") ?? made[0];
  const nic = shown?.plan.nic ?? nics[0] ?? PLAIN_NIC;
  const ips = nic.ips.map(plainIp);
  const routes = ips.length === 0 ? [] : nic.routes;
  const devices = deviceInterfaces(made);
  if (compat === "upstream" || shown === undefined) {
    const { nameservers, domain } = nic.dns;
    const own = { name: request.ifName, ...(nic.mac !== "" && { mac: nic.mac }) };
    return {
      interfaces: [own, ...devices],
      ips,
      routes,
      dns: { nameservers, domain, search: [], options: [] },
    };
  }
  const { dns } = shown.plan;
  const search = dns.suffix === "" ? [] : dns.suffix.split(",");
  const ownDns = { nameservers: dns.servers, domain: "", search, options: dns.options };
  const previous = readPrevResult(request.configuration);
  const result = hardenedResult(request, { mac: shown.record.mac, ips, dns: ownDns }, previous);
  return {
    ...result,
    interfaces: [...result.interfaces, ...devices],
    routes: [...result.routes, ...routes],
  };
}

/** What upstream prints for CHECK. */
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
