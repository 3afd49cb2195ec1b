/**
 * flanneld of one node, from its start to its end (control-planes.md §1.1): configuration, interface, back end, lease,
 * `subnet.env`, and then the leases of the others. Whoever runs it calls `advance` when it is due and when something
 * was told; a program does so by the machine's clock, an emulated node by the virtual one.
 */
import { defined } from "../base/assert.ts";
import { formatSubnetEnv } from "../cni/subnet-env.ts";
import type { HcnClient } from "../hcn/client.ts";
import { formatIp } from "../net/ip.ts";
import { type Prefix, formatPrefix, prefixContains, prefixOf, prefixesOverlap } from "../net/prefix.ts";
import type { Backend, Registration } from "./backend.ts";
import { findExternalInterface } from "./external-interface.ts";
import { type Finding, FlannelError, findingOf, messageOf } from "./flannel-error.ts";
import type { ExternalInterface, FlannelHost } from "./flannel-host.ts";
import type { FlannelLog } from "./flannel-log.ts";
import type { FlanneldOptions } from "./flanneld-options.ts";
import { Inbox, type Notice, NotifyingInbox } from "./inbox.ts";
import type { LeaseStore } from "./lease-store.ts";
import { LeaseWatcher } from "./lease-watcher.ts";
import type { Lease, LeaseEvent } from "./lease.ts";
import type { NetworkConfig } from "./network-config.ts";
import { openBackend } from "./open-backend.ts";
import { Peers } from "./peers.ts";
import { Backoff, type Waiting } from "./progress.ts";
import type { SubnetFiles } from "./subnet-file.ts";

export type FlanneldState =
  /** Not up yet, or something is tried again. */
  | Waiting
  /** `nextMs`: how long until something is due; undefined: only when something is told. */
  | { readonly state: "running"; readonly isReady: boolean; readonly nextMs: number | undefined }
  /** For good: the process ends. 0: cleanly. */
  | { readonly state: "ended"; readonly finding: Finding; readonly exitCode: 0 | 1 };

export interface FlanneldParts {
  readonly store: LeaseStore;
  readonly host: FlannelHost;
  /** Of a Windows node. */
  readonly client: HcnClient | undefined;
  readonly files: SubnetFiles;
  readonly log: FlannelLog;
  readonly options: FlanneldOptions;
}

type Phase = "store" | "configuration" | "interface" | "registration" | "running" | "ended";

const CONFIGURATION_RETRY_MS = 1_000;
const RENEWAL_RETRY_MS = 60_000;
/** How `better` tries again what upstream only logs. */
const RETRY_MS = { first: 1_000, most: 60_000 } as const;
/** No wait is longer than a day: a clock that was set back puts nothing off for ever. */
const WAIT_MAX_MS = 24 * 60 * 60 * 1_000;

/** What a node of that system makes of a configuration for all: flanneld on Windows knows IPv4 only. */
export function configurationFor(config: NetworkConfig, os: FlannelHost["os"]): NetworkConfig {
  if (os === "linux" || !config.isIpv6Enabled) return config;
  return Object.freeze({ ...config, isIpv6Enabled: false });
}

/** Plain data, so that a world that holds it can be forked; one call at a time. */
export class Flanneld {
  private readonly parts: FlanneldParts;
  private readonly inbox: Inbox;
  private readonly backoff = new Backoff(RETRY_MS.first, RETRY_MS.most);
  private phase: Phase = "store";
  private config: NetworkConfig | undefined;
  private external: ExternalInterface | undefined;
  private backend: Backend | undefined;
  private registration: Registration | undefined;
  private watcher: LeaseWatcher | undefined;
  private peers: Peers | undefined;
  private end: FlanneldState | undefined;
  private isFileWritten = false;
  private isComplete = false;
  private conflict: Finding | undefined;
  /** When what failed is tried again. */
  private retryAtMs: number | undefined;
  private renewAtMs: number | undefined;
  private rulesAtMs: number | undefined;

  constructor(parts: FlanneldParts) {
    this.parts = parts;
    this.inbox = new Inbox(parts.options.eventQueueDepth);
  }

  /** The node's own lease; undefined before there is one. */
  get lease(): Lease | undefined {
    return this.registration?.lease;
  }

  /** What the endpoint `/readyz` says. */
  get isReady(): boolean {
    return this.phase === "running" && this.isFileWritten;
  }

  /** What the node has taken as its way to the others; undefined before. */
  get externalInterface(): ExternalInterface | undefined {
    return this.external;
  }

  /** True when a watch has to begin: once the network stands, and when more was told than could be kept. */
  get needsFollowing(): boolean {
    return this.phase === "running" && (this.watcher === undefined || this.inbox.isOverflowed);
  }

