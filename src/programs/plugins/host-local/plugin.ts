/** The IPAM plugin host-local: addresses from ranges, kept on the node (cni.md §4). */
import type { Compat } from "#core/base/compat.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { readPrevResult, readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { DecodeError } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { CniPlugin, PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniIp, type CniDns, type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, familyOf, formatIp } from "#core/net/ip.ts";
import {
  type HostLocalConfiguration,
  HostLocalConfigurationError,
  readHostLocalConfiguration,
  readLeaseNetwork,
} from "./conf.ts";
import {
  type LeaseOwner,
  type Leases,
  releaseOwner,
  type Lease,
  type LeaseAccess,
  type LeaseNetwork,
  type LeaseStore,
  LeaseStoreError,
  leasesOf,
} from "./lease-store.ts";
import { type RangeSet, findRange, formatRangeSet, listCandidates, countAddresses } from "./range.ts";

/** No address can be given. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
  /** True when a set has no free address left. */
  readonly isExhausted: boolean;

  constructor(message: string, isExhausted = false) {
    super(message);
    this.isExhausted = isExhausted;
  }
}

/** How the allocator behaves where upstream has a defect. */
export interface AllocationRules {
  /** Upstream on Windows cannot read the owner of an IPv6 lease from its file name. */
  readonly isBlindForIpv6Owners: boolean;
  /** Upstream's roll-back releases whatever the owner holds, also what earlier calls gave it. */
  readonly isRollingBackEverything: boolean;
}

interface Allocation {
  readonly leases: Leases;
  readonly owner: LeaseOwner;
  readonly rules: AllocationRules;
}

function toResult(ip: Ip, set: RangeSet): CniIp {
  const range = findRange(set, ip) ?? set[0];
  return { address: { ip, length: range.subnet.length }, gateway: range.gateway };
}

function reserveRequested(allocation: Allocation, set: RangeSet, index: number, ip: Ip): CniIp {
  const { leases, owner } = allocation;
  if (findRange(set, ip)?.gateway === ip) {
    throw new AllocationError(`requested ip ${formatIp(ip)} is subnet's gateway`);
  }
  if (!leases.reserve(ip, owner, index)) {
    const where = formatRangeSet(set);
    throw new AllocationError(`requested IP address ${formatIp(ip)} is not available in range set ${where}`);
  }
  return toResult(ip, set);
}

/** Every lease of the container and interface, and those of old versions of the container. */
function heldIps({ leases, owner, rules }: Allocation): readonly Ip[] {
  return leases
    .list()
    .filter((lease) => lease.containerId === owner.containerId.trim())
    .filter((lease) => lease.ifName === undefined || lease.ifName === owner.ifName)
    .map((lease) => lease.ip)
    .filter((ip) => !rules.isBlindForIpv6Owners || familyOf(ip) === 4);
}

function reserveNext(allocation: Allocation, set: RangeSet, index: number): CniIp {
  const { leases, owner } = allocation;
  const held = heldIps(allocation).find((ip) => findRange(set, ip) !== undefined);
  if (held !== undefined) {
    throw new AllocationError(
      `${formatIp(held)} has been allocated to ${owner.containerId}, duplicate allocation is not allowed`,
    );
  }
  const taken = new Set(leases.list().map((lease) => lease.ip));
  for (const { ip } of listCandidates(set, leases.lastReserved(index))) {
    if (!taken.has(ip) && leases.reserve(ip, owner, index)) return toResult(ip, set);
  }
  throw new AllocationError(`no IP addresses available in range set: ${formatRangeSet(set)}`, true);
}

/**
 * Reserves one address of every set for `owner`: a requested one that fits, else the next free one.
 * Either all are reserved or none. Inferred: upstream locks each set on its own; here one lock spans them all,
 * which no single caller can tell.
 * @throws AllocationError
 */
