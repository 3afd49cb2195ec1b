/** Leases in etcd: flanneld chooses the node's subnet itself, and renews it (control-planes.md §1.5). */
import type { FlanneldMode } from "../flanneld-options.ts";
import { FLANNELD_DIFFERENCES, type FlanneldDifferences } from "../differences.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { Clock, Timer } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import { type Ip, type Prefix, formatIp, formatPrefix, prefixesOverlap } from "#core/net/ip.ts";
import { FlannelError, type FlannelLog } from "../reports.ts";
import type { Acquisition, LeaseListener, LeaseStore, Patience, StoredMacs } from "../leases/lease-store.ts";
import {
  type Lease,
  type LeaseAttributes,
  type LeaseEvent,
  equalAttributes,
  formatSubnetKey,
  formatSubnets,
  hasSameSubnets,
  makeAttributes,
  parseSubnetKey,
} from "../leases/lease.ts";
import {
  type NetworkConfig,
  type SubnetRange,
  type SubnetRanges,
  isInRange,
  nextSubnet,
  parseNetworkConfig,
  subnetRangesOf,
} from "../network-config.ts";
import { Backoff, type Progress, done } from "../progress.ts";
import type { EtcdEvent, SubnetRegistry } from "./subnet-registry.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/** How often a subnet is chosen again that another node has just taken. */
const RACE_TRIES = 10;
/** Free subnets among which one is drawn. */
const CHOICES_MAX = 100;
/** Waits between two tries to watch. */
const RECONNECT_MS = { first: 100, most: 5_000 } as const;

const PATIENCE: Patience = Object.freeze({ everyMs: 1_000, timeoutMs: 30_000 });

export interface EtcdLeaseStoreParts extends FlanneldMode {
  readonly registry: SubnetRegistry;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly log: FlannelLog;
  /** What subnet.env says from the run before. */
  readonly previous: { readonly subnet: Prefix | undefined; readonly ipv6Subnet: Prefix | undefined };
}

type Subnets = Pick<Lease, "subnet" | "ipv6Subnet">;

export class EtcdLeaseStore implements LeaseStore {
  readonly name: string;
  readonly patience: Patience = PATIENCE;
  readonly retriesConfiguration = true;
  private readonly parts: EtcdLeaseStoreParts;
  private readonly differences: FlanneldDifferences;

  constructor(parts: EtcdLeaseStoreParts) {
    this.parts = parts;
    this.differences = FLANNELD_DIFFERENCES[parts.compat];
    const { subnet } = parts.previous;
    this.name = `Etcd Local Manager with Previous Subnet: ${subnet === undefined ? "None" : formatPrefix(subnet)}`;
  }

  /** etcd is asked when the configuration is read. */
  open(): Promise<Progress<undefined>> {
    return Promise.resolve(done(undefined));
  }

  async readNetworkConfig(): Promise<NetworkConfig> {
    const config = parseNetworkConfig(await this.parts.registry.readConfig());
    subnetRangesOf(config);
    return config;
  }

  readPublicIps(): Promise<readonly Ip[]> {
    return Promise.resolve([]);
  }

  readMacs(): Promise<StoredMacs> {
    return Promise.resolve({ ipv4: undefined, ipv6: undefined });
  }

  async acquire(attributes: LeaseAttributes): Promise<Acquisition> {
    const { choosesSubnetAgain, waitsForEtcd } = this.differences;
    try {
      const ranges = subnetRangesOf(await this.readNetworkConfig());
      for (let tries = 0; tries < RACE_TRIES; tries++) {
        const lease = await this.tryAcquire(ranges, attributes);
        if (lease !== undefined) return { state: "acquired", lease };
        if (!choosesSubnetAgain) throw new FlannelError("flannel-lease-conflict", "subnet already exists");
      }
    } catch (error) {
      const isGone = error instanceof FlannelError && error.code === "flannel-store-unreachable";
      if (isGone && waitsForEtcd) return { state: "unavailable", message: error.message };
      throw error;
    }
    throw new FlannelError("flannel-lease-conflict", "max retries reached trying to acquire a subnet");
  }

  complete(): Promise<void> {
    return Promise.resolve();
  }

