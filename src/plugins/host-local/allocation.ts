/** Choosing addresses: requested ones, else round robin (cni.md §4.2). */
import type { CniIp } from "../../cni/result.ts";
import { type Ip, familyOf, formatIp } from "../../net/ip.ts";
import type { HostLocalConfiguration } from "./conf.ts";
import { type LeaseOwner, type Leases, releaseOwner } from "./lease-store.ts";
import { type RangeSet, findRange, formatRangeSet, listCandidates } from "./range.ts";

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

/** How the allocator behaves where the reference has a defect. */
export interface AllocationRules {
  /** The reference on Windows cannot read the owner of an IPv6 lease from its file name. */
  readonly isBlindForIpv6Owners: boolean;
  /** The reference's roll-back releases whatever the owner holds, also what earlier calls gave it. */
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
 * Either all are reserved or none. Inferred: the reference locks each set on its own; here one lock spans them all,
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
