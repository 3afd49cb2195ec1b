/**
 * Results of ADD: one shape inside, seven versions on the wire (cni.md §1.5).
 *
 * Inside, a result is what 1.1.0 can say. `formatResult` gives the object of one version with its keys in the
 * order in which the Go library prints them; `parseResult` reads any version.
 */
import {
  type InterfaceAddress,
  type Ip,
  familyOf,
  formatIp,
  parseInterfaceAddress,
  parseIp,
} from "#core/net/ip.ts";
import { DecodeError, type StructReader, readStruct, formatJson, sortKeys } from "./json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "./error.ts";
import { OLDEST_VERSION, SPEC_VERSIONS } from "./version.ts";

export interface CniInterface {
  readonly name: string;
  readonly mac?: string;
  readonly mtuBytes?: number;
  /** `CNI_NETNS` for interfaces inside the container, empty for host-side ones. */
  readonly sandbox?: string;
  readonly socketPath?: string;
  readonly pciId?: string;
}

export interface CniIp {
  /** Index into the interfaces. */
  readonly interface?: number;
  readonly address: InterfaceAddress;
  readonly gateway?: Ip;
}

export interface CniRoute {
  readonly destination: InterfaceAddress;
  readonly gateway?: Ip;
  readonly mtuBytes?: number;
  readonly advertisedMssBytes?: number;
  readonly priority?: number;
  readonly table?: number;
  readonly scope?: number;
}

export interface CniDns {
  readonly nameservers: readonly string[];
  readonly domain: string;
  readonly search: readonly string[];
  readonly options: readonly string[];
}

/** What an attachment has; lists may be empty. */
export interface CniResult {
  readonly interfaces: readonly CniInterface[];
  readonly ips: readonly CniIp[];
  readonly routes: readonly CniRoute[];
  readonly dns: CniDns;
  /** The version to print it in when that is not the configuration's: a meta plugin may hand on what it was given. */
  readonly printedVersion?: string;
}

export const EMPTY_DNS: CniDns = Object.freeze({ nameservers: [], domain: "", search: [], options: [] });

export function isEmptyDns(dns: CniDns): boolean {
  return (
    dns.nameservers.length === 0 && dns.domain === "" && dns.search.length === 0 && dns.options.length === 0
  );
}

/** `address/length`, host bits kept. */
export function formatInterfaceAddress(address: InterfaceAddress): string {
  return `${formatIp(address.ip)}/${address.length}`;
}

// Formatting

/** Members that hold something; Go omits empty texts, lists and zero numbers. */
function present(entries: readonly (readonly [key: string, value: JsonValue | undefined])[]): JsonObject {
  const kept = entries.filter(([, value]) => {
    if (value === undefined || value === "" || value === null) return false;
    return !(Array.isArray(value) && value.length === 0);
  });
  return Object.fromEntries(kept);
}

/** Go omits a plain number that is 0; `table` and `scope` are pointers and stay. */
function nonZero(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

function formatGateway(gateway: Ip | undefined): string | undefined {
  return gateway === undefined ? undefined : formatIp(gateway);
}

/** The `dns` member; empty parts are left out. */
export function formatDns(dns: CniDns): JsonObject {
  return present([
    ["nameservers", dns.nameservers],
    ["domain", dns.domain],
    ["search", dns.search],
    ["options", dns.options],
  ]);
}

function formatInterface(value: CniInterface, hasDetails: boolean): JsonObject {
  const base: JsonObject = { name: value.name };
  const rest = present([
    ["mac", value.mac],
    ["mtu", hasDetails ? nonZero(value.mtuBytes) : undefined],
    ["sandbox", value.sandbox],
    ["socketPath", hasDetails ? value.socketPath : undefined],
    ["pciID", hasDetails ? value.pciId : undefined],
  ]);
  return { ...base, ...rest };
}

function formatRoute(route: CniRoute): JsonObject {
  return present([
    ["dst", formatInterfaceAddress(route.destination)],
    ["gw", formatGateway(route.gateway)],
    ["mtu", nonZero(route.mtuBytes)],
    ["advmss", nonZero(route.advertisedMssBytes)],
    ["priority", nonZero(route.priority)],
    ["table", route.table],
    ["scope", route.scope],
  ]);
}

function formatIpEntry(ip: CniIp, hasVersion: boolean): JsonObject {
  return present([
    ["version", hasVersion ? `${familyOf(ip.address.ip)}` : undefined],
    ["interface", ip.interface],
    ["address", formatInterfaceAddress(ip.address)],
    ["gateway", formatGateway(ip.gateway)],
  ]);
}

function formatFamily(result: CniResult, family: 4 | 6): JsonObject | undefined {
  const first = result.ips.find((ip) => familyOf(ip.address.ip) === family);
  if (first === undefined) return undefined;
  const routes = result.routes.filter((route) => familyOf(route.destination.ip) === family);
  return present([
    ["ip", formatInterfaceAddress(first.address)],
    ["gateway", formatGateway(first.gateway)],
    [
      "routes",
      routes.map(({ destination, gateway }) =>
        formatRoute(gateway === undefined ? { destination } : { destination, gateway }),
      ),
    ],
  ]);
}

function formatLegacy(result: CniResult, version: string): JsonObject {
  const ip4 = formatFamily(result, 4);
  const ip6 = formatFamily(result, 6);
  if (ip4 === undefined && ip6 === undefined) {
    throw new CniError(CNI_CODES.internal, "cannot convert: no valid IP addresses");
  }
  return {
    cniVersion: version,
    ...present([
      ["ip4", ip4],
      ["ip6", ip6],
    ]),
    dns: formatDns(result.dns),
  };
}

/**
 * The result object of `version`, keys in the order of print.
 * @throws CniError (999) when the version is unknown, or cannot hold the result (up to 0.2.0: no address).
 */
export function formatResult(result: CniResult, version: string): JsonObject {
  if (!SPEC_VERSIONS.includes(version)) {
    throw new CniError(CNI_CODES.internal, `no converter for CNI result version 1.1.0 to ${version}`);
  }
  if (version < "0.3.0") return formatLegacy(result, version);
  const isModern = version >= "1.0.0";
  const lists = present([
    ["interfaces", result.interfaces.map((value) => formatInterface(value, isModern))],
    ["ips", result.ips.map((ip) => formatIpEntry(ip, !isModern))],
    ["routes", result.routes.map(formatRoute)],
  ]);
  if (!isModern) return { cniVersion: version, ...lists, dns: formatDns(result.dns) };
  const dns: JsonObject = isEmptyDns(result.dns) ? {} : { dns: formatDns(result.dns) };
  return sortKeys({ cniVersion: version, ...lists, ...dns }) as JsonObject;
}

/** Prints a result for stdout: four spaces per level, no newline at the end. */
export function printResult(result: CniResult, version: string): string {
  return formatJson(formatResult(result, version), 4);
}

// Parsing

function parseAddressField(reader: StructReader, name: string): InterfaceAddress {
  const text = reader.text(name);
  const address = parseInterfaceAddress(text);
  if (address === undefined) {
    throw new DecodeError(reader.pathOf(name), "an address with a prefix length", text);
  }
  return address;
}

/** An address field of a struct; undefined when absent or empty. @throws DecodeError when it is none. */
export function readIpField(reader: StructReader, name: string): Ip | undefined {
  const text = reader.text(name);
  if (text === "") return undefined;
  const ip = parseIp(text);
  if (ip === undefined) throw new DecodeError(reader.pathOf(name), "an IP address", text);
  return ip;
}

/** Drops the members that are undefined, which an optional property must not hold. */
function compact<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as T;
}

