/** What an endpoint's document has to be, and what the service makes of it: addresses, MAC, routes (hcn.md §4.2–4.4). */
import { defined } from "#core/base/assert.ts";
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import {
  ENDPOINT_FLAGS,
  type HostComputeEndpoint,
  type IpConfig,
} from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type Ip,
  type IpFamily,
  bitsOf,
  familyOf,
  formatIp,
  formatPrefix,
  isMulticastIp,
  parseIp,
  prefixFamily,
} from "#core/net/ip.ts";
import type { AddressPlace, AddressPool } from "../address-pool.ts";
import type { EndpointRecord, IpConfigRecord, NetworkRecord, SubnetRecord, RouteRecord } from "../records.ts";
import { traitsOf } from "../network/type-traits.ts";
import type { DefaultLengths } from "../../compile/compile-cache.ts";
import type { ServiceContext } from "../service-context.ts";
import { type Mac, formatMac, isGroupMac, parseMac } from "#core/net/mac.ts";
import { readRouteRecords } from "../network/network-validation.ts";
import type { JsonObject } from "#core/base/json.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// What HNS 9.1 makes of endpoints in v2 form: it does not process them (hcn.md §1.2). Inferred: as all fields that
// it does not know, those of v2 are ignored (hcn.md §1.6), so that the endpoint gets an address of the service's choice,
// no policies and no flags. What both forms write in the same way stays: id, owner, name, MAC address.

export const V2_FIELDS: readonly string[] = ["IpConfigurations", "Dns", "Routes", "Policies", "Flags"];

/** The HCN calls came with HNS 9: what stands for an older version here has nothing to ignore. */
const FIRST_MAJOR = 9;

export function isProcessing(context: ServiceContext): boolean {
  return context.has("ApiV2") || context.version.Major < FIRST_MAJOR;
}

/** An endpoint's document in v2 form as this version of HNS reads it. */
export function asProcessed(context: ServiceContext, document: JsonObject): JsonObject {
  if (isProcessing(context)) return document;
  return Object.fromEntries(Object.entries(document).filter(([field]) => !V2_FIELDS.includes(field)));
}

// What a request may not say.

function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_ENDPOINT", { detail });
}

/** Refuses what this version does not do, and what a request may not say. */
export function checkEndpointRequest(network: NetworkRecord, endpoint: HostComputeEndpoint): void {
  if (endpoint.HostComputeNamespace !== undefined) throw invalid(WORDS.endpointNamespaceReadOnly);
  const { ipams, needsIcs } = traitsOf(network.type);
  // Internet Connection Sharing has a DHCP server of its own.
  const takesDhcp = ipams.includes("Dhcp") || needsIcs;
  if (((endpoint.Flags ?? 0) & ENDPOINT_FLAGS.EnableDhcp) !== 0 && !takesDhcp)
    throw invalid(WORDS.enableDhcpUnsupported({ type: network.type }));
}

// The addresses of a new endpoint: asked for, out of a block, given out, or left to DHCP.

function readIp(text: string, where: string): Ip {
  const ip = parseIp(text);
  if (ip !== undefined && !isMulticastIp(ip)) return ip;
  throw new HcnError("HCN_E_INVALID_IP", {
    detail: `${where} is ${JSON.stringify(text)}; it must be a unicast IP address`,
  });
}

/** 0: the request has none. */
function readLength(config: IpConfig, ip: Ip, where: string): number {
  const length = config.PrefixLength ?? 0;
  if (length > bitsOf(familyOf(ip)))
    throw invalid(`${where}.PrefixLength is ${length}, which no address has`);
  return length;
}

/**
 * An address with the length of its family's addresses, on its own. Inferred: what versions without the feature answer.
 */
function checkSingle(context: ServiceContext, ip: Ip, length: number, where: string): void {
  if (length !== bitsOf(familyOf(ip)) || context.has("Slash32EndpointPrefixes")) return;
  const { Major, Minor } = context.version;
  throw invalid(`${where}.PrefixLength is ${length}, which HNS ${Major}.${Minor} does not take`);
}

/** @throws HcnError HCN_E_SUBNET_NOT_FOUND for a block that the network does not have. */
function blocksOf(network: NetworkRecord, id: Guid, where: string): readonly AddressPlace[] {
  const blocks = network.subnets.flatMap((subnet) =>
    subnet.ipSubnets
      .filter((ipSubnet) => subnet.id === id || ipSubnet.id === id)
      .map((ipSubnet) => ({ subnet, ipSubnet })),
  );
  if (blocks.length > 0) return blocks;
  throw new HcnError("HCN_E_SUBNET_NOT_FOUND", {
    detail: WORDS.ipSubnetIdUnknown({ where, id, name: network.name }),
  });
}

