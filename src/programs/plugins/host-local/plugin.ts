/** The IPAM plugin host-local: addresses from ranges, kept on the node (cni.md §4). */
import { parseCniArguments, readPrevResult, readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { readGoIp } from "#contracts/cni/go-json.ts";
import { DecodeError, StructReader } from "#contracts/cni/json.ts";
import type { PluginMode, PluginRequest, CniPlugin } from "#contracts/cni/plugin.ts";
import { type CniRoute, readRoute, type CniDns, type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import { SINCE, SPEC_VERSIONS, isAtLeast } from "#contracts/cni/version.ts";
import { type Ip, familyOf, parseIp, formatIp, parseInterfaceAddress } from "#core/net/ip.ts";
import { type ByMode, type Compat, type Differences, byMode } from "#core/base/compat.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import {
  type AddressRequest,
  type LeaseNetwork,
  AllocationError,
  type LeaseOwner,
  type Leases,
  releaseOwner,
  type Lease,
  type LeaseAccess,
  type LeaseStore,
  LeaseStoreError,
  countFree,
  leasesOf,
  reserveAddresses,
  AddressRangeError,
  type RangeSet,
  type RangeSpecification,
  checkRangeSet,
  rangeSetsOverlap,
  findRange,
  formatRangeSet,
} from "./leases.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** Where upstream keeps leases. On Windows the drive is that of the current folder. */
export const DEFAULT_DATA_DIR = "/var/lib/cni/networks";

/** A checked configuration. */
interface HostLocalConfiguration extends AddressRequest {
  readonly network: LeaseNetwork;
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
function readLeaseNetwork(request: PluginRequest): LeaseNetwork {
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
    start: readGoIp(reader, "rangeStart"),
    end: readGoIp(reader, "rangeEnd"),
    gateway: readGoIp(reader, "gateway"),
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
  if (isAtLeast(cniVersion, SINCE.addressLists)) return;
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

/** Parses the text: the words of `search` and `options` add up, the last `domain` holds, the rest is ignored. */
export function parseResolvConf(text: string): CniDns {
  const nameservers: string[] = [];
  const search: string[] = [];
  const options: string[] = [];
  let domain = "";
  for (const line of text.split("\n")) {
    const [keyword = "", ...words] = line.trim().split(/\s+/);
    const [first] = words;
    if (first === undefined) continue;
    if (keyword === "nameserver") nameservers.push(first);
    else if (keyword === "domain") domain = first;
    else if (keyword === "search") search.push(...words);
    else if (keyword === "options") options.push(...words);
  }
  return { nameservers, domain, search, options };
}

/** Reads a file as text; rejects with the system's words when it cannot. */
export interface TextFiles {
  readText(path: string): Promise<string>;
}

interface HostLocalOptions extends PluginMode {
  readonly store: LeaseStore;
  /** For `resolvConf`. Default: no file exists. */
  readonly files?: TextFiles;
}

/** Where the plugin behaves in two ways: as it is published, and mended. */
const SWITCHES = {
  /** On Windows the file name fd00__5 does not parse as an address (docs: cni.md §4.5, row 117). */
  isBlindForIpv6Owners: [true, false],
  /** A failing ADD gives back all that the attachment has, also of earlier calls. */
  isRollingBackEverything: [true, false],
  /** DEL needs name and folder alone, so that a configuration that became invalid releases what it gave. */
  releasesByName: [false, true],
  /** CHECK compares addresses, STATUS and GC do something (cni.md §4.4). */
  looks: [false, true],
} as const;

interface HostLocalDifferences extends Differences<typeof SWITCHES> {
  /** The code of a failure that has one of its own in the specification. */
  readonly codeOf: (own: number) => number;
}

const DIFFERENCES: ByMode<HostLocalDifferences> = byMode<HostLocalDifferences>({
  ...SWITCHES,
  codeOf: [() => CNI_CODES.internal, (own) => own],
});

const NO_FILES: TextFiles = Object.freeze({
  readText: (path: string) => Promise.reject(new Error(`open ${path}: no such file or directory`)),
});

function ownerOf(request: PluginRequest): LeaseOwner {
  return { containerId: request.containerId, ifName: request.ifName };
}

function exhausted(code: number, message: string): CniError {
  return new CniError(code, message, { knowledge: "ipam-range-exhausted" });
}

/** @throws CniError that names a record whose owner cannot be known. */
function refuseDamaged(leases: readonly Lease[]): void {
  const damaged = leases.find(({ damage }) => damage !== undefined);
  if (damaged === undefined) return;
  const advice = WORDS.adviceDamagedLease({ ip: formatIp(damaged.ip) });
  throw new CniError(CNI_CODES.ioFailure, `host-local: ${damaged.damage ?? ""}: ${advice}`);
}

export class HostLocal implements CniPlugin {
  readonly name = "host-local";
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly differences: HostLocalDifferences;
  private readonly store: LeaseStore;
  private readonly files: TextFiles;

  constructor(options: HostLocalOptions) {
    this.compat = options.compat;
    this.differences = DIFFERENCES[options.compat];
    this.store = options.store;
    this.files = options.files ?? NO_FILES;
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const configuration = this.configure(request, readHostLocalConfiguration);
    const dns = await this.readDns(configuration.resolvConf);
    const { isBlindForIpv6Owners, isRollingBackEverything } = this.differences;
    const rules = {
      isBlindForIpv6Owners: isBlindForIpv6Owners && request.platform === "win32",
      isRollingBackEverything,
    };
    const ips = await this.withLeases(configuration.network, "create", (leases) => {
      try {
        return reserveAddresses(leases, ownerOf(request), configuration, rules);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        if (error.isExhausted) throw exhausted(CNI_CODES.internal, error.message);
        throw new CniError(CNI_CODES.internal, error.message, { cause: error });
      }
    });
    return { interfaces: [], ips, routes: configuration.routes, dns };
  }

  async del(request: PluginRequest): Promise<void> {
    const { releasesByName } = this.differences;
    const network = releasesByName
      ? this.configure(request, readLeaseNetwork)
      : this.configure(request, readHostLocalConfiguration).network;
    const access = releasesByName ? "existing" : "create";
    await this.withLeases(network, access, (leases) => releaseOwner(leases, ownerOf(request)));
  }

  async check(request: PluginRequest): Promise<void> {
    const configuration = this.configure(request, readHostLocalConfiguration);
    const owner = ownerOf(request);
    await this.withLeases(configuration.network, "existing", (leases) => {
      const held = leasesOf(leases, owner);
      if (held.length === 0) {
        if (this.differences.looks) refuseDamaged(leases.list());
        const message = `host-local: Failed to find address added by container ${request.containerId}`;
        throw new CniError(CNI_CODES.internal, message);
      }
      if (this.differences.looks) this.checkAddresses(request, configuration, held);
    });
  }

  /** Not implemented as published, which is success (cni.md §4.4). */
  async status(request: PluginRequest): Promise<void> {
    if (!this.differences.looks) return;
    const { network, rangeSets } = this.configure(request, readHostLocalConfiguration);
    await this.withLeases(network, "existing", (leases) => {
      const taken = leases.list();
      const full = rangeSets.find((set) => countFree(taken, set) <= 0n);
      if (full === undefined) return;
      throw exhausted(
        CNI_CODES.pluginNotAvailable,
        `no IP addresses available in range set: ${formatRangeSet(full)}`,
      );
    });
  }

  /** Releases what belongs to no valid attachment, and records without an owner. What is damaged stays, and is told. */
  async gc(request: PluginRequest): Promise<void> {
    if (!this.differences.looks) return;
    const network = this.configure(request, readLeaseNetwork);
    const valid = this.configure(request, ({ configuration }) => readValidAttachments(configuration));
    if (valid === undefined) return;
    await this.withLeases(network, "existing", (leases) => {
      const listed = leases.list();
      for (const lease of listed) {
        if (lease.damage !== undefined) continue;
        const isValid = valid.some(
          ({ containerId, ifName }) =>
            containerId === lease.containerId && (lease.ifName === undefined || lease.ifName === ifName),
        );
        if (!isValid) leases.release(lease.ip);
      }
      refuseDamaged(listed);
    });
  }

  /**
   * Every address of `prevResult` that this configuration could have given must be held by the attachment;
   * others belong to other plugins of the chain.
   */
  private checkAddresses(
    request: PluginRequest,
    configuration: HostLocalConfiguration,
    held: readonly Lease[],
  ): void {
    const result = this.configure(request, () => readPrevResult(request.configuration));
    for (const { address } of result?.ips ?? []) {
      const isOurs = configuration.rangeSets.some((set) => findRange(set, address.ip) !== undefined);
      if (!isOurs || held.some(({ ip }) => ip === address.ip)) continue;
      const holds = held.map(({ ip }) => formatIp(ip)).join(", ");
      throw new CniError(
        CNI_CODES.internal,
        WORDS.hostLocalAddressNotReserved({
          ip: formatIp(address.ip),
          containerId: request.containerId,
          holds,
        }),
      );
    }
  }

  private async readDns(path: string): Promise<CniDns> {
    if (path === "") return EMPTY_DNS;
    try {
      return parseResolvConf(await this.files.readText(path));
    } catch (error) {
      throw new CniError(this.differences.codeOf(CNI_CODES.ioFailure), describeError(error), {
        cause: error,
      });
    }
  }

  private configure<T>(request: PluginRequest, read: (request: PluginRequest) => T): T {
    try {
      return read(request);
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof HostLocalConfigurationError)) throw error;
      const isAboutRanges =
        error instanceof HostLocalConfigurationError || /^(ipam|runtimeConfig)\b/i.test(error.field);
      const knowledge: KnowledgeCode | undefined = isAboutRanges ? "ipam-range-invalid" : undefined;
      throw new CniError(this.differences.codeOf(CNI_CODES.invalidNetworkConfig), error.message, {
        knowledge,
        cause: error,
      });
    }
  }

  private async withLeases<T>(
    network: LeaseNetwork,
    access: LeaseAccess,
    work: (leases: Leases) => T,
  ): Promise<T> {
    try {
      return await this.store.withLeases(network, access, work);
    } catch (error) {
      if (!(error instanceof LeaseStoreError)) throw error;
      const code =
        error.reason === "busy" ? CNI_CODES.tryAgainLater : this.differences.codeOf(CNI_CODES.ioFailure);
      throw new CniError(code, error.message, { cause: error });
    }
  }
}
