/** The leases of other nodes: which a node knows, and which of them are programmed: all, or those that may be. */
import type { FlanneldDifferences } from "../differences.ts";
import type { FlannelFinding, FlannelLog } from "../reports.ts";
import { type Lease, type LeaseEvent, equalAttributes, formatSubnets, hasSameSubnets } from "./lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import {
  type Ip,
  type Prefix,
  formatIp,
  formatPrefix,
  hostPrefix,
  isMulticastIp,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";

// Whether another node's lease may be programmed. Upstream programs whatever it can read; `hardened` mode makes
// no route that would lead packets astray, whatever wrote the lease.

interface PeerSurroundings {
  readonly config: NetworkConfig;
  readonly own: Lease;
  /** Leases that are programmed already. */
  readonly others: Iterable<Lease>;
}

function isSomeOther(a: Lease, b: Lease): boolean {
  return a.owner !== b.owner || formatSubnets(a) !== formatSubnets(b);
}

function refusedSubnet(
  subnet: Prefix,
  network: Prefix | undefined,
  own: Prefix | undefined,
): string | undefined {
  if (network === undefined || !prefixCovers(network, subnet))
    return `it is outside the network ${network === undefined ? "" : formatPrefix(network)}`;
  if (own !== undefined && prefixesOverlap(own, subnet))
    return `it overlaps this node's own subnet ${formatPrefix(own)}`;
  return undefined;
}

function isUsableAddress(ip: Ip | undefined): ip is Ip {
  if (ip === undefined || isMulticastIp(ip)) return false;
  if (typeof ip !== "number") return ip > 1n;
  const first = Math.floor(ip / 0x100_0000);
  return first !== 0 && first !== 127 && first < 240;
}

function refusedAddress(ip: Ip | undefined, own: Ip | undefined, subnet: Prefix): string | undefined {
  if (!isUsableAddress(ip))
    return `its public address ${ip === undefined ? "" : formatIp(ip)} is not that of a node`;
  if (ip === own) return `its public address ${formatIp(ip)} is this node's own`;
  if (prefixCovers(subnet, hostPrefix(ip))) return `its public address ${formatIp(ip)} is in its own subnet`;
  return undefined;
}

function overlap(lease: Lease, other: Lease): boolean {
  const meet = (a: Prefix | undefined, b: Prefix | undefined): boolean =>
    a !== undefined && b !== undefined && prefixesOverlap(a, b);
  return meet(lease.subnet, other.subnet) || meet(lease.ipv6Subnet, other.ipv6Subnet);
}

/** Why the lease is not programmed; undefined: it may be. */
function refusePeer(lease: Lease, { config, own, others }: PeerSurroundings): FlannelFinding | undefined {
  const { attributes } = lease;
  const who = `the lease ${formatSubnets(lease)}${lease.owner === undefined ? "" : ` of ${lease.owner}`}`;
  const reason =
    (lease.subnet === undefined
      ? undefined
      : (refusedSubnet(lease.subnet, config.network, own.subnet) ??
        refusedAddress(attributes.publicIp, own.attributes.publicIp, lease.subnet))) ??
    (lease.ipv6Subnet === undefined
      ? undefined
      : (refusedSubnet(lease.ipv6Subnet, config.ipv6Network, own.ipv6Subnet) ??
        refusedAddress(attributes.publicIpv6, own.attributes.publicIpv6, lease.ipv6Subnet)));
  if (reason !== undefined)
    return { code: "flannel-peer-lease-unusable", message: `${who} is left out: ${reason}` };
  for (const other of others) {
    if (!isSomeOther(lease, other) || !overlap(lease, other)) continue;
    const whose = other.owner === undefined ? "another one" : `that of ${other.owner}`;
    return {
      code: "flannel-lease-conflict",
      message: `${who} is left out: it overlaps ${whose}, ${formatSubnets(other)}`,
    };
  }
  return undefined;
}

/**
 * Which leases of others a node knows, and what a change of the store means to it (control-planes.md §1.6).
 * Plain data: a part of a forkable world.
 */
export class LeaseWatcher {
  private readonly own: Lease;
  private readonly knowsOwners: boolean;
  /** By their subnets. */
  private leases = new Map<string, Lease>();

  constructor(own: Lease, { knowsOwners }: FlanneldDifferences) {
    this.own = own;
    this.knowsOwners = knowsOwners;
  }

  list(): readonly Lease[] {
    return [...this.leases.values()];
  }

