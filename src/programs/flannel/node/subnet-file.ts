/**
 * How flanneld reports that its network stands: `subnet.env` on its disk, which the CNI plugin reads and flanneld itself at
 * the next start (control-planes.md §1.7), and word to the store.
 */
import { type IpFamily, type Prefix, parseInterfaceAddress, prefixFamily, prefixOf } from "#core/net/ip.ts";
import { isSubnetEnvDamaged, formatSubnetEnv, sealSubnetEnv } from "#contracts/cni/subnet-env.ts";
import type { FlannelLog } from "../reports.ts";
import { flannel } from "#data/words.js";
import type { FlanneldDifferences } from "../differences.ts";
import type { Registration } from "../backends/backend.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { FlannelHost } from "./flannel-host.ts";
import type { FlanneldOptions } from "../flanneld-options.ts";
import type { LeaseStore } from "../leases/lease-store.ts";
import type { NetworkConfig } from "../network-config.ts";
import { Backoff } from "../progress.ts";

const WORDS = flannel();

/** Files of the node. Failing calls reject with an error that says why. */
export interface SubnetFiles {
  /** Undefined when there is none. */
  read(path: string): Promise<string | undefined>;
  /**
   * Makes the folders above it, too. `replaced`: readers see the old text or the new one, never a half;
   * `in-place`, as upstream on Windows: they may see any part.
   */
  write(path: string, text: string, how: "replaced" | "in-place"): Promise<void>;
}

/** The subnet of the run before. What cannot be read, and what is damaged, counts as none. */
export function previousSubnet(
  text: string | undefined,
  key: "FLANNEL_SUBNET" | "FLANNEL_IPV6_SUBNET",
  path: string,
  log: FlannelLog,
): Prefix | undefined {
  if (text !== undefined && isSubnetEnvDamaged(text)) {
    log.write("E", WORDS.subnetFileChecksumWrong({ path, key }));
    return undefined;
  }
  const family: IpFamily = key === "FLANNEL_SUBNET" ? 4 : 6;
  const line = text?.split(/\r?\n/).find((candidate) => candidate.startsWith(`${key}=`));
  if (line === undefined) {
    log.write("W", `no subnet found for key: ${key} in file: ${path}`);
    return undefined;
  }
  const values = line.slice(key.length + 1).split(",");
  const parsed = values.length === 1 ? parseInterfaceAddress(values[0] ?? "") : undefined;
  const prefix = parsed === undefined ? undefined : prefixOf(parsed.ip, parsed.length);
  if (prefix !== undefined && prefixFamily(prefix) === family) return prefix;
  log.write("E", `Couldn't parse previous ${key} from subnet file at ${path}: ${line}`);
  return undefined;
}

export interface ReadinessParts {
  readonly store: LeaseStore;
  readonly os: FlannelHost["os"];
  readonly files: SubnetFiles;
  readonly log: FlannelLog;
  readonly options: FlanneldOptions;
  readonly differences: FlanneldDifferences;
  readonly config: NetworkConfig;
}

/** How failures are tried again, where they are not only logged. */
const RETRY_MS = { first: 1_000, most: 60_000 } as const;

/** Plain data. */
export class Readiness {
  private readonly parts: ReadinessParts;
  private readonly backoff = new Backoff(RETRY_MS.first, RETRY_MS.most);
  private hasFile = false;
  private isReported = false;
  private retryAtMs: number | undefined;

  constructor(parts: ReadinessParts) {
    this.parts = parts;
  }

  get isFileWritten(): boolean {
    return this.hasFile;
  }

  /** Writes the file and informs the store, as far as that has not been done. */
  async report(registration: Registration, nowMs: number): Promise<void> {
    const { store, log, differences } = this.parts;
    this.retryAtMs = undefined;
    if (!this.hasFile) await this.writeSubnet(registration);
    if (!this.isReported) {
      try {
        await store.complete(registration.lease);
        this.isReported = true;
      } catch (error) {
        log.write("E", `CompleteLease execute error err: ${messageOf(error)}`);
      }
    }
    if (!differences.retriesReports) this.isReported = true;
    if (this.isReported && (this.hasFile || !differences.retriesReports)) this.backoff.reset();
    else this.retryAtMs = nowMs + this.backoff.next();
  }

  /** The store has forgotten it: it is informed again with the next tick. */
  forget(nowMs: number): void {
    this.isReported = false;
    this.retryAtMs = nowMs;
  }

  /** Does what is due. @returns how long until something is again; undefined: nothing is. */
  async tick(registration: Registration, nowMs: number): Promise<number | undefined> {
    if (this.retryAtMs === undefined) return undefined;
    // A clock that was set back puts nothing off.
    this.retryAtMs = Math.min(this.retryAtMs, nowMs + RETRY_MS.most);
    if (nowMs >= this.retryAtMs) await this.report(registration, nowMs);
    return this.retryAtMs === undefined ? undefined : Math.max(this.retryAtMs - nowMs, 0);
  }

  private async writeSubnet({ lease, mtuBytes }: Registration): Promise<void> {
    const { files, os, log, options, config, differences } = this.parts;
    const { isIpv4Enabled, isIpv6Enabled, network, ipv6Network } = config;
    const plain = formatSubnetEnv({
      ...(isIpv4Enabled && { network, subnet: lease.subnet }),
      ...(isIpv6Enabled && { ipv6Network, ipv6Subnet: lease.ipv6Subnet }),
      mtuBytes,
      isMasqueraded: options.ipMasq,
    });
    const text = differences.sealsSubnetFile ? sealSubnetEnv(plain) : plain;
    const isInPlace = os === "windows" && !differences.retriesReports;
    try {
      await files.write(options.subnetFile, text, isInPlace ? "in-place" : "replaced");
      this.hasFile = true;
      log.write("I", `Wrote subnet file to ${options.subnetFile}`);
      log.write("I", "flannel is ready");
    } catch (error) {
      log.write("W", `Failed to write subnet file: ${messageOf(error)}`);
    }
  }
}
