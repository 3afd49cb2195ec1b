/** The addresses of a new endpoint (hcn.md §4.2): asked for, out of a block, given out, or left to DHCP. */
import { defined } from "#core/base/assert.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  ENDPOINT_FLAGS,
  type HostComputeEndpoint,
  type IpConfig,
} from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
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
import type { EndpointRecord, IpConfigRecord } from "./endpoint-record.ts";
import type { NetworkRecord, SubnetRecord } from "../network/network-record.ts";
import { traitsOf } from "../network/type-traits.ts";
import type { DefaultLengths } from "../../compile/shared-values.ts";
import type { ServiceContext } from "../service-context.ts";

function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_ENDPOINT", { detail });
}

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
    detail: `${where}.IpSubnetId is ${id}, which is not a subnet or IP subnet of network ${network.name}`,
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

/** As `readIpConfigs`, for a remote endpoint. Nodes that are told the same share the result. */
function remoteIpConfigs(
  { shared }: ServiceContext,
  network: NetworkRecord,
  configs: readonly IpConfig[],
): readonly IpConfigRecord[] {
  const lengths = { 4: defaultLength(network, 4), 6: defaultLength(network, 6) };
  return shared.remoteConfigs(configs, lengths, () =>
    oneOfEachFamily(readRemoteIpConfigs(withAddress(configs), lengths)),
  );
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

function takeFrom({ context, network, pool }: Request, subnets: readonly SubnetRecord[]): IpConfigRecord {
  const ip = pool.allocate(subnets, context.prng);
  const place = defined(pool.findPlace(network.subnets, ip), "an address that was given out is in a block");
  return Object.freeze({ ip, length: place.subnet.prefix.length, ipSubnetId: place.ipSubnet.id });
}

/** An address out of the block that an entry names without an address (hcn.md §4.2: one block per family). */
function readBlockConfig(request: Request, config: IpConfig, where: string): IpConfigRecord {
  const places = blocksOf(request.network, config.IpSubnetId ?? "", where);
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

/** True when the endpoint's stack asks: on switches without VFP alone (dataplane.md §2.6, §2.12, DT-066). */
export function asksDhcp(network: NetworkRecord, endpoint: EndpointRecord): boolean {
  const isDhcp = network.ipamType === "Dhcp" || (endpoint.flags & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  return isDhcp && endpoint.ipConfigs.length === 0 && traitsOf(network.type).isPlain;
}

/**
 * True when the endpoint asks somebody on the wire for its address: with DHCP, where the network's own service has none
 * to give. Inferred (hcn.md §4.1): such an endpoint has no address in HNS.
 */
function asksOnWire(network: NetworkRecord, document: HostComputeEndpoint): boolean {
  const isDhcp = ((document.Flags ?? 0) & ENDPOINT_FLAGS.EnableDhcp) !== 0;
  return network.ipamType === "Dhcp" || (isDhcp && !traitsOf(network.type).needsIcs);
}

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
      const read = (config.IpAddress ?? "") === "" ? readBlockConfig : readIpConfig;
      return read(request, config, where);
    }),
  );
}

const NO_CONFIGS: readonly IpConfig[] = Object.freeze([]);
const NO_RECORDS: readonly IpConfigRecord[] = Object.freeze([]);
