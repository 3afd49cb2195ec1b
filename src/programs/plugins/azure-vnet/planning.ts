/** What ADD decides for each interface of a pod (cni.md §5.4 steps 3 and 4). */
import { defined } from "#core/base/assert.ts";
import type { Compat } from "#core/base/compat.ts";
import { CniError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniRoute } from "#contracts/cni/result.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { AZURE_ERROR_CODE, type AzurePolicy } from "./conf.ts";
import type { AzureHostInterface } from "./host.ts";
import { azureEndpointDns } from "./name-resolution.ts";
import { type AzureAllocation, type AzureNic, hasIpv6 } from "./nics.ts";
import { type AzureCall, type AzurePlan, findMaster, formatNetwork, networkOf } from "./plan.ts";
import { type AzurePod, azureEndpointName, longEndpointName } from "./pod.ts";
import { azurePortPolicies, ipv6NatPolicies, loopbackPolicies, natRules } from "./own-policies.ts";
import { type AzureState, endpointOf } from "./state.ts";

const ANY = defined(parseInterfaceAddress("0.0.0.0/0"), "prefix");

/** Begins the names of networks for interfaces of a pod's own. */
const OWN_NETWORK = "azure-";

/** The interface of the cluster's network has the name that the runtime wants; others are numbered (cni.md §5.3). */
function interfaceName(call: AzureCall, index: number, allocation: AzureAllocation): string {
  const firstInfra = allocation.nics.findIndex(({ type }) => type === "InfraNIC");
  return index === firstInfra ? call.request.ifName : `eth${index + 1}`;
}

/** The name of the network (cni.md §5.3). */
export function networkIdOf({ configuration }: AzureCall, { type, mac, container, ips }: AzureNic): string {
  if (type === "FrontendNIC" || type === "BackendNIC") return `${OWN_NETWORK}${mac}`;
  if (type === "ApipaNIC") return `${OWN_NETWORK}apipa`;
  const [first] = ips;
  if (container === undefined || first === undefined) return configuration.name;
  const prefix = formatNetwork(first.address).replaceAll(".", "-").replace("/", "_");
  return `${configuration.name}-vlan${container.MultiTenancyInfo.ID}-${prefix}`;
}

function plainMac(mac: string): string {
  return mac.toLowerCase().replaceAll("-", ":");
}

function masterOf(
  { configuration }: AzureCall,
  nic: AzureNic,
  interfaces: readonly AzureHostInterface[],
  index: number,
): string {
  switch (nic.type) {
    case "InfraNIC":
      return findMaster(
        configuration,
        interfaces,
        nic.hostSubnet === undefined ? "" : formatNetwork(nic.hostSubnet),
      );
    case "FrontendNIC":
      return interfaces.find(({ mac }) => plainMac(mac) === nic.mac)?.name ?? "";
    case "BackendNIC":
      return `ib${index + 1}`;
    case "ApipaNIC":
      return `apipa${index + 1}`;
  }
}

function whereMasterWas(nic: AzureNic): string {
  if (nic.type === "FrontendNIC") return `no interface of this machine has the MAC address ${nic.mac}`;
  const subnet = nic.hostSubnet === undefined ? "" : formatNetwork(nic.hostSubnet);
  return `no interface of this machine has an address in ${subnet}; name one in "master"`;
}

/**
 * The endpoint's name. Two containers may begin alike: upstream has one name for both, hardened a longer one for the
 * second (row 156).
 */
export function endpointNameOf(
  request: PluginRequest,
  state: AzureState,
  ifName: string,
  compat: Compat,
): string {
  const short = azureEndpointName(request, ifName);
  if (compat === "upstream") return short;
  const long = longEndpointName(request, ifName);
  if (endpointOf(state, long)?.containerId === request.containerId) return long;
  const other = endpointOf(state, short);
  return other === undefined || other.containerId === request.containerId ? short : long;
}

/** With several tenants the endpoint has a default route that the printed result has not. */
function routesOf(call: AzureCall, { routes, container }: AzureNic, isOnHost: boolean): readonly CniRoute[] {
  if (!call.configuration.isMultiTenant || container === undefined || isOnHost) return routes;
  const gateway = parseIp(container.IPConfiguration.GatewayIPAddress);
  return [...routes, gateway === undefined ? { destination: ANY } : { destination: ANY, gateway }];
}

/** Those of the configuration, IPv6 over NAT, loopback DSR, those of CNS, port mappings: in this order. */
export function policiesOf(
  { configuration }: AzureCall,
  { ips, policies }: Pick<AzureNic, "ips" | "policies">,
  isDualStack: boolean,
  compat: Compat,
): readonly AzurePolicy[] {
  const subnets = ips.map(({ address, gateway }) => ({ prefix: networkOf(address), gateway }));
  const own = ips.map(({ address }) => address.ip);
  return [
    ...configuration.policies,
    ...ipv6NatPolicies(configuration, subnets),
    ...loopbackPolicies(configuration, own),
    ...policies,
    ...azurePortPolicies(configuration, isDualStack, compat),
  ];
}

/** Everything that ADD decides before it changes HNS, interface by interface. @throws CniError */
export function planAdd(
  call: AzureCall,
  context: {
    readonly pod: AzurePod;
    readonly allocation: AzureAllocation;
    readonly interfaces: readonly AzureHostInterface[];
    readonly compat: Compat;
  },
): readonly AzurePlan[] {
  const { pod, allocation, interfaces, compat } = context;
  const isDualStack = hasIpv6(allocation);
  return allocation.nics.map((nic, index) => {
    const master = masterOf(call, nic, interfaces, index);
    if (master === "") {
      const details = compat === "hardened" ? whereMasterWas(nic) : "";
      throw new CniError(AZURE_ERROR_CODE, "Failed to find the master interface", { details });
    }
    const dns = { ...nic.dns, search: [], options: [] };
    const ifName = interfaceName(call, index, allocation);
    const vlanId = nic.container?.MultiTenancyInfo.ID ?? 0;
    const ranges = vlanId === 0 ? [] : (nic.container?.CnetAddressSpace ?? []);
    return {
      pod,
      nic,
      networkId: networkIdOf(call, nic),
      ifName,
      endpointName: endpointNameOf(call.request, call.session.state, ifName, compat),
      master,
      subnets: nic.ips.map(({ address, gateway }) => ({ prefix: networkOf(address), gateway })),
      routes: routesOf(call, nic, allocation.snat.onHost),
      dns: azureEndpointDns(call.configuration, dns, pod.namespace),
      policies: policiesOf(call, nic, isDualStack, compat),
      nat: natRules(call.configuration, allocation),
      vlanId,
      addressSpace: ranges.map(({ IPAddress, PrefixLength }) => `${IPAddress}/${PrefixLength}`),
      snat: allocation.snat,
    };
  });
}
