/**
 * Addresses: ranges and sets of them (cni.md §4.1), where host-local keeps which attachment owns which address, and how
 * the next one is reserved (§4.3).
 */
import { LIMITS } from "#core/base/limits.ts";
import {
  type Ip,
  addToIp,
  bitsOf,
  familyOf,
  formatIp,
  type InterfaceAddress,
  lastIp,
  maskIp,
  prefixContains,
} from "#core/net/ip.ts";
import type { CniIp } from "#contracts/cni/result.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** A range as it is written; everything but the subnet may be left out. */
export interface RangeSpecification {
  /** Host bits kept: they are an error of their own. */
  readonly subnet: InterfaceAddress | undefined;
  readonly start: Ip | undefined;
  readonly end: Ip | undefined;
  readonly gateway: Ip | undefined;
}

/** A checked range: addresses from `start` to `end`, both included, of `subnet`. */
interface AddressRange {
  readonly subnet: InterfaceAddress;
  readonly start: Ip;
  readonly end: Ip;
  /** Never handed out. It may lie outside the subnet. */
  readonly gateway: Ip;
}

/** Ranges that together serve one address; not empty, all of one family. */
export type RangeSet = readonly [AddressRange, ...AddressRange[]];

/** A range or set that cannot be used. */
export class AddressRangeError extends Error {
  override readonly name = "AddressRangeError";
}

function formatSubnet(subnet: InterfaceAddress): string {
  return `${formatIp(subnet.ip)}/${subnet.length}`;
}

/** Two addresses of different families are in no order. */
function isBelow(a: Ip, b: Ip): boolean {
  return typeof a === typeof b && a < b;
}

/** True when the range may hand out `ip`, the gateway included. */
export function rangeContains(range: AddressRange, ip: Ip): boolean {
  return subnetContains(range.subnet, ip) && !isBelow(ip, range.start) && !isBelow(range.end, ip);
}

function subnetContains(subnet: InterfaceAddress, ip: Ip): boolean {
  return prefixContains({ address: subnet.ip, length: subnet.length }, ip);
}

function defaultEnd(subnet: InterfaceAddress): Ip {
  const last = lastIp({ address: subnet.ip, length: subnet.length });
  // IPv4 leaves the broadcast address out, IPv6 has none.
  return familyOf(last) === 4 ? (addToIp(last, -1) ?? last) : last;
}

/** Checks one range and fills in what was left out. @throws AddressRangeError */
export function checkRange(range: RangeSpecification): AddressRange {
  const { subnet } = range;
  if (subnet === undefined) throw new AddressRangeError("IP <nil> not v4 nor v6");
  if (subnet.length > bitsOf(familyOf(subnet.ip)) - 2) {
    throw new AddressRangeError(`Network ${formatSubnet(subnet)} too small to allocate from`);
  }
  const network = maskIp(subnet.ip, subnet.length);
  if (network !== subnet.ip) {
    throw new AddressRangeError(
      WORDS.subnetHasHostBits({ subnetLength: subnet.length, network: formatIp(network) }),
    );
  }
  const first = addToIp(network, 1) ?? network;
  const { start = first, end = defaultEnd(subnet), gateway = first } = range;
  const isStartInside = subnetContains(subnet, start) && !isBelow(range.end ?? start, start);
  if (!isStartInside) {
    throw new AddressRangeError(`RangeStart ${formatIp(start)} not in network ${formatSubnet(subnet)}`);
  }
  if (!subnetContains(subnet, end) || isBelow(end, start)) {
    throw new AddressRangeError(`RangeEnd ${formatIp(end)} not in network ${formatSubnet(subnet)}`);
  }
  return Object.freeze({ subnet, start, end, gateway });
}

/** `first-last`, as the messages name a range. */
function formatRange(range: AddressRange): string {
  return `${formatIp(range.start)}-${formatIp(range.end)}`;
}

export function formatRangeSet(set: RangeSet): string {
  return set.map(formatRange).join(",");
}

function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return (
    rangeContains(a, b.start) ||
    rangeContains(a, b.end) ||
    rangeContains(b, a.start) ||
    rangeContains(b, a.end)
  );
}

export function rangeSetsOverlap(a: RangeSet, b: RangeSet): boolean {
  return a.some((left) => b.some((right) => rangesOverlap(left, right)));
}

