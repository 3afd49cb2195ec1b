/** How flanneld reports that its network stands: `subnet.env` for the CNI plugin, and word to the store. */
import type { FlanneldDifferences } from "../differences.ts";
import { formatSubnetEnv, sealSubnetEnv } from "#contracts/cni/subnet-env.ts";
import type { Registration } from "../backends/backend.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { FlannelHost } from "./flannel-host.ts";
import type { FlannelLog } from "../flannel-log.ts";
import type { FlanneldOptions } from "../flanneld-options.ts";
import type { LeaseStore } from "../leases/lease-store.ts";
import type { NetworkConfig } from "../network-config.ts";
import { Backoff } from "../progress.ts";
import type { SubnetFiles } from "./subnet-file.ts";

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
