/** The configuration of host-local: the `ipam` object and what comes beside it (cni.md §4.1). */
import { parseCniArguments } from "#contracts/cni/plugin-input.ts";
import { DecodeError, StructReader } from "#contracts/cni/json.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniRoute, readIpField, readRoute } from "#contracts/cni/result.ts";
import { isAtLeast } from "#contracts/cni/version.ts";
import { type Ip, familyOf, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import type { LeaseNetwork } from "./lease-store.ts";
import {
  AddressRangeError,
  type RangeSet,
  type RangeSpecification,
  checkRangeSet,
  rangeSetsOverlap,
} from "./range.ts";

/** Where upstream keeps leases. On Windows the drive is that of the current folder. */
export const DEFAULT_DATA_DIR = "/var/lib/cni/networks";

/** A checked configuration. */
export interface HostLocalConfiguration {
  readonly network: LeaseNetwork;
  /** The sets, one address each; the index names `last_reserved_ip.INDEX`. */
  readonly rangeSets: readonly RangeSet[];
  readonly requestedIps: readonly Ip[];
  readonly routes: readonly CniRoute[];
  /** The file that `dns` is read from; empty: none. */
  readonly resolvConf: string;
}

/** A configuration that cannot be used, in upstream's words. */
export class HostLocalConfigurationError extends Error {
  override readonly name = "HostLocalConfigurationError";
}

function readIpamObject(request: PluginRequest): StructReader {
  const ipam = new StructReader(request.configuration).struct("ipam");
  if (ipam === undefined) throw new HostLocalConfigurationError("IPAM config missing 'ipam' key");
  return ipam;
}

/** Name and folder of the leases: all that DEL, GC and CHECK need. @throws DecodeError, HostLocalConfigurationError */
export function readLeaseNetwork(request: PluginRequest): LeaseNetwork {
  const dataDir = readIpamObject(request).text("dataDir") || DEFAULT_DATA_DIR;
  return { dataDir, name: new StructReader(request.configuration).text("name") };
}

function readRangeSpecification(reader: StructReader): RangeSpecification {
  const text = reader.raw("subnet") === undefined ? undefined : reader.text("subnet");
  const subnet = text === undefined ? undefined : parseInterfaceAddress(text);
  if (text !== undefined && subnet === undefined) {
    throw new DecodeError(reader.pathOf("subnet"), "a network such as 10.244.3.0/24", text);
  }
  return {
    subnet,
    start: readIpField(reader, "rangeStart"),
    end: readIpField(reader, "rangeEnd"),
    gateway: readIpField(reader, "gateway"),
  };
}

/** A list of lists of ranges; `path` leads to it. */
function readRangeSets(reader: StructReader, name: string): readonly (readonly RangeSpecification[])[] {
  return reader.list(name).map((set, index) => {
    const path = `${reader.pathOf(name)}[${index}]`;
    if (set !== null && !Array.isArray(set)) throw new DecodeError(path, "a list of ranges", set);
    return new StructReader({ [path]: set }).structs(path).map(readRangeSpecification);
  });
}

/** An address with or without prefix length; undefined when it is none. */
function parseRequestedIp(text: string): Ip | undefined {
  return text.includes("/") ? parseInterfaceAddress(text)?.ip : parseIp(text);
}

function readRequestedIps(reader: StructReader | undefined): readonly Ip[] {
  if (reader === undefined) return [];
  return reader.texts("ips").map((text, index) => {
    const ip = parseRequestedIp(text);
    if (ip !== undefined) return ip;
    if (text === "") throw new HostLocalConfigurationError("cannot understand ip: IP <nil> not v4 nor v6");
    throw new DecodeError(`${reader.pathOf("ips")}[${index}]`, "an IP address", text);
  });
}

function readArgumentIp(args: string): readonly Ip[] {
  const text = parseCniArguments(args, ["IP"]).get("IP") ?? "";
  if (text === "") return [];
  const ip = parseRequestedIp(text);
  if (ip !== undefined) return [ip];
  const pair = JSON.stringify(`IP=${text}`);
  throw new HostLocalConfigurationError(
    `ARGS: error parsing value of pair ${pair}: invalid IP address ${text}`,
  );
}

function checkRangeSets(specifications: readonly (readonly RangeSpecification[])[]): readonly RangeSet[] {
  return specifications.map((set, index) => {
    try {
      return checkRangeSet(set);
    } catch (error) {
      if (!(error instanceof AddressRangeError)) throw error;
      throw new HostLocalConfigurationError(`invalid range set ${index}: ${error.message}`, { cause: error });
    }
  });
}

/** Up to 0.2.0 a result holds one address per family. The text shows the version as it was written. */
function checkFamilies(rangeSets: readonly RangeSet[], cniVersion: string): void {
  const v4 = rangeSets.filter((set) => familyOf(set[0].start) === 4).length;
  if (v4 <= 1 && rangeSets.length - v4 <= 1) return;
  if (isAtLeast(cniVersion, "0.3.0")) return;
  throw new HostLocalConfigurationError(
    `CNI version ${cniVersion} does not support more than 1 address per family`,
  );
}

function checkOverlaps(rangeSets: readonly RangeSet[]): void {
  for (const [index, set] of rangeSets.entries()) {
    const other = rangeSets.findIndex((candidate, i) => i > index && rangeSetsOverlap(set, candidate));
    if (other >= 0) throw new HostLocalConfigurationError(`range set ${index} overlaps with ${other}`);
  }
}

/**
 * Reads and checks everything. The sets come in the order of upstream: those of the runtime, the one
 * that stands beside `type`, those of `ranges`.
 * @throws DecodeError, HostLocalConfigurationError; CniError for `CNI_ARGS`.
 */
export function readHostLocalConfiguration(request: PluginRequest): HostLocalConfiguration {
  const network = readLeaseNetwork(request);
  const ipam = readIpamObject(request);
  const whole = new StructReader(request.configuration);
  const runtime = whole.struct("runtimeConfig");
  const single = readRangeSpecification(ipam);
  const specifications = [
    ...(runtime === undefined ? [] : readRangeSets(runtime, "ipRanges")),
    ...(single.subnet === undefined ? [] : [[single]]),
    ...readRangeSets(ipam, "ranges"),
  ];
  const routes = ipam.structs("routes").map(readRoute);
  const requestedIps = [
    ...readArgumentIp(request.args),
    ...readRequestedIps(whole.struct("args")?.struct("cni")),
    ...readRequestedIps(runtime),
  ];
  if (specifications.length === 0) throw new HostLocalConfigurationError("no IP ranges specified");
  const rangeSets = checkRangeSets(specifications);
  checkFamilies(rangeSets, whole.text("cniVersion"));
  checkOverlaps(rangeSets);
  return {
    network,
    rangeSets,
    requestedIps: [...new Set(requestedIps)],
    routes,
    resolvConf: ipam.text("resolvConf"),
  };
}
