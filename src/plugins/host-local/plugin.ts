/** The IPAM plugin host-local: addresses from ranges, kept on the node (cni.md §4). */
import { DecodeError } from "../../cni/decode.ts";
import { readPrevResult, readValidAttachments } from "../../cni/configuration.ts";
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniPlugin, PluginRequest } from "../../cni/plugin.ts";
import { type CniDns, type CniResult, EMPTY_DNS } from "../../cni/result.ts";
import { SPEC_VERSIONS } from "../../cni/version.ts";
import type { KnowledgeCode } from "../../knowledge/codes.ts";
import { formatIp } from "../../net/ip.ts";
import { AllocationError, reserveAddresses } from "./allocation.ts";
import {
  type HostLocalConfiguration,
  HostLocalConfigurationError,
  readHostLocalConfiguration,
  readLeaseNetwork,
} from "./conf.ts";
import {
  type Lease,
  type LeaseAccess,
  type LeaseNetwork,
  type LeaseOwner,
  type LeaseStore,
  LeaseStoreError,
  type Leases,
  leasesOf,
  releaseOwner,
} from "./lease-store.ts";
import { type RangeSet, countAddresses, findRange, formatRangeSet } from "./range.ts";
import { parseResolvConf } from "./resolv-conf.ts";

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
      isBlindForIpv6Owners: this.compat === "reference" && request.platform === "win32",
      isRollingBackEverything: this.compat === "reference",
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

  /** Better: needs name and folder alone, so that a configuration that became invalid releases what it gave. */
  async del(request: PluginRequest): Promise<void> {
    const isReference = this.compat === "reference";
    const network = isReference
      ? this.configure(request, readHostLocalConfiguration).network
      : this.configure(request, readLeaseNetwork);
    const access = isReference ? "create" : "existing";
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
      if (this.compat === "better") this.checkAddresses(request, configuration, held);
    });
  }

  /** Better only: with the reference the verb is not implemented, which is success (cni.md §4.4). */
  async status(request: PluginRequest): Promise<void> {
    if (this.compat === "reference") return;
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

  /** Better only. Releases what belongs to no valid attachment, and records that belong to nobody. */
  async gc(request: PluginRequest): Promise<void> {
    if (this.compat === "reference") return;
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

  private codeOf(better: number): number {
    return this.compat === "better" ? better : CNI_CODES.internal;
  }

  /** Reads configuration; the reference gives its faults no code of their own. */
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