  async renew(lease: Lease): Promise<Lease> {
    const { registry } = this.parts;
    // Upstream writes over whatever is there: also over the lease of a node that got the subnet meanwhile.
    const present = this.differences.looksBeforeRenewal ? (await registry.find(lease)).lease : lease;
    if (present !== undefined && present.attributes.publicIp !== lease.attributes.publicIp)
      throw new FlannelError("flannel-lease-conflict", WORDS.leaseExpired({ lease: formatSubnets(lease) }));
    const timeToLiveMs =
      present === undefined
        ? await registry.create(lease, lease.attributes)
        : await registry.update(lease, lease.attributes);
    if (timeToLiveMs === undefined)
      throw new FlannelError("flannel-lease-conflict", WORDS.leaseTaken({ lease: formatSubnets(lease) }));
    return Object.freeze({ ...lease, timeToLiveMs });
  }

  async watch(own: Lease, listener: LeaseListener): Promise<() => void> {
    const watch = new SubnetsWatch(
      { ...this.parts, reportsConflicts: this.differences.reportsConflicts },
      own,
      listener,
    );
    await watch.start();
    return () => watch.stop();
  }

  /** @returns undefined when another node was faster. */
  private async tryAcquire(ranges: SubnetRanges, attributes: LeaseAttributes): Promise<Lease | undefined> {
    const { registry, log } = this.parts;
    const { leases } = await registry.list();
    const own = leases.find((lease) => lease.attributes.publicIp === attributes.publicIp);
    if (own !== undefined) {
      const ip = attributes.publicIp === undefined ? "" : formatIp(attributes.publicIp);
      if (isInRange(ranges.ipv4, own.subnet) && isInRange(ranges.ipv6, own.ipv6Subnet)) {
        log.write("I", `Found lease (${formatSubnets(own)}) for current IP (${ip}), reusing`);
        const timeToLiveMs = await registry.update(own, attributes);
        return Object.freeze({ ...own, attributes, timeToLiveMs });
      }
      log.write("I", WORDS.leaseIncompatible({ own: formatSubnets(own), ip }));
      await registry.remove(own);
    }
    const subnets = this.previousOf(ranges, leases) ?? this.choose(ranges, leases);
    const timeToLiveMs = await registry.create(subnets, attributes);
    if (timeToLiveMs === undefined) return undefined;
    log.write("I", `Allocated lease (${formatSubnets(subnets)}) to current node`);
    return Object.freeze({ ...subnets, attributes, owner: undefined, timeToLiveMs });
  }

  /** The subnets of the run before, when they are free and fit. */
  private previousOf(ranges: SubnetRanges, leases: readonly Lease[]): Subnets | undefined {
    const { previous, log } = this.parts;
    const { subnet } = previous;
    if (subnet === undefined) return undefined;
    const isTaken = leases.some(
      (lease) => lease.subnet !== undefined && prefixesOverlap(lease.subnet, subnet),
    );
    if (isTaken) return undefined;
    const ipv6Subnet = ranges.ipv6 === undefined ? undefined : previous.ipv6Subnet;
    if (isInRange(ranges.ipv4, subnet) && isInRange(ranges.ipv6, ipv6Subnet)) {
      log.write("I", `Found previously leased subnet (${formatPrefix(subnet)}), reusing`);
      return { subnet, ipv6Subnet };
    }
    log.write("E", WORDS.previousSubnetIncompatible({ subnet: formatPrefix(subnet) }));
    return undefined;
  }

  /** Free subnets by chance. @throws FlannelError when none is left. */
  private choose(ranges: SubnetRanges, leases: readonly Lease[]): Subnets {
    const taken = leases.flatMap(({ subnet, ipv6Subnet }) => [subnet ?? [], ipv6Subnet ?? []].flat());
    const draw = (range: SubnetRange | undefined): Prefix | undefined =>
      range === undefined ? undefined : this.drawFrom(range, taken);
    return { subnet: draw(ranges.ipv4), ipv6Subnet: draw(ranges.ipv6) };
  }

  private drawFrom(range: SubnetRange, taken: readonly Prefix[]): Prefix {
    const free: Prefix[] = [];
    for (
      let address: Ip | undefined = range.min;
      address !== undefined && address <= range.max && free.length < CHOICES_MAX;
      address = nextSubnet(address, range.length)
    ) {
      const subnet: Prefix = { address, length: range.length };
      if (!taken.some((other) => prefixesOverlap(other, subnet))) free.push(subnet);
    }
    const drawn = free[this.parts.prng.below(free.length === 0 ? 1 : free.length)];
    if (drawn !== undefined) return Object.freeze(drawn);
    throw new FlannelError(
      "flannel-subnets-exhausted",
      WORDS.subnetsExhausted({
        min: formatIp(range.min),
        max: formatIp(range.max),
        rangeLength: range.length,
      }),
    );
  }
}