  /** What is wrong now, and keeps this node from others. */
  findings(): readonly Finding[] {
    return [
      ...(this.end?.state === "ended" ? [this.end.finding] : []),
      ...(this.conflict === undefined ? [] : [this.conflict]),
      ...(this.peers?.findings() ?? []),
      ...(this.backend?.findings() ?? []),
    ];
  }

  /** Goes as far as it can without waiting. */
  async advance(nowMs: number): Promise<FlanneldState> {
    for (;;) {
      const state = await this.step(nowMs);
      if (state !== undefined) return state;
    }
  }

  /**
   * Begins to hear of leases. `onChange` is called when there is something for `advance` to do.
   * @returns what ends it. @throws FlannelError when the store does not answer: call again.
   */
  async follow(onChange: () => void = () => undefined): Promise<() => void> {
    const { store, options } = this.parts;
    const own = this.registration?.lease;
    if (own === undefined) throw new FlannelError("flanneld-cannot-start", "there is no lease to watch yet");
    this.watcher ??= new LeaseWatcher(own, options.compat);
    this.inbox.isOverflowed = false;
    return store.watch(own, new NotifyingInbox(this.inbox, onChange));
  }

  /** @returns undefined: go on. */
  private async step(nowMs: number): Promise<FlanneldState | undefined> {
    switch (this.phase) {
      case "store":
        return this.openStore(nowMs);
      case "configuration":
        return this.readConfiguration();
      case "interface":
        return this.findInterface();
      case "registration":
        return this.register(nowMs);
      case "running":
        return this.run(nowMs);
      case "ended":
        return this.end;
    }
  }

  private stop(finding: Finding, exitCode: 0 | 1): FlanneldState {
    this.phase = "ended";
    this.end = { state: "ended", finding, exitCode };
    this.parts.log.write("E", finding.message);
    return this.end;
  }

  private async openStore(nowMs: number): Promise<FlanneldState | undefined> {
    const { store, log } = this.parts;
    const progress = await store.open(nowMs);
    if (progress.state === "waiting") return progress;
    if (progress.state === "failed") {
      const message = `Failed to create SubnetManager: ${progress.finding.message}`;
      return this.stop({ code: progress.finding.code, message }, 1);
    }
    log.write("I", `Created subnet manager: ${store.name}`);
    this.phase = "configuration";
    return undefined;
  }

  private async readConfiguration(): Promise<FlanneldState | undefined> {
    const { store, host, log, options } = this.parts;
    let config: NetworkConfig;
    try {
      config = await store.readNetworkConfig();
    } catch (error) {
      const finding = findingOf(error, "flannel-store-unreachable", "Couldn't fetch network config: ");
      if (!store.retriesConfiguration) return this.stop(finding, 1);
      log.write("E", finding.message);
      return { state: "waiting", retryAfterMs: CONFIGURATION_RETRY_MS, finding };
    }
    log.write("I", `Found network config - Backend type: ${config.backendType}`);
    if (options.compat === "better") for (const problem of config.unknownFields) log.write("W", problem);
    if (host.os === "windows" && config.isIpv6Enabled)
      log.write("W", "EnableIPv6 is left alone: flanneld on Windows knows IPv4 only");
    this.config = configurationFor(config, host.os);
    if (!this.config.isIpv4Enabled && !this.config.isIpv6Enabled)
      return this.stop(
        {
          code: "flanneld-configuration-invalid",
          message: "none defined stack: EnableIPv4 and EnableIPv6 are both off",
        },
        1,
      );
    this.phase = "interface";
    return undefined;
  }

  private async findInterface(): Promise<FlanneldState | undefined> {
    const { store, host, log, options } = this.parts;
    const config = found(this.config);
    try {
      const stored = await store.readPublicIps();
      const publicIp = stored.find((ip) => typeof ip === "number");
      const publicIpv6 = stored.find((ip) => typeof ip !== "number");
      const external = await findExternalInterface({
        host,
        config,
        log,
        options: {
          ...options,
          ...(publicIp !== undefined && { publicIp: formatIp(publicIp) }),
          ...(publicIpv6 !== undefined && { publicIpv6: formatIp(publicIpv6) }),
        },
      });
      if (options.compat === "better") refuseOverlap(config, external);
      this.external = external;
      this.backend = openBackend({
        store,
        config,
        external,
        host,
        client: this.parts.client,
        compat: options.compat,
        log,
        behaviour: options.behaviour,
      });
    } catch (error) {
      return this.stop(findingOf(error, "flanneld-cannot-start"), 1);
    }
    this.phase = "registration";
    return undefined;
  }

