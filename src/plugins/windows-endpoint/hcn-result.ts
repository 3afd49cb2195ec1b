/** The CNI result of an HCN endpoint (cni.md §2.1). */
import { CNI_CODES, CniError, PluginPanic } from "../../cni/error.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import { type CniDns, type CniIp, type CniResult, isEmptyDns } from "../../cni/result.ts";
import type { HostComputeEndpoint, IpConfig } from "../../hcn/endpoint.ts";
import { type HostComputeNetwork, isDefaultRoute, subnetsOf } from "../../hcn/network.ts";
import { type Ip, type IpFamily, familyOf, parseIp } from "../../net/ip.ts";
import { type InterfaceAddress, parseInterfaceAddress, prefixContains } from "../../net/prefix.ts";

/** The text of a Go program that indexes an empty list. */
function indexPanic(): PluginPanic {
  return new PluginPanic("runtime error: index out of range [0] with length 0");
}

export function dnsOfEndpoint(endpoint: HostComputeEndpoint): CniDns {
  const dns = endpoint.Dns;
  return {
    nameservers: dns?.ServerList ?? [],
    domain: dns?.Domain ?? "",
    search: dns?.Search ?? [],
    options: dns?.Options ?? [],
  };
}

function withGateway(address: InterfaceAddress, gateway: Ip | undefined): CniIp {
  return gateway === undefined ? { address } : { address, gateway };
}

/**
 * An address with the mask of a network, printed as Go prints it: an IPv6 mask over an IPv4 address counts its
 * last 32 bits; an IPv4 mask over an IPv6 address prints as `<nil>`, which no caller can read.
 */
export function applyForeignMask(ip: Ip, prefix: InterfaceAddress): InterfaceAddress {
  if (familyOf(ip) === familyOf(prefix.ip)) return { ip, length: prefix.length };
  if (familyOf(ip) === 4) return { ip, length: Math.max(0, prefix.length - 96) };
  throw new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
}

/** As the reference: the first of everything, and a crash where there is none. */
export function referenceHcnResult(network: HostComputeNetwork, endpoint: HostComputeEndpoint): CniResult {
  const prefixText = network.Ipams?.[0]?.Subnets?.[0]?.IpAddressPrefix;
  if (prefixText === undefined) throw indexPanic();
  const prefix = parseInterfaceAddress(prefixText);
  if (prefix === undefined) throw new CniError(CNI_CODES.internal, `invalid CIDR address: ${prefixText}`);
  const config = endpoint.IpConfigurations?.[0];
  if (config === undefined) throw indexPanic();
  const route = endpoint.Routes?.[0];
  if (route === undefined) throw indexPanic();
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) throw new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
  const mac = endpoint.MacAddress ?? "";
  return {
    interfaces: [{ name: endpoint.Name ?? "", ...(mac !== "" && { mac }) }],
    ips: [withGateway(applyForeignMask(ip, prefix), parseIp(route.NextHop ?? ""))],
    routes: [],
    dns: dnsOfEndpoint(endpoint),
  };
}

/** The prefix length of an address: what HNS says, else that of the subnet which holds it. */
function readAddress(network: HostComputeNetwork, config: IpConfig): InterfaceAddress {
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) {
    const shown = JSON.stringify(config.IpAddress ?? "");
    throw new CniError(CNI_CODES.internal, `HNS reports the address ${shown}, which is none`);
  }
  if (config.PrefixLength !== undefined && config.PrefixLength > 0)
    return { ip, length: config.PrefixLength };
  for (const subnet of subnetsOf(network)) {
    const prefix = parseInterfaceAddress(subnet.IpAddressPrefix ?? "");
    if (prefix !== undefined && prefixContains({ address: prefix.ip, length: prefix.length }, ip)) {
      return { ip, length: prefix.length };
    }
  }
  throw new CniError(
    CNI_CODES.invalidNetworkConfig,
    `network ${network.Name ?? ""} has no subnet that holds ${config.IpAddress ?? ""}; give the HNS network a subnet`,
  );
}

/** The next hop of the endpoint's default route of a family; undefined when it has none. */
export function gatewayOfEndpoint(endpoint: HostComputeEndpoint, family: IpFamily): Ip | undefined {
  const hops = (endpoint.Routes ?? [])
    .filter(isDefaultRoute)
    .map((route) => parseIp(route.NextHop ?? ""))
    .filter((hop) => hop !== undefined && familyOf(hop) === family);
  // 0.0.0.0 and :: stand for no gateway (hcn.md §4.2).
  return hops.find((hop) => hop !== 0 && hop !== 0n);
}

/** Puts what this plugin adds behind what the plugins before it made. */
function mergeWithPrevious(previous: CniResult | undefined, own: CniResult): CniResult {
  if (previous === undefined) return own;
  const offset = previous.interfaces.length;
  return {
    interfaces: [...previous.interfaces, ...own.interfaces],
    ips: [...previous.ips, ...own.ips.map((ip) => ({ ...ip, interface: (ip.interface ?? 0) + offset }))],
    routes: previous.routes,
    dns: isEmptyDns(own.dns) ? previous.dns : own.dns,
  };
}

/** As runtimes want it: the interface by its name in the pod, with its sandbox, every address tied to it (rows 152, 154). */
export function betterResult(
  request: PluginRequest,
  parts: { readonly mac: string; readonly ips: readonly CniIp[]; readonly dns: CniDns },
  previous: CniResult | undefined,
): CniResult {
  const own: CniResult = {
    interfaces: [
      { name: request.ifName, ...(parts.mac !== "" && { mac: parts.mac }), sandbox: request.netns },
    ],
    ips: parts.ips.map((ip) => ({ ...ip, interface: 0 })),
    routes: [],
    dns: parts.dns,
  };
  return mergeWithPrevious(previous, own);
}

/** Every address of the endpoint with its prefix length and gateway. @throws CniError */
export function ipsOfHcnEndpoint(
  network: HostComputeNetwork,
  endpoint: HostComputeEndpoint,
): readonly CniIp[] {
  const configs = endpoint.IpConfigurations ?? [];
  if (configs.length === 0) {
    throw new CniError(CNI_CODES.internal, `HNS gave endpoint ${endpoint.Name ?? ""} no address`);
  }
  return configs.map((config) => {
    const address = readAddress(network, config);
    return withGateway(address, gatewayOfEndpoint(endpoint, familyOf(address.ip)));
  });
}