  /** Takes single changes over. @returns what the back end has to do. */
  update(events: readonly LeaseEvent[]): readonly LeaseEvent[] {
    return events.filter(({ lease }) => !this.isOwn(lease)).map((event) => this.take(event));
  }

  /** Takes the whole list over. @returns what the back end has to do. */
  reset(snapshot: readonly Lease[]): readonly LeaseEvent[] {
    const known = this.leases;
    const events: LeaseEvent[] = [];
    const kept = new Map<string, Lease>();
    for (const lease of snapshot) {
      const key = this.keyOf(lease);
      const isOwn = this.isOwn(lease);
      // Upstream keeps its own lease, too, and takes it for one that has gone in the next snapshot.
      if (!isOwn || !this.knowsOwners) kept.set(key, lease);
      if (isOwn) continue;
      const before = known.get(key);
      known.delete(key);
      // Upstream does not look whether address or MAC are still the same.
      const isChanged =
        this.knowsOwners && before !== undefined && !equalAttributes(before.attributes, lease.attributes);
      if (before === undefined || isChanged) events.push({ type: "added", lease });
    }
    for (const lease of known.values()) events.push({ type: "removed", lease });
    this.leases = kept;
    return events;
  }

  /** By its subnets. Who knows owners does not take another node's lease for its own, so that the conflict is reported. */
  private isOwn(lease: Lease): boolean {
    const isOwners = !this.knowsOwners || lease.owner === this.own.owner;
    return isOwners && hasSameSubnets(lease, this.own);
  }

  /** Upstream knows one lease for each subnet, whichever node has it. */
  private keyOf(lease: Lease): string {
    return this.knowsOwners ? leaseKey(lease) : formatSubnets(lease);
  }

  private take({ type, lease }: LeaseEvent): LeaseEvent {
    const key = this.keyOf(lease);
    if (type === "added") {
      this.leases.set(key, lease);
      return { type, lease };
    }
    // What was known is what was programmed: the event may say less.
    const known = this.leases.get(key) ?? lease;
    this.leases.delete(key);
    return { type, lease: known };
  }
}

export interface PeersParts {
  readonly config: NetworkConfig;
  readonly own: Lease;
  readonly differences: FlanneldDifferences;
  readonly log: FlannelLog;
}

interface Refused {
  readonly lease: Lease;
  readonly finding: FlannelFinding;
}

/** The name of a lease among all: two nodes may say that they have the same subnet. */
export function leaseKey(lease: Lease): string {
  return `${lease.owner ?? ""} ${formatSubnets(lease)}`;
}

/** Plain data. */
export class Peers {
  private readonly parts: PeersParts;
  private readonly accepted = new Map<string, Lease>();
  private readonly refused = new Map<string, Refused>();

  constructor(parts: PeersParts) {
    this.parts = parts;
  }

  /** What of the changes is to be programmed. */
  filter(events: readonly LeaseEvent[]): readonly LeaseEvent[] {
    if (!this.parts.differences.checksPeers) return events;
    return events.flatMap((event) =>
      event.type === "added" ? this.add(event.lease) : this.remove(event.lease),
    );
  }

  findings(): readonly FlannelFinding[] {
    return [...this.refused.values()].map(({ finding }) => finding);
  }

  private add(lease: Lease): readonly LeaseEvent[] {
    const { config, own, log } = this.parts;
    const key = leaseKey(lease);
    const before = this.accepted.get(key);
    const finding = refusePeer(lease, { config, own, others: this.accepted.values() });
    if (finding === undefined) {
      this.accepted.set(key, lease);
      this.refused.delete(key);
      return [{ type: "added", lease }];
    }
    if (this.refused.get(key)?.finding.message !== finding.message) log.write("E", finding.message);
    this.refused.set(key, { lease, finding });
    if (before === undefined) return [];
    // What leads to where the node is no more would be a wrong route.
    this.accepted.delete(key);
    return [{ type: "removed", lease: before }, ...this.retry()];
  }

  private remove(lease: Lease): readonly LeaseEvent[] {
    const key = leaseKey(lease);
    this.refused.delete(key);
    const before = this.accepted.get(key);
    if (before === undefined) return [];
    this.accepted.delete(key);
    return [{ type: "removed", lease: before }, ...this.retry()];
  }

  /** A lease that has gone may have been in the way of another one. */
  private retry(): readonly LeaseEvent[] {
    const waiting = [...this.refused.values()].filter(
      ({ finding }) => finding.code === "flannel-lease-conflict",
    );
    return waiting.flatMap(({ lease }) => this.add(lease));
  }
}
