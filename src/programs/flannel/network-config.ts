/** flannel's `net-conf.json`: what the cluster's pod network is (control-planes.md §1.3). */
import { messageOf } from "#core/base/thrown.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  type Ip,
  type Prefix,
  addToIp,
  bitsOf,
  formatIp,
  lastIp,
  maskIp,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import { readConfig, unknownFields } from "./config-fields.ts";
import { FlannelError } from "./reports.ts";
import { BACKEND, NET_CONF } from "./net-conf.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/** Which subnets of one family nodes get; only an etcd store reads it. */
export interface SubnetChoice {
  readonly length?: number | undefined;
  readonly min?: Ip | undefined;
  readonly max?: Ip | undefined;
}

export interface NetworkConfig {
  readonly isIpv4Enabled: boolean;
  readonly isIpv6Enabled: boolean;
  readonly usesNftables: boolean;
  readonly network: Prefix | undefined;
  readonly ipv6Network: Prefix | undefined;
  readonly subnets: SubnetChoice;
  readonly ipv6Subnets: SubnetChoice;
  /** As it is written; `udp` without a backend, whatever the documentation says. */
  readonly backendType: string;
  readonly backend: JsonObject;
  /** Fields that are not read, one sentence each. */
  readonly unknownFields: readonly string[];
}

const NO_BACKEND: JsonObject = Object.freeze({});

/** What stands before the names of its fields in messages. */
export const BACKEND_PLACE = "Backend.";

/** What flanneld takes without a `Backend`. */
const DEFAULT_BACKEND = "udp";

function readJson(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    throw new FlannelError("flanneld-configuration-invalid", messageOf(error), { cause: error });
  }
}

/** @throws FlannelError that names the place of a fault, or the field and what to write. */
export function parseNetworkConfig(text: string): NetworkConfig {
  const value = readJson(text);
  if (!isJsonObject(value))
    throw new FlannelError("flanneld-configuration-invalid", WORDS.configurationNotJson);
  const given = readConfig(NET_CONF, value);
  const { Backend: backend } = given;
  return Object.freeze({
    isIpv4Enabled: given.EnableIPv4 ?? true,
    isIpv6Enabled: given.EnableIPv6 ?? false,
    usesNftables: given.EnableNFTables ?? false,
    network: given.Network,
    ipv6Network: given.IPv6Network,
    subnets: Object.freeze({ length: given.SubnetLen, min: given.SubnetMin, max: given.SubnetMax }),
    ipv6Subnets: Object.freeze({
      length: given.IPv6SubnetLen,
      min: given.IPv6SubnetMin,
      max: given.IPv6SubnetMax,
    }),
    backendType:
      backend === undefined ? DEFAULT_BACKEND : (readConfig(BACKEND, backend, BACKEND_PLACE).Type ?? ""),
    backend: backend ?? NO_BACKEND,
    unknownFields: Object.freeze(unknownFields([NET_CONF], value)),
  });
}

/** From which subnets of one family an etcd store takes one for a node. */
export interface SubnetRange {
  readonly length: number;
  /** The first and the last subnet, by their addresses. */
  readonly min: Ip;
  readonly max: Ip;
}

interface FamilyRules {
  readonly name: string;
  readonly prefix: string;
  readonly lengthMax: number;
  readonly networkLengthMax: number;
  /** What a node gets where the network is large enough, and how large that is. */
  readonly usualLength: number;
  readonly usualNetworkMax: number;
}

const IPV4_RULES: FamilyRules = {
  name: "Network",
  prefix: "",
  lengthMax: 30,
  networkLengthMax: 28,
  usualLength: 24,
  usualNetworkMax: 22,
};
const IPV6_RULES: FamilyRules = {
  name: "IPv6Network",
  prefix: "IPv6",
  lengthMax: 126,
  networkLengthMax: 124,
  usualLength: 64,
  usualNetworkMax: 62,
};

function badLength(message: string): FlannelError {
  return new FlannelError("flannel-subnet-length-invalid", message);
}

