/** The endpoint that a call wants, and what IPAM and the configuration say of its addresses (cni.md §2.4). */
import { PluginPanic, CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type CniDns, type CniIp, type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import { type PolicyDocument, type Route, CLIENT_MEMBERS } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint, IpConfig } from "#contracts/hcn/documents/endpoint.ts";
import { type HostComputeNetwork, subnetsOf } from "#contracts/hcn/documents/network.ts";
import {
  type InterfaceAddress,
  type Ip,
  type Ipv4,
  familyOf,
  formatIp,
  formatPrefix,
  maskIp,
  parseInterfaceAddress,
  parseIp,
} from "#core/net/ip.ts";
import { dnsDocument, applyForeignMask } from "../windows-endpoint/hcn-endpoint.ts";
import type { SdnConfiguration, SdnRoute } from "./conf.ts";
import { decodeUtf8, encodeUtf8 } from "#core/base/encodings.ts";
import { type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { requestDocument } from "#contracts/hcn/operations.ts";
import { parseMac } from "#core/net/mac.ts";

/** Addresses and gateways, at most one of each family. */
export interface SdnAddressing {
  readonly ipv4: InterfaceAddress | undefined;
  readonly ipv6: InterfaceAddress | undefined;
  readonly gateway: Ip | undefined;
  readonly gateway6: Ip | undefined;
}

/** The subnet of the configuration, which a network made on demand gets. */
export interface ConfiguredSubnet {
  readonly prefix: string;
  readonly gateway: Ip;
}

/** The next address, counted in the last byte alone. */
function plusOne(ip: Ipv4): Ipv4 {
  return (((ip & 0xffff_ff00) | ((ip + 1) & 0xff)) >>> 0) as Ipv4;
}

/** `ipam.subnet` with its gateway: that of the first route, else the address as it is written, plus one. */
export function configuredSubnet({ ipam }: SdnConfiguration): ConfiguredSubnet | undefined {
  if (ipam.subnet === "") return undefined;
  const subnet = parseInterfaceAddress(ipam.subnet);
  if (subnet === undefined || familyOf(subnet.ip) !== 4)
    throw new PluginPanic("runtime error: index out of range [3] with length 0");
  const prefix = formatPrefix({ address: maskIp(subnet.ip, subnet.length), length: subnet.length });
  return { prefix, gateway: ipam.routes[0]?.gateway ?? plusOne(subnet.ip as Ipv4) };
}

/** The masked address with 2 in its last byte: the bridge endpoint of the host. */
function bridgeGateway({ ip, length }: InterfaceAddress): Ip {
  const network = maskIp(ip, length);
  return typeof network === "number" ? ((((network & 0xffff_ff00) | 2) >>> 0) as Ipv4) : network;
}

/** Addressing before IPAM is asked: the gateway of the configuration, and addresses of HNS's choice. */
export function addressingWithoutIpam(configuration: SdnConfiguration): SdnAddressing {
  const gateway = configuredSubnet(configuration)?.gateway;
  return { ipv4: undefined, ipv6: undefined, gateway, gateway6: undefined };
}

/** What IPAM says instead. One address of each family counts; without dual stack IPv4 alone. */
export function addressingOfIpam(
  { flags }: SdnConfiguration,
  before: SdnAddressing,
  ips: readonly CniIp[],
): SdnAddressing {
  const v4 = ips.find(({ address }) => familyOf(address.ip) === 4);
  const v6 = flags.enableDualStack ? ips.find(({ address }) => familyOf(address.ip) === 6) : undefined;
  const forced = v4 !== undefined && flags.forceBridgeGateway ? bridgeGateway(v4.address) : undefined;
  return {
    ipv4: v4?.address,
    ipv6: v6?.address,
    gateway: v4 === undefined ? before.gateway : (forced ?? v4.gateway),
    gateway6: v6?.gateway,
  };
}

function isDefault({ destination }: SdnRoute, family: 4 | 6): boolean {
  if (destination === undefined || destination.length !== 0 || familyOf(destination.ip) !== family)
    return false;
  return destination.ip === 0 || destination.ip === 0n;
}

/** Fills gateways that are missing from default routes of `additionalRoutes`. */
export function withAdditionalGateways(
  { flags, additionalRoutes }: SdnConfiguration,
  addressing: SdnAddressing,
): SdnAddressing {
  if (!flags.gatewayFromAdditionalRoutes) return addressing;
  const find = (family: 4 | 6): Ip | undefined =>
    additionalRoutes.find(
      (route) =>
        route.gateway !== undefined && familyOf(route.gateway) === family && isDefault(route, family),
    )?.gateway;
  return {
    ...addressing,
    gateway: addressing.gateway ?? find(4),
    gateway6: addressing.gateway6 ?? find(6),
  };
}

function defaultRoutes({ gateway, gateway6 }: SdnAddressing): readonly Route[] {
  // Upstream writes 0.0.0.0/0 for whatever is configured as the first gateway.
  const first = gateway === undefined ? [] : [{ NextHop: formatIp(gateway), DestinationPrefix: "0.0.0.0/0" }];
  const second = gateway6 === undefined ? [] : [{ NextHop: formatIp(gateway6), DestinationPrefix: "::/0" }];
  return [...first, ...second];
}

/** The document to create. */
export function sdnEndpointDocument(
  names: { readonly endpoint: string; readonly networkId: string },
  addressing: SdnAddressing,
  parts: { readonly policies: readonly PolicyDocument[]; readonly dns: CniDns; readonly hasLengths: boolean },
): HostComputeEndpoint {
  const configs = [addressing.ipv4, addressing.ipv6].filter((address) => address !== undefined);
  const routes = defaultRoutes(addressing);
  return {
    Name: names.endpoint,
    HostComputeNetwork: names.networkId,
    ...(parts.policies.length > 0 && { Policies: parts.policies }),
    ...(configs.length > 0 && {
      IpConfigurations: configs.map(({ ip, length }) => ({
        IpAddress: formatIp(ip),
        ...(parts.hasLengths && { PrefixLength: length }),
      })),
    }),
    Dns: dnsDocument(parts.dns),
    ...(routes.length > 0 && { Routes: routes }),
    ...CLIENT_MEMBERS,
  };
}

/** The network that is made when there is none of that name. */
export function sdnNetworkDocument(
  configuration: SdnConfiguration,
  dns: CniDns,
  policies: readonly PolicyDocument[],
): HostComputeNetwork {
  const subnet = configuredSubnet(configuration);
  return {
    Name: configuration.name,
    Type: configuration.networkType,
    ...(policies.length > 0 && { Policies: policies }),
    ...(subnet !== undefined && {
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: subnet.prefix,
              Routes: [{ NextHop: formatIp(subnet.gateway), DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    }),
    Dns: dnsDocument(dns),
    MacPool: {},
    ...CLIENT_MEMBERS,
  };
}

const MAC_BYTES = 6;
const BYTE = 256;

/** The six bytes taken for a text: what is no character is lost (row 106). */
function garbledMac(text: string): string {
  const mac = parseMac(text);
  if (mac === undefined) return "";
  const bytes = Array.from(
    { length: MAC_BYTES },
    (_, index) => Math.floor(mac / BYTE ** (MAC_BYTES - 1 - index)) % BYTE,
  );
  return decodeUtf8(Uint8Array.from(bytes));
}

function invalid(): CniError {
  return new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
}

function withGateway(ip: CniIp, gateway: Ip | undefined): CniIp {
  return gateway === undefined ? ip : { ...ip, gateway };
}

/** The first address, with the mask of the network's first subnet and the first route's next hop. */
function singleAddress(network: HostComputeNetwork, endpoint: HostComputeEndpoint): CniIp {
  const prefix = parseInterfaceAddress(subnetsOf(network)[0]?.IpAddressPrefix ?? "");
  const ip = parseIp(endpoint.IpConfigurations?.[0]?.IpAddress ?? "");
  if (prefix === undefined || ip === undefined) throw invalid();
  const gateway = parseIp(endpoint.Routes?.[0]?.NextHop ?? "");
  return withGateway({ address: applyForeignMask(ip, prefix), interface: 0 }, gateway);
}

function addressOf(config: IpConfig): CniIp {
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) throw invalid();
  return { address: { ip, length: config.PrefixLength ?? 0 }, interface: 0 };
}

/**
 * The first of each family, as upstream's loop finds them: what is no IPv6, or a second IPv6 before any IPv4, counts as
 * IPv4; what is no address at all as IPv6.
 */
function splitFamilies<T>(
  items: readonly T[],
  ipOf: (item: T) => Ip | undefined,
): readonly (T | undefined)[] {
  let first4: T | undefined;
  let first6: T | undefined;
  for (const item of items) {
    const ip = ipOf(item);
    const isIpv6 = ip === undefined || familyOf(ip) === 6;
    if (isIpv6 && first6 === undefined) first6 = item;
    else first4 ??= item;
  }
  return [first4, first6];
}

/** Addresses with the lengths that HNS says, and the next hop that stands for the family. */
function dualAddresses(endpoint: HostComputeEndpoint): readonly CniIp[] {
  const ips = splitFamilies((endpoint.IpConfigurations ?? []).map(addressOf), ({ address }) => address.ip);
  const hopOf = ({ NextHop }: Route): Ip | undefined => parseIp(NextHop ?? "");
  const hops = splitFamilies(endpoint.Routes ?? [], hopOf);
  return ips.flatMap((ip, index) => {
    const route = hops[index];
    return ip === undefined ? [] : [withGateway(ip, route === undefined ? undefined : hopOf(route))];
  });
}

function goBytes(value: JsonValue | undefined): string {
  return value === undefined ? "[]" : `[${encodeUtf8(JSON.stringify(value)).join(" ")}]`;
}

/** From 10^6 on Go prints floating numbers, which all of JSON's are, with an exponent of two digits. */
function goNumber(value: number): string {
  const [mantissa = "", exponent = ""] = value.toExponential().split("e");
  if (value === 0 || (Number(exponent) >= -4 && Number(exponent) < 6)) return `${value}`;
  return `${mantissa}e${exponent.startsWith("-") ? "-" : "+"}${exponent.slice(1).padStart(2, "0")}`;
}

/** A value that the client keeps as it has come, as %v prints it. */
function goValue(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "<nil>";
  if (typeof value === "number") return goNumber(value);
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(goValue).join(" ")}]`;
  if (!isJsonObject(value)) return `${value as string | boolean}`;
  const members = Object.keys(value).toSorted();
  return `map[${members.map((name) => `${name}:${goValue(value[name])}`).join(" ")}]`;
}

function goList(texts: readonly string[] | undefined): string {
  return `[${(texts ?? []).join(" ")}]`;
}

/** The endpoint as Go prints the struct of its client with %v, which upstream's messages end with. */
export function printGoEndpoint(endpoint: HostComputeEndpoint): string {
  const { Dns: dns, SchemaVersion: schema } = endpoint;
  const { Health } = requestDocument(endpoint);
  const health = mappingOf(Health);
  const extra = mappingOf(health["Extra"]);
  const policies = (endpoint.Policies ?? []).map((each) => `{${each.Type} ${goBytes(each.Settings)}}`);
  const ips = (endpoint.IpConfigurations ?? []).map(
    (ip) => `{${ip.IpAddress ?? ""} ${ip.PrefixLength ?? 0}}`,
  );
  const routes = (endpoint.Routes ?? []).map(
    (route) => `{${route.NextHop ?? ""} ${route.DestinationPrefix ?? ""} ${route.Metric ?? 0}}`,
  );
  const fields = [
    endpoint.ID,
    endpoint.Name ?? "",
    endpoint.HostComputeNetwork ?? "",
    endpoint.HostComputeNamespace ?? "",
    goList(policies),
    goList(ips),
    `{${[dns?.Domain ?? "", goList(dns?.Search), goList(dns?.ServerList), goList(dns?.Options)].join(" ")}}`,
    goList(routes),
    endpoint.MacAddress ?? "",
    `${endpoint.Flags ?? 0}`,
    `{${goValue(health["Data"])} {${goBytes(extra["Resources"])} ${goBytes(extra["SharedContainers"])}    }}`,
    `{${schema?.Major ?? 0} ${schema?.Minor ?? 0}}`,
  ];
  return `&{${fields.join(" ")}}`;
}

/** Neither sandbox, routes nor name resolution. @throws CniError */
export function upstreamSdnResult(
  network: HostComputeNetwork,
  endpoint: HostComputeEndpoint,
  options: { readonly ifName: string; readonly isDualStack: boolean },
): CniResult {
  const mac = garbledMac(endpoint.MacAddress ?? "");
  return {
    interfaces: [{ name: options.ifName, ...(mac !== "" && { mac }) }],
    ips: options.isDualStack ? dualAddresses(endpoint) : [singleAddress(network, endpoint)],
    routes: [],
    dns: EMPTY_DNS,
  };
}