/** Reads one route (`dst`, `gw`, …). @throws DecodeError */
export function readRoute(reader: StructReader): CniRoute {
  return compact<CniRoute>({
    destination: parseAddressField(reader, "dst"),
    gateway: readIpField(reader, "gw"),
    mtuBytes: reader.integer("mtu"),
    advertisedMssBytes: reader.integer("advmss"),
    priority: reader.integer("priority"),
    table: reader.integer("table"),
    scope: reader.integer("scope"),
  });
}

/** Reads a `dns` object; absent parts are empty. @throws DecodeError */
export function readDns(reader: StructReader | undefined): CniDns {
  if (reader === undefined) return EMPTY_DNS;
  return {
    nameservers: reader.texts("nameservers"),
    domain: reader.text("domain"),
    search: reader.texts("search"),
    options: reader.texts("options"),
  };
}

function readInterface(reader: StructReader): CniInterface {
  const textOf = (name: string): string | undefined => reader.text(name) || undefined;
  return compact<CniInterface>({
    name: reader.text("name"),
    mac: textOf("mac"),
    mtuBytes: reader.integer("mtu"),
    sandbox: textOf("sandbox"),
    socketPath: textOf("socketPath"),
    pciId: textOf("pciID"),
  });
}

function readIpEntry(reader: StructReader): CniIp {
  return compact<CniIp>({
    interface: reader.integer("interface"),
    address: parseAddressField(reader, "address"),
    gateway: readIpField(reader, "gateway"),
  });
}

function readLegacy(reader: StructReader): CniResult {
  const families = [reader.struct("ip4"), reader.struct("ip6")].filter((family) => family !== undefined);
  return {
    interfaces: [],
    ips: families.map((family) =>
      compact<CniIp>({
        interface: undefined,
        address: parseAddressField(family, "ip"),
        gateway: readIpField(family, "gateway"),
      }),
    ),
    routes: families.flatMap((family) => family.structs("routes").map(readRoute)),
    dns: readDns(reader.struct("dns")),
  };
}

/**
 * Reads a result of any version. `assumedVersion` stands in when it does not say its own.
 * @throws DecodeError for wrong fields, CniError (999) for a version that is unknown.
 */
export function parseResult(document: JsonValue, assumedVersion: string): CniResult {
  const reader = readStruct(document, "");
  const version = reader.text("cniVersion") || assumedVersion || OLDEST_VERSION;
  if (!SPEC_VERSIONS.includes(version)) {
    throw new CniError(CNI_CODES.internal, `unsupported CNI result version ${JSON.stringify(version)}`);
  }
  if (version < "0.3.0") return readLegacy(reader);
  return {
    interfaces: reader.structs("interfaces").map(readInterface),
    ips: reader.structs("ips").map(readIpEntry),
    routes: reader.structs("routes").map(readRoute),
    dns: readDns(reader.struct("dns")),
  };
}