/** What is no part of the world: a watch with its retries. */
type WatchParts = EtcdLeaseStoreParts & Pick<FlanneldDifferences, "reportsConflicts">;

class SubnetsWatch {
  private readonly parts: WatchParts;
  private own: Lease;
  private readonly listener: LeaseListener;
  private readonly backoff = new Backoff(RECONNECT_MS.first, RECONNECT_MS.most);
  private nextRevision = 0;
  private stopWatch: (() => void) | undefined;
  private retry: Timer | undefined;
  private isStopped = false;
  /** Events are read one after the other: a lease needs another call. */
  private queue: Promise<void> = Promise.resolve();

  constructor(parts: WatchParts, own: Lease, listener: LeaseListener) {
    this.parts = parts;
    this.own = own;
    this.listener = listener;
  }

  async start(): Promise<void> {
    await this.list();
    this.listener({ kind: "synced" });
    this.connect();
  }

  stop(): void {
    this.isStopped = true;
    this.stopWatch?.();
    if (this.retry !== undefined) this.parts.clock.cancel(this.retry);
  }

  private async list(): Promise<void> {
    const { leases, revision } = await this.parts.registry.list();
    if (this.isStopped) return;
    this.nextRevision = revision + 1;
    const own = leases.find((lease) => hasSameSubnets(lease, this.own));
    // A lease that was deleted while the changes were compacted has no event.
    if (own === undefined) this.reportRevoked();
    else this.ownSeen(own);
    this.listener({ kind: "listed", leases });
  }

  private connect(): void {
    if (this.isStopped) return;
    const { registry } = this.parts;
    this.stopWatch = registry.client.watch(`${registry.subnetsPrefix}/`, this.nextRevision, {
      changed: (events, revision) => {
        this.backoff.reset();
        this.nextRevision = revision + 1;
        this.queue = this.queue.then(() => this.report(events));
      },
      compacted: (revision) => {
        this.parts.log.write(
          "W",
          WORDS.etcdWatchCompacted({ subnetsPrefix: registry.subnetsPrefix, revision }),
        );
        this.later(() => this.relist());
      },
      ended: (message) => {
        this.listener({
          kind: "troubled",
          message: `etcd watch channel for ${registry.subnetsPrefix} closed (${message}), reconnecting from rev ${this.nextRevision}...`,
        });
        this.later(() => {
          this.connect();
          return Promise.resolve();
        });
      },
    });
  }

  private async relist(): Promise<void> {
    try {
      await this.list();
    } catch (error) {
      this.listener({
        kind: "troubled",
        message: `failed to re-list subnets after compaction: ${messageOf(error)}`,
      });
      this.later(() => this.relist());
      return;
    }
    this.connect();
  }

  private later(work: () => Promise<void>): void {
    this.stopWatch = undefined;
    if (this.isStopped) return;
    this.retry = this.parts.clock.schedule(this.backoff.next(), { run: () => void work() });
  }

  private async report(events: readonly EtcdEvent[]): Promise<void> {
    for (const event of events) {
      const reported = await this.eventOf(event);
      if (reported === undefined || this.isStopped) continue;
      if (hasSameSubnets(reported.lease, this.own)) {
        if (reported.type === "removed") this.reportRevoked();
        else this.ownSeen(reported.lease);
      }
      this.listener({ kind: "changed", events: [reported] });
    }
  }

  private async eventOf({ type, value }: EtcdEvent): Promise<LeaseEvent | undefined> {
    const { registry, log } = this.parts;
    if (type === "delete") {
      const subnets = parseSubnetKey(value.key);
      if (subnets === undefined) return undefined;
      const attributes = makeAttributes({});
      return {
        type: "removed",
        lease: { ...subnets, attributes, owner: undefined, timeToLiveMs: undefined },
      };
    }
    try {
      const lease = await registry.readLease(value);
      return lease === undefined ? undefined : { type: "added", lease };
    } catch (error) {
      log.write("E", `error parsing etcd event: ${messageOf(error)}`);
      return undefined;
    }
  }

  private reportRevoked(): void {
    this.listener({ kind: "revoked", message: WORDS.leaseRevoked({ own: formatSubnetKey(this.own) }) });
  }

  /** Another node that says our address writes over our lease: it is unknown which of the two is meant. */
  private ownSeen(lease: Lease): void {
    if (!this.parts.reportsConflicts || equalAttributes(lease.attributes, this.own.attributes)) return;
    this.own = lease;
    this.listener({ kind: "conflicted", message: WORDS.leaseConflict({ lease: formatSubnets(lease) }) });
  }
}