/** Checks a set and its ranges. @throws AddressRangeError */
export function checkRangeSet(ranges: readonly RangeSpecification[]): RangeSet {
  const [first, ...others] = ranges;
  if (first === undefined) throw new AddressRangeError("empty range set");
  const set: [AddressRange, ...AddressRange[]] = [checkRange(first)];
  for (const range of others) {
    const checked = checkRange(range);
    if (familyOf(checked.start) !== familyOf(set[0].start))
      throw new AddressRangeError("mixed address families");
    set.push(checked);
  }
  for (const [index, range] of set.entries()) {
    const other = set.slice(index + 1).find((candidate) => rangesOverlap(range, candidate));
    if (other !== undefined) {
      throw new AddressRangeError(`subnets ${formatRange(range)} and ${formatRange(other)} overlap`);
    }
  }
  return Object.freeze(set);
}

/** The range of the set that holds `ip`. */
export function findRange(set: RangeSet, ip: Ip): AddressRange | undefined {
  return set.find((range) => rangeContains(range, ip));
}

/** Addresses that the set can hand out, the gateways left out. */
export function countAddresses(set: RangeSet): bigint {
  let count = 0n;
  for (const range of set) {
    count += BigInt(range.end) - BigInt(range.start) + 1n;
    if (rangeContains(range, range.gateway)) count -= 1n;
  }
  return count;
}

/** A candidate for allocation. */
interface Candidate {
  readonly ip: Ip;
  readonly range: AddressRange;
}

/**
 * The addresses of a set in the order in which they are tried: from the one after `last` (when the set holds
 * it, else from the first) through all ranges and round to where it began, gateways left out. Ends after
 * `LIMITS.addressesPerRangeMax` addresses.
 */
export function* listCandidates(set: RangeSet, last: Ip | undefined): Generator<Candidate, void, undefined> {
  const holder = last === undefined ? undefined : findRange(set, last);
  let index = holder === undefined ? 0 : set.indexOf(holder);
  let ip = holder === undefined || last === undefined ? set[0].start : last;
  let start = holder === undefined ? ip : undefined;
  let isFirst = holder === undefined;
  for (let count = 0; count < LIMITS.addressesPerRangeMax; count++) {
    if (!isFirst) {
      const range = set[index] ?? set[0];
      if (ip === range.end) {
        index = (index + 1) % set.length;
        ip = (set[index] ?? set[0]).start;
      } else {
        ip = addToIp(ip, 1) ?? range.start;
      }
      if (ip === start) return;
      start ??= ip;
    }
    isFirst = false;
    const range = set[index] ?? set[0];
    if (ip !== range.gateway) yield { ip, range };
  }
}

/** The attachment that owns an address. */
export interface LeaseOwner {
  readonly containerId: string;
  readonly ifName: string;
}

/** An address that is taken. */
export interface Lease {
  readonly ip: Ip;
  /** Empty when the record is empty or cannot be read: it then has no owner. */
  readonly containerId: string;
  /** Undefined in records of old versions, which knew the container alone. */
  readonly ifName: string | undefined;
  /** Why the record is none that any host-local writes; undefined for a good one. Its address stays taken. */
  readonly damage?: string | undefined;
}

/** The leases of one network while no other call changes them. All calls are synchronous: no work may wait inside. */
export interface Leases {
  /**
   * True when `ip` was free and now belongs to `owner`; it is then what `lastReserved(rangeIndex)` says.
   * False when it is taken.
   */
  reserve(ip: Ip, owner: LeaseOwner, rangeIndex: number): boolean;
  /** The address that was reserved last for a range set, also when it is free again. */
  lastReserved(rangeIndex: number): Ip | undefined;
  /** All leases, in an order that depends on nothing but the leases. */
  list(): readonly Lease[];
  /** Releasing what is not held is no error: DEL must be repeatable. */
  release(ip: Ip): void;
}

/** Names the leases of one network. */
export interface LeaseNetwork {
  /** `ipam.dataDir`. */
  readonly dataDir: string;
  readonly name: string;
}

/** How `withLeases` treats a network that has no leases yet. */
export type LeaseAccess = "create" | "existing";

