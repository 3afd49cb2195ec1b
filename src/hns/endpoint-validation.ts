/** What an endpoint document has to be (hcn.md §4.2–4.4). */
import { ENDPOINT_FLAGS, type HostComputeEndpoint, type IpConfig } from "../hcn/endpoint.ts";
import { HcnError } from "../hcn/error.ts";
import { type Ip, type IpFamily, bitsOf, familyOf, formatIp, isMulticastIp, parseIp } from "../net/ip.ts";
import { type Mac, formatMac, isGroupMac, parseMac } from "../net/mac.ts";
import { formatPrefix, prefixFamily } from "../net/prefix.ts";
import type { AddressPool } from "./address-pool.ts";
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
  const { ipams } = traitsOf(network.type);
  if (((endpoint.Flags ?? 0) & ENDPOINT_FLAGS.EnableDhcp) !== 0 && !ipams.includes("Dhcp"))
    throw invalid(`Flags has EnableDhcp (32); a network of type ${network.type} has static addresses only`);
}

function readIp(text: string, where: string): Ip {
  const ip = parseIp(text);
  if (ip !== undefined && !isMulticastIp(ip)) return ip;
  throw new HcnError("HCN_E_INVALID_IP", {
    detail: `${where} is ${JSON.stringify(text)}; it has to be a unicast IP address`,
  });
}

/** 0: the request has none. */
function readLength(config: IpConfig, ip: Ip, where: string): number {
  const length = config.PrefixLength ?? 0;
  if (length > bitsOf(familyOf(ip)))
    throw invalid(`${where}.PrefixLength is ${length}, which no address has`);
  return length;
}

function readIpConfig(
  network: NetworkRecord,
  pool: AddressPool,
  config: IpConfig,
  where: string,
  takesDuplicates: boolean,
): IpConfigRecord {
  const ip = readIp(config.IpAddress ?? "", `${where}.IpAddress`);
  const length = readLength(config, ip, where);
  const found = pool.findPlace(network.subnets, ip);
  if (found === undefined && network.subnets.length === 0) {
    pool.checkOwner(ip);
    return Object.freeze({ ip, length: length === 0 ? bitsOf(familyOf(ip)) : length, ipSubnetId: undefined });
  }
  if (found === undefined) {
    const subnets = network.subnets.map((subnet) => formatPrefix(subnet.prefix)).join(", ");
    throw new HcnError("HCN_E_INVALID_IP", {
      detail: `${formatIp(ip)} lies in no subnet of network ${network.name}, which has ${subnets}`,
    });
  }
  pool.checkReservation(found, ip);
  if (!takesDuplicates) pool.checkOwner(ip);
  const record: IpConfigRecord = {
    ip,
    // The subnet's length is filled in when the request has none (hcn.md §4.2).
    length: length === 0 ? found.subnet.prefix.length : length,
    ipSubnetId: found.ipSubnet.id,
  };
  return Object.freeze(record);
}

/** The length that an address without one gets: that of the network's subnet of its family (hcn.md §4.2). */
function defaultLength(network: NetworkRecord, family: IpFamily): number {
  const subnet = network.subnets.find((candidate) => prefixFamily(candidate.prefix) === family);
  return subnet?.prefix.length ?? bitsOf(family);
}

/**
 * The addresses of a remote endpoint: wherever they lie, and whoever else has them (hcn.md §4.2).
 * Inferred: one without an address is refused, because it would stand for nobody.
 */
function readRemoteIpConfigs(
  wanted: readonly IpConfig[],
  lengths: DefaultLengths,
): readonly IpConfigRecord[] {
  if (wanted.length === 0) throw invalid("A remote endpoint (Flags 1) needs an address in IpConfigurations");
  return wanted.map((config, index) => {
    const where = `IpConfigurations[${index}]`;
    const ip = readIp(config.IpAddress ?? "", `${where}.IpAddress`);
    const length = readLength(config, ip, where);
    return Object.freeze({
      ip,
      length: length === 0 ? lengths[familyOf(ip)] : length,
      ipSubnetId: undefined,
    });
  });
}

type DefaultLengths = Readonly<Record<IpFamily, number>>;

interface KnownConfigs {
  readonly lengths: DefaultLengths;
  readonly records: readonly IpConfigRecord[];
}

/** What lists meant that come in the documents of many nodes; they are frozen. */
const KNOWN_REMOTE_CONFIGS = new WeakMap<readonly IpConfig[], KnownConfigs>();