/** Inferred: the code for an address outside the block that the request names. */
function checkNamedBlock(network: NetworkRecord, config: IpConfig, place: AddressPlace, where: string): void {
  const id = config.IpSubnetId;
  if (id === undefined || id === ZERO_GUID) return;
  if (blocksOf(network, id, where).some(({ ipSubnet }) => ipSubnet === place.ipSubnet)) return;
  throw new HcnError("HCN_E_INVALID_IP", {
    detail: `${where}.IpAddress is in ${formatPrefix(place.ipSubnet.prefix)}, not in the IP subnet ${id}`,
  });
}

/**
 * True for an endpoint of the host itself. Windows Server 2019, too, refuses the address of the bridge endpoint, which
 * host-local hands out first (microsoft/SDN#333, on 1809).
 */
export function isOfHost({ state }: ServiceContext, owner: Guid | undefined): boolean {
  const endpoint = owner === undefined ? undefined : state.endpoints.get(owner);
  return endpoint?.attachment?.kind === "host";
}

function readIpConfig(
  { context, network, pool, takesDuplicates }: Request,
  config: IpConfig,
  where: string,
): IpConfigRecord {
  const ip = readIp(config.IpAddress ?? "", `${where}.IpAddress`);
  const length = readLength(config, ip, where);
  checkSingle(context, ip, length, where);
  const found = pool.findPlace(network.subnets, ip);
  if (found === undefined && network.subnets.length === 0) {
    pool.checkOwner(ip);
    return Object.freeze({ ip, length: length === 0 ? bitsOf(familyOf(ip)) : length, ipSubnetId: undefined });
  }
  if (found === undefined) {
    const subnets = network.subnets.map((subnet) => formatPrefix(subnet.prefix)).join(", ");
    throw new HcnError("HCN_E_INVALID_IP", {
      detail: `${formatIp(ip)} is in no subnet of network ${network.name}, which has ${subnets}`,
    });
  }
  checkNamedBlock(network, config, found, where);
  pool.checkReservation(found, ip);
  if (!takesDuplicates || isOfHost(context, pool.ownerOf(ip))) pool.checkOwner(ip);
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
 * The addresses of a remote endpoint: wherever they lie, and whatever else has them (hcn.md §4.2).
 * Inferred: one without an address is refused, because it would stand for nothing.
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

/** The lengths that addresses of remote endpoints get where the request has none. */
export function defaultLengths(network: NetworkRecord): DefaultLengths {
  return { 4: defaultLength(network, 4), 6: defaultLength(network, 6) };
}

/** As `readIpConfigs`, for a remote endpoint. Nodes that are told the same share the result. */
function remoteIpConfigs(
  { shared }: ServiceContext,
  network: NetworkRecord,
  configs: readonly IpConfig[],
): readonly IpConfigRecord[] {
  const lengths = defaultLengths(network);
  return shared.remoteConfigs(configs, lengths, () =>
    oneOfEachFamily(readRemoteIpConfigs(withAddress(configs), lengths)),
  );
}

function withAddress(configs: readonly IpConfig[]): readonly IpConfig[] {
  return configs.filter((config) => (config.IpAddress ?? "") !== "");
}

function oneOfEachFamily(records: readonly IpConfigRecord[]): readonly IpConfigRecord[] {
  const families = new Set(records.map((record) => familyOf(record.ip)));
  if (families.size !== records.length) throw invalid(WORDS.ipConfigurationsFamilyTwice);
  return Object.freeze(records);
}

function takeFrom({ context, network, pool }: Request, subnets: readonly SubnetRecord[]): IpConfigRecord {
  const ip = pool.allocate(subnets, context.prng);
  const place = defined(pool.findPlace(network.subnets, ip), "an address that was given out is in a block");
  return Object.freeze({ ip, length: place.subnet.prefix.length, ipSubnetId: place.ipSubnet.id });
}

/** An address out of the block that an entry names without an address (hcn.md §4.2: one block per family). */
function takeFromBlock(request: Request, block: Guid, where: string): IpConfigRecord {
  const places = blocksOf(request.network, block, where);
  const subnets = places.map(({ subnet, ipSubnet }) => ({ ...subnet, ipSubnets: [ipSubnet] }));
  return takeFrom(request, subnets);
}

function allocateConfigs(request: Request): readonly IpConfigRecord[] {
  const configs: IpConfigRecord[] = [];
  for (const family of [4, 6] as const) {
    const subnets = request.network.subnets.filter((subnet) => prefixFamily(subnet.prefix) === family);
    if (subnets.length > 0) configs.push(takeFrom(request, subnets));
  }
  return Object.freeze(configs);
}

/** What the addresses of a new endpoint are chosen from. */
interface Request {
  /** A defect of the build: addresses of others count as free. */
  readonly takesDuplicates: boolean;
  readonly context: ServiceContext;
  readonly network: NetworkRecord;
  readonly pool: AddressPool;
}

function namesBlock({ IpSubnetId }: IpConfig): boolean {
  return IpSubnetId !== undefined && IpSubnetId !== ZERO_GUID;
}

/** True when the endpoint's stack asks: on switches without VFP alone (dataplane.md §2.6, §2.12). */
export function asksDhcp(network: NetworkRecord, endpoint: EndpointRecord): boolean {
  const isDhcp = network.ipamType === "Dhcp" || (endpoint.flags & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  return isDhcp && endpoint.ipConfigs.length === 0 && traitsOf(network.type).isPlain;
}

/**
 * True when the endpoint asks a server on the wire for its address: with DHCP, where the network's own service has none
 * to give. Inferred (hcn.md §4.1): such an endpoint has no address in HNS.
 */
function asksOnWire(network: NetworkRecord, document: HostComputeEndpoint): boolean {
  const isDhcp = ((document.Flags ?? 0) & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  return network.ipamType === "Dhcp" || (isDhcp && !traitsOf(network.type).needsIcs);
}

const NO_CONFIGS: readonly IpConfig[] = Object.freeze([]);
const NO_RECORDS: readonly IpConfigRecord[] = Object.freeze([]);

/**
 * The addresses of a new endpoint: those asked for, at most one per family, else one per family from the pool. An
 * empty entry counts as none: the reference plugin sends one when it has no IPAM (cni.md §7.G).
 * @throws HcnError HCN_E_SUBNET_NOT_FOUND, HCN_E_INVALID_IP, HCN_E_ADDR_INVALID_OR_RESERVED, ERROR_OBJECT_ALREADY_EXISTS.
 */
export function readIpConfigs(
  context: ServiceContext,
  network: NetworkRecord,
  document: HostComputeEndpoint,
  isRemote: boolean,
): readonly IpConfigRecord[] {
  const configs = document.IpConfigurations ?? NO_CONFIGS;
  if (isRemote) return remoteIpConfigs(context, network, configs);
  const takesDuplicates = context.hasQuirk("duplicate-local-address");
  const request = { context, network, pool: context.state.poolOf(network.id), takesDuplicates };
  if (network.subnets.length === 0 && traitsOf(network.type).needsSubnet) {
    throw new HcnError("HCN_E_SUBNET_NOT_FOUND", {
      detail: `Network ${network.name} has no subnet; create it with Ipams`,
    });
  }
  const wanted = configs.filter((config) => (config.IpAddress ?? "") !== "" || namesBlock(config));
  if (wanted.length === 0) return asksOnWire(network, document) ? NO_RECORDS : allocateConfigs(request);
  if (context.hasQuirk("source-address-refused")) {
    throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
      detail: "The defect source-address-refused strikes: the address may well be free",
      explanation: "hns-address-refused",
    });
  }
  return oneOfEachFamily(
    wanted.map((config, index) => {
      const where = `IpConfigurations[${index}]`;
      const { IpAddress: address, IpSubnetId: block } = config;
      return (address === undefined || address === "") && block !== undefined
        ? takeFromBlock(request, block, where)
        : readIpConfig(request, config, where);
    }),
  );
}

// MAC and routes.

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
    throw invalid(WORDS.macAddressInvalid({ text: JSON.stringify(text) }));
  const owner = isRemote ? undefined : ownerOfMac(context, network, mac);
  if (owner !== undefined) {
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
      detail: WORDS.macAddressTaken({ mac: formatMac(mac), owner }),
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
  const given = endpoint.Routes ?? [];
  const routes = given.length === 0 ? NO_ROUTES : readRouteRecords(given, "Routes", "HCN_E_INVALID_ENDPOINT");
  if (routes.length > 0) return routes;
  const defaults: RouteRecord[] = [];
  for (const config of configs) {
    const subnet = subnetOf(network, config);
    const route = subnet?.routes.find((candidate) => candidate.destination.length === 0);
    if (route?.nextHop !== undefined) defaults.push(route);
  }
  return defaults.length === 0 ? NO_ROUTES : Object.freeze(defaults);
}
