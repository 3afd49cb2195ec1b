/**
 * flanneld of one node, from its start to its end (control-planes.md §1.1): configuration, interface, back end, lease,
 * `subnet.env`, and then the leases of the others. Its caller calls `advance` when it is due and when something
 * changed; a program does so by the machine's clock, an emulated node by the virtual one.
 */
import { FLANNELD_DIFFERENCES, type FlanneldDifferences } from "./differences.ts";
import { messageOf } from "#core/base/thrown.ts";
import { defined } from "#core/base/assert.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type Prefix,
  formatIp,
  formatPrefix,
  prefixContains,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { Backend, Registration } from "./backends/backend.ts";
import { findExternalInterface } from "./node/external-interface.ts";
import { type FlannelFinding, FlannelError, findingOf, type FlannelLog } from "./reports.ts";
import type { ExternalInterface, FlannelHost } from "./node/flannel-host.ts";
import type { FlanneldOptions } from "./flanneld-options.ts";
import { Inbox, type Notice, type LeaseStore } from "./leases/lease-store.ts";
import type { Lease, LeaseEvent } from "./leases/lease.ts";
import type { NetworkConfig } from "./network-config.ts";
import { openBackend } from "./backends/open-backend.ts";
import { LeaseWatcher, Peers } from "./leases/peers.ts";
import { NodeRules } from "./node/node-rules.ts";
import { Readiness, type SubnetFiles } from "./node/subnet-file.ts";
import type { Waiting } from "./progress.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/**
 * Pods in the nodes' own range: a route to pods would take what is for nodes.
 * @throws FlannelError `flannel-network-overlaps`.
 */
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
      WORDS.networkHoldsNodeAddress({
        network: formatPrefix(network),
        publicIp: formatIp(external.publicIp),
      }),
    );
  }
  throw new FlannelError(
    "flannel-network-overlaps",
    WORDS.networkOverlapsNodeRange({
      network: formatPrefix(network),
      overlapping: formatPrefix(overlapping),
      name: external.interface.name,
    }),
  );
}

interface LeaseRenewalParts {
  readonly store: LeaseStore;
  readonly log: FlannelLog;
  /** How long before its end. */
  readonly marginMs: number;
}

const RETRY_MS = 60_000;
/** No wait is longer than a day: a clock that was set back puts nothing off for ever. */
const WAIT_MAX_MS = 24 * 60 * 60 * 1_000;

/** What became of the lease: undefined when nothing did. */
type Renewal =
  | { readonly state: "renewed"; readonly lease: Lease }
  | { readonly state: "lost"; readonly finding: FlannelFinding }
  | undefined;

/** Keeps the node's own lease: renews it before it runs out, where leases do (control-planes.md §1.5). Plain data. */
class LeaseRenewal {
  private readonly parts: LeaseRenewalParts;
  private dueAtMs: number | undefined;

  constructor(parts: LeaseRenewalParts) {
    this.parts = parts;
  }

  /** A lease was taken or renewed. */
  taken({ timeToLiveMs }: Lease, nowMs: number): void {
    this.dueAtMs = timeToLiveMs === undefined ? undefined : nowMs + timeToLiveMs - this.parts.marginMs;
  }

  /** How long until it is due; undefined: this lease does not run out. */
  waitMs(nowMs: number): number | undefined {
    return this.dueAtMs === undefined ? undefined : Math.max(this.dueAtMs - nowMs, 0);
  }

  /** Renews it when that is due. */
  async tick(lease: Lease, nowMs: number): Promise<Renewal> {
    const { store, log } = this.parts;
    if (this.dueAtMs === undefined) return undefined;
    this.dueAtMs = Math.min(this.dueAtMs, nowMs + WAIT_MAX_MS);
    if (nowMs < this.dueAtMs) return undefined;
    try {
      const renewed = await store.renew(lease);
      if (renewed?.timeToLiveMs === undefined) {
        this.dueAtMs = undefined;
        return undefined;
      }
      this.taken(renewed, nowMs);
      log.write("I", `Lease renewed, new expiration in ${renewed.timeToLiveMs / 1_000} s`);
      return { state: "renewed", lease: renewed };
    } catch (error) {
      if (error instanceof FlannelError && error.code === "flannel-lease-conflict")
        return { state: "lost", finding: findingOf(error, "flannel-lease-conflict") };
      log.write("E", `Error renewing lease (trying again in 1 min): ${messageOf(error)}`);
      this.dueAtMs = nowMs + RETRY_MS;
      return undefined;
    }
  }
}

export type FlanneldState =
  /** Not up yet, or something is tried again. */
  | Waiting
  /** `nextMs`: how long until something is due; undefined: only when something changes. */
  | { readonly state: "running"; readonly isReady: boolean; readonly nextMs: number | undefined }
  /** For good: the process ends. 0: cleanly. */
  | { readonly state: "ended"; readonly finding: FlannelFinding; readonly exitCode: 0 | 1 };

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

/** How often a store that does not answer is asked for the configuration, and for what the node has published. */
const STORE_RETRY_MS = 1_000;

/** What a node of that system makes of a configuration for all: flanneld on Windows knows IPv4 only. */
export function configurationFor(config: NetworkConfig, os: FlannelHost["os"]): NetworkConfig {
  if (os === "linux" || !config.isIpv6Enabled) return config;
  return Object.freeze({ ...config, isIpv6Enabled: false });
}