  private async register(nowMs: number): Promise<FlanneldState | undefined> {
    const progress = await found(this.backend).register(nowMs);
    if (progress.state === "waiting") return progress;
    if (progress.state === "failed")
      return this.stop(
        { ...progress.finding, message: `Error registering network: ${progress.finding.message}` },
        1,
      );
    const { lease } = progress.value;
    const { compat, subnetLeaseRenewMargin } = this.parts.options;
    this.registration = progress.value;
    this.peers = new Peers({ config: found(this.config), own: lease, compat, log: this.parts.log });
    if (lease.timeToLiveMs !== undefined)
      this.renewAtMs = nowMs + lease.timeToLiveMs - subnetLeaseRenewMargin * 60_000;
    this.phase = "running";
    await this.ensureRules(nowMs);
    await this.finish(nowMs);
    this.parts.log.write("I", "Running backend.");
    return undefined;
  }

  /** Masquerading and forwarding of Linux. What fails is tried again with the next look. */
  private async ensureRules(nowMs: number): Promise<void> {
    const { host, log, options } = this.parts;
    if (host.os === "windows") {
      if (options.ipMasq) log.write("W", "setting up masquerading rules is not implemented on Windows");
      return;
    }
    const config = found(this.config);
    const { subnet, ipv6Subnet } = found(this.registration).lease;
    const families = [
      { network: config.isIpv4Enabled ? config.network : undefined, subnet },
      { network: config.isIpv6Enabled ? config.ipv6Network : undefined, subnet: ipv6Subnet },
    ];
    this.rulesAtMs = nowMs + options.iptablesResync * 1_000;
    try {
      for (const family of families) {
        if (family.network === undefined || family.subnet === undefined) continue;
        const { network } = family;
        if (options.ipMasq)
          await host.ensureMasquerade({
            network,
            subnet: family.subnet,
            isFullyRandom: !options.ipMasqFullyRandomDisable,
          });
        if (options.iptablesForwardRules) await host.ensureForwarding(network);
      }
    } catch (error) {
      log.write("E", `Failed to ensure iptables rules: ${messageOf(error)}`);
    }
    if (!options.ipMasq && !options.iptablesForwardRules) this.rulesAtMs = undefined;
  }

  /** `subnet.env`, and word to the store that the network stands. The reference tries both once. */
  private async finish(nowMs: number): Promise<void> {
    const { store, log, options } = this.parts;
    this.retryAtMs = undefined;
    if (!this.isFileWritten) await this.writeFile();
    if (!this.isComplete) {
      try {
        await store.complete(found(this.registration).lease);
        this.isComplete = true;
      } catch (error) {
        log.write("E", `CompleteLease execute error err: ${messageOf(error)}`);
      }
    }
    if (options.compat === "reference") this.isComplete = true;
    const isDone = this.isComplete && (this.isFileWritten || options.compat === "reference");
    if (isDone) this.backoff.reset();
    else this.retryAtMs = nowMs + this.backoff.next();
  }

  private async writeFile(): Promise<void> {
    const { files, host, log, options } = this.parts;
    const { isIpv4Enabled, isIpv6Enabled, network, ipv6Network } = found(this.config);
    const { lease, mtuBytes } = found(this.registration);
    const text = formatSubnetEnv({
      ...(isIpv4Enabled && { network, subnet: lease.subnet }),
      ...(isIpv6Enabled && { ipv6Network, ipv6Subnet: lease.ipv6Subnet }),
      mtuBytes,
      isMasqueraded: options.ipMasq,
    });
    const isInPlace = host.os === "windows" && options.compat === "reference";
    try {
      await files.write(options.subnetFile, text, isInPlace ? "in-place" : "replaced");
      this.isFileWritten = true;
      log.write("I", `Wrote subnet file to ${options.subnetFile}`);
      log.write("I", "flannel is ready");
    } catch (error) {
      log.write("W", `Failed to write subnet file: ${messageOf(error)}`);
    }
  }

  private async run(nowMs: number): Promise<FlanneldState> {
    for (let notice = this.inbox.take(); notice !== undefined; notice = this.inbox.take()) {
      await this.heed(notice, nowMs);
      if (this.end !== undefined) return this.end;
    }
    this.limitWaits(nowMs);
    if (this.renewAtMs !== undefined && nowMs >= this.renewAtMs) await this.renew(nowMs);
    if (this.end !== undefined) return this.end;
    if (this.retryAtMs !== undefined && nowMs >= this.retryAtMs) await this.finish(nowMs);
    if (this.rulesAtMs !== undefined && nowMs >= this.rulesAtMs) await this.ensureRules(nowMs);
    const backendMs = await found(this.backend).tick(nowMs);
    const due = [this.renewAtMs, this.retryAtMs, this.rulesAtMs].filter((atMs) => atMs !== undefined);
    const waits = [
      ...due.map((atMs) => Math.max(atMs - nowMs, 0)),
      ...(backendMs === undefined ? [] : [backendMs]),
    ];
    const nextMs = waits.length === 0 ? undefined : Math.min(...waits);
    return { state: "running", isReady: this.isReady, nextMs };
  }

