/** What ADD decides for each interface of a pod before it changes anything (cni.md §5.4 steps 3 and 4, §5.5). */
import type { CniRoute, CniDns } from "#contracts/cni/result.ts";
import { CniError } from "#contracts/cni/error.ts";
import { defined } from "#core/base/assert.ts";
import type { AzureDifferences } from "./differences.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { AZURE_ERROR_CODE, type AzurePolicy, type AzureConfiguration } from "./conf.ts";
import type { AzureHostInterface } from "./host.ts";
import { type AzureNic, formatNetwork, type AzureAllocation, hasIpv6, networkOf } from "./address-source.ts";
import { type AzurePod, azureEndpointName, longEndpointName, type AzureCall } from "./call.ts";
import { type NatRule, azurePortPolicies, ipv6NatPolicies, loopbackPolicies, natRules } from "./policies.ts";
import { type AzureDns, type AzureSubnet, type AzureState, endpointOf } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export interface AzurePlan {
  readonly pod: AzurePod;
  readonly nic: AzureNic;
  /** The network's ID in the state, and its name in HNS. */
  readonly networkId: string;
  /** Of the interface in the pod. */
  readonly ifName: string;
  /** Name of the endpoint. */
  readonly endpointName: string;
  /** The name of the host's interface; it may be one that is not there, when the configuration names it. */
  readonly master: string;
  readonly subnets: readonly AzureSubnet[];
  readonly routes: readonly CniRoute[];
  readonly dns: AzureDns;
  readonly policies: readonly AzurePolicy[];
  readonly nat: readonly NatRule[];
  /** 0: no VLAN. */
  readonly vlanId: number;
  /** Ranges of the tenant. */
  readonly addressSpace: readonly string[];
  readonly snat: { readonly forDns: boolean; readonly onHost: boolean };
}

/** The configured interface, else the first one with an address in the very subnet (row E13). */
function findMaster(
  { master }: AzureConfiguration,
  interfaces: readonly AzureHostInterface[],
  subnet: string,
): string {
  if (master !== "") return master;
  const found = interfaces.find(({ addresses }) =>
    addresses.some((address) => formatNetwork(address) === subnet),
  );
  return found?.name ?? "";
}

/** The structure as Go prints it. */
function print(dns: CniDns): string {
  const { nameservers, domain, search, options } = dns;
  const list = (items: readonly string[]): string => `[${items.join(" ")}]`;
  return `{Nameservers:${list(nameservers)} Domain:${domain} Search:${list(search)} Options:${list(options)}}`;
}

/**
 * All from the runtime when it names servers or searches (row 131); else from the configuration; else from IPAM.
 * @throws CniError (100) for one of nameservers and search without the other (row 130)
 */
function azureEndpointDns(
  { runtimeDns, dns }: AzureConfiguration,
  ipam: CniDns,
  podNamespace: string,
): AzureDns {
  if (runtimeDns.servers.length > 0 || runtimeDns.searches.length > 0) {
    return {
      suffix: runtimeDns.searches.join(","),
      servers: runtimeDns.servers,
      options: runtimeDns.options,
    };
  }
  if ((dns.search.length === 0) !== (dns.nameservers.length === 0)) {
    const message = `Failed to getEndpointDNSSettings: Wrong DNS configuration: ${print(dns)}`;
    throw new CniError(AZURE_ERROR_CODE, message);
  }
  if (dns.search.length > 0) {
    const suffix = `${podNamespace}.${dns.search.join(",")}`;
    return { suffix, servers: dns.nameservers, options: dns.options };
  }
  return { suffix: ipam.domain, servers: ipam.nameservers, options: dns.options };
}

const ANY = defined(parseInterfaceAddress("0.0.0.0/0"), "prefix");

/** Begins the names of networks for interfaces of a pod's own. */
const OWN_NETWORK = "azure-";

/** The interface of the cluster's network has the name that the runtime wants; others are numbered (cni.md §5.3). */
function interfaceName(call: AzureCall, index: number, allocation: AzureAllocation): string {
  const firstInfra = allocation.nics.findIndex(({ type }) => type === "InfraNIC");
  return index === firstInfra ? call.request.ifName : `eth${index + 1}`;
}

/** The name of the network (cni.md §5.3). */
function networkIdOf({ configuration }: AzureCall, { type, mac, container, ips }: AzureNic): string {
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
  return WORDS.masterInterfaceMissing({ subnet });
}

/**
 * The endpoint's name. Two containers may begin alike: upstream has one name for both, hardened a longer one for the
 * second (row 156).
 */
export function endpointNameOf(
  request: PluginRequest,
  state: AzureState,
  ifName: string,
  { hasLongNames }: AzureDifferences,
): string {
  const short = azureEndpointName(request, ifName);
  if (!hasLongNames) return short;
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
  differences: AzureDifferences,
): readonly AzurePolicy[] {
  const subnets = ips.map(({ address, gateway }) => ({ prefix: networkOf(address), gateway }));
  const own = ips.map(({ address }) => address.ip);
  return [
    ...configuration.policies,
    ...ipv6NatPolicies(configuration, subnets),
    ...loopbackPolicies(configuration, own),
    ...policies,
    ...azurePortPolicies(configuration, isDualStack, differences),
  ];
}

/** Everything that ADD decides before it changes HNS, interface by interface. @throws CniError */
export function planAdd(
  call: AzureCall,
  context: {
    readonly pod: AzurePod;
    readonly allocation: AzureAllocation;
    readonly interfaces: readonly AzureHostInterface[];
    readonly differences: AzureDifferences;
  },
): readonly AzurePlan[] {
  const { pod, allocation, interfaces, differences } = context;
  const isDualStack = hasIpv6(allocation);
  return allocation.nics.map((nic, index) => {
    const master = masterOf(call, nic, interfaces, index);
    if (master === "") {
      const details = differences.explains ? whereMasterWas(nic) : "";
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
      endpointName: endpointNameOf(call.request, call.session.state, ifName, differences),
      master,
      subnets: nic.ips.map(({ address, gateway }) => ({ prefix: networkOf(address), gateway })),
      routes: routesOf(call, nic, allocation.snat.onHost),
      dns: azureEndpointDns(call.configuration, dns, pod.namespace),
      policies: policiesOf(call, nic, isDualStack, differences),
      nat: natRules(call.configuration, allocation),
      vlanId,
      addressSpace: ranges.map(({ IPAddress, PrefixLength }) => `${IPAddress}/${PrefixLength}`),
      snat: allocation.snat,
    };
  });
}