function subnetLength(rules: FamilyRules, network: Prefix, given: number | undefined): number {
  // Zero counts as absent, as in Go.
  if (given !== undefined && given > 0) {
    if (given > rules.lengthMax)
      throw badLength(
        `SubnetLen must be less than /${rules.lengthMax + 1}: ${rules.prefix}SubnetLen is ${given}`,
      );
    if (given < network.length + 2)
      throw badLength(
        WORDS.subnetLenTooShort({
          prefix: rules.prefix,
          given,
          name: rules.name,
          networkLength: network.length,
        }),
      );
    return given;
  }
  if (network.length > rules.networkLengthMax)
    throw badLength(
      `${rules.prefix === "" ? "network" : rules.name} is too small. Minimum useful network prefix is /${rules.networkLengthMax}`,
    );
  return network.length <= rules.usualNetworkMax ? rules.usualLength : network.length + 2;
}

/** A number as large as the subnet is, in the family's own kind of address. */
function stepOf(ip: Ip, length: number): Ip {
  return (typeof ip === "number" ? 2 ** (32 - length) : 1n << BigInt(128 - length)) as Ip;
}

/** The address of the following subnet; undefined when there is none. */
export function nextSubnet(ip: Ip, length: number): Ip | undefined {
  if (typeof ip === "number") return addToIp(ip, Number(stepOf(ip, length)));
  const next = ip + (1n << BigInt(128 - length));
  return next < 1n << BigInt(bitsOf(6)) ? (next as Ip) : undefined;
}

function subnetRange(rules: FamilyRules, network: Prefix, choice: SubnetChoice): SubnetRange {
  const length = subnetLength(rules, network, choice.length);
  const bounds = {
    // The first one is left alone: its address would be the network's own.
    Min: choice.min ?? nextSubnet(network.address, length) ?? network.address,
    Max: choice.max ?? maskIp(lastIp(network), length),
  };
  for (const [bound, ip] of Object.entries(bounds)) {
    const field = `${rules.prefix}Subnet${bound}`;
    if (!prefixContains(network, ip))
      throw badLength(`${field} is not in the range of the ${rules.name}: ${formatIp(ip)}`);
    if (maskIp(ip, length) !== ip)
      throw badLength(`${field} is not on a SubnetLen boundary: ${formatIp(ip)} with /${length}`);
  }
  if (bounds.Min > bounds.Max)
    throw badLength(
      `${rules.prefix}SubnetMin ${formatIp(bounds.Min)} comes after ${rules.prefix}SubnetMax ${formatIp(bounds.Max)}: no subnet is left`,
    );
  return Object.freeze({ length, min: bounds.Min, max: bounds.Max });
}

export interface SubnetRanges {
  readonly ipv4: SubnetRange | undefined;
  readonly ipv6: SubnetRange | undefined;
}

function requireNetwork(network: Prefix | undefined, name: string): Prefix {
  if (network !== undefined && network.length > 0) return network;
  throw new FlannelError(
    "flannel-network-invalid",
    `please define a correct ${name} parameter in the flannel config`,
  );
}

/**
 * What upstream checks where flannel's own store gives out the subnets (control-planes.md §1.3); with subnets from Node
 * objects nothing does.
 * @throws FlannelError.
 */
export function subnetRangesOf(config: NetworkConfig): SubnetRanges {
  const ipv4 = config.isIpv4Enabled
    ? subnetRange(IPV4_RULES, requireNetwork(config.network, "Network"), config.subnets)
    : undefined;
  const ipv6 = config.isIpv6Enabled
    ? subnetRange(IPV6_RULES, requireNetwork(config.ipv6Network, "IPv6Network"), config.ipv6Subnets)
    : undefined;
  return { ipv4, ipv6 };
}

/** True when a lease's subnet could have come out of this range. */
export function isInRange(range: SubnetRange | undefined, subnet: Prefix | undefined): boolean {
  if (range === undefined || subnet === undefined) return range === undefined && subnet === undefined;
  return (
    prefixFamily(subnet) === (typeof range.min === "number" ? 4 : 6) &&
    subnet.length === range.length &&
    subnet.address >= range.min &&
    subnet.address <= range.max
  );
}