  private limitWaits(nowMs: number): void {
    const limit = (atMs: number | undefined, mostMs: number): number | undefined =>
      atMs === undefined ? undefined : Math.min(atMs, nowMs + mostMs);
    this.renewAtMs = limit(this.renewAtMs, WAIT_MAX_MS);
    this.retryAtMs = limit(this.retryAtMs, RETRY_MS.most);
    this.rulesAtMs = limit(this.rulesAtMs, this.parts.options.iptablesResync * 1_000);
  }

  private async heed(notice: Notice, nowMs: number): Promise<void> {
    const { log, options } = this.parts;
    const watcher = found(this.watcher);
    switch (notice.kind) {
      case "changed":
        return this.program(watcher.update(notice.events), nowMs);
      case "listed":
        return this.program(watcher.reset(notice.leases), nowMs);
      case "synced":
        return found(this.backend).synced(nowMs);
      case "revoked":
        this.stop(
          { code: "flannel-lease-lost", message: notice.message },
          options.compat === "better" ? 1 : 0,
        );
        return;
      case "conflicted":
        this.conflict = { code: "flannel-lease-conflict", message: notice.message };
        log.write("E", notice.message);
        return;
      case "unpublished":
        return this.publishAgain(nowMs);
      case "troubled":
        log.write("W", notice.message);
    }
  }

  private async program(events: readonly LeaseEvent[], nowMs: number): Promise<void> {
    const wanted = found(this.peers).filter(events);
    if (wanted.length > 0) await found(this.backend).handle(wanted, nowMs);
  }

  /** The node's object came back without what others need to know. */
  private async publishAgain(nowMs: number): Promise<void> {
    const { store, log } = this.parts;
    const { lease, mtuBytes } = found(this.registration);
    log.write("W", "the node's lease is not published any more: publishing it again");
    try {
      const result = await store.acquire(lease.attributes);
      if (result.state === "acquired") this.registration = { lease: result.lease, mtuBytes };
      else log.write("W", result.message);
    } catch (error) {
      log.write("E", messageOf(error));
    }
    this.isComplete = false;
    this.retryAtMs = nowMs;
  }

  private async renew(nowMs: number): Promise<void> {
    const { store, log, options } = this.parts;
    const registration = found(this.registration);
    try {
      const lease = await store.renew(registration.lease);
      if (lease?.timeToLiveMs === undefined) {
        this.renewAtMs = undefined;
        return;
      }
      this.registration = { ...registration, lease };
      this.renewAtMs = nowMs + lease.timeToLiveMs - options.subnetLeaseRenewMargin * 60_000;
      log.write("I", `Lease renewed, new expiration in ${lease.timeToLiveMs / 1_000} s`);
    } catch (error) {
      if (error instanceof FlannelError && error.code === "flannel-lease-conflict") {
        this.stop(findingOf(error, "flannel-lease-conflict"), 1);
        return;
      }
      log.write("E", `Error renewing lease (trying again in 1 min): ${messageOf(error)}`);
      this.renewAtMs = nowMs + RENEWAL_RETRY_MS;
    }
  }
}

/** What an earlier phase has made. */
function found<T>(value: T | undefined): T {
  return defined(value, "flanneld comes to its phases in order");
}

/** Pods in the nodes' own range: a route to pods would take what is for nodes. @throws FlannelError. */
function refuseOverlap({ network }: NetworkConfig, external: ExternalInterface): void {
  if (network === undefined) return;
  const overlapping = external.interface.addresses
    .filter(({ ip }) => ip === external.address)
    .map(({ ip, length }): Prefix => prefixOf(ip, length))
    .find((range) => prefixesOverlap(range, network));
  if (overlapping === undefined) {
    if (external.publicIp === undefined || !prefixContains(network, external.publicIp)) return;
    throw new FlannelError(
      "flannel-network-overlaps",
      `Network ${formatPrefix(network)} holds the node's own address ${formatIp(external.publicIp)}: choose another range for pods`,
    );
  }
  throw new FlannelError(
    "flannel-network-overlaps",
    `Network ${formatPrefix(network)} overlaps ${formatPrefix(overlapping)}, the nodes' own range on ${external.interface.name}: choose another range for pods`,
  );
}