/** As `readIpConfigs`, for a remote endpoint. Nodes that are told the same share the result. */
function remoteIpConfigs(network: NetworkRecord, configs: readonly IpConfig[]): readonly IpConfigRecord[] {
  const lengths = { 4: defaultLength(network, 4), 6: defaultLength(network, 6) };
  const known = KNOWN_REMOTE_CONFIGS.get(configs);
  if (known?.lengths[4] === lengths[4] && known.lengths[6] === lengths[6]) return known.records;
  const records = oneOfEachFamily(readRemoteIpConfigs(withAddress(configs), lengths));
  if (Object.isFrozen(configs)) KNOWN_REMOTE_CONFIGS.set(configs, { lengths, records });
  return records;
}

function withAddress(configs: readonly IpConfig[]): readonly IpConfig[] {
  return configs.filter((config) => (config.IpAddress ?? "") !== "");
}

function oneOfEachFamily(records: readonly IpConfigRecord[]): readonly IpConfigRecord[] {
  const families = new Set(records.map((record) => familyOf(record.ip)));
  if (families.size !== records.length)
    throw invalid("IpConfigurations has two addresses of one family; an endpoint has at most one of each");
  return Object.freeze(records);
}

function allocateConfigs(
  network: NetworkRecord,
  pool: AddressPool,
  context: ServiceContext,
): readonly IpConfigRecord[] {
  const configs: IpConfigRecord[] = [];
  for (const family of [4, 6] as const) {
    const subnets = network.subnets.filter((subnet) => prefixFamily(subnet.prefix) === family);
    if (subnets.length === 0) continue;
    const ip = pool.allocate(subnets, context.prng);
    const found = pool.findPlace(subnets, ip);
    if (found === undefined) continue;
    configs.push(Object.freeze({ ip, length: found.subnet.prefix.length, ipSubnetId: found.ipSubnet.id }));
  }
  return configs;
}

/** The prefix length of one IPv4 address: a feature of its own (hcn.md §4.2, §7.1). */
const SINGLE_ADDRESS = 32;

/** Inferred: that a version without the feature refuses it, and the code. */
function checkSingleAddresses(context: ServiceContext, configs: readonly IpConfig[]): void {
  const index = configs.findIndex((config) => config.PrefixLength === SINGLE_ADDRESS && isIpv4(config));
  if (index < 0 || context.has("Slash32EndpointPrefixes")) return;
  const { Major, Minor } = context.version;
  throw invalid(
    `IpConfigurations[${index}].PrefixLength is 32, which HNS ${Major}.${Minor} does not take; write that of the subnet`,
  );
}

function isIpv4(config: IpConfig): boolean {
  return typeof parseIp(config.IpAddress ?? "") === "number";
}

/**
 * The addresses of a new endpoint: those asked for, at most one per family, else one per family from the pool. An
 * empty entry counts as none: the reference plugin sends one when it has no IPAM (cni.md §7.G).
 * @throws HcnError HCN_E_SUBNET_NOT_FOUND, HCN_E_INVALID_IP, HCN_E_ADDR_INVALID_OR_RESERVED, ERROR_OBJECT_ALREADY_EXISTS.
 */
export function readIpConfigs(
  context: ServiceContext,
  network: NetworkRecord,
  pool: AddressPool,
  configs: readonly IpConfig[],
  isRemote: boolean,
): readonly IpConfigRecord[] {
  checkSingleAddresses(context, configs);
  if (isRemote) return remoteIpConfigs(network, configs);
  const wanted = withAddress(configs);
  if (network.subnets.length === 0 && traitsOf(network.type).needsSubnet) {
    throw new HcnError("HCN_E_SUBNET_NOT_FOUND", {
      detail: `Network ${network.name} has no subnet; create it with Ipams`,
    });
  }
  if (wanted.length === 0) return Object.freeze(allocateConfigs(network, pool, context));
  if (context.hasQuirk("source-address-refused")) {
    throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
      detail: "The defect source-address-refused strikes: the address is free",
      explanation: "hns-address-refused",
    });
  }
  const takesDuplicates = context.hasQuirk("duplicate-local-address");
  const read = (config: IpConfig, index: number): IpConfigRecord =>
    readIpConfig(network, pool, config, `IpConfigurations[${index}]`, takesDuplicates);
  return oneOfEachFamily(wanted.map(read));
}

/**
 * The endpoint's own MAC, else one of the network's pool. Kept as it was written; several remote endpoints may have
 * one MAC, and old versions of kube-proxy gave all of them the same (hcn.md §4.3).
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
  if (!isRemote) macs.checkFree(mac);
  return { mac, macText: text };
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