export function reserveAddresses(
  leases: Leases,
  owner: LeaseOwner,
  configuration: HostLocalConfiguration,
  rules: AllocationRules,
): readonly CniIp[] {
  const allocation = { leases, owner, rules };
  const requested = new Set(configuration.requestedIps);
  const ips: CniIp[] = [];
  const rollBack = (): void => {
    if (ips.length > 0 && rules.isRollingBackEverything) releaseOwner(leases, owner);
    else for (const { address } of ips) leases.release(address.ip);
  };
  for (const [index, set] of configuration.rangeSets.entries()) {
    const wanted = [...requested].find((ip) => findRange(set, ip) !== undefined);
    if (wanted !== undefined) requested.delete(wanted);
    try {
      ips.push(
        wanted === undefined
          ? reserveNext(allocation, set, index)
          : reserveRequested(allocation, set, index, wanted),
      );
    } catch (error) {
      rollBack();
      if (!(error instanceof AllocationError)) throw error;
      throw new AllocationError(`failed to allocate for range ${index}: ${error.message}`, error.isExhausted);
    }
  }
  if (requested.size > 0) {
    rollBack();
    const left = [...requested].map(formatIp).join(" ");
    throw new AllocationError(`failed to allocate all requested IPs: ${left}`);
  }
  return ips;
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

export interface HostLocalOptions {
  readonly store: LeaseStore;
  readonly compat: Compat;
  /** For `resolvConf`. Default: no file exists. */
  readonly files?: TextFiles;
}

const NO_FILES: TextFiles = Object.freeze({
  readText: (path: string) => Promise.reject(new Error(`open ${path}: no such file or directory`)),
});

function ownerOf(request: PluginRequest): LeaseOwner {
  return { containerId: request.containerId, ifName: request.ifName };
}

/** Addresses of the set that nobody holds. */
function countFree(leases: readonly Lease[], set: RangeSet): bigint {
  const taken = leases.filter(({ ip }) => {
    const range = findRange(set, ip);
    return range !== undefined && range.gateway !== ip;
  });
  return countAddresses(set) - BigInt(taken.length);
}

function exhausted(code: number, message: string): CniError {
  return new CniError(code, message, { knowledge: "ipam-range-exhausted" });
}

export class HostLocal implements CniPlugin {
  readonly name = "host-local";
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly store: LeaseStore;
  private readonly files: TextFiles;

  constructor(options: HostLocalOptions) {
    this.compat = options.compat;
    this.store = options.store;
    this.files = options.files ?? NO_FILES;
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const configuration = this.configure(request, readHostLocalConfiguration);
    const dns = await this.readDns(configuration.resolvConf);
    const rules = {
      // docs: cni.md §4.5, row 117: the file name fd00__5 does not parse as an address.
      isBlindForIpv6Owners: this.compat === "upstream" && request.platform === "win32",
      isRollingBackEverything: this.compat === "upstream",
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

  /** Hardened: needs name and folder alone, so that a configuration that became invalid releases what it gave. */
  async del(request: PluginRequest): Promise<void> {
    const isUpstream = this.compat === "upstream";
    const network = isUpstream
      ? this.configure(request, readHostLocalConfiguration).network
      : this.configure(request, readLeaseNetwork);
    const access = isUpstream ? "create" : "existing";
    await this.withLeases(network, access, (leases) => releaseOwner(leases, ownerOf(request)));
  }

  async check(request: PluginRequest): Promise<void> {
    const configuration = this.configure(request, readHostLocalConfiguration);
    const owner = ownerOf(request);
    await this.withLeases(configuration.network, "existing", (leases) => {
      const held = leasesOf(leases, owner);
      if (held.length === 0) {
        const message = `host-local: Failed to find address added by container ${request.containerId}`;
        throw new CniError(CNI_CODES.internal, message);
      }
      if (this.compat === "hardened") this.checkAddresses(request, configuration, held);
    });
  }

  /** Hardened only: with upstream the verb is not implemented, which is success (cni.md §4.4). */
  async status(request: PluginRequest): Promise<void> {
    if (this.compat === "upstream") return;
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

  /** Hardened only. Releases what belongs to no valid attachment, and records that belong to nobody. */
  async gc(request: PluginRequest): Promise<void> {
    if (this.compat === "upstream") return;
    const network = this.configure(request, readLeaseNetwork);
    const valid = this.configure(request, ({ configuration }) => readValidAttachments(configuration));
    if (valid === undefined) return;
    await this.withLeases(network, "existing", (leases) => {
      for (const lease of leases.list()) {
        const isValid = valid.some(
          ({ containerId, ifName }) =>
            containerId === lease.containerId && (lease.ifName === undefined || lease.ifName === ifName),
        );
        if (!isValid) leases.release(lease.ip);
      }
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
        `host-local: address ${formatIp(address.ip)} of the result is not reserved for container ${request.containerId}, which holds ${holds}`,
      );
    }
  }

  private async readDns(path: string): Promise<CniDns> {
    if (path === "") return EMPTY_DNS;
    try {
      return parseResolvConf(await this.files.readText(path));
    } catch (error) {
      throw new CniError(this.codeOf(CNI_CODES.ioFailure), describeError(error), { cause: error });
    }
  }

  private codeOf(hardened: number): number {
    return this.compat === "hardened" ? hardened : CNI_CODES.internal;
  }

  /** Reads configuration; upstream gives its faults no code of their own. */
  private configure<T>(request: PluginRequest, read: (request: PluginRequest) => T): T {
    try {
      return read(request);
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof HostLocalConfigurationError)) throw error;
      const isAboutRanges =
        error instanceof HostLocalConfigurationError || /^(ipam|runtimeConfig)\b/i.test(error.field);
      const knowledge: KnowledgeCode | undefined = isAboutRanges ? "ipam-range-invalid" : undefined;
      throw new CniError(this.codeOf(CNI_CODES.invalidNetworkConfig), error.message, {
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
      const code = error.reason === "busy" ? CNI_CODES.tryAgainLater : this.codeOf(CNI_CODES.ioFailure);
      throw new CniError(code, error.message, { cause: error });
    }
  }
}