/** Plain data, so that a world that holds it can be forked; one call at a time. */
export class Flanneld {
  private readonly parts: FlanneldParts;
  private readonly differences: FlanneldDifferences;
  private readonly inbox: Inbox;
  private phase: Phase = "store";
  private config: NetworkConfig | undefined;
  private external: ExternalInterface | undefined;
  private backend: Backend | undefined;
  private registration: Registration | undefined;
  private watcher: LeaseWatcher | undefined;
  private peers: Peers | undefined;
  private end: FlanneldState | undefined;
  private renewal: LeaseRenewal | undefined;
  private rules: NodeRules | undefined;
  private readiness: Readiness | undefined;
  private conflict: FlannelFinding | undefined;

  constructor(parts: FlanneldParts) {
    this.parts = parts;
    this.differences = FLANNELD_DIFFERENCES[parts.options.compat];
    this.inbox = new Inbox(parts.options.eventQueueDepth);
  }

  /** The node's own lease; undefined before there is one. */
  get lease(): Lease | undefined {
    return this.registration?.lease;
  }

  /** What the endpoint `/readyz` says. */
  get isReady(): boolean {
    return this.phase === "running" && this.readiness?.isFileWritten === true;
  }

  /** What the node has taken as its way to the others; undefined before. */
  get externalInterface(): ExternalInterface | undefined {
    return this.external;
  }

  /** True when a watch has to begin: once the network stands, and when more changed than could be kept. */
  get needsFollowing(): boolean {
    return this.phase === "running" && (this.watcher === undefined || this.inbox.isOverflowed);
  }

  /** What is wrong now, and keeps this node from others. */
  findings(): readonly FlannelFinding[] {
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
    const { store } = this.parts;
    const own = this.registration?.lease;
    if (own === undefined) throw new FlannelError("flanneld-cannot-start", "there is no lease to watch yet");
    this.watcher ??= new LeaseWatcher(own, this.differences);
    this.inbox.isOverflowed = false;
    return store.watch(own, (notice) => {
      this.inbox.put(notice);
      onChange();
    });
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

  private stop(finding: FlannelFinding, exitCode: 0 | 1): FlanneldState {
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
    const { store, host, log } = this.parts;
    let config: NetworkConfig;
    try {
      config = await store.readNetworkConfig();
    } catch (error) {
      const finding = findingOf(error, "flannel-store-unreachable", "Couldn't fetch network config: ");
      if (!store.retriesConfiguration) return this.stop(finding, 1);
      log.write("E", finding.message);
      return { state: "waiting", retryAfterMs: STORE_RETRY_MS, finding };
    }
    log.write("I", `Found network config - Backend type: ${config.backendType}`);
    if (this.differences.warnsOfUnknownFields)
      for (const problem of config.unknownFields) log.write("W", problem);
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
      if (this.differences.refusesBadConfiguration) refuseOverlap(config, external);
      this.external = external;
      this.backend = openBackend({
        store,
        config,
        external,
        host,
        client: this.parts.client,
        differences: this.differences,
        log,
        behaviour: options.behaviour,
      });
    } catch (error) {
      const finding = findingOf(error, "flanneld-cannot-start");
      if (finding.code !== "flannel-store-unreachable") return this.stop(finding, 1);
      return { state: "waiting", retryAfterMs: STORE_RETRY_MS, finding };
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
    const { store, host, files, log, options } = this.parts;
    const { differences } = this;
    const config = found(this.config);
    this.registration = progress.value;
    this.peers = new Peers({ config, own: lease, differences, log });
    this.renewal = new LeaseRenewal({ store, log, marginMs: options.subnetLeaseRenewMargin * 60_000 });
    this.renewal.taken(lease, nowMs);
    this.rules = new NodeRules({ host, log, options, differences, config, lease });
    this.readiness = new Readiness({ store, os: host.os, files, log, options, differences, config });
    const refused = await this.rules.begin(nowMs);
    if (refused !== undefined) return this.stop(refused, 1);
    this.phase = "running";
    await this.readiness.report(progress.value, nowMs);
    this.parts.log.write("I", "Running backend.");
    return undefined;
  }

  private async run(nowMs: number): Promise<FlanneldState> {
    for (let notice = this.inbox.take(); notice !== undefined; notice = this.inbox.take()) {
      await this.heed(notice, nowMs);
      if (this.end !== undefined) return this.end;
    }
    const renewal = await found(this.renewal).tick(found(this.registration).lease, nowMs);
    if (renewal?.state === "lost") return this.stop(renewal.finding, 1);
    if (renewal?.state === "renewed")
      this.registration = { ...found(this.registration), lease: renewal.lease };
    const waits = [
      found(this.renewal).waitMs(nowMs),
      await found(this.readiness).tick(found(this.registration), nowMs),
      await found(this.rules).tick(nowMs),
      await found(this.backend).tick(nowMs),
    ].filter((ms) => ms !== undefined);
    const nextMs = waits.length === 0 ? undefined : Math.min(...waits);
    return { state: "running", isReady: this.isReady, nextMs };
  }

  private async heed(notice: Notice, nowMs: number): Promise<void> {
    const { log } = this.parts;
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
          this.differences.exitCodeOfLostLease,
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
    found(this.readiness).forget(nowMs);
  }
}

/** What an earlier phase has made. */
function found<T>(value: T | undefined): T {
  return defined(value, "flanneld comes to its phases in order");
}