/** Keeps leases by network. */
export interface LeaseStore {
  /**
   * Runs `work` alone with the leases of a network. With `existing`, a network without leases is empty and
   * stays unmade.
   * @throws LeaseStoreError when the store cannot be used, or does not come free in time.
   */
  withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T>;
}

/** The store cannot be used. */
export class LeaseStoreError extends Error {
  override readonly name = "LeaseStoreError";
  /** `busy`: another process holds it and did not let go in time; trying again may help. */
  readonly reason: "busy" | "failed";

  constructor(reason: "busy" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** No leases, and nothing can be reserved: what a network that was never used holds. */
export const NO_LEASES: Leases = Object.freeze({
  reserve: () => false,
  lastReserved: () => undefined,
  list: () => [],
  release: () => undefined,
});

/** Leases that say container and interface of `owner`; failing these, those of old versions with the container alone. */
export function leasesOf(leases: Leases, owner: LeaseOwner): readonly Lease[] {
  const containerId = owner.containerId.trim();
  const sameContainer = leases.list().filter((lease) => lease.containerId === containerId);
  const exact = sameContainer.filter((lease) => lease.ifName === owner.ifName);
  return exact.length > 0 ? exact : sameContainer.filter((lease) => lease.ifName === undefined);
}

/** Releases what `leasesOf` finds. */
export function releaseOwner(leases: Leases, owner: LeaseOwner): void {
  for (const lease of leasesOf(leases, owner)) leases.release(lease.ip);
}

class MemoryLeases implements Leases {
  private readonly leases = new Map<Ip, Lease>();
  private readonly last = new Map<number, Ip>();

  reserve(ip: Ip, owner: LeaseOwner, rangeIndex: number): boolean {
    if (this.leases.has(ip)) return false;
    const containerId = owner.containerId.trim();
    this.leases.set(ip, Object.freeze({ ip, containerId, ifName: owner.ifName }));
    this.last.set(rangeIndex, ip);
    return true;
  }

  lastReserved(rangeIndex: number): Ip | undefined {
    return this.last.get(rangeIndex);
  }

  list(): readonly Lease[] {
    const named = [...this.leases.values()].map((lease) => ({ lease, name: formatIp(lease.ip) }));
    return named.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ lease }) => lease);
  }

  release(ip: Ip): void {
    this.leases.delete(ip);
  }
}

/** A store for the emulator and for tests. */
export class MemoryLeaseStore implements LeaseStore {
  private readonly networks = new Map<string, MemoryLeases>();

  withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T> {
    const key = `${network.dataDir}/${network.name}`;
    const known = this.networks.get(key);
    if (known === undefined && access === "existing") return Promise.resolve().then(() => work(NO_LEASES));
    const leases = known ?? new MemoryLeases();
    this.networks.set(key, leases);
    return Promise.resolve().then(() => work(leases));
  }
}

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

/** What one call wants. */
export interface AddressRequest {
  /** One address each; the index names `last_reserved_ip.INDEX`. */
  readonly rangeSets: readonly RangeSet[];
  readonly requestedIps: readonly Ip[];
}

/** How the allocator behaves where upstream has a defect. */
interface AllocationRules {
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
 * which no single caller can see.
 * @throws AllocationError
 */
export function reserveAddresses(
  leases: Leases,
  owner: LeaseOwner,
  wanted: AddressRequest,
  rules: AllocationRules,
): readonly CniIp[] {
  const allocation = { leases, owner, rules };
  const requested = new Set(wanted.requestedIps);
  const ips: CniIp[] = [];
  const rollBack = (): void => {
    if (ips.length > 0 && rules.isRollingBackEverything) releaseOwner(leases, owner);
    else for (const { address } of ips) leases.release(address.ip);
  };
  for (const [index, set] of wanted.rangeSets.entries()) {
    const fitting = [...requested].find((ip) => findRange(set, ip) !== undefined);
    if (fitting !== undefined) requested.delete(fitting);
    try {
      ips.push(
        fitting === undefined
          ? reserveNext(allocation, set, index)
          : reserveRequested(allocation, set, index, fitting),
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

/** Addresses of the set that are free. */
export function countFree(leases: readonly Lease[], set: RangeSet): bigint {
  const taken = leases.filter(({ ip }) => {
    const range = findRange(set, ip);
    return range !== undefined && range.gateway !== ip;
  });
  return countAddresses(set) - BigInt(taken.length);
}
